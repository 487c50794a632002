//! Reduced traces.

use super::figures::{CountsByName, figures_of_engine};
use super::replays::engine;
use super::{cases, for_each_seed, machine_of, policies, report};
use crate::common::items_of;
use broadleaf_accel::{reduce, run};
use broadleaf_model::{Plan, Source, SourcePart, SourcePiece};
use broadleaf_oracle::random::{Rng, Script};
use broadleaf_oracle::{OracleMachine as Machine, PolicySpec, Recording};
use broadleaf_trace::reduced::{ReducedPartReader, ReducedReader};
use std::ops::ControlFlow;

/// The model's counts of the reduced form of a trace, written and read again.
fn of_reduced(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    use broadleaf_trace::reduced::{ReducedHeader, ReducedWriter};
    let length = recording.items.len();
    let mut items = items_of(recording).in_parts_of(1 + length % 5);
    let machine = broadleaf_machine::machine(&machine.to_string()).expect("a machine");
    let header = ReducedHeader::default();
    let mut writer = ReducedWriter::new(Vec::new(), &header).expect("a head");
    let mut each = |piece: SourcePiece<'_>| {
        match piece {
            SourcePiece::Reduced(visits, sums) => writer.visits(visits, &sums).expect("visits"),
            SourcePiece::Event(event) => writer.event(event).expect("an event"),
            SourcePiece::Visits(_) | SourcePiece::Phrased(_) => unreachable!("it is reduced"),
        }
        ControlFlow::Continue(())
    };
    let mut go_on = |_| ControlFlow::Continue(());
    let machines = [machine];
    reduce(&mut items, &machines, 1 + length % 3, &mut each, &mut go_on).expect("a trace");
    let (bytes, _) = writer.finish().expect("an end");
    let named = policies
        .iter()
        .map(|policy| broadleaf_policy::parse(&policy.to_string()).expect("a policy"));
    let plan = Plan::new(named.collect(), machines.into()).expect("a plan");
    let mut source = ReducedBytes(bytes, 0);
    let outcome = run(&mut source, &plan, &mut go_on).expect("a replay");
    let (loads, stores) = (outcome.trace.loads, outcome.trace.stores);
    (outcome.results.iter())
        .map(|result| figures_of_engine(result, loads, stores))
        .collect()
}

/// A reduced trace in memory, and how many of its parts were handed out.
struct ReducedBytes(Vec<u8>, usize);

struct Pieces(ReducedPartReader);

impl SourcePart for Pieces {
    type Error = String;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, String> {
        let item = self.0.next_item().map_err(|error| error.to_string())?;
        Ok(item.map(SourcePiece::from))
    }
}

impl Source for ReducedBytes {
    type Error = String;
    type Part = Pieces;

    fn grain(&self) -> broadleaf_trace::Grain {
        broadleaf_trace::Grain::Page
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.1 = 0;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<Pieces>, String> {
        let text = |error: broadleaf_trace::TraceError| error.to_string();
        let mut reader = ReducedReader::new(self.0.as_slice()).map_err(text)?;
        for _ in 0..self.1 {
            reader.next_part().map_err(text)?;
        }
        self.1 += 1;
        let Some(part) = reader.next_part().map_err(text)? else {
            return Ok(None);
        };
        let mut pieces = ReducedPartReader::new();
        pieces.begin(part);
        Ok(Some(Pieces(pieces)))
    }

    fn close(&mut self, _: Pieces) -> Result<ControlFlow<()>, String> {
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn a_reduced_trace_gives_the_counts_of_the_trace() {
    for_each_seed(cases(300), |seed| {
        let seed = seed + 5_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        let both = of_reduced(&recording, &policies, machine)
            .into_iter()
            .zip(engine(&recording, &policies, machine));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        of_reduced(recording, &[policy], machine).remove(0),
                        engine(recording, &[policy], machine).remove(0),
                    )
                });
            }
        }
    });
}
