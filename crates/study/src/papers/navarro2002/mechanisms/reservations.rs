//! Traces that show reservations, the buddy allocator and promotion.

use super::{fills, stores};
use crate::papers::generated::{Saying, begin, end, map, sweep};
use crate::papers::navarro2002::setting::{MIB, PAGE};

const KIB: u64 = 1 << 10;
const GIANT: u64 = 4 * MIB;
const LARGE: u64 = 512 * KIB;
const SMALL: u64 = 64 * KIB;

/// Objects of one kind, mapped `apart` bytes from each other so that no reservation holds two.
#[derive(Clone, Copy)]
struct Objects {
    start: u64,
    apart: u64,
    bytes: u64,
    count: u64,
}

impl Objects {
    fn starts(self) -> impl Iterator<Item = u64> + Send {
        (0..self.count).map(move |number| self.start + number * self.apart)
    }

    fn mapped(self) -> impl Iterator<Item = crate::papers::generated::Said> + Send {
        self.starts().map(move |start| map(start, self.bytes))
    }
}

const SPARSE: Objects = Objects {
    start: 1 << 36,
    apart: MIB,
    bytes: LARGE,
    count: 8,
};
const GIANTS: Objects = Objects {
    start: 1 << 32,
    apart: 4 * GIANT,
    bytes: GIANT,
    count: 2,
};
const DENSE: Objects = Objects {
    start: 1 << 37,
    ..SPARSE
};
const SMALLS: Objects = Objects {
    start: 1 << 38,
    apart: 2 * SMALL,
    bytes: SMALL,
    count: 50,
};

/// All memory is reserved when small objects need extents. Sparse objects were used first and are
/// idle; dense objects grow. Giants and the first parts of sparse objects fill at the end.
pub(super) fn contended() -> Saying {
    let kinds = [SPARSE, GIANTS, DENSE, SMALLS];
    let mapped = kinds.into_iter().flat_map(Objects::mapped);
    let first = [SPARSE, GIANTS, DENSE].into_iter();
    let first = first.flat_map(|kind| kind.starts().flat_map(|start| stores(start, 1, PAGE)));
    let grow = (1..LARGE / PAGE).flat_map(|page| {
        let dense = DENSE.starts();
        let dense = dense.flat_map(move |start| stores(start + page * PAGE, 1, PAGE));
        let small = SMALLS.starts().skip(page as usize - 1).take(1);
        dense.chain(small.flat_map(|start| fills(start, SMALL)))
    });
    let giants = GIANTS.starts().flat_map(|start| fills(start, GIANT));
    let sparse = SPARSE.starts().flat_map(|start| fills(start, SMALL));
    let all = mapped.chain(first).chain(grow).chain(giants).chain(sparse);
    Box::new(begin(1, "contended").chain(all))
}

/// A program of small objects fills memory and ends; another program needs the largest pages.
pub(super) fn after_small_ones() -> Saying {
    let small = Objects {
        count: 230,
        ..SMALLS
    };
    let fragments = small.starts().flat_map(|start| fills(start, SMALL));
    let giants = GIANTS.starts().flat_map(|start| fills(start, GIANT));
    Box::new(
        begin(1, "small")
            .chain(small.mapped())
            .chain(fragments)
            .chain([end()])
            .chain(begin(2, "giant"))
            .chain(GIANTS.mapped())
            .chain(giants),
    )
}

/// Arrays that each fill small superpages only, one that fills the largest, and one that is used
/// sparsely; then several sweeps over all.
pub(super) fn filled() -> Saying {
    let arrays = Objects {
        start: 1 << 36,
        apart: MIB,
        bytes: 448 * KIB,
        count: 4,
    };
    let (large, sparse) = (1 << 32, 1 << 33);
    let filled = arrays
        .starts()
        .flat_map(move |start| fills(start, arrays.bytes));
    let swept = (0..10).flat_map(move |_| {
        let small = arrays
            .starts()
            .flat_map(move |start| sweep(start, arrays.bytes, 64, 0));
        small.chain(sweep(large, GIANT, 64, 0))
    });
    Box::new(
        begin(1, "filled")
            .chain(arrays.mapped())
            .chain([map(large, GIANT), map(sparse, GIANT)])
            .chain(filled)
            .chain(fills(large, GIANT))
            .chain(stores(sparse, 64, SMALL))
            .chain(swept),
    )
}
