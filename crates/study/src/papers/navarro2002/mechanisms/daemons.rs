//! Traces that show the page daemon, its lists and the cache, and the demotion of superpages when
//! memory is short.

use super::{fills, stores};
use crate::papers::generated::{
    Said, Saying, begin, end, file, map, map_file, run as switch, sweep, unmap,
};
use crate::papers::navarro2002::setting::{MIB, PAGE};

const GIANT: u64 = 4 * MIB;
const LARGE: u64 = MIB / 2;
/// Base pages at a distance of twice their size, each with its own mapping: too small for a
/// reservation.
const APART: u64 = 2 * PAGE;
const A: u64 = 1 << 32;
const B: u64 = 1 << 36;
const FILES: u64 = 1 << 38;
/// Bytes of a file: one superpage of the smallest size.
const FILE: u64 = 64 << 10;

/// Maps `pages` base pages that cannot become superpages.
fn map_apart(start: u64, pages: u64) -> impl Iterator<Item = Said> + Send {
    (0..pages).map(move |page| map(start + page * APART, PAGE))
}

/// Opens a file, reads it and closes it.
fn read(number: u64) -> impl Iterator<Item = Said> + Send {
    let start = FILES + number * 2 * FILE;
    [map_file(start, FILE, number as u32)]
        .into_iter()
        .chain(sweep(start, FILE, 64, 0))
        .chain([unmap(start, FILE)])
}

fn files(count: u64) -> impl Iterator<Item = Said> + Send {
    (0..count).map(|number| file(number as u32, FILE))
}

/// A superpage of which an eighth is used, and a working set that fits into memory only together
/// with that eighth.
pub(super) fn partly_used() -> Saying {
    const PAGES: u64 = 600;
    let rounds = (0..30).flat_map(|_| fills(A, LARGE).chain(stores(B, PAGES, APART)));
    Box::new(
        begin(1, "partly used")
            .chain([map(A, GIANT)])
            .chain(map_apart(B, PAGES))
            .chain(fills(A, GIANT))
            .chain(rounds),
    )
}

/// A superpage that a shortage of memory breaks, while closed files are available. When memory is
/// available again, all pages of the superpage are used again.
pub(super) fn used_again() -> Saying {
    const PAGES: u64 = 330;
    const COUNT: u64 = 38;
    let again = (0..3).flat_map(|_| sweep(A, GIANT, 64, 0));
    Box::new(
        begin(1, "used again")
            .chain([map(A, GIANT)])
            .chain(fills(A, GIANT))
            .chain(files(COUNT))
            .chain((0..COUNT).flat_map(read))
            .chain(begin(2, "other"))
            .chain(map_apart(B, PAGES))
            .chain(stores(B, PAGES, APART))
            .chain([end(), switch(1)])
            .chain(again),
    )
}

/// Page tables lie between the pages of a program that ends; another program then needs superpages.
pub(super) fn page_tables() -> Saying {
    const PAGES: u64 = 60;
    let rounds = (0..40).flat_map(|round| {
        let filler = B + round * PAGES * APART;
        let mapped = A + round * 4 * GIANT;
        [switch(1)]
            .into_iter()
            .chain(map_apart(filler, PAGES))
            .chain(stores(filler, PAGES, APART))
            // Each mapping is of the same page of a file, so it takes only a page table.
            .chain([switch(2), map_file(mapped, PAGE, 1)])
            .chain(sweep(mapped, PAGE, 1, 0))
    });
    let wanted = (0..30).flat_map(|number| {
        let start = A + number * 2 * LARGE;
        [map(start, LARGE)].into_iter().chain(fills(start, LARGE))
    });
    Box::new(
        begin(1, "filler")
            .chain(begin(2, "mapper"))
            .chain([file(1, PAGE)])
            .chain(rounds)
            .chain([switch(1), end()])
            .chain(begin(3, "large"))
            .chain(wanted),
    )
}

/// The number of files that leave less than an extent of 512 KiB of 8 MiB.
const COUNT: u64 = 114;

/// Files fill memory, and are read again after each failed allocation of an extent.
pub(super) fn read_again() -> Saying {
    let all = || (0..COUNT).flat_map(read);
    let rounds = (0..10).flat_map(move |_| {
        [map(A, LARGE)]
            .into_iter()
            .chain(stores(A, 2, PAGE))
            .chain([unmap(A, LARGE)])
            .chain(all())
    });
    Box::new(
        begin(1, "reader")
            .chain(files(COUNT))
            // One page stays in use, so that page tables keep their frames.
            .chain(map_apart(B, 1))
            .chain(stores(B, 1, APART))
            .chain(all())
            .chain(rounds),
    )
}

/// A rarely used working set, and many files that are read once.
pub(super) fn files_closed() -> Saying {
    const PAGES: u64 = 400;
    const EACH: u64 = 200;
    const ROUNDS: u64 = 5;
    let rounds = (0..ROUNDS).flat_map(|round| {
        stores(B, PAGES, APART).chain((round * EACH..(round + 1) * EACH).flat_map(read))
    });
    Box::new(
        begin(1, "reader")
            .chain(files(ROUNDS * EACH))
            .chain(map_apart(B, PAGES))
            .chain(rounds)
            .chain(stores(B, PAGES, APART)),
    )
}

/// Closed files fill memory. A program uses one page of an object, for which there is no extent,
/// and then all of another object.
pub(super) fn extents_sought() -> Saying {
    let wanted = (0..10).flat_map(|number| {
        let (first, second) = (A + number * 4 * LARGE, A + (number * 4 + 2) * LARGE);
        [map(first, LARGE), map(second, LARGE)]
            .into_iter()
            .chain(stores(first, 1, PAGE))
            .chain(fills(second, LARGE))
    });
    Box::new(
        begin(1, "reader")
            .chain(files(COUNT))
            .chain((0..COUNT).flat_map(read))
            .chain(begin(2, "seeker"))
            .chain(wanted),
    )
}
