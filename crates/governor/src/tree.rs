//! The tree of governed processes.

use crate::kernel::{Kernel, KernelError};
use crate::seen::{ProcessId, Vitals};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Processes and their descendants, from the first moment at which the tree sees them. A process
/// stays in the tree after its parent has ended.
#[derive(Clone, Debug, Default)]
pub struct ProcessTree {
    members: BTreeSet<ProcessId>,
    /// The last known vitals of each process.
    last: BTreeMap<ProcessId, Vitals>,
    /// The processes that the tree started with.
    roots: BTreeSet<ProcessId>,
    /// Processes outside the tree: another governor has them, or none. Their descendants are
    /// outside as well.
    apart: Arc<BTreeSet<ProcessId>>,
}

impl ProcessTree {
    /// Creates a tree of these processes and their descendants.
    pub fn of(roots: impl IntoIterator<Item = ProcessId>) -> Self {
        let members: BTreeSet<ProcessId> = roots.into_iter().collect();
        Self {
            last: BTreeMap::new(),
            roots: members.clone(),
            members,
            apart: Arc::default(),
        }
    }

    /// Excludes these processes and their descendants, but not the roots of the tree. The set
    /// replaces the earlier set.
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

    /// Returns true if the tree has several processes.
    pub fn is_several(&self) -> bool {
        self.members.len() > 1
    }

    /// Returns true if no process is left.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Finds children, drops ended processes, and returns the living processes.
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
                Err(KernelError::Gone) => {
                    self.members.remove(&process);
                    self.roots.remove(&process);
                }
                // The process lives and cannot be read now: its last vitals still count.
                Err(_) => found.extend(self.last.get(&process).map(|last| (process, last.clone()))),
            }
        }
        found.sort_by_key(|(process, _)| *process);
        self.last = found.iter().cloned().collect();
        found
    }
}
