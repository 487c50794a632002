//! What is decided for processes under one policy and one set of budgets.
//!
//! A ward is a function of what it is told: the same observations and outcomes, in the same order, make the same decisions. Nothing in it looks at a
//! clock or a kernel, so that a journal of what it was told is enough to run it again.

mod decide;
mod found;
mod learn;
mod mark;
mod shortage;
mod tally;

use crate::budget::Budgets;
use crate::seen::{BlockSeen, Headroom, MachineSeen, Mapping, Pages, ProcessId, Seen, Vitals};
use broadleaf_policy::{Policy, Refusal};
use mark::Mark;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

pub(crate) use mark::Patience;
pub use tally::Tally;

/// Where nothing changes, it is decided anew so often: waits end.
const DECIDE_EVERY: Duration = Duration::from_secs(1);

/// Processes under one policy.
pub struct Ward {
    policy: Box<dyn Policy>,
    budgets: Budgets,
    /// The processes that lived when it was last told.
    known: BTreeMap<ProcessId, Known>,
    /// The time of the latest observation.
    at: Duration,
    machine: MachineSeen,
    /// True if any process was ever seen.
    has_seen: bool,
    /// Until when nothing is promoted, for the kernel found no memory to do so.
    pause: Patience,
    /// The memory that the kernel lacked at that time.
    lacking: Refusal,
    /// Whether memory was short when it was last told.
    was_short: bool,
    /// Superpages that had been broken when memory was last not short.
    demotions_before: u64,
    /// Until when nothing is promoted that would add memory, for superpages were broken because memory was short.
    thrift: Patience,
    /// When it last decided; `None` where something has changed since.
    decided: Option<Duration>,
    tally: Tally,
    /// What the largest processes that have ended looked like at last.
    departed: Vec<(ProcessId, Vitals, Pages)>,
}

/// How many processes that have ended are remembered.
const DEPARTED: usize = 16;

/// What is known of a process.
#[derive(Debug, Default)]
struct Known {
    vitals: Vitals,
    headroom: Option<Headroom>,
    /// Bytes that it holds, of those that others share its part; `None` where nobody can share any.
    held: Option<u64>,
    pages: Pages,
    /// What there is to remember of its blocks.
    marks: BTreeMap<u64, Mark>,
    /// Whether the kernel does not let it be changed.
    unreachable: bool,
    /// Blocks for which the program asked for superpages.
    asked: Vec<Range<u64>>,
    /// True if other processes were seen before this one.
    is_late: bool,
    /// True if the process's memory was ever read.
    was_looked_at: bool,
    /// Page faults before the first look. 0 if other processes were seen before this one.
    faults_before: u64,
}

impl Known {
    /// Page faults since the first look.
    const fn faults(&self) -> u64 {
        self.vitals.faults.saturating_sub(self.faults_before)
    }
}

impl Ward {
    /// A ward without processes.
    pub fn new(policy: Box<dyn Policy>, budgets: Budgets) -> Self {
        Self {
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

    /// The policy.
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }

    /// What it may do.
    pub const fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Goes on under another policy, or with other budgets. What is known of processes stays, as does what was done.
    pub fn put_under(&mut self, policy: Box<dyn Policy>, budgets: Budgets) {
        self.policy = policy;
        self.budgets = budgets;
        self.decided = None;
    }

    /// What it came to so far.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The processes, with what is known of the memory of each.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessId, &Vitals, &Pages)> {
        let known = self.known.iter();
        known.map(|(id, known)| (*id, &known.vitals, &known.pages))
    }

    /// The largest processes that have ended, as each was last seen.
    pub fn departed(&self) -> impl Iterator<Item = (ProcessId, &Vitals, &Pages)> {
        let departed = self.departed.iter();
        departed.map(|(id, vitals, pages)| (*id, vitals, pages))
    }

    /// Page faults of all processes since the first look. Processes that began later count with all
    /// of theirs.
    pub fn page_faults(&self) -> u64 {
        let living = self.known.values().map(Known::faults);
        living.fold(self.tally.page_faults, u64::saturating_add)
    }

    /// What is known of a process's memory.
    pub fn pages(&self, process: ProcessId) -> Option<&Pages> {
        self.known.get(&process).map(|known| &known.pages)
    }

    /// Whether a superpage at that block is one that the ward made and that stands.
    pub fn made(&self, process: ProcessId, block: u64) -> bool {
        let known = self.known.get(&process);
        known
            .and_then(|known| known.marks.get(&block))
            .is_some_and(|mark| mark.made.is_some())
    }

    /// How many blocks there is something to remember of.
    pub fn remembered(&self) -> usize {
        self.known.values().map(|known| known.marks.len()).sum()
    }

    /// Bytes that the ward's superpages added, with resident pages of broken superpages.
    /// An upper bound: the program may have used some of these bytes since.
    pub fn added_bytes(&self) -> u64 {
        let marks = self.known.values().flat_map(|known| known.marks.values());
        marks.map(Mark::added_bytes).sum()
    }

    /// Bytes in superpages, whoever made them. Those that several processes map count in each: nobody tells which these are.
    pub fn huge_bytes(&self) -> u64 {
        let each = self.known.values().map(|known| known.pages.huge_bytes());
        each.sum()
    }

    /// Bytes that are resident in each of the processes, added up.
    pub fn rss_bytes(&self) -> u64 {
        let each = self.known.values().map(|known| known.vitals.rss_bytes);
        each.fold(0, u64::saturating_add)
    }

    /// Bytes that all processes hold together, what several share counted once as far as that is known.
    pub fn held_bytes(&self) -> u64 {
        let each = (self.known.values()).map(|known| known.held.unwrap_or(known.vitals.rss_bytes));
        each.fold(0, u64::saturating_add)
    }

    /// Takes in what was seen.
    pub fn see(&mut self, seen: Seen) {
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
            let known = self.known.entry(process.id).or_insert_with(|| Known {
                is_late: has_seen,
                faults_before: if has_seen { 0 } else { process.vitals.faults },
                ..Known::default()
            });
            if known.vitals.image != process.vitals.image {
                // Another program runs in it: nothing that was known of its memory holds.
                was_charged |= known.is_charged_at_all();
                known.marks.clear();
                known.asked.clear();
                known.pages = Pages::default();
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
            self.tell_tally();
        }
    }

    /// Notes the end of a shortage. What is promoted right after it would be the first to be broken in the next.
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

    /// Notes the most that stood at a time.
    fn tell_tally(&mut self) {
        let (huge, added) = (self.huge_bytes(), self.added_bytes());
        let tally = &mut self.tally;
        tally.huge_bytes_peak = tally.huge_bytes_peak.max(huge);
        tally.added_bytes_peak = tally.added_bytes_peak.max(added);
    }

    /// Whether there may be something to decide: something was seen or learned, memory is short, or enough time has passed for a wait to have ended.
    fn is_due(&self) -> bool {
        let waited = |decided: Duration| self.at.saturating_sub(decided) >= DECIDE_EVERY;
        self.decided.is_none_or(waited) || self.shortage().is_any()
    }
}

impl Known {
    /// Takes in what its memory looks like, and remembers what the program did to superpages.
    fn take_in(
        &mut self,
        mut pages: Pages,
        shared: &BTreeSet<u64>,
        at: Duration,
        tally: &mut Tally,
    ) {
        if let Some(asked) = pages.asked.take() {
            self.asked = asked;
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
                // All of it was given back. What comes there next is something else, but an allocator that gave it back by parts will do so again.
                _ => {
                    if mark.made.take().is_some() {
                        tally.given_back += 1;
                    }
                    mark.holds(&BlockSeen::empty(*number));
                    mark.is_full_only() && Mapping::of_block(&pages.mappings, *number).is_some()
                }
            }
        });
    }
}
