//! One tick: look, decide, act, learn.

use crate::act::{Done, Limits, carry_out};
use crate::budget::Budgets;
use crate::kernel::{Kernel, No};
use crate::pace::{Pace, acting};
use crate::plan::Plan;
use crate::seen::{Pages, ProcessId, ProcessSeen, Seen, Vitals};
use crate::stalls::{StallSummary, Stalls};
use crate::tree::Tree;
use crate::ward::Ward;
use broadleaf_policy::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A ward of live processes.
pub struct Governor<K> {
    kernel: K,
    ward: Ward,
    tree: Tree,
    pace: Pace,
    /// The kernel's time when it began.
    began: Duration,
    /// What was known of each process when its memory was last looked at, and when that was.
    looked: BTreeMap<ProcessId, (Vitals, Duration)>,
    /// Processes whose memory could not be looked at, and what the kernel answered.
    unseen: BTreeMap<ProcessId, Unseen>,
    spent: Spent,
    /// Processor time that looking at memory took in the latest tick.
    spent_on_pages: Duration,
    /// True if the latest tick looked at a process that was new or had changed.
    has_changed: bool,
    /// Whether it only says what it would do.
    dry: bool,
    most_planned: Planned,
    stalls: Stalls,
}

/// What was to be done at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planned {
    /// Blocks to become superpages.
    pub promotions: u64,
    /// Bytes that they would add.
    pub added_bytes: u64,
}

/// A process whose memory could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The name of the program.
    pub command: String,
    /// What the kernel answered.
    pub no: No,
}

/// How many of these are remembered at most.
const UNSEEN: usize = 1000;

/// Processor time that it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Looking, deciding, and writing a journal.
    pub looking: Duration,
    /// Promoting and demoting: what the kernel does then it does in our time.
    pub acting: Duration,
}

/// What one tick came to.
#[derive(Clone, Debug)]
pub struct Ticked {
    /// What was seen.
    pub seen: Seen,
    /// What was decided.
    pub plan: Plan,
    /// What came of it.
    pub done: Done,
    /// How long to wait for the next.
    pub wait: Duration,
    /// Whether any process lives.
    pub alive: bool,
}

impl<K: Kernel> Governor<K> {
    /// Looks after processes and those that they start. A `dry` one does nothing to them.
    pub fn new(mut kernel: K, ward: Ward, tree: Tree, dry: bool) -> Self {
        let began = kernel.now();
        Self {
            kernel,
            ward,
            tree,
            pace: Pace::default(),
            began,
            looked: BTreeMap::new(),
            unseen: BTreeMap::new(),
            spent: Spent::default(),
            spent_on_pages: Duration::ZERO,
            has_changed: false,
            dry,
            most_planned: Planned::default(),
            stalls: Stalls::default(),
        }
    }

    /// What is known and was decided.
    pub const fn ward(&self) -> &Ward {
        &self.ward
    }

    /// The processes that live still.
    pub fn living(&mut self) -> Vec<ProcessId> {
        let living = self.tree.living(&mut self.kernel);
        living.into_iter().map(|(process, _)| process).collect()
    }

    /// Leaves processes to others from here on, with what they start.
    pub fn leave_out(&mut self, apart: Arc<BTreeSet<ProcessId>>) {
        self.tree.leave_out(apart, &mut self.kernel);
    }

    /// Goes on under another policy, or with another allowance. What was learnt of processes stays known.
    pub fn put_under(&mut self, policy: Box<dyn Policy>, budgets: Budgets) {
        self.ward.put_under(policy, budgets);
    }

    /// Sets the longest wait between two looks if nothing changes. The default is 1 s. With a
    /// longer wait, the caller must notice changes and shortages of memory.
    pub const fn rest_for_at_most(&mut self, longest: Duration) {
        self.pace.longest = longest;
    }

    /// The kernel.
    pub const fn kernel(&mut self) -> &mut K {
        &mut self.kernel
    }

    /// The most that was to be done at one time: with a dry run, where nothing is done, all that it would have come to but for what the program did then.
    pub const fn most_planned(&self) -> Planned {
        self.most_planned
    }

    /// Processes whose memory could not be looked at when that was last tried: a thousand at most.
    pub fn unseen(&self) -> impl Iterator<Item = (ProcessId, &Unseen)> {
        self.unseen.iter().map(|(id, unseen)| (*id, unseen))
    }

    /// Processor time that it took.
    pub const fn spent(&self) -> Spent {
        self.spent
    }

    /// The time that programs may have waited for the governor's actions.
    pub fn stalls(&self) -> StallSummary {
        self.stalls.summary()
    }

    /// Counts as looking what was done with a tick outside, as writing it down.
    pub fn also_spent(&mut self, spent: Duration) {
        let now = self.kernel.now().saturating_sub(self.began);
        self.pace.charge(self.ward.budgets(), now, spent);
        self.spent.looking += spent;
    }

    /// Looks, decides, acts and learns.
    pub fn tick(&mut self) -> Ticked {
        let cpu = self.kernel.own_cpu();
        let seen = self.look();
        let alive = !self.tree.is_empty();
        self.ward.see(seen.clone());
        let plan = self.ward.decide();
        self.most_planned = self.most_planned.max(Planned {
            promotions: plan.promotions(),
            added_bytes: plan.added_bytes(),
        });
        let decided = self.kernel.own_cpu();
        let acted_from = self.kernel.now();
        let done = if self.dry {
            Done::default()
        } else {
            let limits = Limits {
                for_at_most: acting(self.ward.budgets()),
                longest_stall: self.ward.budgets().longest_stall,
            };
            let done = carry_out(
                &mut self.kernel,
                &self.ward,
                &plan,
                limits,
                &mut self.stalls,
            );
            self.ward.learn(&done.outcomes);
            done
        };
        let acted = self.kernel.now().saturating_sub(acted_from);
        let looking = decided.saturating_sub(cpu);
        self.spent.looking += looking;
        self.spent.acting += self.kernel.own_cpu().saturating_sub(decided);
        let quiet = !self.has_changed && done.outcomes.is_empty();
        let wait = self.pace.after(
            self.ward.budgets(),
            looking.saturating_sub(self.spent_on_pages),
            acted,
            quiet,
        );
        Ticked {
            seen,
            plan,
            done,
            wait,
            alive,
        }
    }

    fn look(&mut self) -> Seen {
        let at = self.kernel.now().saturating_sub(self.began);
        let machine = self.kernel.machine();
        let living = self.tree.living(&mut self.kernel);
        let several = self.tree.is_several();
        let may_look = self.pace.may_look(at);
        let cpu = self.kernel.own_cpu();
        let mut processes = Vec::with_capacity(living.len());
        self.has_changed = false;
        for (id, vitals) in living {
            let has_changed = self.has_changed(id, &vitals);
            let is_due = may_look && (has_changed || self.is_old(id, at));
            let looked = is_due.then(|| self.kernel.pages(id));
            self.has_changed |= has_changed && matches!(looked, Some(Ok(_)));
            // One that may not be looked at is known by its vitals alone, and is not tried at each tick.
            if let Some(Ok(_) | Err(No::NotAllowed | No::KernelThread)) = looked {
                self.looked.insert(id, (vitals.clone(), at));
            }
            self.note_unseen(id, &vitals, looked.as_ref());
            // A process that ends meanwhile is missed at the next tick.
            let mut pages = looked.and_then(Result::ok);
            if let Some(pages) = pages.as_mut().filter(|_| several) {
                pages.held = self.kernel.held(id);
            }
            if let Some(pages) = pages
                .as_mut()
                .filter(|pages| self.ward.is_strange(id, pages))
            {
                pages.asked = Some(self.kernel.asked(id));
            }
            let headroom = self.kernel.headroom(id);
            processes.push(ProcessSeen {
                id,
                vitals,
                headroom,
                pages,
            });
        }
        let spent = self.kernel.own_cpu().saturating_sub(cpu);
        let now = self.kernel.now().saturating_sub(self.began);
        self.pace.looked(self.ward.budgets(), now, spent);
        self.spent_on_pages = spent;
        let seen = Seen {
            at,
            machine,
            processes,
        };
        self.looked.retain(|id, _| seen.has(*id));
        seen
    }

    fn note_unseen(&mut self, id: ProcessId, vitals: &Vitals, looked: Option<&Result<Pages, No>>) {
        match looked {
            Some(Ok(_)) => {
                self.unseen.remove(&id);
            }
            // Other answers are those to processes that are ending, or pass.
            Some(Err(no @ (No::NotAllowed | No::KernelThread)))
                if self.unseen.len() < UNSEEN || self.unseen.contains_key(&id) =>
            {
                let command = vitals.command.clone();
                self.unseen.insert(id, Unseen { command, no: *no });
            }
            _ => {}
        }
    }

    /// Whether something may have changed in the memory of a process: pages come by faults, and go from what is resident.
    fn has_changed(&self, id: ProcessId, vitals: &Vitals) -> bool {
        let looked = self.looked.get(&id);
        looked.is_none_or(|(before, _)| before != vitals)
    }

    /// Returns true if the memory of a process must be read again because the last look is too old.
    fn is_old(&self, id: ProcessId, at: Duration) -> bool {
        let looked = self.looked.get(&id);
        looked.is_none_or(|(_, when)| at.saturating_sub(*when) >= self.pace.old_age())
    }
}
