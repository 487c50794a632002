//! The free lists: free extents by order, by content and by address.

use super::mobility::Mobility;
use super::runs::Runs;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::ops::Range;

/// The content of a free extent: all, some or none of its frames are known to hold zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zeroed {
    None,
    Some,
    All,
}

impl Zeroed {
    pub(super) const EACH: [Self; 3] = [Self::None, Self::Some, Self::All];

    /// The content of two merged buddies.
    pub(super) fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Some }
    }
}

/// A free extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) first: u64,
    pub(super) order: u8,
    pub(super) zeroed: Zeroed,
    /// The mobility of the first frame's block.
    pub(super) mobility: Mobility,
}

impl Free {
    pub(super) const fn frames(self) -> Range<u64> {
        self.first..self.first + (1 << self.order)
    }
}

/// The number of lists of each order: one for each content and mobility.
const LISTS: usize = Zeroed::EACH.len() * Mobility::EACH.len();

const fn list(zeroed: Zeroed, mobility: Mobility) -> usize {
    zeroed as usize + Zeroed::EACH.len() * mobility as usize
}

/// The free lists. Extents of the greatest order never merge, and many may lie side by side, so
/// they are kept as runs. Unfragmented memory then costs nothing.
#[derive(Clone, Debug)]
pub(super) struct FreeLists {
    most_order: u8,
    /// First frames of the extents below the greatest order, by order, content and mobility.
    below: Vec<[BTreeSet<u64>; LISTS]>,
    /// The extents below the greatest order, by their first frame.
    by_first: BTreeMap<u64, (u8, Zeroed, Mobility)>,
    /// Numbers of the extents of the greatest order (first frames in units of its size), by
    /// content.
    top: [Runs; 3],
}

impl FreeLists {
    pub(super) fn new(most_order: u8) -> Self {
        Self {
            most_order,
            below: vec![Default::default(); most_order.into()],
            by_first: BTreeMap::new(),
            top: Default::default(),
        }
    }

    pub(super) fn insert(&mut self, free: Free) {
        if free.order == self.most_order {
            let number = free.first >> free.order;
            self.top[free.zeroed as usize].add(number..number + 1);
        } else {
            let list = list(free.zeroed, free.mobility);
            self.below[usize::from(free.order)][list].insert(free.first);
            self.by_first
                .insert(free.first, (free.order, free.zeroed, free.mobility));
        }
    }

    pub(super) fn remove(&mut self, free: Free) {
        if free.order == self.most_order {
            let number = free.first >> free.order;
            self.top[free.zeroed as usize].remove(number..number + 1);
        } else {
            let list = list(free.zeroed, free.mobility);
            self.below[usize::from(free.order)][list].remove(&free.first);
            self.by_first.remove(&free.first);
        }
    }

    /// Many extents of the greatest order, by their numbers.
    pub(super) fn insert_top(&mut self, numbers: Range<u64>, zeroed: Zeroed) {
        self.top[zeroed as usize].add(numbers);
    }

    pub(super) fn remove_top(&mut self, numbers: Range<u64>, zeroed: Zeroed) {
        self.top[zeroed as usize].remove(numbers);
    }

    pub(super) const fn top(&self, zeroed: Zeroed) -> &Runs {
        &self.top[zeroed as usize]
    }

    /// Returns true if the frame lies in a free extent of the greatest order.
    pub(super) fn top_holds(&self, frame: u64) -> bool {
        self.top_at(frame >> self.most_order).is_some()
    }

    fn top_at(&self, number: u64) -> Option<Free> {
        let of = |zeroed: &Zeroed| self.top[*zeroed as usize].contains(number);
        let zeroed = Zeroed::EACH.into_iter().find(of)?;
        Some(Free {
            first: number << self.most_order,
            order: self.most_order,
            zeroed,
            mobility: Mobility::Movable,
        })
    }

    /// The free extent with exactly this first frame and order.
    pub(super) fn at(&self, first: u64, order: u8) -> Option<Free> {
        if order == self.most_order {
            return self.top_at(first >> order);
        }
        let (its_order, zeroed, mobility) = *self.by_first.get(&first)?;
        (its_order == order).then_some(Free {
            first,
            order,
            zeroed,
            mobility,
        })
    }

    /// The last free extent below the greatest order that begins before that frame.
    fn before(&self, frame: u64) -> Option<Free> {
        let (first, (order, zeroed, mobility)) = self.by_first.range(..frame).next_back()?;
        Some(Free {
            first: *first,
            order: *order,
            zeroed: *zeroed,
            mobility: *mobility,
        })
    }

    /// The free extent that the frame lies in.
    pub(super) fn holding(&self, frame: u64) -> Option<Free> {
        self.before(frame.saturating_add(1))
            .filter(|free| free.frames().contains(&frame))
            .or_else(|| self.top_at(frame >> self.most_order))
    }

    /// Returns true if any frame of an extent of at most the greatest order is free.
    pub(super) fn meets(&self, frames: &Range<u64>) -> bool {
        self.top_holds(frames.start)
            || self
                .before(frames.end)
                .is_some_and(|free| free.frames().end > frames.start)
    }

    /// The free extents below the greatest order that begin in that range, by address.
    pub(super) fn beginning_in(&self, frames: Range<u64>) -> impl Iterator<Item = Free> {
        let found = self.by_first.range(frames);
        found.map(|(first, (order, zeroed, mobility))| Free {
            first: *first,
            order: *order,
            zeroed: *zeroed,
            mobility: *mobility,
        })
    }

    /// The lowest extent of that order and content.
    pub(super) fn lowest(&self, order: u8, zeroed: Zeroed) -> Option<Free> {
        let of_each = Mobility::EACH.into_iter();
        let lowest = of_each.filter_map(|mobility| self.lowest_of(order, zeroed, mobility));
        lowest.min_by_key(|free| free.first)
    }

    /// The lowest extent of that order, content and mobility. Those of the greatest order count as
    /// movable here.
    pub(super) fn lowest_of(&self, order: u8, zeroed: Zeroed, mobility: Mobility) -> Option<Free> {
        let first = match self.below.get(usize::from(order)) {
            Some(lists) => lists[list(zeroed, mobility)].first().copied(),
            None if mobility == Mobility::Movable => {
                self.top[zeroed as usize].first().map(|it| it << order)
            }
            None => None,
        };
        first.map(|first| Free {
            first,
            order,
            zeroed,
            mobility,
        })
    }

    /// The highest extent of that order, content and mobility, likewise.
    pub(super) fn highest_of(&self, order: u8, zeroed: Zeroed, mobility: Mobility) -> Option<Free> {
        let first = match self.below.get(usize::from(order)) {
            Some(lists) => lists[list(zeroed, mobility)].last().copied(),
            None if mobility == Mobility::Movable => {
                self.top[zeroed as usize].last().map(|it| it << order)
            }
            None => None,
        };
        first.map(|first| Free {
            first,
            order,
            zeroed,
            mobility,
        })
    }

    /// The first frame of the lowest extent of that order that begins at that frame or above, which
    /// is aligned to the order.
    pub(super) fn next(&self, order: u8, from: u64) -> Option<u64> {
        if let Some(lists) = self.below.get(usize::from(order)) {
            let next = lists.iter().filter_map(|list| list.range(from..).next());
            return next.min().copied();
        }
        let number = from.div_ceil(1 << order);
        let next = self.top.iter().filter_map(|runs| runs.next(number));
        next.min().map(|number| number << order)
    }

    /// The number of free extents of an order.
    pub(super) fn count(&self, order: u8) -> u64 {
        match self.below.get(usize::from(order)) {
            Some(lists) => lists.iter().map(|list| list.len() as u64).sum(),
            None if order == self.most_order => self.top.iter().map(Runs::count).sum(),
            None => 0,
        }
    }

    /// The number of free extents of `order`, below the greatest order, in blocks of `mobility`.
    pub(super) fn count_of(&self, order: u8, mobility: Mobility) -> u64 {
        let Some(lists) = self.below.get(usize::from(order)) else {
            return 0;
        };
        let each = Zeroed::EACH.into_iter();
        each.map(|zeroed| lists[list(zeroed, mobility)].len() as u64)
            .sum()
    }

    /// First frames and orders, by order and address.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u8)> {
        let below = self.below.iter().zip(0..).flat_map(|(lists, order)| {
            let lists = std::array::from_fn::<_, LISTS, _>(|list| &lists[list]);
            ascending(lists.map(|list| list.iter().copied().peekable())).map(move |it| (it, order))
        });
        let top = [&self.top[0], &self.top[1], &self.top[2]];
        let order = self.most_order;
        let numbers = ascending(top.map(|runs| runs.iter().flatten().peekable()));
        below.chain(numbers.map(move |number| (number << order, order)))
    }

    /// Every extent below the greatest order, by content, from the lists and not from the index by
    /// address.
    pub(super) fn listed(&self) -> impl Iterator<Item = Free> {
        let orders = self.below.iter().zip(0..);
        orders.flat_map(|(lists, order)| {
            let lists = lists.iter().zip(0..);
            lists.flat_map(move |(list, number): (_, usize)| {
                list.iter().map(move |first| Free {
                    first: *first,
                    order,
                    zeroed: Zeroed::EACH[number % Zeroed::EACH.len()],
                    mobility: Mobility::EACH[number / Zeroed::EACH.len()],
                })
            })
        })
    }
}

/// Merges ascending sequences.
fn ascending<I: Iterator<Item = u64>, const PARTS: usize>(
    mut parts: [Peekable<I>; PARTS],
) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let heads = parts.iter_mut().zip(0usize..);
        let (_, lowest) = heads
            .filter_map(|(part, index)| Some((*part.peek()?, index)))
            .min()?;
        parts[lowest].next()
    })
}
