//! When pieces of memory are to become superpages, for a policy that knows the whole trace.

use super::{Decided, Foreseen, Piece, Place, System};
use std::collections::BTreeMap;

/// The moments at which a piece may become a superpage. Hosts number the references of a trace; the
/// number of a reference is its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first of them.
    pub from: u64,
    /// The first that is too late.
    pub to: u64,
}

impl Span {
    /// Returns true if a moment lies in the span.
    pub const fn holds(&self, moment: u64) -> bool {
        self.from <= moment && moment < self.to
    }
}

/// The spans in which pieces are to be promoted, or demoted if they are superpages, by first page
/// and level.
///
/// The spans of one piece do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    promoted: BTreeMap<(Place, usize), Vec<Span>>,
    demoted: BTreeMap<(Place, usize), Vec<Span>>,
    /// The first moments of `promoted`, in order.
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

    /// Returns true if no piece is ever promoted.
    pub fn is_empty(&self) -> bool {
        self.promoted.is_empty()
    }

    /// The pieces that are promoted, with their levels and spans.
    pub fn promotions(&self) -> impl Iterator<Item = (Place, usize, &[Span])> {
        let all = self.promoted.iter();
        all.map(|((first, level), spans)| (*first, *level, &spans[..]))
    }

    /// Returns true if a piece is to become a superpage at a moment.
    pub fn promotes(&self, first: Place, level: usize, moment: u64) -> bool {
        holds(&self.promoted, first, level, moment)
    }

    pub(super) fn demotes(&self, first: Place, level: usize, moment: u64) -> bool {
        holds(&self.demoted, first, level, moment)
    }

    /// The pieces whose spans begin at a moment.
    pub fn beginning_at(&self, moment: u64) -> impl Iterator<Item = (Place, usize)> {
        let first = self.begins.partition_point(|(from, ..)| *from < moment);
        let same = self.begins[first..].iter();
        same.take_while(move |(from, ..)| *from == moment)
            .map(|(_, place, level)| (*place, *level))
    }
}

fn holds(
    all: &BTreeMap<(Place, usize), Vec<Span>>,
    first: Place,
    level: usize,
    moment: u64,
) -> bool {
    let Some(spans) = all.get(&(first, level)) else {
        return false;
    };
    let next = spans.partition_point(|span| span.from <= moment);
    next.checked_sub(1)
        .is_some_and(|at| spans[at].holds(moment))
}

/// A piece became a superpage, or a superpage was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// The first page of the piece.
    pub first: Place,
    /// Its level.
    pub level: usize,
    /// When it did.
    pub moment: u64,
    /// True if the piece became a superpage.
    pub promoted: bool,
}

/// The changes of superpages so far, if logging is on.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    changes: Vec<Resized>,
    most: usize,
    /// True if there were more changes than the log may hold.
    full: bool,
}

impl System<'_> {
    /// Logs at most `most` changes of superpages from now on.
    pub fn log_changes(&mut self, most: usize) {
        self.log.most = most;
    }

    /// The changes that were written down; `None` where there were more than asked for.
    pub fn changes(&self) -> Option<&[Resized]> {
        (!self.log.full).then_some(&self.log.changes[..])
    }

    /// Returns true if moments matter: changes are logged, or a schedule names moments.
    pub const fn reads_moments(&self) -> bool {
        self.log.most > 0 || matches!(self.foreseen, Some(Foreseen::Schedule(_)))
    }

    /// The next changes happen at this moment.
    #[inline]
    pub const fn set_moment(&mut self, moment: u64) {
        self.moment = moment;
    }

    pub(super) fn note_change(&mut self, piece: Piece, promoted: bool) {
        let Piece { first, level } = piece;
        let moment = self.moment;
        self.note_decision(
            piece,
            match promoted {
                true => Decided::Promoted,
                false => Decided::Demoted,
            },
        );
        let Log {
            changes,
            most,
            full,
        } = &mut self.log;
        if changes.len() < *most {
            changes.push(Resized {
                first,
                level,
                moment,
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
