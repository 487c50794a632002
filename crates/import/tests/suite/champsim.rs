//! ChampSim's records, written and read.

use std::fs::File;
use std::path::Path;

use broadleaf_import::{
    CHAMPSIM_BYTES, ChampSimRecord, ExportEntry, ExportError, ForeignFormat, ImportOptions,
};
use broadleaf_trace::synth::SplitMix64;
use broadleaf_trace::{
    Event, Grain, Header, Item, Lead, Options, ReadOptions, Totals, TraceReader, Visit,
};
use broadleaf_units::SpaceId;
use proptest::prelude::*;

use crate::common::{
    OwnedItem, PAGES, References, all_options, export, import_bytes, named, references,
};

fn format() -> &'static ForeignFormat {
    named("champsim")
}

fn exporter() -> &'static ExportEntry {
    format().export.as_ref().expect("it is written")
}

fn header(grain: Grain, counts: bool, fetches: bool) -> Header {
    let mut header = Header::new(grain);
    header.options = Options {
        instruction_counts: counts,
        instruction_pages: fetches,
        ..Options::default()
    };
    header
}

fn written(header: &Header, visits: &[Visit]) -> (Vec<u8>, u64) {
    let entry = exporter();
    let items: Vec<OwnedItem> = visits.iter().copied().map(OwnedItem::Visit).collect();
    let (bytes, left_out) = export(entry, header, &items);
    let count = |what: &str| {
        let left = left_out.iter().find(|left| left.what.starts_with(what));
        left.map_or(0, |left| left.count)
    };
    let added = count("records added");
    // An estimate knows neither added records nor accesses that become two.
    let sum = |count: fn(&Visit) -> u64| visits.iter().map(count).sum();
    let totals = Totals {
        executions: visits.len() as u64,
        loads: sum(|visit| visit.loads.into()),
        stores: sum(|visit| visit.stores.into()),
        instructions: sum(|visit| visit.instructions.into()),
    };
    let options = header.options;
    let more = match options.instruction_counts || options.instruction_pages {
        true => added,
        false => count("accesses that reach"),
    };
    let estimate = (entry.estimate)(header, &totals);
    let record = CHAMPSIM_BYTES as u64;
    assert_eq!(estimate + more * record, bytes.len() as u64);
    (bytes, added)
}

fn records(bytes: &[u8]) -> Vec<ChampSimRecord> {
    let (records, rest) = bytes.as_chunks::<CHAMPSIM_BYTES>();
    assert!(rest.is_empty());
    let records = records.iter().map(ChampSimRecord::from_bytes);
    records.collect::<Result<_, _>>().expect("records")
}

fn data(unit: u64, loads: u32, stores: u32, before: u32, instructions: u32) -> Visit {
    Visit {
        unit,
        loads,
        stores,
        loads_before_store: before,
        instructions,
        ..Visit::default()
    }
}

#[test]
fn the_sample_by_hand() {
    let bytes = format().sample;
    let imported = import_bytes(format(), bytes, PAGES).unwrap();
    let expected = [
        data(0x7ffd1, 1, 1, 1, 3),
        data(0x602, 1, 0, 1, 1),
        data(0x604, 1, 0, 1, 0),
        data(0x603, 0, 1, 0, 0),
        data(0x605, 0, 1, 0, 0),
        data(0, 1, 1, 1, 2),
    ];
    assert_eq!(imported.visits(), expected);
    let fetches = ImportOptions {
        fetches: true,
        ..PAGES
    };
    let visits = import_bytes(format(), bytes, fetches).unwrap().visits();
    let fetched: Vec<(u64, u32)> = visits
        .iter()
        .filter(|visit| visit.fetch)
        .map(|visit| (visit.unit, visit.instructions))
        .collect();
    assert_eq!(
        fetched,
        [(0x401, 2), (0x401, 1), (0x401, 1), (0x401, 1), (0x402, 1)]
    );
}

/// The references of a record in order: each load, then each store.
type Plain = Vec<(u64, bool)>;

/// Records in the layout of ChampSim's `input_instr`, written by literal offsets, with the list of
/// data references and that of instructions.
fn written_by_offsets(count: usize) -> (Vec<u8>, Plain, Vec<u64>) {
    let mut random = SplitMix64::new(64);
    let (mut bytes, mut data, mut instructions) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let mut record = [0; 64];
        // Few pages, so that visits have several references, and any byte of them.
        let mut address = || 0x7f00_0000_0000 + random.below(12) * 4096 + random.below(4096);
        let ip = address();
        let addresses: [u64; 6] = std::array::from_fn(|_| address());
        let used = random.next();
        record[0..8].copy_from_slice(&ip.to_le_bytes());
        record[8] = u8::from(used & 0x40 != 0);
        record[9] = u8::from(used & 0x40 != 0 && used & 0x80 != 0);
        // Two destination registers, and four source registers.
        record[10..12].copy_from_slice(&used.to_le_bytes()[2..4]);
        record[12..16].copy_from_slice(&used.to_le_bytes()[4..8]);
        instructions.push(ip);
        // Two bits of three say that there is none, as most instructions have it.
        for (number, at) in [32, 40, 48, 56, 16, 24].into_iter().enumerate() {
            if used >> (8 + 2 * number) & 3 == 0 {
                record[at..at + 8].copy_from_slice(&addresses[number].to_le_bytes());
                data.push((addresses[number], at < 32));
            }
        }
        bytes.extend(record);
    }
    (bytes, data, instructions)
}

/// A list of references as the import of pages or lines has to hold them.
fn folded(data: &[(u64, bool)], shift: u8) -> Vec<References> {
    let visits = data.iter().map(|&(address, is_store)| Visit {
        unit: address >> shift,
        loads: u32::from(!is_store),
        stores: u32::from(is_store),
        loads_before_store: u32::from(!is_store),
        ..Visit::default()
    });
    references(&visits.collect::<Vec<_>>(), false)
}

#[test]
fn records_of_an_independent_writer_are_read_exactly() {
    let (bytes, data, instructions) = written_by_offsets(5000);
    let stores = data.iter().filter(|(_, is_store)| *is_store).count() as u64;
    assert!(stores > 1000 && data.len() as u64 > 3 * stores / 2);
    for options in all_options() {
        let imported = import_bytes(format(), &bytes, options).unwrap();
        let counts = imported.counts;
        assert_eq!((counts.records, counts.instructions), (5000, 5000));
        assert_eq!(
            (counts.loads, counts.stores),
            (data.len() as u64 - stores, stores)
        );
        let shift = options.grain.shift();
        let visits = imported.visits();
        let of_data = visits.iter().filter(|visit| !visit.fetch);
        assert_eq!(references(of_data, false), folded(&data, shift));
        let fetched = visits.iter().filter(|visit| visit.fetch);
        let fetched: Vec<u64> = fetched
            .flat_map(|visit| std::iter::repeat_n(visit.unit, visit.instructions as usize))
            .collect();
        let expected: Vec<u64> = instructions.iter().map(|ip| ip >> shift).collect();
        match options.fetches {
            true => assert_eq!(fetched, expected),
            false => assert_eq!(fetched, []),
        }
    }
}

#[test]
fn bad_records_are_named_with_their_place() {
    let mut bytes = format().sample.to_vec();
    let cut = import_bytes(format(), &bytes[..150], PAGES).unwrap_err();
    assert_eq!(
        cut.to_string(),
        "x: record 3 (at byte 128): the input ends after 22 of its 64 bytes: it was cut short, \
         or is in another format"
    );
    bytes[64 + 9] = 2;
    let wrong = import_bytes(format(), &bytes, PAGES)
        .unwrap_err()
        .to_string();
    assert!(
        wrong.starts_with("x: record 2 (at byte 64): byte 9"),
        "{wrong}"
    );
}

#[test]
fn references_share_an_instruction_as_far_as_they_fit() {
    let header = header(Grain::Page, true, false);
    // One instruction loads from page 3 and stores to page 4; three instructions do nothing.
    let visits = [
        data(3, 1, 0, 1, 1),
        data(4, 0, 1, 0, 0),
        data(5, 1, 0, 1, 4),
    ];
    let (bytes, added) = written(&header, &visits);
    let empty = ChampSimRecord::default();
    let first = ChampSimRecord {
        loads: [0x3000, 0, 0, 0],
        stores: [0x4000, 0],
        ..empty
    };
    let last = ChampSimRecord {
        loads: [0x5000, 0, 0, 0],
        ..empty
    };
    assert_eq!(
        (records(&bytes), added),
        (vec![first, empty, empty, empty, last], 0)
    );
    // A load after a store does not fit the instruction.
    let (bytes, added) = written(&header, &[data(3, 2, 1, 1, 1)]);
    assert_eq!((records(&bytes).len(), added), (2, 1));
}

#[test]
fn the_first_page_is_not_taken_for_no_address() {
    let header = header(Grain::Line, true, false);
    let (bytes, _) = written(&header, &[data(0, 1, 0, 1, 1), data(1, 0, 1, 0, 1)]);
    let records = records(&bytes);
    assert_eq!((records[0].loads[0], records[1].stores[0]), (1, 64));
}

#[test]
fn a_second_address_space_is_refused() {
    let entry = exporter();
    let header = header(Grain::Page, true, false);
    let visit = [data(1, 1, 0, 1, 1)];
    let ended = Event::SpaceEnd { status: None };
    for event in [Event::SpaceSwitch(SpaceId(1)), ended] {
        let mut bytes = Vec::new();
        let mut exporter = (entry.create)(&mut bytes, &header);
        // An event before the first reference is not one too many.
        exporter.item(&Item::Event(&event)).unwrap();
        exporter.item(&Item::Visits(&visit)).unwrap();
        exporter
            .item(&Item::Event(&Event::SpaceSwitch(SpaceId(1))))
            .unwrap();
        let again = Event::SpaceEnd { status: None };
        exporter.item(&Item::Event(&again)).unwrap();
        let refused = exporter.item(&Item::Visits(&visit));
        assert!(matches!(refused, Err(ExportError::NoForm(_))), "{event:?}");
    }
}

fn visit() -> impl Strategy<Value = Visit> {
    let counts = (0..7_u32, 0..5_u32, 0..7_u32, 0..9_u32);
    (0..6_u64, counts, 0..8_u8).prop_map(|(unit, (loads, stores, before, instructions), lead)| {
        let before = if stores == 0 {
            loads
        } else {
            before.min(loads)
        };
        Visit {
            lead: match lead {
                0 => Lead::Load,
                1 => Lead::Store,
                _ => Lead::None,
            },
            ..data(unit, loads, stores, before, instructions)
        }
    })
}

/// Visits of a trace with fetches, which carry the counts of instructions.
fn visit_or_fetch() -> impl Strategy<Value = Visit> {
    (visit(), 0..2_u8, 1..4_u32).prop_map(|(visit, fetch, instructions)| match fetch {
        0 => Visit {
            unit: visit.unit + 100,
            instructions,
            fetch: true,
            ..Visit::default()
        },
        _ => Visit {
            instructions: 0,
            ..visit
        },
    })
}

proptest! {
    #[test]
    fn exported_and_imported_the_references_are_the_same(
        visits in prop::collection::vec(visit(), 0..60),
        line in any::<bool>(),
    ) {
        let grain = if line { Grain::Line } else { Grain::Page };
        let (bytes, added) = written(&header(grain, true, false), &visits);
        if bytes.is_empty() {
            let is_empty = |visit: &Visit| visit.lookups() == 0 && visit.instructions == 0;
            prop_assert!(visits.iter().all(is_empty));
            return Ok(());
        }
        let options = ImportOptions { grain, ..PAGES };
        let again = import_bytes(format(), &bytes, options).unwrap();
        prop_assert_eq!(references(&again.visits(), false), references(&visits, false));
        let instructions: u64 = visits.iter().map(|visit| u64::from(visit.instructions)).sum();
        prop_assert_eq!(again.counts.instructions, instructions + added);
    }

    #[test]
    fn so_are_fetches_where_no_record_was_added(
        visits in prop::collection::vec(visit_or_fetch(), 0..60),
    ) {
        let (bytes, added) = written(&header(Grain::Page, false, true), &visits);
        if bytes.is_empty() {
            return Ok(());
        }
        let options = ImportOptions { fetches: true, ..PAGES };
        let again = import_bytes(format(), &bytes, options).unwrap();
        let found = again.visits();
        let data = found.iter().filter(|visit| !visit.fetch);
        prop_assert_eq!(references(data, false), references(&visits, false));
        if added == 0 {
            prop_assert_eq!(references(&found, true), references(&visits, true));
        }
    }

    #[test]
    fn without_counts_each_reference_is_an_instruction(
        visits in prop::collection::vec(visit(), 1..40),
    ) {
        let uncounted = visits.into_iter().map(|visit| Visit { instructions: 0, ..visit });
        let visits: Vec<Visit> = uncounted.collect();
        let (bytes, added) = written(&header(Grain::Page, false, false), &visits);
        let lookups: u64 = visits.iter().map(Visit::lookups).sum();
        prop_assert_eq!((bytes.len() as u64, added), (lookups * CHAMPSIM_BYTES as u64, 0));
    }
}

/// A recording of a real program.
#[test]
fn a_recording_comes_back() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sort.bl");
    let options = ReadOptions {
        fetches: true,
        ..ReadOptions::default()
    };
    let file = File::open(path).expect("there is a recording");
    let mut reader = TraceReader::with_options(file, options).expect("a recording");
    let header = reader.header().clone();
    let mut visits = Vec::new();
    let mut bytes = Vec::new();
    let mut exporter = (exporter().create)(&mut bytes, &header);
    while let Some(item) = reader.next_item().expect("a whole recording") {
        exporter.item(&item).expect("one address space");
        if let Item::Visits(some) = item {
            visits.extend_from_slice(some);
        }
    }
    exporter.finish().unwrap();
    drop(exporter);
    let options = ImportOptions {
        grain: header.grain,
        ..PAGES
    };
    let again = import_bytes(format(), &bytes, options).unwrap();
    let (found, expected) = (
        references(&again.visits(), false),
        references(&visits, false),
    );
    assert!(expected.len() > 1000, "{}", expected.len());
    assert!(found == expected);
}
