//! Decisions for processes under one policy and one set of budgets.
//!
//! A ward is a function of its input: the same observations and outcomes in the same order make the
//! same decisions. A ward reads no clock and no kernel, so a journal of its input is enough to run
//! it again.

mod decide;
mod found;
mod learn;
mod mark;
mod shortage;
mod tally;
mod used;

use crate::budget::Budgets;
use crate::seen::{
    BlockSeen, Headroom, LiveMapping, LivePages, MachineSeen, Observation, ProcessId, Vitals,
};
use crate::view::weighs_use;
use broadleaf_policy::{Policy, Refusal};
use mark::Mark;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;
use used::UsedPages;

pub(crate) use mark::Patience;
pub use tally::Tally;

/// The interval of decisions if nothing changes. Waits may have ended since the last decision.
const DECIDE_EVERY: Duration = Duration::from_secs(1);

/// Processes under one policy.
pub struct Ward {
    policy: Box<dyn Policy>,
    /// True if the policy depends on which pages were used recently.
    weighs_use: bool,
    budgets: Budgets,
    /// The processes that lived at the latest observation.
    known: BTreeMap<ProcessId, WardProcess>,
    /// The time of the latest observation.
    at: Duration,
    machine: MachineSeen,
    /// True if any process was ever seen.
    has_seen: bool,
    /// The pause of all promotions after the kernel found no memory for one.
    pause: Patience,
    /// The memory that the kernel lacked at that time.
    lacking: Refusal,
    /// True if memory was short at the latest observation.
    was_short: bool,
    /// The number of demotions at the latest time at which memory was not short.
    demotions_before: u64,
    /// The pause of promotions that add memory, after demotions for a shortage.
    thrift: Patience,
    /// The time of the latest decision. `None` if something has changed since.
    decided: Option<Duration>,
    tally: Tally,
    /// The last observations of the largest processes that have ended.
    departed: Vec<(ProcessId, Vitals, LivePages)>,
}

/// The maximum number of remembered processes that have ended.
const DEPARTED: usize = 16;

/// A ward's knowledge of a process.
#[derive(Debug, Default)]
struct WardProcess {
    vitals: Vitals,
    headroom: Option<Headroom>,
    /// The bytes that the process holds. A shared page counts in proportion. `None` if no process
    /// can share pages with it.
    held: Option<u64>,
    pages: LivePages,
    /// The memory about each block.
    marks: BTreeMap<u64, Mark>,
    /// True if the kernel does not allow changes to the process.
    unreachable: bool,
    /// Blocks for which the program asked for superpages.
    asked: Vec<Range<u64>>,
    /// The use of blocks. Empty before the first measurement.
    used: BTreeMap<u64, UsedPages>,
    /// True if other processes were seen before this one.
    is_late: bool,
    /// True if the process's memory was ever read.
    was_looked_at: bool,
    /// Page faults before the first observation. The number is 0 if other processes were seen
    /// before this one.
    faults_before: u64,
}

impl WardProcess {
    /// Returns the page faults since the first observation.
    const fn faults(&self) -> u64 {
        self.vitals.faults.saturating_sub(self.faults_before)
    }
}

impl Ward {
    /// Creates a ward without processes.
    pub fn new(policy: Box<dyn Policy>, budgets: Budgets) -> Self {
        Self {
            weighs_use: weighs_use(policy.as_ref()),
            policy,
            budgets,
            known: BTreeMap::new(),
            at: Duration::ZERO,
            machine: MachineSeen::default(),
            has_seen: false,
            pause: Patience::default(),
            lacking: Refusal::NoExtent,
            was_short: false,
            demotions_before: 0,
            thrift: Patience::default(),
            decided: None,
            tally: Tally::default(),
            departed: Vec::new(),
        }
    }

    /// Returns the policy.
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }

    /// Returns the budgets.
    pub const fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Changes the policy and the budgets. The knowledge of processes and the totals stay.
    pub fn put_under(&mut self, policy: Box<dyn Policy>, budgets: Budgets) {
        self.weighs_use = weighs_use(policy.as_ref());
        self.policy = policy;
        self.budgets = budgets;
        self.decided = None;
    }

    /// Returns the totals so far.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the processes with their vitals and their memory.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessId, &Vitals, &LivePages)> {
        let known = self.known.iter();
        known.map(|(id, known)| (*id, &known.vitals, &known.pages))
    }

    /// Returns the largest processes that have ended, with their last observation.
    pub fn departed(&self) -> impl Iterator<Item = (ProcessId, &Vitals, &LivePages)> {
        let departed = self.departed.iter();
        departed.map(|(id, vitals, pages)| (*id, vitals, pages))
    }

    /// Returns the page faults of all processes since the first observation. For a process that
    /// began later, all faults count.
    pub fn page_faults(&self) -> u64 {
        let living = self.known.values().map(WardProcess::faults);
        living.fold(self.tally.page_faults, u64::saturating_add)
    }

    /// Returns the known memory of a process.
    pub fn pages(&self, process: ProcessId) -> Option<&LivePages> {
        self.known.get(&process).map(|known| &known.pages)
    }

    /// Returns true if the ward made the superpage at that block and it still exists.
    pub fn made(&self, process: ProcessId, block: u64) -> bool {
        let known = self.known.get(&process);
        known
            .and_then(|known| known.marks.get(&block))
            .is_some_and(|mark| mark.made.is_some())
    }

    /// Returns the number of blocks that the ward remembers.
    pub fn remembered(&self) -> usize {
        self.known.values().map(|known| known.marks.len()).sum()
    }

    /// Returns the bytes that the ward's superpages added, with resident pages of broken
    /// superpages. The number is an upper bound: the program may have used some of these bytes
    /// since.
    pub fn added_bytes(&self) -> u64 {
        let marks = self.known.values().flat_map(|known| known.marks.values());
        marks.map(Mark::added_bytes).sum()
    }

    /// Returns the bytes in superpages of any origin. A superpage that several processes map counts
    /// in each, because the kernel does not report the sharing.
    pub fn huge_bytes(&self) -> u64 {
        let each = self.known.values().map(|known| known.pages.huge_bytes());
        each.sum()
    }

    /// Returns the sum of the resident bytes of the processes.
    pub fn rss_bytes(&self) -> u64 {
        let each = self.known.values().map(|known| known.vitals.rss_bytes);
        each.fold(0, u64::saturating_add)
    }

    /// Returns the bytes that all processes hold together. Shared pages count once if the kernel
    /// reports them.
    pub fn held_bytes(&self) -> u64 {
        let each = (self.known.values()).map(|known| known.held.unwrap_or(known.vitals.rss_bytes));
        each.fold(0, u64::saturating_add)
    }

    /// Takes in an observation.
    pub fn see(&mut self, seen: Observation) {
        self.at = seen.at;
        self.machine = seen.machine;
        let mut was_charged = false;
        for (id, known) in self.known.extract_if(.., |id, _| !seen.has(*id)) {
            was_charged |= known.is_charged_at_all();
            self.tally.page_faults = (self.tally.page_faults).saturating_add(known.faults());
            self.departed.push((id, known.vitals, known.pages));
        }
        self.departed
            .sort_by_key(|(_, vitals, _)| std::cmp::Reverse(vitals.rss_bytes));
        self.departed.truncate(DEPARTED);
        let has_seen = self.has_seen;
        self.has_seen |= !seen.processes.is_empty();
        for process in seen.processes {
            let pages = process.pages.as_ref();
            let shared = pages.map(|pages| self.charged_elsewhere(&process, pages, has_seen));
            let shared = shared.unwrap_or_default();
            let known = self.known.entry(process.id).or_insert_with(|| WardProcess {
                is_late: has_seen,
                faults_before: if has_seen { 0 } else { process.vitals.faults },
                ..WardProcess::default()
            });
            if known.vitals.image != process.vitals.image {
                // Another program runs in the process, so the knowledge of its memory is void.
                was_charged |= known.is_charged_at_all();
                known.marks.clear();
                known.asked.clear();
                known.used.clear();
                known.pages = LivePages::default();
                known.unreachable = false;
            }
            known.vitals = process.vitals;
            known.headroom = process.headroom;
            if let Some(pages) = process.pages {
                known.held = pages.held;
                known.take_in(pages, &shared, self.at, &mut self.tally);
                self.decided = None;
            }
        }
        if was_charged {
            self.charge_heirs();
        }
        self.note_shortage();
        if self.decided.is_none() {
            self.note_peaks();
        }
    }

    /// Notes the end of a shortage. Blocks that are promoted right after a shortage would be the
    /// first to be demoted in the next one.
    fn note_shortage(&mut self) {
        let is_short = self.shortage().is_any();
        if self.was_short && !is_short && self.tally.demotions > self.demotions_before {
            self.thrift
                .wait(self.at, Duration::from_secs(10), Duration::from_secs(600));
        }
        if !is_short {
            self.demotions_before = self.tally.demotions;
        }
        self.was_short = is_short;
    }

    /// Updates the peaks of the totals.
    fn note_peaks(&mut self) {
        let (huge, added) = (self.huge_bytes(), self.added_bytes());
        let tally = &mut self.tally;
        tally.huge_bytes_peak = tally.huge_bytes_peak.max(huge);
        tally.added_bytes_peak = tally.added_bytes_peak.max(added);
    }

    /// Returns true if a new decision may differ. The causes are an observation, an outcome, a
    /// shortage, or the end of a wait.
    fn is_due(&self) -> bool {
        let waited = |decided: Duration| self.at.saturating_sub(decided) >= DECIDE_EVERY;
        self.decided.is_none_or(waited) || self.shortage().is_any()
    }
}

impl WardProcess {
    /// Takes in the memory of the process, and notes the superpages that the program broke or
    /// returned.
    fn take_in(
        &mut self,
        mut pages: LivePages,
        shared: &BTreeSet<u64>,
        at: Duration,
        tally: &mut Tally,
    ) {
        if let Some(asked) = pages.asked.take() {
            self.asked = asked;
        }
        if let Some(used) = pages.used.take() {
            self.take_in_used(&used);
        }
        let before = std::mem::replace(&mut self.pages, pages);
        self.take_in_found(&before, shared);
        self.was_looked_at = true;
        let pages = &self.pages;
        self.marks.retain(|number, mark| {
            match pages.block(*number) {
                Some(seen) if !seen.is_empty() => {
                    if !seen.huge
                        && let Some(before) = mark.made.take()
                    {
                        let gave_back = mark.broken(before, seen, at);
                        tally.broken_by_programs += u64::from(gave_back);
                    }
                    mark.holds(seen);
                    true
                }
                // The program returned the whole block. Its next contents are new, but an allocator
                // that returned parts of it will do so again.
                _ => {
                    if mark.made.take().is_some() {
                        tally.given_back += 1;
                    }
                    mark.holds(&BlockSeen::empty(*number));
                    mark.is_full_only() && LiveMapping::of_block(&pages.mappings, *number).is_some()
                }
            }
        });
    }
}
