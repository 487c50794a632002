//! The free extents, by order, by content and by address.

use super::runs::Runs;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::ops::Range;

/// How many frames of a free extent are known to hold zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zeroed {
    None,
    Some,
    All,
}

impl Zeroed {
    pub(super) const EACH: [Self; 3] = [Self::None, Self::Some, Self::All];

    /// What two buddies make together.
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
}

impl Free {
    pub(super) const fn frames(self) -> Range<u64> {
        self.first..self.first + (1 << self.order)
    }
}

/// The free extents. Those of the greatest order never merge, and there may be very many of them side by side: they are kept as runs of
/// extents, so that memory which nobody has split costs nothing.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    most_order: u8,
    /// First frames of the extents below the greatest order, by order and content.
    below: Vec<[BTreeSet<u64>; 3]>,
    /// The same extents by their first frame.
    by_first: BTreeMap<u64, (u8, Zeroed)>,
    /// Numbers of the extents of the greatest order (first frames in units of its size), by content.
    top: [Runs; 3],
}

impl Lists {
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
            self.below[usize::from(free.order)][free.zeroed as usize].insert(free.first);
            self.by_first.insert(free.first, (free.order, free.zeroed));
        }
    }

    pub(super) fn remove(&mut self, free: Free) {
        if free.order == self.most_order {
            let number = free.first >> free.order;
            self.top[free.zeroed as usize].remove(number..number + 1);
        } else {
            self.below[usize::from(free.order)][free.zeroed as usize].remove(&free.first);
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

    /// Whether the frame lies in a free extent of the greatest order.
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
        })
    }

    /// The free extent of exactly that place and order.
    pub(super) fn at(&self, first: u64, order: u8) -> Option<Free> {
        if order == self.most_order {
            return self.top_at(first >> order);
        }
        let (its_order, zeroed) = *self.by_first.get(&first)?;
        (its_order == order).then_some(Free {
            first,
            order,
            zeroed,
        })
    }

    /// The last free extent below the greatest order that begins before that frame.
    fn before(&self, frame: u64) -> Option<Free> {
        let (first, (order, zeroed)) = self.by_first.range(..frame).next_back()?;
        Some(Free {
            first: *first,
            order: *order,
            zeroed: *zeroed,
        })
    }

    /// The free extent that the frame lies in.
    pub(super) fn holding(&self, frame: u64) -> Option<Free> {
        self.before(frame.saturating_add(1))
            .filter(|free| free.frames().contains(&frame))
            .or_else(|| self.top_at(frame >> self.most_order))
    }

    /// Whether any frame of an extent (of at most the greatest order) is free.
    pub(super) fn meets(&self, frames: &Range<u64>) -> bool {
        self.top_holds(frames.start)
            || self
                .before(frames.end)
                .is_some_and(|free| free.frames().end > frames.start)
    }

    /// The free extents below the greatest order that begin in that range, by address.
    pub(super) fn beginning_in(&self, frames: Range<u64>) -> impl Iterator<Item = Free> {
        let found = self.by_first.range(frames);
        found.map(|(first, (order, zeroed))| Free {
            first: *first,
            order: *order,
            zeroed: *zeroed,
        })
    }

    /// The lowest extent of that order and content.
    pub(super) fn lowest(&self, order: u8, zeroed: Zeroed) -> Option<Free> {
        let first = match self.below.get(usize::from(order)) {
            Some(lists) => lists[zeroed as usize].first().copied(),
            None => self.top[zeroed as usize].first().map(|it| it << order),
        };
        first.map(|first| Free {
            first,
            order,
            zeroed,
        })
    }

    /// The highest extent of that order and content.
    pub(super) fn highest(&self, order: u8, zeroed: Zeroed) -> Option<Free> {
        let first = match self.below.get(usize::from(order)) {
            Some(lists) => lists[zeroed as usize].last().copied(),
            None => self.top[zeroed as usize].last().map(|it| it << order),
        };
        first.map(|first| Free {
            first,
            order,
            zeroed,
        })
    }

    /// The first frame of the lowest extent of that order that begins at that frame or above, which is aligned to the order.
    pub(super) fn next(&self, order: u8, from: u64) -> Option<u64> {
        let of = |zeroed| match self.below.get(usize::from(order)) {
            Some(lists) => lists[zeroed as usize].range(from..).next().copied(),
            None => {
                let number = self.top[zeroed as usize].next(from.div_ceil(1 << order));
                number.map(|number| number << order)
            }
        };
        Zeroed::EACH.into_iter().filter_map(of).min()
    }

    /// How many free extents of that order there are.
    pub(super) fn count(&self, order: u8) -> u64 {
        match self.below.get(usize::from(order)) {
            Some(lists) => lists.iter().map(|list| list.len() as u64).sum(),
            None if order == self.most_order => self.top.iter().map(Runs::count).sum(),
            None => 0,
        }
    }

    /// First frames and orders, by order and address.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u8)> {
        let below = self.below.iter().zip(0..).flat_map(|(lists, order)| {
            let lists = [&lists[0], &lists[1], &lists[2]];
            ascending(lists.map(|list| list.iter().copied().peekable())).map(move |it| (it, order))
        });
        let top = [&self.top[0], &self.top[1], &self.top[2]];
        let order = self.most_order;
        let numbers = ascending(top.map(|runs| runs.iter().flatten().peekable()));
        below.chain(numbers.map(move |number| (number << order, order)))
    }

    /// Every extent below the greatest order, by content, as the lists have it and not as the addresses do.
    pub(super) fn listed(&self) -> impl Iterator<Item = Free> {
        let orders = self.below.iter().zip(0..);
        orders.flat_map(|(lists, order)| {
            let contents = lists.iter().zip(Zeroed::EACH);
            contents.flat_map(move |(list, zeroed)| {
                list.iter().map(move |first| Free {
                    first: *first,
                    order,
                    zeroed,
                })
            })
        })
    }
}

/// Three ascending sequences as one.
fn ascending<I: Iterator<Item = u64>>(mut parts: [Peekable<I>; 3]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let heads = parts.iter_mut().zip(0usize..);
        let (_, lowest) = heads
            .filter_map(|(part, index)| Some((*part.peek()?, index)))
            .min()?;
        parts[lowest].next()
    })
}
