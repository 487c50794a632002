//! Allocation of frames: the choice of a free extent, and of the part that is split off.

use super::Frame;
use super::buddy::Buddy;
use super::lists::{Free, Zeroed};
use super::mobility::Mobility;
use std::ops::Range;

/// The choice among the free extents of the smallest sufficient order.
///
/// An extent that is larger than the request is halved until it fits. The same choice applies to
/// the halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The lowest address.
    #[default]
    Lowest,
    /// The highest address.
    Highest,
    /// An extent that holds zeroes throughout, else in part, else any. Of equals, the lowest.
    Zeroed,
    /// An extent that holds zeroes nowhere, else in part, else any. Of equals, the lowest.
    NotZeroed,
}

impl Choice {
    /// The preferred contents in order, for a choice by content.
    const fn contents(self) -> Option<[Zeroed; 3]> {
        match self {
            Self::Lowest | Self::Highest => None,
            Self::Zeroed => Some([Zeroed::All, Zeroed::Some, Zeroed::None]),
            Self::NotZeroed => Some([Zeroed::None, Zeroed::Some, Zeroed::All]),
        }
    }

    /// The index of the half that is taken.
    fn half(self, halves: &[Free; 2]) -> usize {
        match self.contents() {
            None => usize::from(self == Self::Highest),
            Some(wanted) => {
                let rank = |half: &Free| wanted.iter().position(|zeroed| *zeroed == half.zeroed);
                usize::from(rank(&halves[1]) < rank(&halves[0]))
            }
        }
    }
}

/// Allocated frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The first frame.
    pub first: Frame,
    /// The number of frames that were known to hold zeroes.
    pub zeroed: u64,
}

impl Buddy {
    /// Allocates an extent of an order: the lowest part of the lowest free extent of the smallest
    /// sufficient order. `None` if no free extent is large enough.
    pub fn allocate(&mut self, order: u8) -> Option<Frame> {
        self.allocate_by(order, Choice::Lowest)
            .map(|given| given.first)
    }

    /// Allocates an extent of an order for movable pages, by `choice`. `None` if no free extent is
    /// large enough.
    pub fn allocate_by(&mut self, order: u8, choice: Choice) -> Option<Given> {
        self.allocate_for(order, choice, Mobility::Movable)
    }

    /// Allocates an extent of an order for pages of a mobility, by `choice`, from blocks of this
    /// mobility if they have one. `None` if no free extent is large enough. An allocator with a
    /// rule of its own ([`Buddy::choose_by`]) ignores choice and mobility.
    pub fn allocate_for(&mut self, order: u8, choice: Choice, mobility: Mobility) -> Option<Given> {
        if let Some(first) = self.chosen_by_rule(order) {
            let first = first?;
            let zeroed = self.take_counted(first, order)?;
            return Some(Given { first, zeroed });
        }
        // Memory that was empty at first has no pageblocks: all of it counts as movable.
        let mobility = match self.blocks {
            Some(_) => mobility,
            None => Mobility::Movable,
        };
        let mut orders = order..=self.most_order;
        let own = orders.find_map(|larger| self.chosen(larger, choice, mobility));
        let found = match own {
            Some(found) => found,
            None => self.stolen(order, choice, mobility)?,
        };
        self.lists.remove(found);
        let given = self.narrow(found, order, |halves| choice.half(halves));
        Some(Given {
            first: Frame(given.first),
            zeroed: self.leave(given),
        })
    }

    /// Allocates exactly this extent if all of it is free. Otherwise nothing changes.
    /// [`Buddy::zeroed_in`] returns its content beforehand.
    pub fn take(&mut self, first: Frame, order: u8) -> bool {
        self.take_counted(first, order).is_some()
    }

    /// Allocates exactly this extent, as [`Buddy::take`]. Returns the number of its frames that
    /// held zeroes.
    pub(super) fn take_counted(&mut self, first: Frame, order: u8) -> Option<u64> {
        let frames = self.extent(first, order)?;
        let found = self.whole(&frames, order)?;
        self.lists.remove(found);
        let given = self.narrow(found, order, |halves| {
            usize::from(halves[1].first <= first.0)
        });
        Some(self.leave(given))
    }

    /// Isolates an extent: allocates all its free parts. Returns their first frames and orders, by
    /// address.
    pub fn isolate(&mut self, first: Frame, order: u8) -> Vec<(Frame, u8)> {
        let parts: Vec<(Frame, u8)> = self.free_in(first, order).collect();
        for (first, order) in &parts {
            self.take(*first, *order);
        }
        parts
    }

    /// Takes an extent for pages of a mobility from another mobility's blocks. It takes one of the
    /// largest free order, so that few blocks are mixed (`__rmqueue_fallback` in
    /// `mm/page_alloc.c`). A block of which half is free changes to the new mobility.
    fn stolen(&mut self, order: u8, choice: Choice, mobility: Mobility) -> Option<Free> {
        let order_of_blocks = self.blocks.as_ref()?.order;
        let mut orders = (order..=self.most_order).rev();
        let found = orders.find_map(|larger| {
            let mut others = mobility.fallbacks().into_iter();
            others.find_map(|other| self.chosen(larger, choice, other))
        })?;
        let first = found.first >> order_of_blocks;
        let blocks = first..found.frames().end.div_ceil(1 << order_of_blocks);
        let of_one = || self.free_frames_in(Frame(first << order_of_blocks), order_of_blocks);
        if found.order >= order_of_blocks || of_one() >= 1 << (order_of_blocks - 1) {
            self.claim(blocks, order_of_blocks, mobility);
        }
        self.lists.at(found.first, found.order)
    }

    /// Keeps blocks for pages of a mobility from now on.
    fn claim(&mut self, blocks: Range<u64>, order: u8, mobility: Mobility) {
        let frames = blocks.start << order..blocks.end << order;
        let free: Vec<Free> = self.lists.beginning_in(frames).collect();
        if let Some(of) = &mut self.blocks {
            of.set(blocks, mobility);
        }
        for extent in free {
            self.lists.remove(extent);
            self.lists.insert(Free { mobility, ..extent });
        }
    }

    /// The extent of exactly this order that pages of a mobility receive.
    fn chosen(&self, order: u8, choice: Choice, mobility: Mobility) -> Option<Free> {
        if order == self.most_order && self.blocks.is_some() {
            return self.chosen_of_top(choice, mobility);
        }
        let lists = &self.lists;
        let each = Zeroed::EACH.into_iter();
        match (choice.contents(), choice) {
            (Some(wanted), _) => wanted
                .into_iter()
                .find_map(|zeroed| lists.lowest_of(order, zeroed, mobility)),
            (None, Choice::Highest) => each
                .filter_map(|zeroed| lists.highest_of(order, zeroed, mobility))
                .max_by_key(|free| free.first),
            (None, _) => each
                .filter_map(|zeroed| lists.lowest_of(order, zeroed, mobility))
                .min_by_key(|free| free.first),
        }
    }

    /// Chooses among extents of the greatest order. One list holds these extents of all mobilities.
    fn chosen_of_top(&self, choice: Choice, mobility: Mobility) -> Option<Free> {
        let each = Zeroed::EACH.into_iter();
        match (choice.contents(), choice) {
            (Some(wanted), _) => wanted
                .into_iter()
                .find_map(|zeroed| self.top_of(zeroed, mobility).next()),
            (None, Choice::Highest) => each
                .filter_map(|zeroed| self.top_of(zeroed, mobility).last())
                .max_by_key(|free| free.first),
            (None, _) => each
                .filter_map(|zeroed| self.top_of(zeroed, mobility).next())
                .min_by_key(|free| free.first),
        }
    }

    /// The extents of the greatest order with this content in blocks of this mobility, by address.
    fn top_of(&self, zeroed: Zeroed, mobility: Mobility) -> impl Iterator<Item = Free> {
        let (top, order) = (self.lists.top(zeroed), self.most_order);
        let of_kind = self.blocks.as_ref().and_then(|it| it.frames_of(mobility));
        let all = of_kind.is_none();
        // Few blocks have another mobility than movable, so only those are searched.
        let kept = of_kind.into_iter().flatten();
        let within = move |frames: Range<u64>| {
            top.within(frames.start.div_ceil(1 << order)..frames.end.div_ceil(1 << order))
        };
        let numbers = kept.flat_map(within).flatten();
        let every = all.then(|| top.iter().flatten()).into_iter().flatten();
        numbers
            .chain(every)
            .map(move |number| number << order)
            .filter(move |first| self.mobility_of(*first) == mobility)
            .map(move |first| Free {
                first,
                order,
                zeroed,
                mobility: Mobility::Movable,
            })
    }

    /// Halves an unlisted extent until its order fits. The other halves go on the lists.
    fn narrow(&mut self, found: Free, order: u8, half: impl Fn(&[Free; 2]) -> usize) -> Free {
        let mut free = found;
        while free.order > order {
            let halves = self.halves(free);
            let taken = half(&halves);
            self.lists.insert(halves[1 - taken]);
            free = halves[taken];
        }
        free
    }

    fn halves(&self, free: Free) -> [Free; 2] {
        let order = free.order - 1;
        [free.first, free.first + (1 << order)].map(|first| {
            let mut half = Free {
                first,
                order,
                zeroed: free.zeroed,
                mobility: self.mobility_of(first),
            };
            if half.zeroed == Zeroed::Some {
                half.zeroed = self.content(half.frames());
            }
            half
        })
    }

    /// Counts an unlisted extent as allocated. Returns the number of its frames that held zeroes.
    fn leave(&mut self, free: Free) -> u64 {
        self.free_frames -= 1 << free.order;
        if let Some(chosen) = &mut self.chosen_by {
            chosen.taken(free.frames());
        }
        let zeroed = match free.zeroed {
            Zeroed::None => return 0,
            Zeroed::Some => self.zeroed.count_within(free.frames()),
            Zeroed::All => 1 << free.order,
        };
        self.zeroed.remove(free.frames());
        zeroed
    }
}
