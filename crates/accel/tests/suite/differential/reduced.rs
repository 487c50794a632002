//! Reduced traces.

use super::figures::{CountsByName, figures_of_engine};
use super::replays::engine;
use super::{cases, for_each_seed, machine_of, policies, report};
use crate::common::items_of;
use broadleaf_accel::{reduce, run};
use broadleaf_model::{Items, Plan, Source, SourcePart, SourcePiece};
use broadleaf_oracle::random::{Rng, Script};
use broadleaf_oracle::{OracleMachine as Machine, PolicySpec, Recording};
use broadleaf_trace::Event;
use broadleaf_trace::reduced::{ReducedPartReader, ReducedReader, Sums};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Some parts of a trace.
struct SomeParts {
    all: Items,
    /// The parts to pass over, and the parts to read after them.
    before: usize,
    left: usize,
}

impl Source for SomeParts {
    type Error = <Items as Source>::Error;
    type Part = <Items as Source>::Part;

    fn grain(&self) -> broadleaf_trace::Grain {
        self.all.grain()
    }

    fn rewind(&mut self) -> Result<(), Self::Error> {
        unreachable!("it is read once")
    }

    fn next_part(&mut self) -> Result<Option<Self::Part>, Self::Error> {
        while self.before > 0 {
            self.before -= 1;
            drop(self.all.next_part()?);
        }
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.all.next_part()
    }

    fn close(&mut self, part: Self::Part) -> Result<ControlFlow<()>, Self::Error> {
        self.all.close(part)
    }
}

/// An item of a reduced form, with its own memory.
#[derive(Debug, PartialEq)]
enum ReducedPiece {
    Visits(Vec<(u64, u64, u32, u8)>, Sums),
    Event(Event),
}

/// The reduced form of a source.
fn pieces_of<S: Source>(source: &mut S, machine: &str, threads: usize) -> Vec<ReducedPiece>
where
    S::Error: std::fmt::Debug,
{
    let machines = [broadleaf_machine::machine(machine).expect("a machine")];
    let mut pieces = Vec::new();
    let mut each = |piece: SourcePiece<'_>| {
        pieces.push(match piece {
            SourcePiece::Reduced(visits, sums) => {
                let visits = visits.iter().map(|visit| {
                    let loads = visit.loads_before_store;
                    (visit.page, visit.time, loads, visit.manner.number())
                });
                ReducedPiece::Visits(visits.collect(), sums)
            }
            SourcePiece::Event(event) => ReducedPiece::Event(event.clone()),
            SourcePiece::Visits(_) | SourcePiece::Phrased(_) => unreachable!("it is reduced"),
        });
        ControlFlow::Continue(())
    };
    let mut go_on = |_| ControlFlow::Continue(());
    reduce(source, &machines, threads, &mut each, &mut go_on).expect("a trace");
    pieces
}

/// Each machine reduces a part of a trace by itself. Joined, the parts are the form of the trace. A
/// filter that kept its entries from one part to the next would leave out more visits.
#[test]
fn parts_are_reduced_without_their_neighbours() {
    let many = AtomicUsize::new(0);
    for_each_seed(cases(300), |seed| {
        let recording = Script::from_seed(seed + 6_000_000).recording();
        let machine = machine_of(seed).to_string();
        let length = recording.items.len();
        let items = items_of(&recording).in_parts_of(1 + length % 7);
        let whole = pieces_of(&mut items.clone(), &machine, 1 + seed as usize % 3);
        let mut counted = items.clone();
        let parts = std::iter::from_fn(|| counted.next_part().expect("a part")).count();
        for each in [1, 2, 1 + parts / 2, parts + 1] {
            let mut joined = Vec::new();
            for before in (0..parts).step_by(each) {
                let mut some = SomeParts {
                    all: items.clone(),
                    before,
                    left: each,
                };
                joined.extend(pieces_of(&mut some, &machine, 1 + before % 3));
            }
            assert!(joined == whole, "{seed}: {each} of {parts} parts at a time");
        }
        many.fetch_add(usize::from(parts > 3), Ordering::Relaxed);
    });
    assert!(many.into_inner() > 0);
}

/// Ten thousand visits to one page are one visit in one part, and one in each of two parts.
#[test]
fn a_part_has_no_knowledge_of_the_part_before() {
    let mut items = Items::new(broadleaf_trace::Grain::Page);
    for _ in 0..10_000 {
        items.visits([broadleaf_trace::Visit {
            unit: 7,
            loads: 1,
            loads_before_store: 1,
            ..Default::default()
        }]);
        // Cuts the visits into items, and is no reason for the filter to forget.
        items.event(Event::CoreSwitch(broadleaf_units::CoreId(0)));
    }
    let kept = |in_parts_of| {
        let mut source = items.clone().in_parts_of(in_parts_of);
        let kept = |piece: &ReducedPiece| match piece {
            ReducedPiece::Visits(visits, _) => visits.len(),
            ReducedPiece::Event(_) => 0,
        };
        let pieces = pieces_of(&mut source, "skylake", 1);
        pieces.iter().map(kept).sum::<usize>()
    };
    assert_eq!((kept(20_000), kept(10_000), kept(5_000)), (1, 2, 4));
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
