//! A trace that was written reads back equal.

use std::io::Cursor;

use crate::common::{TestItem, canonical, header, read, read_until_error, recode, trace, write};
use broadleaf_trace::VisitEnds;
use broadleaf_trace::{
    Border, Encoder, EndRun, Event, FaultCosts, Grain, Header, KernelAction, KernelEvent, Lead,
    MeasuredEnds, Options, ReadOptions, RecordedProgram, SystemEvent, TraceIndex, TraceReader,
    Visit, WindowBorder, WindowPlan, WindowUnit, WriteError, head_bytes,
};
use broadleaf_units::{SpaceId, ThreadId};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_trace_round_trips(pieces in trace(false), line: bool) {
        let grain = if line { Grain::Line } else { Grain::Page };
        let bytes = write(&header(grain, false), &pieces);
        prop_assert_eq!(canonical(&read(&bytes)), canonical(&pieces));
    }

    #[test]
    fn a_trace_with_fetches_round_trips(pieces in trace(true)) {
        let bytes = write(&header(Grain::Page, true), &pieces);
        prop_assert_eq!(canonical(&read(&bytes)), canonical(&pieces));
    }

    #[test]
    fn a_trace_read_without_its_fetches_keeps_its_instructions(pieces in trace(true)) {
        let bytes = write(&header(Grain::Page, true), &pieces);
        let options = ReadOptions { fetches: false, ..ReadOptions::default() };
        let (found, error) = read_until_error(&bytes, options);
        prop_assert!(error.is_none(), "{error:?}");
        // A fetch is an instruction without an access.
        let without: Vec<TestItem> = pieces.iter().cloned().map(|piece| match piece {
            TestItem::Visit(visit) => TestItem::Visit(Visit { fetch: false, ..visit }),
            event => event,
        }).collect();
        prop_assert_eq!(canonical(&found), canonical(&without));
    }

    #[test]
    fn a_trace_read_by_instruction_has_the_same_visits_in_pieces(pieces in trace(false)) {
        let bytes = write(&header(Grain::Page, false), &pieces);
        let options = ReadOptions { ends: VisitEnds::Instructions, ..ReadOptions::default() };
        let (found, error) = read_until_error(&bytes, options);
        prop_assert!(error.is_none(), "{error:?}");
        prop_assert_eq!(canonical(&found), canonical(&pieces));
    }

    #[test]
    fn index_and_reader_agree(pieces in trace(false)) {
        let bytes = write(&header(Grain::Page, false), &pieces);
        let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
        prop_assert!(index.complete);
        let mut reader = TraceReader::new(Cursor::new(&bytes)).expect("a trace");
        while reader.next_item().expect("a whole trace").is_some() {}
        prop_assert!(reader.complete());
        prop_assert_eq!(reader.bytes_read(), bytes.len() as u64);
        prop_assert_eq!(reader.totals(), index.totals());
        let sum = |of: fn(&Visit) -> u32| pieces.iter().map(|piece| match piece {
            TestItem::Visit(visit) => u64::from(of(visit)),
            TestItem::Event(_) => 0,
        }).sum::<u64>();
        prop_assert_eq!(index.totals().loads, sum(|visit| visit.loads));
        prop_assert_eq!(index.totals().stores, sum(|visit| visit.stores));
        prop_assert_eq!(index.totals().instructions, sum(|visit| visit.instructions));
    }
}

/// A note that is known at the end takes the room that the head has kept, and moves nothing.
#[test]
fn a_note_takes_the_room_of_the_head() {
    for room in (0..400).filter(|room| *room != 1) {
        let mut header = Header::new(Grain::Page);
        header.room = room;
        let mut bytes = write(&header, &[]);
        let reader = TraceReader::new(bytes.as_slice()).expect("a trace");
        assert_eq!(*reader.header(), header, "{room}");
        let note = "x".repeat(150);
        let length = head_bytes(&header).expect("a head").len();
        // Tag, length of the field, length of the text, text.
        let needed = 1 + 2 + 2 + 150;
        let fits = room >= needed && room != needed + 1;
        assert_eq!(header.note_in_room(note.clone()), fits, "{room}");
        assert_eq!(header.room, if fits { room - needed } else { room });
        let head = head_bytes(&header).expect("a head");
        assert_eq!(head.len(), length, "{room}");
        bytes[..length].copy_from_slice(&head);
        let mut reader = TraceReader::new(bytes.as_slice()).expect("a trace");
        assert_eq!(*reader.header(), header);
        assert_eq!(reader.header().notes.len(), usize::from(fits));
        assert!(reader.next_item().expect("no damage").is_none());
        assert!(reader.complete());
    }
}

/// A measurement whose fields all differ.
fn measured_ends() -> MeasuredEnds {
    let run = |first: u64| EndRun {
        user_micros: first,
        system_micros: first + 1,
        elapsed_micros: first + 200,
        faults: first + 3,
        rss_bytes_peak: u64::MAX - first,
        huge_bytes_peak: first + 5,
    };
    MeasuredEnds {
        rounds: vec![[run(10), run(20)], [run(30), run(1 << 40)]],
        costs: FaultCosts {
            base_nanos: 1490,
            huge_nanos: 250_000,
            collapse_nanos: 0,
        },
    }
}

#[test]
fn a_header_round_trips() {
    let header = Header {
        grain: Grain::Line,
        options: Options {
            instruction_counts: true,
            children: true,
            system: false,
            kernel_events: false,
            ..Options::default()
        },
        command: vec!["gzip".to_owned(), "-9".to_owned(), String::new()],
        program: Some(RecordedProgram {
            path: "/usr/bin/gzip".to_owned(),
            hash: std::array::from_fn(|at| at as u8),
        }),
        machine: "Linux 6.1, somewhere".to_owned(),
        recorder: "broadleaf 0.1.0".to_owned(),
        time: 1_700_000_000,
        measured: Some(measured_ends()),
        windows: Some(WindowPlan {
            unit: WindowUnit::Instructions,
            skip: 0,
            length: 1 << 40,
            every: u64::MAX,
        }),
        notes: vec!["one".to_owned(), "ünother".to_owned()],
        room: 0,
    };
    for header in [header, Header::new(Grain::Page)] {
        let bytes = write(&header, &[]);
        let reader = TraceReader::new(bytes.as_slice()).expect("a trace");
        assert_eq!(*reader.header(), header);
        let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
        assert_eq!(index.header, header);
    }
}

fn load(unit: u64) -> Visit {
    Visit {
        unit,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }
}

#[test]
fn a_trace_of_several_chunks_round_trips() {
    // There are more accesses than a chunk holds, and neighbouring visits have different units.
    let loops = 5_000_000u64;
    let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    for at in 0..loops {
        let visit = Visit {
            loads: 7,
            loads_before_store: 7,
            ..load(at % 3)
        };
        encoder.visits(&[visit]).expect("it is written");
    }
    let bytes = encoder.finish().expect("it is written");
    let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
    let streams = index.chunks.iter().filter(|chunk| chunk.totals.loads > 0);
    assert_eq!(streams.count(), 3);
    let mut reader = TraceReader::new(bytes.as_slice()).expect("a trace");
    let mut at = 0;
    while let Some(item) = reader.next_item().expect("a whole trace") {
        if let broadleaf_trace::Item::Visits(visits) = item {
            assert!(visits.len() <= 8192, "{}", visits.len());
            for visit in visits {
                assert_eq!((visit.unit, visit.loads), (at % 3, 7));
                at += 1;
            }
        }
    }
    assert_eq!(at, loops);
}

#[test]
fn counts_of_more_than_32_bits_are_split() {
    let visit = Visit {
        loads: u32::MAX,
        stores: u32::MAX - 1,
        loads_before_store: u32::MAX - 2,
        instructions: u32::MAX - 3,
        ..load(7)
    };
    let waiting = Visit {
        instructions: u32::MAX,
        ..Visit::default()
    };
    let mut pieces = vec![TestItem::Visit(visit); 5];
    pieces.extend(vec![TestItem::Visit(waiting); 3]);
    pieces.extend(vec![TestItem::Visit(load(7)); 3]);
    let found = read(&write(&header(Grain::Page, false), &pieces));
    let sums = |pieces: &[TestItem]| {
        pieces
            .iter()
            .fold([0u64; 3], |[l, s, i], piece| match piece {
                TestItem::Visit(visit) => {
                    assert!(visit.loads_before_store <= visit.loads);
                    [
                        l + u64::from(visit.loads),
                        s + u64::from(visit.stores),
                        i + u64::from(visit.instructions),
                    ]
                }
                TestItem::Event(_) => [l, s, i],
            })
    };
    assert_eq!(sums(&found), sums(&pieces));
    let first = found.iter().find_map(|piece| match piece {
        TestItem::Visit(visit) if visit.stores > 0 => Some(visit.loads_before_store),
        _ => None,
    });
    assert_eq!(first, Some(u32::MAX - 2));
}

#[test]
fn more_visit_shapes_than_patterns_round_trip() {
    let visits = (0..600_000u32).map(|at| Visit {
        loads: at % 70_001,
        stores: at / 3,
        loads_before_store: match at / 3 {
            0 => at % 70_001,
            stores => stores % (at % 70_001 + 1),
        },
        instructions: at.wrapping_mul(2_654_435_761) >> 8,
        ..load(u64::from(at % 2))
    });
    let pieces: Vec<TestItem> = visits.map(TestItem::Visit).collect();
    let found = read(&write(&header(Grain::Page, false), &pieces));
    assert_eq!(canonical(&found), canonical(&pieces));
}

#[test]
fn an_ended_space_that_continues_round_trips() {
    let end = Event::SpaceEnd { status: Some(0) };
    let mut pieces = Vec::new();
    for round in 0..3 {
        pieces.push(TestItem::Visit(load(round)));
        pieces.push(TestItem::Event(Event::SpaceSwitch(SpaceId(1))));
        pieces.push(TestItem::Visit(Visit {
            instructions: 3,
            ..Visit::default()
        }));
        pieces.push(TestItem::Event(end.clone()));
        pieces.push(TestItem::Event(Event::ThreadEnd(ThreadId(1))));
        pieces.push(TestItem::Event(Event::SpaceSwitch(SpaceId(0))));
    }
    let found = read(&write(&header(Grain::Page, false), &pieces));
    assert_eq!(canonical(&found), canonical(&pieces));
    // The instructions before the end stay before the end.
    let at = |wanted: &dyn Fn(&TestItem) -> bool| found.iter().position(wanted);
    let ended = at(&|piece| *piece == TestItem::Event(end.clone()));
    let worked = at(&|piece| matches!(piece, TestItem::Visit(visit) if visit.instructions == 3));
    assert!(worked < ended);
}

#[test]
fn an_access_that_reaches_far_leads_each_unit() {
    let mut pieces = vec![TestItem::Visit(load(10))];
    pieces.extend((11..2000).map(|unit| {
        TestItem::Visit(Visit {
            unit,
            lead: Lead::Load,
            ..Visit::default()
        })
    }));
    let pieces = [pieces.clone(), pieces.clone(), pieces].concat();
    let found = read(&write(&header(Grain::Line, false), &pieces));
    assert_eq!(canonical(&found), canonical(&pieces));
}

/// A reader that skips the events of a kernel would make reservations of its own, so it has to
/// refuse the file.
#[test]
fn events_of_a_kernel_have_a_version_of_their_own() {
    let mut header = Header::new(Grain::Page);
    header.options.system = true;
    let version = |header: &Header| {
        let bytes = head_bytes(header).expect("a head");
        u16::from_le_bytes([bytes[10], bytes[11]])
    };
    assert_eq!(version(&header), 4);
    header.options.kernel_events = true;
    assert_eq!(version(&header), 5);
    header.options.system = false;
    let bytes = head_bytes(&header).expect("a head");
    let refused = TraceReader::new(&bytes[..]).err().expect("a refusal");
    assert!(
        refused.to_string().contains("without a whole system"),
        "{refused}"
    );
}

/// Events of windows and of whole systems are in files whose head announces them, because the
/// version follows from the head.
#[test]
fn events_that_the_head_does_not_announce_are_refused() {
    let window = Event::Window(WindowBorder {
        border: Border::Total,
        accesses: 1,
        instructions: 1,
    });
    let announced = header(Grain::Page, false);
    let plain = Header::new(Grain::Page);
    let of_kernel = Event::Kernel(KernelEvent {
        space: SpaceId(1),
        action: KernelAction::SpaceFlushed,
    });
    for event in [window, Event::System(SystemEvent::SpaceEnd), of_kernel] {
        let mut encoder = Encoder::new(Vec::new(), &plain).expect("a head");
        let written = encoder.event(&event);
        assert!(matches!(written, Err(WriteError::Event(_))), "{written:?}");

        let bytes = write(&announced, &[TestItem::Event(event.clone())]);
        for bytes in [recode(&bytes), bytes] {
            let pieces = read(&bytes);
            assert!(pieces.contains(&TestItem::Event(event.clone())));
            let head = head_bytes(&announced).expect("a head").len();
            let mut other = head_bytes(&plain).expect("a head");
            other.extend_from_slice(&bytes[head..]);
            let (_, error) = read_until_error(&other, ReadOptions::default());
            let error = error.expect("a refusal").to_string();
            assert!(error.contains("the head announces no"), "{error}");
        }
    }
}
