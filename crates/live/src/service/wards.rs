//! The processes that a service governs, each with its own governor.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use broadleaf_governor::service::Care;
use broadleaf_governor::{
    Governor, HeatSampler, Kernel, Linux, MachineSeen, ProcessId, ProcessTree, Ticked, Vitals,
    Ward, weighs_use,
};
use broadleaf_policy::parse;

use super::account::{GovernorCounts, ProgramTotals};
use super::finding::{Fate, PickedProcess};
use super::together::DueTime;
use crate::use_of_blocks::sampler;
use broadleaf_study::failure::Failure;

/// The longest wait between two looks at a process in which nothing changes. A search for processes
/// notices changes.
const REST: Duration = Duration::from_secs(10);

/// The most programs that are reported as forbidden superpages. Each name is kept, and a process
/// may rename itself without end.
const MOST_FORBIDDEN: usize = 256;

/// The wait between two attempts to measure the use of blocks. Each tries all sources.
const TRY_AGAIN: Duration = Duration::from_mins(1);

/// Starts a thread that measures use, or returns the reason why no source works.
type StartSampler = fn() -> Result<Arc<HeatSampler>, String>;

/// A process that is governed, with the processes that it starts.
pub(super) struct GovernedProcess {
    pub(super) id: ProcessId,
    pub(super) command: String,
    pub(super) care: Care,
    pub(super) governor: Governor<Linux>,
    /// The time of the next look.
    due: Instant,
    /// True if memory is short, and the next look may give memory back. This look does not wait for
    /// the budget of all looks together.
    is_urgent: bool,
    /// The counts that were added to the totals.
    counted: GovernorCounts,
    /// True after the first look, or after the note that the process cannot be looked at.
    answered: bool,
}

/// All governed processes.
pub(super) struct Wards {
    pub(super) governed: Vec<GovernedProcess>,
    /// Counts of governed processes and of those that are no longer governed.
    pub(super) totals: ProgramTotals,
    /// Counts of processes that are no longer governed.
    pub(super) ended: ProgramTotals,
    kernel: Linux,
    /// Measures the use of blocks for all governors whose policy weighs it. `None` while no policy
    /// does, or no source works.
    heat: Option<Arc<HeatSampler>>,
    start_heat: StartSampler,
    /// The time of the next attempt to measure use. `None` before the first one.
    next_heat: Option<Instant>,
    dry: bool,
    /// Programs that were reported as forbidden superpages.
    forbidden: BTreeSet<String>,
    /// Programs that were reported as governed, each with the line of the rule.
    reported: BTreeSet<(String, usize)>,
    /// True after the warning about memory limits that cannot be read.
    noted_hidden_limits: bool,
}

/// A governor of one process under a policy.
pub(super) fn governor(
    kernel: &Linux,
    id: ProcessId,
    care: &Care,
    apart: &Arc<BTreeSet<ProcessId>>,
    dry: bool,
) -> Result<Governor<Linux>, Failure> {
    let policy = parse(&care.policy).map_err(Failure::failed)?;
    let ward = Ward::new(policy, care.budgets);
    let mut governor = Governor::new(kernel.beside(), ward, ProcessTree::of([id]), dry);
    governor.leave_out(Arc::clone(apart));
    Ok(governor)
}

/// The processes that no other process's governor includes: a rule of their own picks them, or they
/// are this process.
pub(super) fn apart(found: &[PickedProcess]) -> Arc<BTreeSet<ProcessId>> {
    let own = Linux::new().process(std::process::id());
    Arc::new(found.iter().map(|found| found.id).chain(own).collect())
}

impl Wards {
    pub(super) fn new(dry: bool) -> Self {
        Self {
            governed: Vec::new(),
            totals: ProgramTotals::default(),
            ended: ProgramTotals::default(),
            kernel: Linux::new(),
            heat: None,
            start_heat: sampler,
            next_heat: None,
            dry,
            forbidden: BTreeSet::new(),
            reported: BTreeSet::new(),
            noted_hidden_limits: false,
        }
    }

    /// Governs the processes that were found, and drops those that no rule picks any more.
    pub(super) fn follow(&mut self, found: &[PickedProcess], now: Instant) -> Result<(), Failure> {
        let apart = apart(found);
        // A process that has ended may have left children. The next look finds them.
        let kernel = &mut self.kernel;
        let ended = self.governed.extract_if(.., |governed| {
            match found.binary_search_by_key(&governed.id, |found| found.id) {
                Ok(at) => !matches!(found[at].fate, Fate::Governed(_)),
                Err(_) => kernel.vitals(governed.id).is_ok(),
            }
        });
        for governed in ended {
            governed.note_end(&mut self.ended);
        }
        for found in found {
            match &found.fate {
                Fate::Governed(care) => self.care_for(found, care, &apart, now)?,
                Fate::Ignored => {}
                Fate::Forbidden => self.note_forbidden(found),
            }
        }
        for governed in &mut self.governed {
            governed.governor.leave_out(Arc::clone(&apart));
        }
        self.follow_use(now);
        Ok(())
    }

    /// Returns true if a thread measures the use of blocks. It holds the source, so that a trial of
    /// the sources would fail or disturb it.
    pub(super) const fn measures_use(&self) -> bool {
        self.heat.is_some()
    }

    /// Measures use for all governors whose policy weighs it. If no source works, the next attempt
    /// comes a minute later, and a warning is given once.
    fn follow_use(&mut self, now: Instant) {
        let weighs = |governed: &GovernedProcess| weighs_use(governed.governor.ward().policy());
        if !self.governed.iter().any(weighs) {
            self.heat = None;
            self.next_heat = None;
        } else if self.heat.is_none() && self.next_heat.is_none_or(|next| next <= now) {
            let is_first = self.next_heat.replace(now + TRY_AGAIN).is_none();
            match (self.start_heat)() {
                Ok(sampler) => self.heat = Some(sampler),
                Err(reason) if is_first => log::warn!(
                    event = "obstacle";
                    "use of blocks cannot be seen: {reason}. The service tries again once a minute"
                ),
                Err(_) => {}
            }
        }
        for governed in &mut self.governed {
            let heat = self.heat.clone().filter(|_| weighs(governed));
            governed.governor.kernel().set_heat(heat);
        }
        if let Some(heat) = &self.heat {
            let wards = self.governed.iter().map(|one| one.governor.ward());
            let living: BTreeSet<ProcessId> = wards
                .flat_map(|ward| ward.processes().map(|(id, ..)| id))
                .collect();
            heat.retain(|process| living.contains(&process));
        }
    }

    fn care_for(
        &mut self,
        found: &PickedProcess,
        care: &Care,
        apart: &Arc<BTreeSet<ProcessId>>,
        now: Instant,
    ) -> Result<(), Failure> {
        let known = (self.governed.iter()).position(|governed| governed.id == found.id);
        if let Some(at) = known {
            self.governed[at].command = broadleaf_report::printable(&found.command);
            if self.governed[at].care != *care {
                let policy = parse(&care.policy).map_err(Failure::failed)?;
                let governed = &mut self.governed[at];
                governed.governor.put_under(policy, care.budgets);
                governed.care = care.clone();
                governed.due = now;
            }
            return Ok(());
        }
        let mut governor = governor(&self.kernel, found.id, care, apart, self.dry)?;
        governor.rest_for_at_most(REST);
        self.note_governed(found, care);
        self.governed.push(GovernedProcess {
            id: found.id,
            command: broadleaf_report::printable(&found.command),
            care: care.clone(),
            governor,
            due: now,
            is_urgent: false,
            counted: GovernorCounts::default(),
            answered: false,
        });
        Ok(())
    }

    /// Notes the first process of each program under each rule.
    fn note_governed(&mut self, found: &PickedProcess, care: &Care) {
        let program = (found.command.clone(), found.line);
        let has_room = self.reported.len() < MOST_FORBIDDEN;
        if has_room && self.reported.insert(program) {
            log::info!(
                event = "process_governed", pid = found.id.pid, command = found.command.as_str(),
                policy = care.policy.as_str(), rule_line = found.line;
                "process {} ({}) is governed under {}, by the rule in line {}: the first of its \
                name",
                found.id,
                broadleaf_report::printable(&found.command),
                care.policy,
                found.line
            );
        }
    }

    fn note_forbidden(&mut self, found: &PickedProcess) {
        let has_room = self.forbidden.len() < MOST_FORBIDDEN;
        if has_room && self.forbidden.insert(found.command.clone()) {
            log::info!(
                event = "process_forbidden", pid = found.id.pid, command = found.command.as_str();
                "superpages are forbidden to process {} ({}), by itself or by what started it \
                (prctl PR_SET_THP_DISABLE): such processes are left alone",
                found.id,
                broadleaf_report::printable(&found.command)
            );
        }
    }

    /// Makes processes due that have changed since their last look. `living` holds all live
    /// processes, in order.
    pub(super) fn wake(&mut self, living: &[(ProcessId, Vitals)], now: Instant) {
        let has_changed = |id: ProcessId, before: &Vitals| {
            let at = living.binary_search_by_key(&id, |(id, _)| *id);
            at.map_or(true, |at| living[at].1 != *before)
        };
        for governed in self
            .governed
            .iter_mut()
            .filter(|governed| governed.due > now)
        {
            let mut processes = governed.governor.ward().processes();
            if processes.any(|(id, before, _)| has_changed(id, before)) {
                governed.due = now;
            }
        }
    }

    /// Makes processes due at once whose superpages added memory, if memory is short.
    pub(super) fn wake_if_short(&mut self, now: Instant) {
        let machine = self.machine();
        self.wake_at_once(now, |ward| {
            let shortage = ward.budgets().shortage(&machine, std::iter::empty());
            shortage.is_any() && ward.added_bytes() > 0
        });
    }

    fn wake_at_once(&mut self, now: Instant, is_urgent: impl Fn(&Ward) -> bool) {
        for governed in &mut self.governed {
            if is_urgent(governed.governor.ward()) {
                governed.due = governed.due.min(now);
                governed.is_urgent = true;
            }
        }
    }

    /// Reads the state of the machine.
    pub(super) fn machine(&mut self) -> MachineSeen {
        self.kernel.machine()
    }

    /// The look that begins first, and the index of its process. The budget of all looks together
    /// allows the next look at `free`. Urgent looks do not wait for the budget.
    pub(super) fn next(&self, free: Instant) -> Option<(DueTime, usize)> {
        let looks = self.governed.iter().enumerate();
        looks
            .map(|(at, governed)| match governed.is_urgent {
                true => (DueTime::at(governed.due), at),
                false => (DueTime::in_budget(governed.due, free), at),
            })
            .min()
    }

    /// Looks at the process at index `at`. Returns the processor time that the budget of all looks
    /// together is charged with.
    pub(super) fn tick(&mut self, at: usize) -> Duration {
        let governed = &mut self.governed[at];
        let ticked = governed.governor.tick();
        governed.due = Instant::now() + ticked.wait;
        let was_urgent = std::mem::take(&mut governed.is_urgent);
        if ticked.alive && !self.noted_hidden_limits && governed.governor.kernel().hides_limits() {
            self.noted_hidden_limits = true;
            governed.note_hidden_limits();
        }
        governed.answer(&ticked);
        let counts = GovernorCounts::of(&governed.governor);
        let looking = counts.looking.saturating_sub(governed.counted.looking);
        (self.totals).note(
            &governed.command,
            &governed.care.policy,
            &counts,
            &governed.counted,
        );
        governed.counted = counts;
        if !ticked.alive {
            let ended = self.governed.swap_remove(at);
            ended.note_end(&mut self.ended);
        }
        // Urgent looks come once a second while memory is short. Charged, they would delay searches
        // for processes until long after the shortage. The budgets of single processes limit them.
        if was_urgent { Duration::ZERO } else { looking }
    }
}

impl GovernedProcess {
    pub(super) const fn counts(&self) -> &GovernorCounts {
        &self.counted
    }

    /// Notes once why the memory of the process cannot be looked at.
    fn answer(&mut self, ticked: &Ticked) {
        let mut processes = ticked.seen.processes.iter();
        let Some(seen) = processes.find(|seen| seen.id == self.id) else {
            return;
        };
        if self.answered || seen.pages.is_some() {
            self.answered = true;
            return;
        }
        if let Some((_, unseen)) = self.governor.unseen().find(|(id, _)| *id == self.id) {
            self.answered = true;
            let no = unseen.no;
            log::info!(
                event = "process_unreadable", pid = self.id.pid, command = self.command.as_str(),
                reason:% = no;
                "process {} ({}) cannot be looked at: {no}. For a process of another user it \
                takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
                self.id,
                self.command
            );
        }
    }

    fn note_hidden_limits(&self) {
        log::warn!(
            event = "obstacle";
            "the memory limit of process {} ({}), or of one that it started, cannot be read. Its \
            cgroup is outside of this container, and its own /sys/fs/cgroup does not show the \
            cgroup. For such processes, only max_added and the machine's free memory limit \
            superpages",
            self.id,
            self.command
        );
    }

    /// Adds the counts to `ended`, and notes the end if the governor made superpages.
    fn note_end(&self, ended: &mut ProgramTotals) {
        let nothing = GovernorCounts::default();
        ended.note(&self.command, &self.care.policy, &self.counted, &nothing);
        if self.counted.promotions > 0 {
            log::info!(
                event = "process_left", pid = self.id.pid, command = self.command.as_str(),
                policy = self.care.policy.as_str(), promotions = self.counted.promotions,
                demotions = self.counted.demotions;
                "process {} ({}) is no longer looked after: {} superpages made, {} broken for \
                memory",
                self.id,
                self.command,
                self.counted.promotions,
                self.counted.demotions
            );
        }
    }
}

#[cfg(test)]
#[path = "wards_tests.rs"]
mod tests;
