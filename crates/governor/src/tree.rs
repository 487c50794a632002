//! Which processes are looked after: some, and those that they start.

use crate::kernel::{Kernel, No};
use crate::seen::{ProcessId, Vitals};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Processes and those that they start, from the moment on at which they were first seen. One that outlives the one that started it stays.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    members: BTreeSet<ProcessId>,
    /// What was last known of each.
    last: BTreeMap<ProcessId, Vitals>,
    /// Those that were named, and not found.
    roots: BTreeSet<ProcessId>,
    /// Processes that somebody else looks after, or nobody: with what they start, they are no part of it.
    apart: Arc<BTreeSet<ProcessId>>,
}

impl Tree {
    /// These, and what they start.
    pub fn of(roots: impl IntoIterator<Item = ProcessId>) -> Self {
        let members: BTreeSet<ProcessId> = roots.into_iter().collect();
        Self {
            last: BTreeMap::new(),
            roots: members.clone(),
            members,
            apart: Arc::default(),
        }
    }

    /// Leaves out these processes and what they start, except those that it began with. They take the place of those that were left out before.
    pub fn leave_out(&mut self, apart: Arc<BTreeSet<ProcessId>>, kernel: &mut impl Kernel) {
        self.apart = apart;
        let strangers = self.members.iter().filter(|member| self.is_apart(**member));
        let mut to_drop: Vec<ProcessId> = strangers.copied().collect();
        while let Some(process) = to_drop.pop() {
            self.members.remove(&process);
            let children = kernel.children(process);
            to_drop.extend(
                children
                    .into_iter()
                    .filter(|child| self.members.contains(child) && !self.roots.contains(child)),
            );
        }
    }

    fn is_apart(&self, process: ProcessId) -> bool {
        self.apart.contains(&process) && !self.roots.contains(&process)
    }

    /// Whether there are several.
    pub fn is_several(&self) -> bool {
        self.members.len() > 1
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
                            .filter(|child| !self.is_apart(*child) && self.members.insert(*child)),
                    );
                    found.push((process, vitals));
                }
                Err(No::Gone) => {
                    self.members.remove(&process);
                    self.roots.remove(&process);
                }
                // It lives, and cannot be looked at now: it is what it was.
                Err(_) => found.extend(self.last.get(&process).map(|last| (process, last.clone()))),
            }
        }
        found.sort_by_key(|(process, _)| *process);
        self.last = found.iter().cloned().collect();
        found
    }
}
