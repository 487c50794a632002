//! Which processes are looked after: some, and those that they start.

use crate::kernel::{Kernel, No};
use crate::seen::{ProcessId, Vitals};
use std::collections::BTreeSet;

/// Processes and those that they start, from the moment on at which they were first seen. One that outlives the one that started it stays.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    members: BTreeSet<ProcessId>,
}

impl Tree {
    /// These, and what they start.
    pub fn of(roots: impl IntoIterator<Item = ProcessId>) -> Self {
        Self {
            members: roots.into_iter().collect(),
        }
    }

    /// Adds one more.
    pub fn add(&mut self, process: ProcessId) {
        self.members.insert(process);
    }

    /// Whether nobody is left.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Finds children, drops those that have ended, and says what lives.
    pub fn living(&mut self, kernel: &mut impl Kernel) -> Vec<(ProcessId, Vitals)> {
        let mut to_ask: Vec<ProcessId> = self.members.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(process) = to_ask.pop() {
            match kernel.vitals(process) {
                Ok(vitals) => {
                    let children = kernel.children(process);
                    to_ask.extend(
                        children
                            .into_iter()
                            .filter(|child| self.members.insert(*child)),
                    );
                    found.push((process, vitals));
                }
                Err(No::Gone) => {
                    self.members.remove(&process);
                }
                // It lives, and cannot be looked at now.
                Err(_) => {}
            }
        }
        found.sort_by_key(|(process, _)| *process);
        found
    }
}
