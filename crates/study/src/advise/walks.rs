//! The page walks of base pages, to share out the gain of superpages by use and not by size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use broadleaf_model::{Choice, Plan, SlowLookups, Step, StepListener, StepsWanted};
use broadleaf_report::BASELINE;
use broadleaf_units::{PageSize, SpaceId};

use super::AdviceRequest;
use crate::compare::{replay, within_machine};
use crate::failure::Failure;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::SubjectWatch;

/// The walks of base pages, by address space and page.
pub(super) type PageWalks = HashMap<(SpaceId, u64), u64>;

/// Counts the walks of the base pages in some superpages.
struct WalkCounter {
    /// The superpages, by address space and first page.
    wanted: Arc<HashMap<(SpaceId, u64), ()>>,
    /// The base-two logarithms of the superpages' pages, each once.
    shifts: Vec<u8>,
    walks: PageWalks,
    result: Arc<Mutex<PageWalks>>,
}

impl StepListener for WalkCounter {
    fn begin(&mut self) {
        self.walks.clear();
    }

    fn step(&mut self, step: &Step, slow: SlowLookups) {
        if slow.walks == 0 {
            return;
        }
        let (space, page) = (step.origin.space, step.visit.page.0);
        let is_wanted = |shift: &u8| self.wanted.contains_key(&(space, page >> shift << shift));
        if self.shifts.iter().any(is_wanted) {
            *self.walks.entry((space, page)).or_default() += slow.walks;
        }
    }

    fn end(&mut self) {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        *result = std::mem::take(&mut self.walks);
    }
}

/// Replays the trace with base pages alone, and returns the walks of the pages that the chosen
/// superpages replace. Events of the trace change the owners of pages; the owners at the end count.
///
/// # Errors
/// If the trace cannot be read.
pub(super) fn of_choice(
    request: &AdviceRequest<'_>,
    reading: TraceReading,
    threads: usize,
    choice: &Choice,
) -> Result<PageWalks, Failure> {
    let base = PageSize::SIZE_4K.shift();
    let pieces = choice.pieces.iter();
    let wanted = pieces.map(|piece| ((piece.space, piece.address >> base), ()));
    let wanted: Arc<HashMap<_, _>> = Arc::new(wanted.collect());
    let shifts = choice.pieces.iter().map(|piece| piece.size.shift() - base);
    let mut shifts: Vec<u8> = shifts.collect();
    shifts.sort_unstable();
    shifts.dedup();
    let result = Arc::new(Mutex::new(PageWalks::new()));
    let of_listener = result.clone();
    let policy = broadleaf_policy::parse(BASELINE).map_err(Failure::failed)?;
    let plan = Plan::within(
        vec![policy],
        vec![request.machine.clone()],
        super::limits(request.files, request.costs),
    );
    let plan = plan.map_err(Failure::wrong)?;
    let listener = move |_: &str, _: &str| -> Option<Box<dyn StepListener>> {
        Some(Box::new(WalkCounter {
            wanted: wanted.clone(),
            shifts: shifts.clone(),
            walks: PageWalks::new(),
            result: of_listener.clone(),
        }))
    };
    let plan = plan.with_listeners(StepsWanted::EachChange, listener);
    let plan = within_machine(plan.on_threads(threads));
    let mut trace = Trace::open(request.trace, reading, Whole::Memory)?;
    let header = trace.header();
    let plan = match header.is_none_or(|header| header.options.instruction_pages) {
        true => plan,
        false => plan.without_fetches(),
    };
    let part = SubjectWatch {
        subject: "the walks of each page",
        watch: request.watch,
    };
    replay(&mut [], &mut trace, &plan, &part)?;
    trace.finish()?;
    let mut found = result.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut found))
}
