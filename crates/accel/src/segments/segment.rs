//! One segment: its lookups from known TLBs, or from guessed ones.

use super::script::Script;
use crate::members::Superpages;
use crate::teams::Prepared;
use crate::translation::{TeamTranslation, TlbMark};
use std::sync::Arc;

/// A turn of a team that made no lookups.
pub(super) struct SegmentTurn {
    pub(super) prepared: Arc<Prepared>,
    pub(super) script: Script,
}

/// Consecutive turns.
pub(super) struct ReplaySegment {
    pub(super) number: usize,
    /// The superpages before the first turn.
    pub(super) superpages: Superpages,
    pub(super) turns: Vec<SegmentTurn>,
}

impl ReplaySegment {
    /// Makes the lookups of the segment. `rested` is called after each batch with the number of
    /// batches so far, and stops the replay if it returns false.
    fn replay<'a>(
        &self,
        tlbs: &mut [TeamTranslation<'a>],
        rested: &mut dyn FnMut(usize, &mut [TeamTranslation<'a>]) -> bool,
    ) {
        let mut superpages = self.superpages.clone();
        let mut batches = 0;
        let mut rested = |tlbs: &mut [TeamTranslation<'a>]| {
            batches += 1;
            rested(batches, tlbs)
        };
        for SegmentTurn { prepared, script } in &self.turns {
            let of_turn = prepared.batches();
            if !script.carry_out(of_turn, &mut superpages, tlbs, &mut rested) {
                return;
            }
        }
    }

    /// Makes the lookups of the segment with the TLBs at its start.
    pub(super) fn replay_all(&self, tlbs: &mut [TeamTranslation<'_>]) {
        self.replay(tlbs, &mut |_, _| true);
    }

    /// Makes the lookups of the segment with guessed TLBs.
    pub(super) fn guess(self, guessed: Vec<TeamTranslation<'_>>) -> GuessedSegment<'_> {
        let mut end = guessed;
        let mark = |batches, tlbs: &mut [TeamTranslation<'_>]| Marked {
            batches,
            tlbs: tlbs.iter_mut().map(TeamTranslation::mark).collect(),
        };
        let mut marks = vec![mark(0, &mut end)];
        self.replay(&mut end, &mut |batches, tlbs| {
            // Marks at twice the distance each: a repair is at most twice as long as necessary.
            if batches.is_power_of_two() {
                marks.push(mark(batches, tlbs));
            }
            true
        });
        GuessedSegment {
            segment: self,
            end,
            marks,
        }
    }
}

/// The TLBs after some batches of a segment.
struct Marked {
    batches: usize,
    tlbs: Vec<TlbMark>,
}

impl Marked {
    fn is_met_by(&self, tlbs: &mut [TeamTranslation<'_>]) -> bool {
        let mut pairs = tlbs.iter_mut().zip(&self.tlbs);
        pairs.all(|(tlb, mark)| tlb.is_at(mark))
    }
}

/// A segment whose lookups were made with guessed TLBs.
pub(super) struct GuessedSegment<'a> {
    pub(super) segment: ReplaySegment,
    end: Vec<TeamTranslation<'a>>,
    marks: Vec<Marked>,
}

impl<'a> GuessedSegment<'a> {
    /// Takes the TLBs at the start of the segment to its end, now that they are known. Makes the
    /// lookups again until the TLBs are those of the guessed replay at the same place. Both are the
    /// same from there on. Takes any guess for true if `believes` is set.
    pub(super) fn repair(
        self,
        tlbs: &mut [TeamTranslation<'a>],
        believes: bool,
    ) -> (ReplaySegment, Repaired) {
        let Self {
            segment,
            end,
            marks,
        } = self;
        let mut repaired = Repaired::default();
        let mut later = marks.iter().peekable();
        let mut met = None;
        let mut meets = |batches: usize, tlbs: &mut [TeamTranslation<'_>]| {
            repaired.batches = batches;
            if let Some(mark) = later.next_if(|mark| mark.batches == batches)
                && (believes || mark.is_met_by(tlbs))
            {
                met = Some(mark);
            }
            met.is_some()
        };
        if !meets(0, tlbs) {
            segment.replay(tlbs, &mut |batches, tlbs| !meets(batches, tlbs));
        }
        repaired.met = met.is_some();
        if let Some(mark) = met {
            let pairs = tlbs.iter_mut().zip(end);
            for ((tlb, end), mark) in pairs.zip(&mark.tlbs) {
                tlb.go_on_as(end, mark);
            }
        }
        (segment, repaired)
    }
}

/// The result of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repaired {
    /// The number of batches that were replayed again.
    pub(super) batches: usize,
    /// True if the guessed replay was right from there on.
    pub(super) met: bool,
}
