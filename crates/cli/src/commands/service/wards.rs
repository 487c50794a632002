//! The processes that are looked after, each with a governor of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use broadleaf_governor::service::Care;
use broadleaf_governor::{
    Governor, Kernel, Linux, MachineSeen, ProcessId, ProcessTree, Ticked, Vitals, Ward,
};
use broadleaf_policy::parse;

use super::account::{Counts, Totals};
use super::finding::{Fate, Found};
use broadleaf_study::failure::Failure;

/// The longest wait between two looks at a process in which nothing changes. Changes are noticed
/// when processes are looked for.
const REST: Duration = Duration::from_secs(10);

/// The most programs that are said to be forbidden superpages. Each name is kept, and a process may
/// rename itself without end.
const MOST_FORBIDDEN: usize = 256;

/// A process that is looked after, with what it starts.
pub(super) struct Tended {
    pub(super) id: ProcessId,
    pub(super) command: String,
    pub(super) care: Care,
    pub(super) governor: Governor<Linux>,
    /// When it is looked at next.
    due: Instant,
    /// What was added to the totals.
    counted: Counts,
    /// Whether it was looked at, or the reason why it cannot be was said.
    answered: bool,
}

/// All of them.
pub(super) struct Wards {
    pub(super) tended: Vec<Tended>,
    /// What was done for these and for those that have ended.
    pub(super) totals: Totals,
    /// What was done for those that are looked after no more.
    pub(super) ended: Totals,
    kernel: Linux,
    dry: bool,
    /// Programs of which it was said that superpages are forbidden to them.
    forbidden: BTreeSet<String>,
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

/// Those that are nobody's children here: a rule of their own fits them, or they are this process.
pub(super) fn apart(found: &[Found]) -> Arc<BTreeSet<ProcessId>> {
    let own = Linux::new().process(std::process::id());
    Arc::new(found.iter().map(|found| found.id).chain(own).collect())
}

impl Wards {
    pub(super) fn new(dry: bool) -> Self {
        Self {
            tended: Vec::new(),
            totals: Totals::default(),
            ended: Totals::default(),
            kernel: Linux::new(),
            dry,
            forbidden: BTreeSet::new(),
        }
    }

    /// Looks after those that were found, and leaves alone those that no rule fits any more.
    pub(super) fn follow(&mut self, found: &[Found], now: Instant) -> Result<(), Failure> {
        let apart = apart(found);
        // One that has ended may have left children, which are found out when it is looked at.
        let kernel = &mut self.kernel;
        let ended = self.tended.extract_if(.., |tended| {
            match found.binary_search_by_key(&tended.id, |found| found.id) {
                Ok(at) => !matches!(found[at].fate, Fate::Governed(_)),
                Err(_) => kernel.vitals(tended.id).is_ok(),
            }
        });
        for tended in ended {
            tended.note_end(&mut self.ended);
        }
        for found in found {
            match &found.fate {
                Fate::Governed(care) => self.care_for(found, care, &apart, now)?,
                Fate::Ignored => {}
                Fate::Forbidden => self.note_forbidden(found),
            }
        }
        for tended in &mut self.tended {
            tended.governor.leave_out(Arc::clone(&apart));
        }
        Ok(())
    }

    fn care_for(
        &mut self,
        found: &Found,
        care: &Care,
        apart: &Arc<BTreeSet<ProcessId>>,
        now: Instant,
    ) -> Result<(), Failure> {
        let known = (self.tended.iter_mut()).find(|tended| tended.id == found.id);
        if let Some(tended) = known {
            tended.command = broadleaf_report::printable(&found.command);
            if tended.care != *care {
                let policy = parse(&care.policy).map_err(Failure::failed)?;
                tended.governor.put_under(policy, care.budgets);
                tended.care = care.clone();
                tended.due = now;
            }
            return Ok(());
        }
        let mut governor = governor(&self.kernel, found.id, care, apart, self.dry)?;
        governor.rest_for_at_most(REST);
        self.tended.push(Tended {
            id: found.id,
            command: broadleaf_report::printable(&found.command),
            care: care.clone(),
            governor,
            due: now,
            counted: Counts::default(),
            answered: false,
        });
        Ok(())
    }

    fn note_forbidden(&mut self, found: &Found) {
        let has_room = self.forbidden.len() < MOST_FORBIDDEN;
        if has_room && self.forbidden.insert(found.command.clone()) {
            say!(
                "superpages are forbidden to process {} ({}), by itself or by what started it (prctl PR_SET_THP_DISABLE): such processes are left alone",
                found.id,
                broadleaf_report::printable(&found.command)
            );
        }
    }

    /// Makes processes due that have changed since their last look. `living` are all live
    /// processes, in order.
    pub(super) fn wake(&mut self, living: &[(ProcessId, Vitals)], now: Instant) {
        let has_changed = |id: ProcessId, before: &Vitals| {
            let at = living.binary_search_by_key(&id, |(id, _)| *id);
            at.map_or(true, |at| living[at].1 != *before)
        };
        for tended in self.tended.iter_mut().filter(|tended| tended.due > now) {
            let mut processes = tended.governor.ward().processes();
            if processes.any(|(id, before, _)| has_changed(id, before)) {
                tended.due = now;
            }
        }
    }

    /// Has those looked at whose superpages added memory, if memory is short.
    pub(super) fn wake_if_short(&mut self, now: Instant) {
        let machine = self.machine();
        for tended in self.tended.iter_mut().filter(|tended| tended.due > now) {
            let ward = tended.governor.ward();
            let shortage = ward.budgets().shortage(&machine, std::iter::empty());
            if shortage.is_any() && ward.added_bytes() > 0 {
                tended.due = now;
            }
        }
    }

    /// Reads the state of the machine.
    pub(super) fn machine(&mut self) -> MachineSeen {
        self.kernel.machine()
    }

    /// The one that is due first, and when.
    pub(super) fn next(&self) -> Option<(Instant, usize)> {
        let due = self.tended.iter().enumerate();
        due.map(|(at, tended)| (tended.due, at)).min()
    }

    /// Looks at one, and says how much of a processor looking took.
    pub(super) fn tick(&mut self, at: usize) -> Duration {
        let tended = &mut self.tended[at];
        let ticked = tended.governor.tick();
        tended.due = Instant::now() + ticked.wait;
        tended.answer(&ticked);
        let counts = Counts::of(&tended.governor);
        let looking = counts.looking.saturating_sub(tended.counted.looking);
        (self.totals).note(
            &tended.command,
            &tended.care.policy,
            &counts,
            &tended.counted,
        );
        tended.counted = counts;
        if !ticked.alive {
            let ended = self.tended.swap_remove(at);
            ended.note_end(&mut self.ended);
        }
        looking
    }
}

impl Tended {
    pub(super) const fn counts(&self) -> &Counts {
        &self.counted
    }

    /// Says why its memory cannot be looked at, once.
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
            say!(
                "process {} ({}) cannot be looked at: {no}. For a process of another user it takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
                self.id,
                self.command
            );
        }
    }

    /// Adds it to those that are looked after no more, and says so where something was done.
    fn note_end(&self, ended: &mut Totals) {
        let nothing = Counts::default();
        ended.note(&self.command, &self.care.policy, &self.counted, &nothing);
        if self.counted.promotions > 0 {
            say!(
                "process {} ({}) is no longer looked after: {} superpages promoted, {} demoted",
                self.id,
                self.command,
                self.counted.promotions,
                self.counted.demotions
            );
        }
    }
}
