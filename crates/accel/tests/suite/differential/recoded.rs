//! Recoded traces, whose parts name repeats.

use super::figures::CountsByName;
use super::replays::{of_source, replayed};
use super::{cases, for_each_seed, machine_of, policies, report};
use broadleaf_model::{Plan, Source, SourcePart, SourcePiece};
use broadleaf_oracle::random::{Rng, Script};
use broadleaf_oracle::{OracleMachine as Machine, OwnedItem, PolicySpec, Recording};
use broadleaf_trace::{
    Encoder, Header, Options, PartItem, PartReader, Recoder, TraceReader, Visit,
};
use std::ops::ControlFlow;

/// The model's counts of a trace that was written and recoded, so that its parts name repeats.
pub(super) fn of_recoded(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let header = Header {
        options: Options {
            instruction_counts: true,
            events: true,
            children: true,
            system: false,
            kernel_events: false,
            ..Options::default()
        },
        ..Header::new(recording.grain)
    };
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => {
                // This model does not count fetches.
                let data: Vec<Visit> = (visits.iter().copied())
                    .filter(|visit| !visit.fetch)
                    .collect();
                encoder.visits(&data).expect("visits");
            }
            OwnedItem::Event(event) => encoder.event(event).expect("an event"),
        }
    }
    let bytes = recoded(&encoder.finish().expect("a trace"));
    let mut source = RecodedBytes::new(&bytes, false);
    of_source(&mut source, recording.items.len(), policies, machine, more)
}

/// A trace in version 2.
pub(crate) fn recoded(bytes: &[u8]) -> Vec<u8> {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let header = reader.header().clone();
    let mut writer = Recoder::writer(Vec::new(), &header).expect("a head");
    let mut recoder = Recoder::new(&header, 1).expect("a level");
    while let Some(part) = reader.next_part().expect("a part") {
        let recoded = recoder.recode(part).expect("a whole part");
        for chunk in recoded.chunks {
            writer.write(chunk).expect("a chunk");
        }
        reader.close(recoded.closed.expect("a part"));
    }
    writer.finish().expect("an end")
}

/// A recoded trace in memory.
pub(crate) struct RecodedBytes<'a> {
    bytes: &'a [u8],
    reader: TraceReader<&'a [u8]>,
    /// Fetches are visits of their own.
    fetches: bool,
}

impl<'a> RecodedBytes<'a> {
    /// A source that begins at the start of the trace.
    pub(crate) fn new(bytes: &'a [u8], fetches: bool) -> Self {
        Self {
            bytes,
            reader: TraceReader::new(bytes).expect("a trace"),
            fetches,
        }
    }
}

pub(crate) struct RecodedPart(PartReader);

impl SourcePart for RecodedPart {
    type Error = String;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, String> {
        let item = self.0.next_part_item().map_err(|error| error.to_string())?;
        assert!(!matches!(item, Some(PartItem::Visits(_))), "not recoded");
        Ok(item.map(SourcePiece::from))
    }
}

impl Source for RecodedBytes<'_> {
    type Error = String;
    type Part = RecodedPart;

    fn grain(&self) -> broadleaf_trace::Grain {
        self.reader.header().grain
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.reader = TraceReader::new(self.bytes).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<RecodedPart>, String> {
        let part = self.reader.next_part().map_err(|error| error.to_string())?;
        Ok(part.map(|part| {
            let mut reader = PartReader::new(self.grain(), self.fetches);
            reader.begin(part);
            RecodedPart(reader)
        }))
    }

    fn close(&mut self, RecodedPart(mut reader): RecodedPart) -> Result<ControlFlow<()>, String> {
        self.reader.close(reader.close().expect("a part"));
        Ok(ControlFlow::Continue(()))
    }
}

/// Curves and all.
#[test]
fn a_recoded_trace_gives_the_counts_of_the_trace() {
    for_each_seed(cases(300), |seed| {
        let seed = seed + 6_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        let more = |plan: Plan| match seed % 3 {
            0 => plan.with_curves(),
            _ => plan,
        };
        let both = of_recoded(&recording, &policies, machine, more)
            .into_iter()
            .zip(replayed(&recording, &policies, machine, more));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        of_recoded(recording, &[policy], machine, more).remove(0),
                        replayed(recording, &[policy], machine, more).remove(0),
                    )
                });
            }
        }
    });
}
