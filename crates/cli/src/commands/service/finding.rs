//! Who lives, and which rule each falls under.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use broadleaf_governor::service::{Care, ServiceRules, Then, Traits};
use broadleaf_governor::{Description, Linux, ProcessId, Vitals};

/// However little a process changes, it is asked anew so often for its user and cgroup.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Looks for processes.
pub(super) struct Finder {
    kernel: Linux,
    known: BTreeMap<ProcessId, Known>,
    /// Every process that lived when processes were last looked for, in order.
    living: Vec<(ProcessId, Vitals)>,
}

/// What a process said of itself.
struct Known {
    image: u64,
    command: String,
    described: Description,
    when: Instant,
}

/// A process that a rule fits.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) id: ProcessId,
    pub(super) command: String,
    pub(super) uid: Option<u32>,
    /// The line of the rule.
    pub(super) line: usize,
    pub(super) fate: Fate,
}

/// What is done with it.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Governed(Care),
    Ignored,
    /// Superpages are forbidden to it.
    Forbidden,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self {
            kernel: Linux::new(),
            known: BTreeMap::new(),
            living: Vec::new(),
        }
    }

    /// Every process that lived when processes were last looked for, in order.
    pub(super) fn living(&self) -> &[(ProcessId, Vitals)] {
        &self.living
    }

    /// The processes that rules fit, in order, without kernel threads and this process.
    pub(super) fn find(&mut self, rules: &ServiceRules, now: Instant) -> Vec<Found> {
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
    ) -> Option<Found> {
        let known = self.known(id, vitals, now);
        let first_word = known.command_line.first().map(String::as_str);
        if first_word.is_none() && vitals.rss_bytes == 0 {
            // A thread of the kernel's.
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
        Some(Found {
            id,
            uid: known.uid,
            command: vitals.command.clone(),
            line: rule.line,
            fate,
        })
    }

    /// What a process says of itself, asked where it is new, is another program now, or was asked long ago.
    fn known(&mut self, id: ProcessId, vitals: &Vitals, now: Instant) -> &Description {
        let stands = self.known.get(&id).is_some_and(|known| {
            known.image == vitals.image
                && known.command == vitals.command
                && now.duration_since(known.when) < ASK_AGAIN
        });
        if !stands {
            let known = Known {
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
