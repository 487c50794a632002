//! The buddy allocator: free extents, merged wherever they can be (Knuth, The Art of Computer
//! Programming, volume 1, section 2.5).

use super::allocators::Chosen;
use super::colours::ColourMarks;
use super::lists::{Free, FreeLists, Zeroed};
use super::mobility::{Mobility, Pageblocks};
use super::runs::Runs;
use super::scattered::PlaceMarks;
use super::{Frame, MOST_FRAMES, MOST_ORDER, extents_of};
use std::ops::Range;

/// The free extents of a pool of frames.
///
/// Two buddies of one order are never both free, unless the order is the greatest: they merge into
/// one extent of the next order. The lists take memory in proportion to the fragmentation of free
/// memory, not to its size.
#[derive(Clone, Debug)]
pub struct Buddy {
    pub(super) frames: u64,
    pub(super) most_order: u8,
    pub(super) free_frames: u64,
    pub(super) lists: FreeLists,
    /// Free frames that are known to hold zeroes.
    pub(super) zeroed: Runs,
    /// The pageblocks, if memory has any.
    pub(super) blocks: Option<Pageblocks>,
    /// True if extents that become free are merged with their buddies.
    pub(super) merges: bool,
    /// The rule that chooses extents in place of the lists, if there is one.
    pub(super) chosen_by: Option<Chosen>,
    /// The search for frames by colour, if colours are distinguished.
    pub(super) colours: Option<ColourMarks>,
    /// The search for places of scattered superpages.
    pub(super) places: PlaceMarks,
}

/// The reason why frames were not freed. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreeError {
    /// The order is above the greatest, the frame is not aligned to the order, or the extent
    /// reaches beyond the pool.
    #[error("frame {} does not begin an extent of order {order}", first.0)]
    NoExtent {
        /// The requested first frame.
        first: Frame,
        /// The requested order.
        order: u8,
    },
    /// A frame of the extent is free already, or was never allocated.
    #[error("a frame of the extent of order {order} at frame {} is free already", first.0)]
    AlreadyFree {
        /// Its first frame.
        first: Frame,
        /// Its order.
        order: u8,
    },
}

impl Buddy {
    /// A pool of `frames` frames, all free and none known to hold zeroes, in extents up to
    /// `most_order`. Larger values than [`MOST_FRAMES`] and [`MOST_ORDER`] count as these.
    pub fn new(frames: u64, most_order: u8) -> Self {
        let mut buddy = Self::occupied(frames, most_order);
        let whole = buddy.frames >> buddy.most_order;
        buddy.lists.insert_top(0..whole, Zeroed::None);
        let rest = whole << buddy.most_order..buddy.frames;
        buddy.free_frames = whole << buddy.most_order;
        buddy.begin_free(rest);
        buddy
    }

    /// Frees a range of a new pool that touches nothing that is free.
    pub(super) fn begin_free(&mut self, frames: Range<u64>) {
        self.free_frames += frames.end - frames.start;
        for (first, order) in extents_of(frames, self.most_order) {
            self.lists.insert(Free {
                first,
                order,
                zeroed: Zeroed::None,
                mobility: self.mobility_of(first),
            });
        }
    }

    /// A pool of which nothing is free.
    pub fn occupied(frames: u64, most_order: u8) -> Self {
        let most_order = most_order.min(MOST_ORDER);
        Self {
            frames: frames.min(MOST_FRAMES),
            most_order,
            free_frames: 0,
            lists: FreeLists::new(most_order),
            zeroed: Runs::default(),
            blocks: None,
            merges: true,
            chosen_by: None,
            colours: None,
            places: PlaceMarks::default(),
        }
    }

    /// A pool of which nothing is free, with blocks that are kept for pages of a mobility.
    pub(super) fn grouped(frames: u64, most_order: u8, blocks: Pageblocks) -> Self {
        Self {
            blocks: Some(blocks),
            ..Self::occupied(frames, most_order)
        }
    }

    /// The mobility of a frame's pageblock. Always movable if memory was empty at first.
    pub fn mobility_of(&self, frame: u64) -> Mobility {
        let blocks = self.blocks.as_ref();
        blocks.map_or(Mobility::Movable, |blocks| blocks.of(frame))
    }

    /// Stops merging extents that become free. Experiments use this to measure the worth of
    /// merging.
    pub fn stop_merging(&mut self) {
        self.merges = false;
    }

    /// The number of frames in the pool, free or not.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The greatest order of an extent.
    pub const fn most_order(&self) -> u8 {
        self.most_order
    }

    /// The number of free frames.
    pub const fn free_frames(&self) -> u64 {
        self.free_frames
    }

    /// The number of free extents of exactly this order, as `/proc/buddyinfo` counts.
    pub fn free_extents(&self, order: u8) -> u64 {
        self.lists.count(order)
    }

    /// The number of free extents of exactly this order in blocks of this mobility, as
    /// `/proc/pagetypeinfo` counts.
    pub fn free_extents_of(&self, order: u8, mobility: Mobility) -> u64 {
        if order < self.most_order {
            return self.lists.count_of(order, mobility);
        }
        let contents = Zeroed::EACH.into_iter();
        let numbers = contents.flat_map(|zeroed| self.lists.top(zeroed).iter().flatten());
        numbers
            .filter(|number| self.mobility_of(number << order) == mobility)
            .count() as u64
    }

    /// The number of extents of this order that could be allocated now. Free extents of this order
    /// and above are cut for the count. Zero above the greatest order.
    pub fn possible(&self, order: u8) -> u64 {
        let orders = order..=self.most_order;
        orders
            .map(|larger| self.lists.count(larger) << (larger - order))
            .sum()
    }

    /// First frames and orders of all free extents, by order and address.
    pub fn iter(&self) -> impl Iterator<Item = (Frame, u8)> {
        self.lists
            .iter()
            .map(|(first, order)| (Frame(first), order))
    }

    /// The free extent that the frame lies in: its first frame and its order.
    pub fn extent_of(&self, frame: Frame) -> Option<(Frame, u8)> {
        let free = self.lists.holding(frame.0)?;
        Some((Frame(free.first), free.order))
    }

    /// Returns true if the frame is free.
    pub fn is_free(&self, frame: Frame) -> bool {
        self.lists.holding(frame.0).is_some()
    }

    /// The free parts of an extent: first frames and orders, by address. Nothing if the pool has no
    /// such extent.
    pub fn free_in(&self, first: Frame, order: u8) -> impl Iterator<Item = (Frame, u8)> {
        let frames = self.extent(first, order).unwrap_or(0..0);
        let whole = self.whole(&frames, order).map(|_| (first, order));
        let parts = if whole.is_some() { 0..0 } else { frames };
        let parts = self.lists.beginning_in(parts);
        let parts = parts.map(|free| (Frame(free.first), free.order));
        whole.into_iter().chain(parts)
    }

    /// The number of free frames in an extent.
    pub fn free_frames_in(&self, first: Frame, order: u8) -> u64 {
        self.free_in(first, order)
            .map(|(_, order)| 1 << order)
            .sum()
    }

    /// The lowest extent of that order that is wholly free and begins at that frame or above.
    pub fn next_free(&self, from: Frame, order: u8) -> Option<Frame> {
        if order > self.most_order || from.0 >= self.frames {
            return None;
        }
        let from = from.0.next_multiple_of(1 << order);
        if self
            .lists
            .holding(from)
            .is_some_and(|free| free.order >= order)
        {
            return Some(Frame(from));
        }
        let orders = order..=self.most_order;
        let found = orders.filter_map(|larger| self.lists.next(larger, from));
        found.min().map(Frame)
    }

    /// Frees an extent that was allocated, in one piece or in several, and merges it with its
    /// buddies. Its content counts as unknown.
    ///
    /// # Errors
    /// Returns an error and changes nothing if the pool has no such extent, or any frame of it is
    /// free.
    pub fn free(&mut self, first: Frame, order: u8) -> Result<(), FreeError> {
        self.put_back(first, order, Zeroed::None)
    }

    /// Frees an extent that holds zeroes: one that was allocated so and never stored to.
    ///
    /// # Errors
    /// Returns the errors of [`Buddy::free`].
    pub fn free_zeroed(&mut self, first: Frame, order: u8) -> Result<(), FreeError> {
        self.put_back(first, order, Zeroed::All)
    }

    fn put_back(&mut self, first: Frame, order: u8, zeroed: Zeroed) -> Result<(), FreeError> {
        let Some(frames) = self.extent(first, order) else {
            return Err(FreeError::NoExtent { first, order });
        };
        if self.lists.meets(&frames) {
            return Err(FreeError::AlreadyFree { first, order });
        }
        if zeroed == Zeroed::All {
            self.zeroed.add(frames);
        }
        self.merge(Free {
            first: first.0,
            order,
            zeroed,
            mobility: self.mobility_of(first.0),
        });
        Ok(())
    }

    /// Puts an extent of which no frame is free on the lists, merged with its buddies.
    pub(super) fn merge(&mut self, mut free: Free) {
        self.free_frames += 1 << free.order;
        if let Some(chosen) = &mut self.chosen_by {
            chosen.freed(free.frames());
        }
        if let Some(colours) = &mut self.colours {
            colours.freed(&free.frames());
        }
        self.places.freed(&free.frames());
        while self.merges && free.order < self.most_order {
            let size = 1 << free.order;
            let Some(buddy) = self.lists.at(free.first ^ size, free.order) else {
                break;
            };
            self.lists.remove(buddy);
            let first = free.first & !size;
            free = Free {
                first,
                order: free.order + 1,
                zeroed: free.zeroed.with(buddy.zeroed),
                mobility: self.mobility_of(first),
            };
        }
        self.lists.insert(free);
    }

    /// The frames of an extent, if there can be such a one in the pool.
    pub(super) fn extent(&self, first: Frame, order: u8) -> Option<Range<u64>> {
        if order > self.most_order || !first.0.is_multiple_of(1 << order) {
            return None;
        }
        let end = first.0.checked_add(1 << order)?;
        (end <= self.frames).then_some(first.0..end)
    }

    /// The free extent that the whole of an extent lies in. One that is wholly free lies in one,
    /// because what can be merged is.
    pub(super) fn whole(&self, frames: &Range<u64>, order: u8) -> Option<Free> {
        let found = self.lists.holding(frames.start)?;
        (found.order >= order && !frames.is_empty()).then_some(found)
    }
}
