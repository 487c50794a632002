//! Events take time in proportion to their changes: a space with very many mappings is replayed as
//! quickly as many small ones.

use broadleaf_memory::{AddressSpaces, Backing, Mapping, Pages};
use broadleaf_units::{Rights, SpaceId};
use std::collections::BTreeSet;

const SPACE: SpaceId = SpaceId(0);
/// Far more than processes have by default (65,530 by Linux's `vm.max_map_count`).
const MAPPINGS: u64 = 200_000;
/// The time limit in seconds: many times the usual time of a test build, and a fraction of the time
/// of a quadratic algorithm.
const SECONDS: u64 = 20;

/// Single pages with a page between them, the highest first, so that each goes in before all
/// others.
fn places() -> impl Iterator<Item = Pages> {
    (0..MAPPINGS).rev().map(|number| Pages {
        start: 2 * number,
        end: 2 * number + 1,
    })
}

#[test]
#[expect(
    clippy::disallowed_types,
    reason = "how long it takes is what is tested"
)]
fn many_mappings_take_no_longer_each() {
    let begin = std::time::Instant::now();
    let check = |what: &str| {
        let taken = begin.elapsed().as_secs();
        assert!(taken < SECONDS, "{what}: {taken} s for {MAPPINGS} mappings");
    };
    let mut spaces = AddressSpaces::new(BTreeSet::from([SPACE]));
    assert!(spaces.list_mappings(SPACE));
    for (number, pages) in places().enumerate() {
        spaces.map(
            SPACE,
            Mapping {
                pages,
                rights: Rights::READ_WRITE,
                shared: false,
                backing: Backing::Anonymous,
            },
        );
        spaces.advise(SPACE, pages, false);
        if number % 1000 == 0 {
            check("map and advise");
        }
    }
    for (number, pages) in places().enumerate() {
        // Each is memory of its own from here on, until it is unmapped.
        let backing = spaces.shared_memory(SPACE, pages);
        spaces.map(
            SPACE,
            Mapping {
                pages,
                rights: Rights::READ_WRITE,
                shared: true,
                backing,
            },
        );
        if number % 1000 == 0 {
            check("share");
        }
    }
    for (number, pages) in places().enumerate() {
        spaces.unmap(SPACE, pages);
        if number % 1000 == 0 {
            check("unmap");
        }
    }
}
