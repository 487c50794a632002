//! One tick of the governor: observe, decide, act, learn.

use crate::act::{ActionLimits, Done, carry_out};
use crate::budget::Budgets;
use crate::kernel::{Kernel, KernelError};
use crate::pace::{Pace, acting};
use crate::plan::TickPlan;
use crate::seen::{LivePages, Observation, ProcessId, ProcessSeen, Vitals};
use crate::stalls::{StallSummary, Stalls};
use crate::tree::ProcessTree;
use crate::ward::Ward;
use broadleaf_policy::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A ward of live processes, with its kernel, process tree and pace.
pub struct Governor<K> {
    kernel: K,
    ward: Ward,
    tree: ProcessTree,
    pace: Pace,
    /// The kernel's time at the start of the governor.
    began: Duration,
    /// The vitals of each process at the last read of its memory, and the time of that read.
    looked: BTreeMap<ProcessId, (Vitals, Duration)>,
    /// Processes whose memory could not be read, with the kernel's answer.
    unseen: BTreeMap<ProcessId, Unseen>,
    spent: Spent,
    /// The processor time that reading memory took in the latest tick.
    spent_on_pages: Duration,
    /// True if the latest tick read a process that was new or had changed.
    has_changed: bool,
    /// True if the governor only plans and changes nothing.
    dry: bool,
    most_planned: Planned,
    stalls: Stalls,
}

/// The size of a tick's plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planned {
    /// Blocks to be promoted.
    pub promotions: u64,
    /// The bytes that the promotions would add.
    pub added_bytes: u64,
}

/// A process whose memory could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The name of the program.
    pub command: String,
    /// The kernel's answer.
    pub no: KernelError,
}

/// The maximum number of remembered [`Unseen`] processes.
const UNSEEN: usize = 1000;

/// The processor time of a governor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time to observe, to decide, and to write a journal.
    pub looking: Duration,
    /// Time to promote and demote. The kernel charges its own work to this process.
    pub acting: Duration,
}

/// The result of one tick.
#[derive(Clone, Debug)]
pub struct Ticked {
    /// The observation.
    pub seen: Observation,
    /// The decision.
    pub plan: TickPlan,
    /// The actions and their outcomes.
    pub done: Done,
    /// The time to wait before the next tick.
    pub wait: Duration,
    /// True if any process lives.
    pub alive: bool,
}

impl<K: Kernel> Governor<K> {
    /// Creates a governor of the processes of `tree`. A `dry` governor changes nothing.
    pub fn new(mut kernel: K, ward: Ward, tree: ProcessTree, dry: bool) -> Self {
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

    /// Returns the ward, which holds observations and decisions.
    pub const fn ward(&self) -> &Ward {
        &self.ward
    }

    /// Returns the processes that still live.
    pub fn living(&mut self) -> Vec<ProcessId> {
        let living = self.tree.living(&mut self.kernel);
        living.into_iter().map(|(process, _)| process).collect()
    }

    /// Excludes processes, and the processes that they start, from now on.
    pub fn leave_out(&mut self, apart: Arc<BTreeSet<ProcessId>>) {
        self.tree.leave_out(apart, &mut self.kernel);
    }

    /// Changes the policy and the budgets. The knowledge of processes stays.
    pub fn put_under(&mut self, policy: Box<dyn Policy>, budgets: Budgets) {
        self.ward.put_under(policy, budgets);
    }

    /// Sets the longest wait between two observations if nothing changes. The default is 1 s. With
    /// a longer wait, the caller must notice changes and shortages of memory.
    pub const fn rest_for_at_most(&mut self, longest: Duration) {
        self.pace.longest = longest;
    }

    /// Returns the kernel.
    pub const fn kernel(&mut self) -> &mut K {
        &mut self.kernel
    }

    /// Returns the largest plan of any tick. In a dry run, the largest plan is close to the total
    /// of a real run, except for changes that the program made meanwhile.
    pub const fn most_planned(&self) -> Planned {
        self.most_planned
    }

    /// Returns the processes whose memory could not be read at the latest attempt, at most 1,000.
    pub fn unseen(&self) -> impl Iterator<Item = (ProcessId, &Unseen)> {
        self.unseen.iter().map(|(id, unseen)| (*id, unseen))
    }

    /// Returns the processor time of the governor.
    pub const fn spent(&self) -> Spent {
        self.spent
    }

    /// Returns the time that programs may have waited for the governor's actions.
    pub fn stalls(&self) -> StallSummary {
        self.stalls.summary()
    }

    /// Charges work outside the ticks, such as writing a journal, as observation.
    pub fn also_spent(&mut self, spent: Duration) {
        let now = self.kernel.now().saturating_sub(self.began);
        self.pace.charge(self.ward.budgets(), now, spent);
        self.spent.looking += spent;
    }

    /// Observes, decides, acts and learns.
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
            let limits = ActionLimits {
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

    fn look(&mut self) -> Observation {
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
            let is_due =
                may_look && (has_changed || self.is_old(id, at) || self.kernel.has_news_of_use(id));
            let looked = is_due.then(|| self.kernel.pages(id));
            self.has_changed |= has_changed && matches!(looked, Some(Ok(_)));
            // A process that may not be read is known by its vitals alone, and is not tried at each
            // tick.
            if let Some(Ok(_) | Err(KernelError::NotAllowed | KernelError::KernelThread)) = looked {
                self.looked.insert(id, (vitals.clone(), at));
            }
            self.note_unseen(id, &vitals, looked.as_ref());
            // A process that ends meanwhile is missing at the next tick.
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
        let seen = Observation {
            at,
            machine,
            processes,
        };
        self.looked.retain(|id, _| seen.has(*id));
        seen
    }

    fn note_unseen(
        &mut self,
        id: ProcessId,
        vitals: &Vitals,
        looked: Option<&Result<LivePages, KernelError>>,
    ) {
        match looked {
            Some(Ok(_)) => {
                self.unseen.remove(&id);
            }
            // Other answers are temporary, or come from processes that are ending.
            Some(Err(no @ (KernelError::NotAllowed | KernelError::KernelThread)))
                if self.unseen.len() < UNSEEN || self.unseen.contains_key(&id) =>
            {
                let command = vitals.command.clone();
                self.unseen.insert(id, Unseen { command, no: *no });
            }
            _ => {}
        }
    }

    /// Returns true if the memory of a process may have changed. A new page changes the fault
    /// count, and a removed page changes the resident size.
    fn has_changed(&self, id: ProcessId, vitals: &Vitals) -> bool {
        let looked = self.looked.get(&id);
        looked.is_none_or(|(before, _)| before != vitals)
    }

    /// Returns true if the memory of a process must be read again because the last read is too old.
    fn is_old(&self, id: ProcessId, at: Duration) -> bool {
        let looked = self.looked.get(&id);
        looked.is_none_or(|(_, when)| at.saturating_sub(*when) >= self.pace.old_age())
    }
}
