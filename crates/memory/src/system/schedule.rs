//! When pieces of memory are to become superpages, for a policy that knows the whole trace.

use super::{Place, System};
use std::collections::BTreeMap;

/// The times at which a piece may become a superpage, in accesses since the trace began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first of them.
    pub from: u64,
    /// The first that is too late.
    pub to: u64,
}

impl Span {
    /// Whether a time lies in the span.
    pub const fn holds(&self, time: u64) -> bool {
        self.from <= time && time < self.to
    }
}

/// Pieces by their first page and level, each with the spans in which it is to become a superpage or, where it is one, to be broken.
///
/// The spans of one piece do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    promoted: BTreeMap<(Place, usize), Vec<Span>>,
    demoted: BTreeMap<(Place, usize), Vec<Span>>,
    /// The first times of `promoted`, in order.
    begins: Vec<(u64, Place, usize)>,
}

impl Schedule {
    /// The schedule that promotes pieces in these spans, and breaks superpages in those.
    pub fn new(
        promoted: impl IntoIterator<Item = (Place, usize, Span)>,
        demoted: impl IntoIterator<Item = (Place, usize, Span)>,
    ) -> Self {
        let mut schedule = Self::default();
        for (first, level, span) in promoted {
            schedule.begins.push((span.from, first, level));
            let spans = schedule.promoted.entry((first, level)).or_default();
            spans.push(span);
        }
        for (first, level, span) in demoted {
            let spans = schedule.demoted.entry((first, level)).or_default();
            spans.push(span);
        }
        let all = schedule
            .promoted
            .values_mut()
            .chain(schedule.demoted.values_mut());
        all.for_each(|spans| spans.sort_unstable());
        schedule.begins.sort_unstable();
        schedule.begins.dedup();
        schedule
    }

    /// Whether nothing is ever promoted.
    pub fn is_empty(&self) -> bool {
        self.promoted.is_empty()
    }

    /// The pieces that are promoted, with their levels and spans.
    pub fn promotions(&self) -> impl Iterator<Item = (Place, usize, &[Span])> {
        let all = self.promoted.iter();
        all.map(|((first, level), spans)| (*first, *level, &spans[..]))
    }

    /// Whether a piece is to become a superpage at a time.
    pub fn promotes(&self, first: Place, level: usize, time: u64) -> bool {
        holds(&self.promoted, first, level, time)
    }

    pub(super) fn demotes(&self, first: Place, level: usize, time: u64) -> bool {
        holds(&self.demoted, first, level, time)
    }

    /// The pieces whose spans begin at a time.
    pub fn beginning_at(&self, time: u64) -> impl Iterator<Item = (Place, usize)> {
        let first = self.begins.partition_point(|(from, ..)| *from < time);
        let same = self.begins[first..].iter();
        same.take_while(move |(from, ..)| *from == time)
            .map(|(_, place, level)| (*place, *level))
    }
}

fn holds(all: &BTreeMap<(Place, usize), Vec<Span>>, first: Place, level: usize, time: u64) -> bool {
    let Some(spans) = all.get(&(first, level)) else {
        return false;
    };
    let next = spans.partition_point(|span| span.from <= time);
    next.checked_sub(1).is_some_and(|at| spans[at].holds(time))
}

/// A piece became a superpage, or a superpage was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// The first page of the piece.
    pub first: Place,
    /// Its level.
    pub level: usize,
    /// The accesses before it.
    pub time: u64,
    /// Whether the piece became a superpage.
    pub promoted: bool,
}

/// The changes of superpages so far, if somebody asked for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    changes: Vec<Resized>,
    most: usize,
    /// Whether there were more.
    full: bool,
}

impl System<'_> {
    /// Writes down at most so many changes of superpages from now on.
    pub fn log_changes(&mut self, most: usize) {
        self.log.most = most;
    }

    /// The changes that were written down; `None` where there were more than asked for.
    pub fn changes(&self) -> Option<&[Resized]> {
        (!self.log.full).then_some(&self.log.changes[..])
    }

    pub(super) fn note_change(&mut self, first: Place, level: usize, promoted: bool) {
        let time = self.now;
        let Log {
            changes,
            most,
            full,
        } = &mut self.log;
        if changes.len() < *most {
            changes.push(Resized {
                first,
                level,
                time,
                promoted,
            });
        } else {
            *full |= *most > 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::SpaceId;

    #[test]
    fn pieces_are_promoted_in_their_spans_alone() {
        let at = |page| Place {
            space: SpaceId(1),
            page,
        };
        let span = |from, to| Span { from, to };
        let schedule = Schedule::new(
            [
                (at(8), 2, span(30, 40)),
                (at(8), 2, span(5, 9)),
                (at(0), 1, span(5, 6)),
            ],
            [(at(8), 2, span(9, 10))],
        );
        let times = |level| -> Vec<u64> {
            let all = 0..50;
            all.filter(|time| schedule.promotes(at(8), level, *time))
                .collect()
        };
        assert_eq!(times(2), (5..9).chain(30..40).collect::<Vec<_>>());
        assert_eq!(times(1), [0; 0]);
        assert!(schedule.demotes(at(8), 2, 9) && !schedule.demotes(at(8), 2, 8));
        let at_5: Vec<_> = schedule.beginning_at(5).collect();
        assert_eq!(at_5, [(at(0), 1), (at(8), 2)]);
        assert_eq!(schedule.beginning_at(6).count(), 0);
    }
}
