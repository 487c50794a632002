//! Page colouring by rereading the list of pages (Chen 2014, section I; Kessler and Hill 1992).

use std::ops::Range;

/// The order in which an owner's pages get the owner's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowOrder {
    /// By the number of the page.
    ByPage,
    /// By the number of pages before it.
    RoundRobin,
    /// By the number of pages of its owner before it.
    BinHopping,
}

/// The colour of each page, in the order in which the pages were placed. A page is its owner and
/// its number. The first owner of the list has the first share, and so on; after the last share the
/// first one follows.
pub fn colours_of_pages(pages: &[(u64, u64)], order: SlowOrder, shares: &[Range<u64>]) -> Vec<u64> {
    let colour = |at: usize| {
        let (owner, page) = pages[at];
        let mut owners: Vec<u64> = Vec::new();
        for (owner, _) in pages {
            if !owners.contains(owner) {
                owners.push(*owner);
            }
        }
        let rank = owners.iter().position(|other| *other == owner).unwrap_or(0);
        let share: Vec<u64> = shares[rank % shares.len()].clone().collect();
        let number = match order {
            SlowOrder::ByPage => page,
            SlowOrder::RoundRobin => at as u64,
            SlowOrder::BinHopping => pages[..at]
                .iter()
                .filter(|(other, _)| *other == owner)
                .count() as u64,
        };
        share[number as usize % share.len()]
    };
    (0..pages.len()).map(colour).collect()
}

/// The lowest free frame of a colour: the frames whose number leaves that remainder.
pub fn lowest_of_colour(free: &[bool], colour: usize, colours: usize) -> Option<usize> {
    (0..free.len()).find(|frame| frame % colours == colour && free[*frame])
}
