//! Allocators: the rules that choose the frames of an extent (Talluri 1995, section 6.2.1).
//!
//! All of them work on the free extents that [`Buddy`] keeps, which describe free memory in one
//! way. The buddy allocator chooses by its lists. Each other rule names the extent to take.
//!
//! An allocator is one file of this folder and one line of [`ALLOCATORS`].

mod state;

pub(super) use state::Chosen;

use super::{Buddy, Frame};
use broadleaf_units::{Described, catalogue};

catalogue! {
    /// The catalogue of allocators. The first one is the default.
    pub static ALLOCATORS: Allocator = [
        buddy_lists::BUDDY,
        first_fit::FIRST_FIT,
        best_fit::BEST_FIT,
        worst_fit::WORST_FIT,
        pools::POOLS,
    ];
}

/// A rule that chooses the frames of an extent.
pub struct Allocator {
    /// Its name and its texts.
    pub described: Described,
    /// True if memory is divided into pools, one for each page size, that lend each other nothing.
    pub divides: bool,
    /// The first frame of the extent of an order to take, of a pool that uses this allocator. The
    /// extent is wholly free. `None` in place of the function if the lists of the buddy allocator
    /// choose.
    pub(super) choose: Option<fn(&Buddy, u8) -> Option<Frame>>,
}

impl Allocator {
    /// The buddy allocator, the default.
    pub fn buddy() -> &'static Self {
        &buddy_lists::BUDDY
    }

    /// The allocator with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = ALLOCATORS.iter().copied();
        all.find(|allocator| allocator.described.name == name)
    }
}

impl PartialEq for Allocator {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for Allocator {}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described.name)
    }
}

impl Buddy {
    /// Lets an allocator choose from now on. A divided pool has extents of these orders beside base
    /// pages, and gives extents this share of its frames, from 0 to 1.
    pub fn choose_by(&mut self, allocator: &'static Allocator, orders: &[u8], extents: f64) {
        self.chosen_by = allocator.choose.map(|choose| {
            // A rule sees all free memory, so free extents have to be merged.
            self.merges = true;
            let free = self.iter().map(|(first, order)| (first.0, order));
            Chosen::new(choose, free).divided(allocator.divides, self.frames, orders, extents)
        });
    }

    /// The extent that a rule chooses, or `None` if the lists choose.
    pub(super) fn chosen_by_rule(&self, order: u8) -> Option<Option<Frame>> {
        let chosen = self.chosen_by.as_ref()?;
        Some(
            Some(order)
                .filter(|order| *order <= self.most_order)
                .and_then(|order| (chosen.choose)(self, order)),
        )
    }

    /// Returns true if memory is divided into pools for each page size.
    pub fn is_divided(&self) -> bool {
        let chosen = self.chosen_by.as_ref();
        chosen.is_some_and(Chosen::is_divided)
    }

    /// Returns true if base pages can lie in this frame: it is in no pool of a larger size.
    pub fn serves_pages(&self, frame: Frame) -> bool {
        let chosen = self.chosen_by.as_ref();
        chosen.is_none_or(|chosen| {
            let mut own = chosen.frames_of_pages().iter();
            own.any(|frames| frames.contains(&frame.0))
        })
    }

    /// The number of free frames that base pages can have.
    pub fn free_for_pages(&self) -> u64 {
        match &self.chosen_by {
            Some(chosen) if chosen.is_divided() => {
                let own = chosen.frames_of_pages().iter();
                own.map(|frames| chosen.free_in(frames.clone())).sum()
            }
            _ => self.free_frames,
        }
    }

    /// The number of frames, free or not, among which base pages lie.
    pub fn frames_for_pages(&self) -> u64 {
        let chosen = self.chosen_by.as_ref();
        chosen.map_or(self.frames, |chosen| {
            let own = chosen.frames_of_pages().iter();
            own.map(|frames| frames.end.min(self.frames) - frames.start)
                .sum()
        })
    }

    /// The frame of that number among those of [`Self::frames_for_pages`].
    pub fn frame_for_pages(&self, number: u64) -> Frame {
        let mut number = number;
        for frames in self.chosen_by.iter().flat_map(Chosen::frames_of_pages) {
            let length = frames.end - frames.start;
            if number < length {
                return Frame(frames.start + number);
            }
            number -= length;
        }
        Frame(number)
    }

    /// Returns true if an extent of that order could be allocated now.
    pub fn has_extent(&self, order: u8) -> bool {
        match self.chosen_by_rule(order) {
            Some(first) => first.is_some(),
            None => (order..=self.most_order).any(|order| self.free_extents(order) > 0),
        }
    }
}
