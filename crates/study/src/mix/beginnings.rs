//! The beginnings that several mixes skip: each is read once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use broadleaf_model::{Beginning, Error, Source};
use broadleaf_trace::{Grain, VisitEnds};

use super::runs::{MixRun, MixRunning, MixedPart, open};
use super::side_by_side::side_by_side;
use crate::compare::failure;
use crate::failure::Failure;
use crate::output::shown;
use crate::watch::Work;

/// A trace, the instructions of it that are skipped, and where its visits end.
type BeginningKey = (PathBuf, u64, VisitEnds);

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
        for run in runs {
            let keys = run.programs.iter().filter_map(|part| key_of(run, part));
            keys.for_each(|key| *uses.entry(key).or_default() += 1);
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
        let read = |number: usize| read(&wanted[number], running, &passed, &stop);
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
    pub(super) fn find(&self, run: &MixRun, part: &MixedPart) -> Option<&Beginning> {
        self.known.get(&key_of(run, part)?)
    }
}

fn key_of(run: &MixRun, part: &MixedPart) -> Option<BeginningKey> {
    let skipped = part.work.skipped;
    (skipped > 0).then(|| (part.path.clone(), skipped, run.ends()))
}

/// The accesses of the skipped instructions, if all instructions make as many.
fn expected(
    (path, skipped, ends): &BeginningKey,
    running: &MixRunning<'_>,
) -> Result<u64, Failure> {
    let totals = open(path, running.max_accesses, *ends)?.totals();
    Ok(totals.map_or(0, |totals| {
        let share = *skipped as f64 / totals.instructions.max(1) as f64;
        (totals.accesses() as f64 * share.min(1.0)) as u64
    }))
}

/// The beginning of a trace, if there is a short one; `None` if the reading was stopped.
fn read(
    (path, skipped, ends): &BeginningKey,
    running: &MixRunning<'_>,
    passed: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Option<Option<Beginning>>, Failure> {
    let mut trace = open(path, running.max_accesses, *ends)?;
    // A mix refuses these traces, and says why.
    let is_short = (trace.totals()).is_some_and(|totals| totals.instructions < *skipped);
    if is_short || trace.holds_system() || trace.grain() != Grain::Line {
        return Ok(Some(None));
    }
    let mut before = 0;
    let beginning = Beginning::of(&mut trace, *skipped, &mut |state| {
        passed.fetch_add(state.accesses - before, Ordering::Relaxed);
        before = state.accesses;
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    match beginning {
        Err(Error::Stopped) => Ok(None),
        Err(error) => Err(failure(error, &shown(path))),
        Ok(beginning) => Ok(Some(beginning)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::runs::plan;
    use broadleaf_model::{MixOutcome, MixProgram, MixWork, run_mix};
    use broadleaf_trace::{Encoder, Event, Visit};

    const INSTRUCTIONS: u64 = 4 * 120_000;

    /// A recording of several parts, whose visits repeat and whose mappings come and go.
    fn recording() -> Vec<u8> {
        let mut header = crate::testing::header();
        header.grain = Grain::Line;
        header.options.instruction_counts = true;
        header.options.instruction_pages = true;
        let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
        let all = crate::testing::range(crate::testing::START, 1000);
        for event in [crate::testing::started("x"), crate::testing::mapped(all)] {
            encoder.event(&event).expect("an event");
        }
        for number in 0..120_000_u64 {
            let code = Visit {
                unit: (0x40_0000 + number * 7919 % 300 * 4096) >> 6,
                instructions: 4,
                fetch: true,
                ..Visit::default()
            };
            let data = Visit {
                unit: (crate::testing::START >> 6) + number / 2 * 7877 % 64_000,
                loads: 1,
                stores: u32::from(number % 7 == 0),
                loads_before_store: 1,
                ..Visit::default()
            };
            encoder.visits(&[code, data]).expect("visits");
            if number % 9000 == 8999 {
                let some = crate::testing::range(crate::testing::START + (number << 8), 16);
                let event = Event::Unmap(some);
                encoder.event(&event).expect("an event");
                encoder
                    .event(&crate::testing::mapped(some))
                    .expect("an event");
            }
        }
        encoder.finish().expect("a trace")
    }

    /// The outcome of a mix that skips, and the visits and events of the beginning.
    fn skipped(path: &std::path::Path, skipped: u64, condensed: bool) -> (MixOutcome, usize) {
        let work = MixWork {
            skipped,
            warming: 100,
            counted: Some(5000),
        };
        let mut trace = open(path, None, VisitEnds::Units).expect("a trace");
        let beginning = Beginning::of(&mut trace, skipped, &mut |_| ControlFlow::Continue(()));
        let beginning = beginning.expect("a whole trace").expect("a beginning");
        let mut programs = [MixProgram {
            beginning: condensed.then_some(&beginning),
            ..MixProgram::new(&mut trace, work)
        }];
        let machine = crate::machines::machines(&["chen2014-4core".to_owned()]);
        let machine = machine.expect("a machine").remove(0);
        let plan = plan("greedy", &machine, None).expect("a plan");
        let outcome = run_mix(&mut programs, &plan, &mut |_| ControlFlow::Continue(()));
        (outcome.expect("an outcome"), beginning.len())
    }

    /// At places inside pieces, at events, in later parts and near the end.
    #[test]
    fn recordings_go_on_where_their_beginnings_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.bl");
        std::fs::write(&path, recording()).expect("written");
        for number in [
            1,
            4 * 9000,
            4 * 9000 + 2,
            123_457,
            300_001,
            INSTRUCTIONS - 6000,
        ] {
            let (whole, _) = skipped(&path, number, false);
            let (condensed, kept) = skipped(&path, number, true);
            assert_eq!(whole, condensed, "{number}");
            assert!(kept as u64 <= number / 4 + 10, "{kept} of {number}");
        }
        let (_, kept) = skipped(&path, INSTRUCTIONS - 6000, true);
        assert!(kept < 60_000, "{kept}");
    }
}
