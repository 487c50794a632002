//! Kept files of each format version, with their content as text. Tests compare the files and never
//! rewrite them: every later reader must read the same content.

use std::fmt::Write;
use std::io::Cursor;

use crate::common::reference_encoder::{ReferenceEncoder, TestTarget, patterns};
use crate::common::{TestItem, canonical, read, read_until_error, recode, write};
use broadleaf_trace::{
    Advice, Backing, BlockDef, BlockItem, Event, Grain, Header, Lead, Mapping, Options, Range,
    ReadOptions, RecordedProgram, TraceIndex, TraceReader, TraceWriter, Visit,
};
use broadleaf_units::{FileId, Rights, SpaceId, ThreadId, VirtAddr};

const V1: &[u8] = include_bytes!("../fixtures/v1.bl");
const V1_TEXT: &str = include_str!("../fixtures/v1.txt");
const V1_FETCHES: &[u8] = include_bytes!("../fixtures/v1-fetches.bl");
const V1_FETCHES_TEXT: &str = include_str!("../fixtures/v1-fetches.txt");
const V2: &[u8] = include_bytes!("../fixtures/v2.bl");
const V2_FETCHES: &[u8] = include_bytes!("../fixtures/v2-fetches.bl");

/// A trace as text, one line for each item. A visit has loads, loads before the first store, stores
/// and instructions.
fn text(bytes: &[u8]) -> String {
    let reader = TraceReader::new(bytes).expect("a trace");
    // The kept files hold an earlier name of the type, and no traces with room or run times.
    let header = format!("{:?}\n", reader.header());
    let header = header.replace("RecordedProgram {", "Program {");
    let header = header.replace(", code: false", "");
    let header = header.replace(", measured: None, windows: None", "");
    let mut out = header.replace(", room: 0 }", " }");
    for piece in canonical(&read(bytes)) {
        match piece {
            TestItem::Visit(visit) => {
                let Visit {
                    unit,
                    loads,
                    stores,
                    loads_before_store: before,
                    instructions,
                    lead,
                    fetch,
                    execution: _,
                } = visit;
                let lead = match (fetch, lead) {
                    (true, _) => " fetched",
                    (false, Lead::None) => "",
                    (false, Lead::Load) => " leads with a load",
                    (false, Lead::Store) => " leads with a store",
                };
                writeln!(
                    out,
                    "{unit:x}: {loads} ({before}) {stores} {instructions}{lead}"
                )
            }
            TestItem::Event(event) => {
                // The kept files hold an earlier name of the type.
                let event = format!("{event:?}").replace("Rights {", "Protection {");
                writeln!(out, "{event}")
            }
        }
        .expect("a string takes any text");
    }
    out
}

fn full_header(grain: Grain, instruction_pages: bool) -> Header {
    Header {
        grain,
        options: Options {
            instruction_counts: true,
            instruction_pages,
            events: true,
            children: true,
            system: false,
            kernel_events: false,
            code: false,
        },
        command: vec!["sh".to_owned(), "-c".to_owned(), "true; true".to_owned()],
        program: Some(RecordedProgram {
            path: "/bin/sh".to_owned(),
            hash: std::array::from_fn(|at| 7 * at as u8),
        }),
        machine: "Linux 6.1, 4 KiB and 2 MiB pages".to_owned(),
        recorder: "the tests of the trace format".to_owned(),
        time: 1_000_000_000,
        measured: None,
        windows: None,
        notes: vec![
            "a first note".to_owned(),
            "eine zweite für später".to_owned(),
        ],
        room: 0,
    }
}

/// One event of each kind.
fn events() -> Vec<Event> {
    let range = |start: u64, len: u64| Range {
        start: VirtAddr(start << 12),
        len: len << 12,
    };
    let rights = |read, write, execute| Rights {
        read,
        write,
        execute,
    };
    let map = |start, backing, shared: bool| {
        Event::Map(Mapping {
            range: range(start, 512),
            protection: rights(true, !shared, false),
            shared,
            backing,
        })
    };
    let file = FileId(3);
    vec![
        Event::SpaceStart {
            pid: 4711,
            parent: 1,
            command: vec!["sh".to_owned(), String::new()],
        },
        Event::ThreadStart(ThreadId(1)),
        Event::ThreadSwitch(ThreadId(1)),
        Event::File {
            id: file,
            size: 123_456,
            path: "/lib/x.so".to_owned(),
        },
        map(0x1000, Backing::File { file, offset: 8192 }, false),
        map(0x2000, Backing::Anonymous, false),
        map(0x3000, Backing::Heap, false),
        map(0x7_fff0_0000, Backing::Stack, false),
        map(0x4000, Backing::SharedMemory, true),
        map(0x7_ffff_f000, Backing::Kernel, true),
        Event::Misplaced {
            at: range(0x2000, 512),
            native: VirtAddr(0x7f00_0000_1000),
        },
        Event::Unmap(range(0x4000, 8)),
        Event::Protect(range(0x2000, 16), rights(true, false, true)),
        Event::Remap {
            from: range(0x2000, 512),
            to: range(0x8000, 1024),
        },
        Event::Advise(range(0x8000, 4), Advice::DontNeed),
        Event::Advise(range(0x8000, 4), Advice::Free),
        Event::Advise(range(0x8000, 4), Advice::Remove),
        Event::Advise(range(0x8000, 4), Advice::HugePage),
        Event::Advise(range(0x8000, 4), Advice::NoHugePage),
        Event::Advise(range(0x8000, 4), Advice::Other(-3)),
        Event::Brk(range(0x3000, 600)),
        Event::StackGrow(range(0x7_ffef_fff0, 528)),
        Event::Fork { child: 4712 },
        Event::Exec {
            path: "/bin/true".to_owned(),
        },
        Event::ThreadEnd(ThreadId(1)),
        Event::SpaceEnd { status: Some(256) },
        Event::SpaceEnd { status: None },
    ]
}

/// Blocks with several exits, one of them with more than 8 references.
fn blocks() -> Vec<BlockDef> {
    use BlockItem::{Exit, Instructions, Load, Several, Store};
    let (load, store) = (Load { bytes: 8 }, Store { bytes: 4 });
    let several = Several {
        loads: 5,
        stores: 2,
        loads_before_store: 3,
    };
    let mut long = vec![load; 7];
    long.extend([
        Instructions(2),
        store,
        store,
        Exit,
        load,
        Instructions(9),
        Exit,
    ]);
    vec![
        BlockDef::new([
            Instructions(1),
            load,
            Exit,
            Instructions(2),
            store,
            Instructions(1),
            Exit,
        ]),
        BlockDef::new([several, Exit]),
        BlockDef::new(long),
        BlockDef::new([Instructions(30), Exit]),
    ]
}

/// A trace with every feature of the format except fetches: six patterns, in every encoding.
fn v1() -> Vec<u8> {
    let mut writer =
        TraceWriter::new(Vec::new(), &full_header(Grain::Page, false)).expect("a head");
    let blocks = blocks();
    let patterns = patterns(&blocks);
    let all = events();
    let (process_events, ends) = all.split_at(all.len() - 2);
    for process in [0, 1] {
        writer.definitions(process, 0, &blocks).expect("blocks");
        let mut encoder = ReferenceEncoder::default();
        for event in process_events {
            encoder.event(event);
        }
        for round in 0..120u32 {
            // Mostly the same execution; sometimes another path, another unit, or both.
            let number = match round % 40 {
                39 => 5,
                31 => 2,
                at => [0, 1, 3, 4, 0][at as usize % 5],
            };
            let pattern = &patterns[number as usize];
            let targets: Vec<TestTarget> = (0..pattern
                .items
                .iter()
                .filter(|item| item.is_reference())
                .count() as u64)
                .map(|at| match (round / 4 + at as u32) % 13 {
                    5 if number != 2 => TestTarget::Reach(0x2000 + at, 1 + at % 2),
                    7 => TestTarget::NotMade,
                    9 => TestTarget::Unit(0x2000 + u64::from(round)),
                    _ => TestTarget::Unit([0x2000, 0x7_fff0_0011, 0x3000][(at % 3) as usize]),
                })
                .collect();
            for item in pattern
                .items
                .iter()
                .filter(|item| item.is_reference())
                .zip(&targets)
            {
                let (loads, stores) = match item {
                    (_, TestTarget::NotMade) | (BlockItem::Exit, _) => (0, 0),
                    (BlockItem::Store { .. }, _) => (0, 1),
                    (BlockItem::Several { loads, stores, .. }, _) => {
                        (u64::from(*loads), u64::from(*stores))
                    }
                    _ => (1, 0),
                };
                encoder.totals.loads += loads;
                encoder.totals.stores += stores;
            }
            for item in &pattern.items {
                if let BlockItem::Instructions(count) = item {
                    encoder.totals.instructions += u64::from(*count);
                }
            }
            let way = round.wrapping_mul(0x9e37_79b9) >> 3;
            encoder.execute(number, pattern.first_reference, &targets, way);
            if round == 70 {
                encoder.finish(process, &mut writer);
            }
        }
        encoder.event(&ends[process as usize]);
        encoder.finish(process, &mut writer);
    }
    writer.finish().expect("a trace")
}

/// Fetches and references to lines.
fn v1_fetches() -> Vec<u8> {
    let mut pieces = Vec::new();
    for round in 0..60u64 {
        pieces.push(TestItem::Visit(Visit {
            unit: 0x40_0000 + round % 3,
            instructions: 1 + (round % 4) as u32,
            fetch: true,
            ..Visit::default()
        }));
        let mut visit = Visit {
            unit: 0x1_0000 + round / 7,
            loads: 1 + (round % 2) as u32,
            loads_before_store: 1 + (round % 2) as u32,
            ..Visit::default()
        };
        pieces.push(TestItem::Visit(visit));
        if round % 10 == 0 {
            visit.unit += 1;
            visit.lead = Lead::Load;
            pieces.push(TestItem::Visit(visit));
        }
        if round == 30 {
            pieces.push(TestItem::Event(Event::SpaceSwitch(SpaceId(2))));
        }
    }
    write(&full_header(Grain::Line, true), &pieces)
}

/// Asserts that the generated trace equals the kept file, whatever the compression.
fn same(made: &[u8], kept: &[u8]) {
    let index = |bytes| TraceIndex::read(Cursor::new(bytes)).expect("an index");
    let shape = |bytes| {
        let chunks = index(bytes).chunks;
        chunks
            .into_iter()
            .map(|chunk| (chunk.kind, chunk.process, chunk.totals))
            .collect::<Vec<_>>()
    };
    assert_eq!(index(made).header, index(kept).header);
    assert_eq!(shape(made), shape(kept));
    assert!(read(made) == read(kept));
}

#[test]
fn version_1_stays_readable() {
    assert!(text(V1) == V1_TEXT);
    same(&v1(), V1);
}

#[test]
fn version_1_with_fetches_stays_readable() {
    assert!(text(V1_FETCHES) == V1_FETCHES_TEXT);
    same(&v1_fetches(), V1_FETCHES);
    let options = ReadOptions {
        fetches: false,
        ..ReadOptions::default()
    };
    let (pieces, error) = read_until_error(V1_FETCHES, options);
    assert!(error.is_none());
    let counted = |piece: &TestItem| match piece {
        TestItem::Visit(visit) => u64::from(visit.instructions),
        TestItem::Event(_) => 0,
    };
    assert_eq!(pieces.iter().map(counted).sum::<u64>(), 150);
}

/// The kept files of version 2 are those of version 1, recoded.
#[test]
fn version_2_stays_readable() {
    for (kept, of, text_of) in [(V2, V1, V1_TEXT), (V2_FETCHES, V1_FETCHES, V1_FETCHES_TEXT)] {
        let version = |bytes| TraceReader::new(bytes).expect("a trace").version();
        assert_eq!((version(kept), version(of)), (2, 1));
        assert!(text(kept) == text_of);
        same(&recode(of), kept);
        let options = ReadOptions {
            fetches: false,
            ..ReadOptions::default()
        };
        let without = |bytes| canonical(&read_until_error(bytes, options).0);
        assert!(without(kept) == without(of));
    }
}
