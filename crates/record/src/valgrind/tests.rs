//! Random words of the tool become the visits that a plain decoder finds in the same words.
//! Valgrind is not needed.

use std::sync::mpsc;
use std::time::Instant;

use broadleaf_trace::{
    DataAccess, Fold, Grain, Header, Item as Piece, Lead, TraceReader, TraceWriter, Visit,
};
use proptest::prelude::*;

use super::pack::Shared;
use super::process::TracedProcess;
use super::ring::Segment;
use super::sink::{ProcessSink, RecordSetting};
use super::wire::{ABSENT, LEFT, RECORD, kind};

const NO_BASE: u64 = 0xffff;
const INSTRUCTION: u64 = 1;
const LOAD: u64 = 2;
const STORE: u64 = 3;
const EXIT: u64 = 4;

/// A reference of a drawn block.
#[derive(Clone, Debug)]
struct Drawn {
    store: bool,
    bytes: u64,
    kind: DrawnKind,
    instruction: bool,
    /// True if the block has an exit after the reference.
    exit: bool,
}

#[derive(Clone, Debug)]
enum DrawnKind {
    /// The reference is at this offset from this base.
    Based(u8, i64),
    /// The reference is made only if a guard holds, and has a base of its own.
    Guarded,
    Fixed(u64),
}

fn reference() -> impl Strategy<Value = Drawn> {
    let bytes = prop::sample::select(vec![0, 1, 4, 8, 32, 5000]);
    let fixed = (0u64..4, 0u64..100).prop_map(|(page, at)| DrawnKind::Fixed(page << 12 | at));
    let offset = prop::sample::select(vec![-8, 0, 0, 16, 4090]);
    let kind = prop_oneof![
        4 => (0u8..3, offset).prop_map(|(b, o)| DrawnKind::Based(b, o)),
        1 => Just(DrawnKind::Guarded),
        1 => fixed,
    ];
    (any::<bool>(), bytes, kind, any::<bool>(), 0..5).prop_map(
        |(store, bytes, kind, instruction, exit)| Drawn {
            store,
            // A fixed reference does not reach into another page, because the tool then gives it a
            // base.
            bytes: if matches!(kind, DrawnKind::Fixed(_)) {
                bytes.min(32)
            } else {
                bytes
            },
            kind,
            instruction,
            exit: exit == 0,
        },
    )
}

/// One execution: its block, exit and bases. With `unsure`, the tool reports a possible move
/// without need.
#[derive(Clone, Debug)]
struct DrawnRun {
    block: prop::sample::Index,
    exit: prop::sample::Index,
    bases: [u64; 3],
    made: u64,
    unsure: bool,
    ends_chunk: bool,
}

fn run() -> impl Strategy<Value = DrawnRun> {
    let base = (1u64..6, prop::sample::select(vec![8, 64, 4000, 4088]))
        .prop_map(|(page, at)| page << 12 | at);
    (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        [base.clone(), base.clone(), base],
        any::<u64>(),
        (0..10, 0..60),
    )
        .prop_map(|(block, exit, bases, made, (unsure, ends))| DrawnRun {
            block,
            exit,
            bases,
            made,
            unsure: unsure == 0,
            ends_chunk: ends == 0,
        })
}

/// A block as the tool describes it.
struct DrawnBlock {
    references: Vec<Drawn>,
    /// The index of each reference's base.
    base: Vec<Option<usize>>,
    /// The number of references before each exit.
    exits: Vec<usize>,
    items: Vec<u64>,
    first_pattern: u32,
    last: Vec<Option<u64>>,
}

impl DrawnBlock {
    fn new(references: &[Drawn], first_pattern: u32) -> Self {
        let (mut items, mut exits, mut base) = (vec![INSTRUCTION | 0x40_0000 << 8], vec![], vec![]);
        let mut bases: Vec<Result<u8, usize>> = Vec::new();
        for (i, r) in references.iter().enumerate() {
            if r.instruction {
                items.push(INSTRUCTION | (0x40_0001 + i as u64) << 8);
            }
            let (key, offset) = match r.kind {
                DrawnKind::Based(key, offset) => (Some(Ok(key)), offset as u64),
                DrawnKind::Guarded => (Some(Err(i)), 0),
                DrawnKind::Fixed(address) => (None, address),
            };
            let number = key.map(|key| {
                bases.iter().position(|&b| b == key).unwrap_or_else(|| {
                    bases.push(key);
                    bases.len() - 1
                })
            });
            base.push(number);
            let what = if r.store { STORE } else { LOAD };
            let number = number.map_or(NO_BASE, |n| n as u64);
            items.extend([what | r.bytes << 8 | number << 32, offset]);
            if r.exit {
                items.push(EXIT);
                exits.push(i + 1);
            }
        }
        if exits.last() != Some(&references.len()) {
            items.push(EXIT);
            exits.push(references.len());
        }
        Self {
            references: references.to_vec(),
            base,
            exits,
            items,
            first_pattern,
            last: vec![None; references.len()],
        }
    }

    /// Returns the address of a reference, or `None` if the reference is not made.
    fn address(&self, i: usize, run: &DrawnRun) -> Option<u64> {
        match self.references[i].kind {
            DrawnKind::Based(base, offset) => {
                Some(run.bases[usize::from(base)].wrapping_add_signed(offset))
            }
            DrawnKind::Guarded if run.made >> (i % 64) & 1 == 0 => None,
            DrawnKind::Guarded => Some(run.bases[0]),
            DrawnKind::Fixed(address) => Some(address),
        }
    }
}

/// The words that the tool would write.
#[derive(Default)]
struct Tool {
    words: Vec<u32>,
    /// The numbers in forward order. `segment` reverses them.
    numbers: Vec<u64>,
}

impl Tool {
    fn record(&mut self, kind: u8, payload: &[u64]) {
        self.words.push(RECORD | u32::from(kind));
        self.numbers.push(payload.len() as u64);
        self.numbers.extend(payload.iter().rev());
    }

    fn segment(mut self) -> Segment {
        self.numbers.reverse();
        Segment {
            words: self.words,
            numbers: self.numbers,
        }
    }

    fn execution(
        &mut self,
        block: &mut DrawnBlock,
        run: &DrawnRun,
        fold: &mut Fold,
        out: &mut Vec<Visit>,
    ) {
        let exit = run.exit.index(block.exits.len());
        let (mut left, mut bases) = (false, Vec::new());
        fold.instruction();
        for i in 0..block.exits[exit] {
            let (r, address) = (block.references[i].clone(), block.address(i, run));
            if r.instruction {
                fold.instruction();
            }
            if let Some(base) = block.base[i] {
                let value = match r.kind {
                    DrawnKind::Based(key, _) => run.bases[usize::from(key)],
                    _ => address.unwrap_or(ABSENT),
                };
                bases.resize(bases.len().max(base + 1), value);
            }
            let Some(first) = address else {
                left = true;
                block.last[i] = None;
                continue;
            };
            let last = first + r.bytes.saturating_sub(1);
            let what = if r.store {
                DataAccess::Store
            } else {
                DataAccess::Load
            };
            fold.access(what, first, last, out);
            let unit = Some(first >> 12);
            left |= block.base[i].is_some() && (block.last[i] != unit || last >> 12 != first >> 12);
            block.last[i] = unit;
        }
        left |= run.unsure && !bases.is_empty();
        let pattern = block.first_pattern + exit as u32;
        self.words.push(pattern | if left { LEFT } else { 0 });
        if left {
            self.numbers.extend(bases);
        }
    }
}

/// Merges visits that belong together, so that splits do not matter. Visits that only carry
/// instructions are added to the next one.
fn merged(visits: &[Visit]) -> Vec<Visit> {
    let (mut all, mut carried): (Vec<Visit>, u32) = (Vec::new(), 0);
    for visit in visits {
        let mut visit = *visit;
        if visit.lookups() == 0 {
            carried += visit.instructions;
            continue;
        }
        if visit.accesses() > 0 {
            visit.instructions += std::mem::take(&mut carried);
        }
        match all.last_mut() {
            Some(before) if before.unit == visit.unit && visit.lead == Lead::None => {
                if before.stores == 0 {
                    before.loads_before_store += visit.loads_before_store;
                }
                before.loads += visit.loads;
                before.stores += visit.stores;
                before.instructions += visit.instructions;
            }
            _ => all.push(visit),
        }
    }
    if let Some(last) = all.last_mut() {
        last.instructions += carried;
    }
    all
}

fn header() -> Header {
    let mut header = Header::new(Grain::Page);
    header.options.instruction_counts = true;
    header.options.events = true;
    header
}

/// Returns the trace of segments, with a chunk for each.
fn recorded(segments: &[Segment]) -> Vec<u8> {
    let shared = Shared::new(TraceWriter::new(Vec::new(), &header()).unwrap(), 1);
    let (chunks, to_write) = mpsc::sync_channel(1 << 10);
    let (written, emptied) = mpsc::channel();
    let setting = RecordSetting {
        first: 0,
        began: Instant::now(),
        instruction_pages: false,
        code: false,
        unit_shift: 12,
        sites: false,
    };
    let mut sink = ProcessSink::new(setting, None, chunks, emptied);
    let mut process = TracedProcess::new(12, false, false);
    for segment in segments {
        process.segment(segment, &mut sink).unwrap().unwrap();
        process.end_chunk(&mut sink).unwrap();
    }
    sink.finish().unwrap();
    shared.pack(0, None, &to_write, &written).unwrap();
    shared.into_writer().finish().unwrap()
}

proptest! {
    #[test]
    fn words_become_the_visits_that_they_mean(
        blocks in prop::collection::vec(prop::collection::vec(reference(), 0..12), 1..6),
        runs in prop::collection::vec(run(), 1..400),
    ) {
        let (mut tool, mut known) = (Tool::default(), Vec::<DrawnBlock>::new());
        let (mut fold, mut expected) = (Fold::new(Grain::Page), Vec::new());
        let (mut segments, mut patterns) = (Vec::new(), 1);
        for run in &runs {
            let which = run.block.index(blocks.len());
            while known.len() <= which {
                let block = DrawnBlock::new(&blocks[known.len()], patterns);
                patterns += block.exits.len() as u32;
                let mut payload = vec![block.first_pattern.into(), 0];
                payload.extend(&block.items);
                tool.record(kind::BLOCK, &payload);
                known.push(block);
            }
            tool.execution(&mut known[which], run, &mut fold, &mut expected);
            if run.ends_chunk {
                segments.push(std::mem::take(&mut tool).segment());
            }
        }
        fold.finish(&mut expected);
        segments.push(tool.segment());
        let trace = recorded(&segments);
        let mut reader = TraceReader::new(&trace[..]).unwrap();
        let mut visits = Vec::new();
        while let Some(piece) = reader.next_item().unwrap() {
            if let Piece::Visits(some) = piece {
                visits.extend_from_slice(some);
            }
        }
        prop_assert_eq!(merged(&visits), merged(&expected));
    }
}
