//! The cost and the coverage of possible superpages around a page.

use super::{Files, Place, System};
use crate::AddressSpaces;
use broadleaf_policy::{Copies, Coverage};

/// Facts about the pieces that hold a page that is about to fault in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appraisal {
    /// Those that one mapping of equal rights holds all of: bit `n` for the one of level `n`.
    pub covered: u32,
    /// Cycles of filling one base page there.
    pub page_cycles: u64,
}

impl System<'_> {
    /// Returns true if a page is resident.
    pub fn is_resident(&self, at: Place) -> bool {
        self.tables.get(at).is_present()
    }

    /// The facts that a chooser of superpages needs about the pieces that hold a page.
    pub fn appraise(&self, spaces: &AddressSpaces, at: Place) -> Appraisal {
        let mut appraisal = Appraisal {
            page_cycles: self.page_cycles(spaces, at),
            ..Appraisal::default()
        };
        for level in 1..self.sizes.levels() {
            let piece = self.piece(at, level);
            let covered = self.facts(spaces, piece, at.page).coverage == Coverage::Covered;
            appraisal.covered |= u32::from(covered) << level;
        }
        appraisal
    }

    fn page_cycles(&self, spaces: &AddressSpaces, at: Place) -> u64 {
        match (self.behind(spaces, at).is_on_disk(), self.files) {
            (false, _) => self.costs.zero(self.base, 1),
            (true, Files::OnDisk) => self.costs.disk,
            (true, Files::InMemory) if self.needs.copies == Copies::Always => {
                self.costs.copy(self.base, 1)
            }
            (true, Files::InMemory) => 0,
        }
    }
}
