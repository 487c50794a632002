//! The beginnings that several mixes skip: each is read once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use broadleaf_model::{Beginning, Source};
use broadleaf_trace::Grain;

use super::runs::{MixRun, MixRunning, MixedPart, open};
use super::side_by_side::side_by_side;
use crate::compare::failure;
use crate::failure::Failure;
use crate::output::shown;
use crate::watch::Work;

/// A trace, and the instructions of it that are skipped.
type BeginningKey = (PathBuf, u64);

/// The beginnings that more than one mix skips.
#[derive(Default)]
pub(super) struct Beginnings {
    known: BTreeMap<BeginningKey, Beginning>,
}

impl Beginnings {
    /// Reads the beginnings of these runs, several at a time.
    ///
    /// # Errors
    /// Returns the first error of a trace, in the order of names.
    pub(super) fn of(
        runs: &[MixRun],
        running: &MixRunning<'_>,
        threads: usize,
    ) -> Result<Self, Failure> {
        let mut uses = BTreeMap::<BeginningKey, usize>::new();
        for part in runs.iter().flat_map(|run| &run.programs) {
            if let Some(key) = key_of(part) {
                *uses.entry(key).or_default() += 1;
            }
        }
        uses.retain(|_, times| *times > 1);
        let wanted: Vec<BeginningKey> = uses.into_keys().collect();
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let expected = wanted.iter().map(|key| expected(key, running));
        let expected: u64 = expected.sum::<Result<u64, Failure>>()?;
        let (passed, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let bar = running.watch.begin("skipping", Work::Accesses(expected));
        let read = |number: usize| read(&wanted[number], running, &passed).map(Some);
        let read = side_by_side(wanted.len(), threads, &stop, read, || {
            bar.set(0, passed.load(Ordering::Relaxed).min(expected));
        })?;
        let known = wanted.into_iter().zip(read);
        let known = known.filter_map(|(key, beginning)| Some((key, beginning?)));
        Ok(Self {
            known: known.collect(),
        })
    }

    /// The beginning of a program, if it is known.
    pub(super) fn find(&self, part: &MixedPart) -> Option<&Beginning> {
        self.known.get(&key_of(part)?)
    }
}

fn key_of(part: &MixedPart) -> Option<BeginningKey> {
    let skipped = part.work.skipped;
    (skipped > 0).then(|| (part.path.clone(), skipped))
}

/// The accesses of the skipped instructions, if all instructions make as many.
fn expected((path, skipped): &BeginningKey, running: &MixRunning<'_>) -> Result<u64, Failure> {
    let totals = open(path, running.max_accesses)?.totals();
    Ok(totals.map_or(0, |totals| {
        let share = *skipped as f64 / totals.instructions.max(1) as f64;
        (totals.accesses() as f64 * share.min(1.0)) as u64
    }))
}

fn read(
    (path, skipped): &BeginningKey,
    running: &MixRunning<'_>,
    passed: &AtomicU64,
) -> Result<Option<Beginning>, Failure> {
    let mut trace = open(path, running.max_accesses)?;
    // A mix refuses these traces, and says why.
    let is_short = (trace.totals()).is_some_and(|totals| totals.instructions < *skipped);
    if is_short || trace.holds_system() || trace.grain() != Grain::Line {
        return Ok(None);
    }
    let mut before = 0;
    let beginning = Beginning::of(&mut trace, *skipped, &mut |state| {
        passed.fetch_add(state.accesses - before, Ordering::Relaxed);
        before = state.accesses;
        ControlFlow::Continue(())
    });
    beginning.map_err(|error| failure(error, &shown(path)))
}
