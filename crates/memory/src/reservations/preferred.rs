//! How large a reservation a fault should get.

use crate::population::Sizes;
use std::ops::Range;

/// Whether an object may become larger, and at which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It stays as it is: a file's mapping, a program's text.
    Fixed,
    /// At its end: a heap.
    Up,
    /// At its start: a stack.
    Down,
}

/// The level of the largest aligned piece around a page that was not resident which overlaps nothing and does not leave its object
/// (Navarro 2002, on preferred superpage sizes): what should be reserved for it. It is better too large than too small, since a reservation can be
/// preempted but cannot be enlarged.
///
/// `object` are the pages of the object, counted as alignment counts them: from the start of a file or of an address space. Where an object
/// grows, the piece may extend past that end, by as many pages as the object has now at most. `overlaps` says of the piece that starts at a page
/// and has a level whether any of its pages is allocated or reserved; it is asked for larger pieces first and never for base pages. Level 0
/// where nothing larger fits.
pub fn preferred_level(
    sizes: &Sizes,
    page: u64,
    object: &Range<u64>,
    growth: Growth,
    mut overlaps: impl FnMut(u64, usize) -> bool,
) -> usize {
    let length = object.end.saturating_sub(object.start);
    let (mut lowest, mut end) = (object.start, object.end);
    match growth {
        Growth::Fixed => {}
        Growth::Up => end = end.saturating_add(length),
        Growth::Down => lowest = lowest.saturating_sub(length),
    }
    let fits = |level: &usize| {
        let first = sizes.first_of(*level, page);
        let inside = lowest <= first && first.saturating_add(sizes.pages(*level)) <= end;
        inside && !overlaps(first, *level)
    };
    (1..sizes.levels()).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u64 = 8;

    /// By listing pages: no page of the piece is taken, and each is one of the object or of those that it may grow by.
    fn slow(sizes: &Sizes, page: u64, object: &Range<u64>, growth: Growth, taken: u32) -> usize {
        let length = object.end - object.start;
        let allowed = |page: u64| {
            object.contains(&page)
                || (growth == Growth::Up && page >= object.end && page - object.end < length)
                || (growth == Growth::Down && page < object.start && object.start - page <= length)
        };
        let mut best = 0;
        for level in 1..sizes.levels() {
            let size = sizes.pages(level);
            let mut piece = (page / size * size)..(page / size * size + size);
            if piece.all(|page| allowed(page) && taken >> page & 1 == 0) {
                best = level;
            }
        }
        best
    }

    /// Every object in eight pages, each page of it at fault, each set of pages taken.
    #[test]
    fn all_of_a_small_world() {
        let mut seen = [0; 4];
        for orders in [&[0, 1, 2, 3][..], &[0, 2], &[0, 1, 3]] {
            let sizes = Sizes::new(orders).unwrap();
            let objects =
                (0..PAGES).flat_map(|start| (start + 1..=PAGES).map(move |end| start..end));
            for object in objects {
                for growth in [Growth::Fixed, Growth::Up, Growth::Down] {
                    for (page, taken) in object
                        .clone()
                        .flat_map(|page| (0..1 << PAGES).map(move |taken| (page, taken)))
                        .filter(|(page, taken)| taken >> page & 1 == 0)
                    {
                        let overlaps = |first: u64, level: usize| {
                            (first..first + sizes.pages(level)).any(|page| taken >> page & 1 != 0)
                        };
                        let level = preferred_level(&sizes, page, &object, growth, overlaps);
                        let expected = slow(&sizes, page, &object, growth, taken);
                        assert_eq!(level, expected, "{object:?} {growth:?} {page} {taken:b}");
                        seen[level] += 1;
                    }
                }
            }
        }
        assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
    }

    #[test]
    fn objects_that_grow() {
        let sizes = Sizes::new(&[0, 3, 6, 9]).unwrap();
        let level =
            |page, object, growth| preferred_level(&sizes, page, &object, growth, |_, _| false);
        // A heap of 39 pages may reach 78: 64 are aligned and below that.
        assert_eq!(level(38, 0..39, Growth::Fixed), 0);
        assert_eq!(level(31, 0..39, Growth::Fixed), 1);
        assert_eq!(level(38, 0..39, Growth::Up), 2);
        assert_eq!(level(0, 0..31, Growth::Up), 1);
        assert_eq!(level(0, 0..32, Growth::Up), 2);
        // A stack grows towards lower pages.
        assert_eq!(level(511, 480..512, Growth::Up), 1);
        assert_eq!(level(511, 480..512, Growth::Down), 2);
        assert_eq!(level(511, 256..512, Growth::Down), 3);
        assert_eq!(level(5, 1..8, Growth::Down), 1);
    }
}
