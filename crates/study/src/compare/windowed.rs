//! Estimates for a whole program, from a recording in windows.
//!
//! The state of TLBs and policies at the start of a window is that of the end of the window before.
//! Pages that became resident between them are touched in the meantime, so populations are right,
//! and promotions that follow from them. TLBs are not: they lack the pages of the gap. So the
//! misses of the first part of each window do not count.
//!
//! After that part, a TLB may still lack a translation that it held in the program: that of a page
//! to which the window has not referred yet. With exact LRU, this ends when the window has referred
//! to as many pages as the TLB holds. Until then, walks for such pages are *open*: the program may
//! have had them or not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use broadleaf_machine::Machine;
use broadleaf_metrics::{
    CellResult, MachineSummary, StructureSummary, WindowCounts, WindowEstimates,
};
use broadleaf_model::{SlowLookups, Step, StepListener, StepSurroundings, StepsWanted};
use broadleaf_trace::Header;
use broadleaf_units::{PageSize, SpaceId};

use crate::failure::Failure;
use crate::listening::Listening;
use crate::page::machine_summaries;
use crate::source::origin::can_be_opened_again;
use crate::windows::{RecordedWindows, sentence};

/// Adds estimates to results without modelled frames, by one more replay. Returns notes on them.
///
/// # Errors
/// If the trace cannot be read.
pub(super) fn add_estimates(
    results: &mut [CellResult],
    head: Option<&Header>,
    warm_up: f64,
    listening: &Listening<'_>,
) -> Result<Vec<String>, Failure> {
    let Some(plan) = head.and_then(|head| head.windows) else {
        return Ok(Vec::new());
    };
    if !can_be_opened_again(listening.path) {
        return Ok(vec![format!(
            "the trace holds windows of the program ({}): counts are of the windows alone. \
             Estimates need a file, because they read the trace again",
            sentence(&plan)
        )]);
    }
    let read = RecordedWindows::read(listening.path, listening.reading, listening.watch)?;
    let windows = Arc::new(Sampled { read, warm_up });
    let heard = CountsHeard::default();
    let (results_of, of_windows) = (Arc::clone(&heard), Arc::clone(&windows));
    let capacities = capacities(listening.machines);
    let listener = move |policy: &str, machine: &str| -> Option<Box<dyn StepListener>> {
        Some(Box::new(InWindows {
            key: (policy.to_owned(), machine.to_owned()),
            windows: Arc::clone(&of_windows),
            at: 0,
            counts: of_windows.empty(),
            capacity: capacities.get(machine).copied().unwrap_or(u64::MAX),
            pages: HashMap::new(),
            results: Arc::clone(&results_of),
        }))
    };
    let names: Vec<String> = results.iter().map(|one| one.policy.clone()).collect();
    // Visits that hit the first level count as visits of their pages, too.
    let listening = Listening {
        steps: StepsWanted::EachVisit,
        ..*listening
    };
    listening.replay(names.iter().map(String::as_str), &[], &listener)?;
    let mut heard = heard
        .lock()
        .map_err(|_| Failure::failed("a replay failed"))?;
    let accesses = windows.read.accesses_from_first();
    let mut without = Vec::new();
    for result in results {
        let key = (result.policy.clone(), result.machine.clone());
        let counts = heard.remove(&key);
        result.estimates = counts.and_then(|of| WindowEstimates::of(accesses, warm_up, of));
        if result.estimates.is_none() && !without.contains(&result.policy) {
            without.push(result.policy.clone());
        }
    }
    let mut notes = vec![format!(
        "the trace holds windows of the program ({}): counts are of the windows alone, and \
         estimates are for {}",
        sentence(&plan),
        match plan.skip {
            0 => "the whole program",
            _ => "the program after the first start of a window",
        }
    )];
    match windows.read.windows.len() {
        0 => notes.push("no window began before the program ended".to_owned()),
        1 => notes.push(
            "there is one window, so the estimates have no interval: --every makes more".to_owned(),
        ),
        _ => {}
    }
    if !without.is_empty() && !windows.read.windows.is_empty() {
        notes.push(format!("no estimates for {}", without.join(", ")));
    }
    Ok(notes)
}

/// The note on a windowed trace whose results have no estimates, because memory is limited.
pub(super) fn no_estimates(head: Option<&Header>) -> Option<String> {
    let plan = head?.windows?;
    Some(format!(
        "the trace holds windows of the program ({}): counts are of the windows alone. With \
         --memory there are no estimates for the whole program",
        sentence(&plan)
    ))
}

/// The windows of a trace, with their warm-up.
struct Sampled {
    read: RecordedWindows,
    warm_up: f64,
}

impl Sampled {
    /// The accesses of a window that warm TLBs up.
    fn warming(&self, window: usize) -> u64 {
        (self.read.windows[window].accesses as f64 * self.warm_up) as u64
    }

    fn empty(&self) -> Vec<WindowCounts> {
        let windows = self.read.windows.iter().enumerate();
        windows
            .map(|(at, window)| WindowCounts {
                space: window.space.0,
                window: window.number,
                start: window.start,
                accesses: window.accesses - self.warming(at),
                ..WindowCounts::default()
            })
            .collect()
    }
}

/// The counts of the windows, by policy and machine.
type CountsHeard = Arc<Mutex<BTreeMap<(String, String), Vec<WindowCounts>>>>;

/// Counts the misses of a policy on a machine by window.
struct InWindows {
    key: (String, String),
    windows: Arc<Sampled>,
    /// The index of the present stretch.
    at: usize,
    counts: Vec<WindowCounts>,
    /// The base pages that the TLB holds.
    capacity: u64,
    /// The pages of the present window of each process. Windows of several may interleave.
    pages: HashMap<SpaceId, WindowPages>,
    results: CountsHeard,
}

/// The entries for base pages of each machine's TLB, on all levels.
fn capacities(machines: &[Machine]) -> BTreeMap<String, u64> {
    let of = |machine: MachineSummary| {
        let holds = |one: &&StructureSummary| one.sizes.contains(&PageSize::SIZE_4K.bytes());
        let entries = machine.structures.iter().filter(holds);
        (machine.name, entries.map(|one| one.sets * one.ways).sum())
    };
    machine_summaries(machines).into_iter().map(of).collect()
}

/// The base pages to which a window of a process has referred.
#[derive(Default)]
struct WindowPages {
    /// The index of the window.
    window: usize,
    /// A bit for each page of a block of 64.
    blocks: HashMap<u64, u64>,
    /// The number of pages.
    number: u64,
    latest: Option<u64>,
}

impl WindowPages {
    /// Adds a page. Returns true if the window had not referred to the page.
    fn add(&mut self, window: usize, page: u64) -> bool {
        if self.window != window {
            self.blocks.clear();
            (self.window, self.number, self.latest) = (window, 0, None);
        }
        if self.latest == Some(page) {
            return false;
        }
        self.latest = Some(page);
        let block = self.blocks.entry(page / 64).or_default();
        let is_new = *block >> (page % 64) & 1 == 0;
        *block |= 1 << (page % 64);
        self.number += u64::from(is_new);
        is_new
    }
}

impl StepListener for InWindows {
    fn begin(&mut self) {
        self.at = 0;
        self.counts = self.windows.empty();
        self.pages.clear();
    }

    fn step(&mut self, _step: &Step, _slow: SlowLookups) {}

    fn step_in(&mut self, step: &Step, slow: SlowLookups, surroundings: &StepSurroundings<'_>) {
        let (stretches, time) = (&self.windows.read.stretches, step.visit.time);
        while stretches.get(self.at).is_some_and(|part| part.to <= time) {
            self.at += 1;
        }
        let Some(part) = stretches.get(self.at).filter(|part| part.from <= time) else {
            return;
        };
        let (space, page) = (step.origin.space, step.visit.page.0);
        let pages = self.pages.entry(space).or_default();
        let is_full = pages.window == part.window && pages.number >= self.capacity;
        let is_open = pages.add(part.window, page) && !is_full;
        if part.before + (time - part.from) < self.windows.warming(part.window) {
            return;
        }
        let counts = &mut self.counts[part.window];
        counts.l1_misses += slow.second_hits + slow.third_hits + slow.walks;
        let second = slow.third_hits + slow.walks;
        counts.l2_misses += second;
        counts.walk_cycles += surroundings.walk_cycles;
        if is_open {
            counts.open_l2_misses += second;
            counts.open_walk_cycles += surroundings.walk_cycles;
        }
    }

    fn end(&mut self) {
        if let Ok(mut results) = self.results.lock() {
            results.insert(self.key.clone(), std::mem::take(&mut self.counts));
        }
    }
}
