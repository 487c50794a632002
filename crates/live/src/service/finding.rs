//! Finds live processes, and the rule that picks each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use broadleaf_governor::service::{Care, ServiceRules, Then, Traits};
use broadleaf_governor::{Description, Linux, ProcessId, Vitals};

/// The time after which the user and the cgroup of a process are read again, even if the process
/// did not change.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Finds the processes that rules pick.
pub(super) struct ProcessFinder {
    kernel: Linux,
    known: BTreeMap<ProcessId, DescribedProcess>,
    /// All processes that lived at the last search, in order.
    living: Vec<(ProcessId, Vitals)>,
}

/// The description of a process, and when it was read.
struct DescribedProcess {
    image: u64,
    command: String,
    described: Description,
    when: Instant,
}

/// A process that a rule picks.
#[derive(Clone, Debug)]
pub(super) struct PickedProcess {
    pub(super) id: ProcessId,
    pub(super) command: String,
    pub(super) uid: Option<u32>,
    /// The line of the rule in its file.
    pub(super) line: usize,
    pub(super) fate: Fate,
}

/// The service's decision on a process.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Governed(Care),
    Ignored,
    /// Nothing, because superpages are forbidden to the process.
    Forbidden,
}

impl ProcessFinder {
    pub(super) fn new() -> Self {
        Self {
            kernel: Linux::new(),
            known: BTreeMap::new(),
            living: Vec::new(),
        }
    }

    /// All processes that lived at the last search, in order.
    pub(super) fn living(&self) -> &[(ProcessId, Vitals)] {
        &self.living
    }

    /// Finds the processes that rules pick, in order. Kernel threads and this process are left out.
    pub(super) fn find(&mut self, rules: &ServiceRules, now: Instant) -> Vec<PickedProcess> {
        let everyone = self.kernel.everyone();
        let living: BTreeSet<ProcessId> = everyone.iter().map(|(id, _)| *id).collect();
        self.known.retain(|id, _| living.contains(id));
        let others = everyone
            .iter()
            .filter(|(id, _)| id.pid != std::process::id());
        let found = others.filter_map(|(id, vitals)| self.one(rules, *id, vitals, now));
        let found = found.collect();
        self.living = everyone;
        found
    }

    fn one(
        &mut self,
        rules: &ServiceRules,
        id: ProcessId,
        vitals: &Vitals,
        now: Instant,
    ) -> Option<PickedProcess> {
        let known = self.known(id, vitals, now);
        let first_word = known.command_line.first().map(String::as_str);
        if first_word.is_none() && vitals.rss_bytes == 0 {
            // A kernel thread.
            return None;
        }
        let rule = rules.rule_for(&Traits {
            command: &vitals.command,
            first_word,
            uid: known.uid,
            cgroup: known.cgroup.as_deref(),
        })?;
        let fate = match &rule.then {
            Then::Ignore => Fate::Ignored,
            Then::Govern(_) if known.thp_forbidden == Some(true) => Fate::Forbidden,
            Then::Govern(care) => Fate::Governed(care.clone()),
        };
        Some(PickedProcess {
            id,
            uid: known.uid,
            command: vitals.command.clone(),
            line: rule.line,
            fate,
        })
    }

    /// The description of a process. It is read anew if the process is new, executes another
    /// program, or was described long ago.
    fn known(&mut self, id: ProcessId, vitals: &Vitals, now: Instant) -> &Description {
        let is_fresh = self.known.get(&id).is_some_and(|known| {
            known.image == vitals.image
                && known.command == vitals.command
                && now.duration_since(known.when) < ASK_AGAIN
        });
        if !is_fresh {
            let known = DescribedProcess {
                image: vitals.image,
                command: vitals.command.clone(),
                described: self.kernel.describe(id),
                when: now,
            };
            self.known.insert(id, known);
        }
        &self.known[&id].described
    }
}
