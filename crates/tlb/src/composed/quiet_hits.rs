//! Hits that change nothing when they are repeated: when they are noted, and when forgotten.

use super::Composed;
use crate::TlbRequest;
use crate::placed::Placed;
use crate::role::Fills;

impl Composed {
    /// Notes a hit in a structure. The hit is quiet from now on if the structure is of the first
    /// level and the hit changed no other entry.
    pub(super) fn note_hit(&mut self, number: usize, request: &TlbRequest, is_changed: bool) {
        self.renew_epoch();
        let placed = &self.structures[number];
        let is_first = placed.level == 1 && placed.role.fills == Fills::Walks;
        if let Some(quiet) = &mut self.quiet {
            if is_changed {
                quiet.forget_all();
            } else if is_first {
                quiet.learn(request);
            }
        }
    }

    /// Forgets all quiet lookups if a replacement rule of the first level says so.
    pub(super) fn renew_epoch(&mut self) {
        if let Some(quiet) = &mut self.quiet {
            let now = quiet_epoch(&self.structures);
            if now != self.quiet_epoch {
                quiet.forget_all();
                self.quiet_epoch = now;
            }
        }
    }

    /// Forgets all quiet lookups.
    pub(super) fn forget_quiet(&mut self) {
        if let Some(quiet) = &mut self.quiet {
            quiet.forget_all();
        }
    }
}

/// The sum of the epochs of the first level's structures. `None` if a hit of one of them may change
/// something whenever it is made.
pub(super) fn quiet_epoch(structures: &[Placed]) -> Option<u64> {
    let first = structures.iter().filter(|placed| placed.level == 1);
    first.map(|placed| placed.entries.quiet_epoch()).sum()
}
