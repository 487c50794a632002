//! Superpages of one of two runs that are compared.

use crate::plan::{Came, Outcome};
use crate::seen::{BlockSeen, PAGES};
use std::collections::BTreeMap;

/// Superpages that one run made, by block.
#[derive(Debug, Default)]
pub(super) struct Superpages(pub(super) BTreeMap<u64, Superpage>);

/// A superpage. One that the program broke stays here until what it added is given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Superpage {
    /// What its block held before.
    pub(super) before: BlockSeen,
    pub(super) stands: bool,
}

impl Superpages {
    pub(super) fn take_in(&mut self, outcome: &Outcome) {
        match outcome.came {
            Came::Promoted(before) => {
                // What is left of one that was broken was added all the same.
                let broken = self.0.get(&outcome.block).filter(|made| !made.stands);
                let left = broken.map_or(0, |made| PAGES as u16 - made.before.present);
                let made = Superpage {
                    before: BlockSeen {
                        present: before.present - left.min(before.present),
                        ..before
                    },
                    stands: true,
                };
                self.0.insert(outcome.block, made);
            }
            Came::Demoted(_) => {
                self.0.remove(&outcome.block);
            }
            _ => {}
        }
    }

    pub(super) fn standing(&self) -> u64 {
        self.0.values().filter(|made| made.stands).count() as u64
    }
}
