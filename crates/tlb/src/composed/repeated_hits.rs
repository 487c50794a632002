//! Second hits in a row: lookups that a structure answered last, and that change nothing when they
//! are made again.

use crate::{Organisation, ReferenceKind, Structure, TlbRequest};
use broadleaf_units::{Asid, PageNumber};

/// The last hit of each kind of reference, where no other page of the structure was used since.
#[derive(Clone, Debug)]
pub(super) struct RepeatedHits {
    /// By kind: the page that hit, and its structure.
    last: [Option<(Asid, PageNumber, usize)>; 3],
    /// By structure: true if a second hit in a row changes nothing.
    changes_nothing: Box<[bool]>,
}

impl RepeatedHits {
    /// No hits of a design with these structures.
    ///
    /// A lookup may miss in several structures of the first level before it hits one. A miss
    /// changes nothing of sets of ways, and no other organisation promises that.
    pub(super) fn new(structures: &[Structure]) -> Self {
        let is_plain = |of: &Structure| {
            of.level > 1 || of.organisation.entry() == Organisation::set_associative()
        };
        let are_plain = structures.iter().all(is_plain);
        let changes_nothing = |of: &Structure| are_plain && of.keeps_last().is_some();
        Self {
            last: [None; 3],
            changes_nothing: structures.iter().map(changes_nothing).collect(),
        }
    }

    /// The structure of the first level that a lookup hits, if it changes nothing.
    #[inline]
    pub(super) fn structure(&self, request: &TlbRequest) -> Option<usize> {
        match self.last[request.kind as usize] {
            Some((tag, page, number)) if page == request.page && tag == request.tag => Some(number),
            _ => None,
        }
    }

    /// A lookup hits a structure of the first level, and changes no other entry.
    #[inline]
    pub(super) fn note(&mut self, request: &TlbRequest, number: usize) {
        let hit = (request.tag, request.page, number);
        for last in &mut self.last {
            last.take_if(|last| last.2 == number && *last != hit);
        }
        if self.changes_nothing[number] {
            self.last[request.kind as usize] = Some(hit);
        }
    }

    /// Any structure may change.
    #[inline]
    pub(super) const fn forget(&mut self) {
        self.last = [None; 3];
    }
}

const _: () = assert!(ReferenceKind::Store as usize == 2);
