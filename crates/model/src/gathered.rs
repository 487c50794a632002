//! Visits that are gathered until worlds replay them.

use super::visit_slice::VisitSlice;
use crate::origin::{OriginMark, StepOrigin};
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Phrased, Visit};

/// Visits that worlds have not replayed yet: one by one, or by the words of a part of the trace.
///
/// A source hands out a few thousand visits at a time. A new filter keeps the first visit to each
/// page, so each run of the filter needs more visits.
#[derive(Debug, Default)]
pub(super) struct GatheredVisits {
    each: Vec<Visit>,
    words: Vec<u16>,
    vocabulary: Vec<Visit>,
    /// The origins of the visits: one mark for each change.
    pub(super) origins: Vec<OriginMark>,
    /// The origin after the last visit.
    origin: StepOrigin,
    /// The part of the trace that the vocabulary belongs to.
    of_part: Option<u64>,
    /// The sums of the visits.
    pub(super) sums: Sums,
    /// Accesses before the first visit.
    pub(super) begin: u64,
    /// Instructions before the first visit.
    pub(super) instructions: u64,
}

impl GatheredVisits {
    pub(super) const fn is_empty(&self) -> bool {
        self.each.is_empty() && self.words.is_empty()
    }

    /// Visits that are added from now on have this origin, up to the next fetch.
    pub(super) fn set_origin(&mut self, origin: StepOrigin) {
        if self.is_empty() || self.origin != origin {
            let from = self.all().len();
            self.origins.push(OriginMark { from, origin });
            self.origin = origin;
        }
    }

    /// The last visits end with this origin: they may hold fetches.
    pub(super) const fn end_origin(&mut self, origin: StepOrigin) {
        self.origin = origin;
    }

    /// True if these visits of a part of the trace can be added to the gathered ones.
    pub(super) fn can_take(&self, visits: &VisitSlice<'_>, part: u64) -> bool {
        match visits {
            VisitSlice::Each(_) => self.words.is_empty(),
            VisitSlice::Named(_) => {
                self.each.is_empty() && (self.words.is_empty() || self.of_part == Some(part))
            }
        }
    }

    /// Adds visits of a part of the trace.
    pub(super) fn add(&mut self, visits: &VisitSlice<'_>, part: u64) {
        match visits {
            VisitSlice::Each(visits) => self.each.extend_from_slice(visits),
            VisitSlice::Named(phrased) => {
                if self.of_part != Some(part) {
                    self.vocabulary.clear();
                    self.vocabulary.extend_from_slice(phrased.vocabulary);
                    self.of_part = Some(part);
                }
                self.words.extend_from_slice(phrased.words);
            }
        }
    }

    /// All visits.
    pub(super) fn all(&self) -> VisitSlice<'_> {
        if self.words.is_empty() {
            return VisitSlice::Each(&self.each);
        }
        VisitSlice::Named(Phrased {
            vocabulary: &self.vocabulary,
            words: &self.words,
        })
    }

    /// Drops the visits.
    pub(super) fn clear(&mut self) {
        self.each.clear();
        self.words.clear();
        self.origins.clear();
        self.sums = Sums::default();
    }
}
