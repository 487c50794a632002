//! Decisions on pieces, kept for listeners to the history of memory.

use super::{Piece, Place, System};
use broadleaf_policy::Refusal;

/// A decision on a piece of memory, or a change of its size that a program imposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceDecision {
    /// The first page of the piece.
    pub first: Place,
    /// The level of the piece.
    pub level: usize,
    /// The time, in accesses since the first trace began.
    pub time: u64,
    /// The populated pages of the piece, with the page that faults.
    pub populated: u32,
    /// The decision.
    pub decided: Decided,
}

/// The content of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decided {
    /// The piece became a superpage.
    Promoted,
    /// The superpage became smaller pages.
    Demoted,
    /// The piece stays as it is, for this reason.
    Refused(Refusal),
}

/// A page with a frame, as a map of memory shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentPage {
    /// The base page.
    pub at: Place,
    /// The level of the page that maps it.
    pub level: usize,
    /// True if the program referenced the page since it became resident.
    pub used: bool,
}

impl System<'_> {
    /// Keeps decisions from here on, until [`System::take_decisions`] takes them out.
    pub fn keep_decisions(&mut self) {
        self.decisions.get_or_insert_default();
    }

    /// Returns true if decisions wait.
    #[inline]
    pub fn has_decisions(&self) -> bool {
        let kept = self.decisions.as_ref();
        kept.is_some_and(|decisions| !decisions.is_empty())
    }

    /// Takes out the decisions since the last call.
    pub fn take_decisions(&mut self) -> Vec<PieceDecision> {
        let kept = self.decisions.as_mut();
        kept.map(std::mem::take).unwrap_or_default()
    }

    /// Every page with a frame, by address space and address.
    pub fn resident_pages(&self) -> impl Iterator<Item = ResidentPage> + '_ {
        let resident = self.tables.iter().filter(|(_, pte)| pte.has_frame());
        resident.map(|(at, pte)| ResidentPage {
            at,
            level: pte.level(),
            used: pte.has(super::Pte::USED),
        })
    }

    /// Counts the reason why a piece stays as it is.
    pub(super) fn refuse(&mut self, piece: Piece, reason: Refusal) {
        self.refusals.count(reason);
        self.note_decision(piece, Decided::Refused(reason));
    }

    /// Keeps a decision if a listener wants decisions.
    #[inline]
    pub(super) fn note_decision(&mut self, piece: Piece, decided: Decided) {
        if self.decisions.is_some() {
            self.keep_decision(piece, decided);
        }
    }

    fn keep_decision(&mut self, piece: Piece, decided: Decided) {
        let Piece { first, level } = piece;
        let pages = self.pages(level);
        let faults = self.pinned.is_some_and(|at| {
            let inside =
                at.space == first.space && (first.page..first.page + pages).contains(&at.page);
            inside && !self.tables.get(at).is_present()
        });
        let decision = PieceDecision {
            first,
            level,
            time: self.now,
            populated: self.tables.counts(first, pages).present + u32::from(faults),
            decided,
        };
        self.decisions.get_or_insert_default().push(decision);
    }
}
