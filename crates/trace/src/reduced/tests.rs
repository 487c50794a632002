//! Tests of reduced traces: round trips and damage.

use super::*;
use crate::event::Event;
use crate::synth::SplitMix64;
use crate::{Advice, Range, TraceError};
use broadleaf_units::{SpaceId, VirtAddr};

#[derive(Clone, Debug, PartialEq, Eq)]
enum ReducedTestItem {
    Visits(Vec<KeptVisit>, Sums),
    Event(Event),
}

fn pieces(random: &mut SplitMix64, count: u64) -> Vec<ReducedTestItem> {
    let one = |random: &mut SplitMix64| match random.below(4) {
        0 => ReducedTestItem::Event(match random.below(3) {
            0 => Event::SpaceSwitch(SpaceId(random.next() as u32)),
            1 => Event::Fork { child: 7 },
            _ => Event::Advise(
                Range {
                    start: VirtAddr(random.below(1 << 30) << 12),
                    len: 4096,
                },
                Advice::DontNeed,
            ),
        }),
        _ => {
            let mut time = 0;
            let visits = (0..random.below(40)).map(|_| {
                time += match random.below(20) {
                    0 => random.below(1 << 40),
                    1 => 254 + random.below(3),
                    _ => random.below(10),
                };
                let stores = random.below(2) == 0;
                let leads = random.below(8) == 0;
                KeptVisit {
                    page: if random.below(9) == 0 {
                        random.next() >> 12
                    } else {
                        random.below(300)
                    },
                    time,
                    loads_before_store: match (stores, random.below(9)) {
                        (false, _) => 0,
                        (true, 0) => random.next() as u32,
                        (true, _) => random.below(3) as u32,
                    },
                    manner: Manner(
                        u8::from(leads)
                            | u8::from(leads && random.below(2) == 0) << 1
                            | u8::from(stores || !leads || random.below(2) == 0) << 2
                            | u8::from(stores) << 3,
                    ),
                }
            });
            let visits: Vec<KeptVisit> = visits.collect();
            let sums = Sums {
                loads: time + random.below(9),
                stores: random.below(1 << 20),
                instructions: random.next() >> 16,
                data: !visits.is_empty() || random.below(2) == 0,
            };
            ReducedTestItem::Visits(visits, sums)
        }
    };
    (0..count).map(|_| one(random)).collect()
}

fn header() -> ReducedHeader {
    ReducedHeader {
        trace: "blake3:00".to_owned(),
        family: "a family".to_owned(),
    }
}

fn write(writer: &mut ReducedWriter<Vec<u8>>, pieces: &[ReducedTestItem]) {
    for piece in pieces {
        match piece {
            ReducedTestItem::Visits(visits, sums) => writer.visits(visits, sums).unwrap(),
            ReducedTestItem::Event(event) => writer.event(event).unwrap(),
        }
    }
}

fn written(pieces: &[ReducedTestItem]) -> Vec<u8> {
    let mut writer = ReducedWriter::new(Vec::new(), &header()).unwrap();
    write(&mut writer, pieces);
    writer.finish().unwrap().0
}

fn read(bytes: &[u8]) -> Result<Vec<ReducedTestItem>, TraceError> {
    let mut reader = ReducedReader::new(bytes)?;
    assert_eq!(reader.header().family, "a family");
    let mut part = ReducedPartReader::new();
    let mut pieces = Vec::new();
    while let Some(next) = reader.next_part()? {
        part.begin(next);
        while let Some(item) = part.next_item()? {
            pieces.push(match item {
                ReducedItem::Visits(visits, sums) => ReducedTestItem::Visits(visits.to_vec(), sums),
                ReducedItem::Event(event) => ReducedTestItem::Event(event.clone()),
            });
        }
        reader.close(&part);
    }
    reader.finish()?;
    Ok(pieces)
}

#[test]
fn a_reduced_trace_round_trips() {
    for seed in 0..200 {
        let mut random = SplitMix64::new(seed);
        let count = random.below(60);
        let pieces = pieces(&mut random, count);
        assert_eq!(read(&written(&pieces)).unwrap(), pieces, "seed {seed}");
    }
}

#[test]
fn one_writer_writes_one_trace_after_the_other() {
    let mut random = SplitMix64::new(5);
    let new = || ReducedWriter::new(Vec::new(), &header()).unwrap();
    let mut writer = new().soon_read().unwrap();
    for _ in 0..20 {
        let count = random.below(60);
        let pieces = pieces(&mut random, count);
        write(&mut writer, &pieces);
        let (bytes, kept) = writer.finish_and_begin(Vec::new(), &header()).unwrap();
        let visits = pieces.iter().map(|piece| match piece {
            ReducedTestItem::Visits(visits, _) => visits.len() as u64,
            ReducedTestItem::Event(_) => 0,
        });
        assert_eq!(kept, visits.sum::<u64>());
        assert_eq!(read(&bytes).unwrap(), pieces);
        // The earlier traces have no effect.
        let mut alone = new().soon_read().unwrap();
        write(&mut alone, &pieces);
        assert!(bytes == alone.finish().unwrap().0);
    }
}

#[test]
fn chunks_end_where_they_are_full() {
    let sums = Sums {
        loads: 4096,
        data: true,
        ..Sums::default()
    };
    let visits = |first: u64| {
        (0..4096).map(move |at| KeptVisit {
            page: first + at,
            time: at,
            loads_before_store: 0,
            manner: Manner(Manner::ACCESSES),
        })
    };
    let pieces: Vec<ReducedTestItem> = (0..200)
        .map(|piece| ReducedTestItem::Visits(visits(piece * 5000).collect(), sums))
        .collect();
    let bytes = written(&pieces);
    let starts: Vec<usize> = (bytes.windows(4).enumerate())
        .filter_map(|(at, four)| (four == b"BLCK").then_some(at))
        .collect();
    assert!(starts.len() >= 4);
    assert!(read(&bytes).unwrap() == pieces);
    // Each chunk is whole by itself; the reader detects a missing chunk.
    for chunk in starts.windows(2) {
        let without = [&bytes[..chunk[0]], &bytes[chunk[1]..]].concat();
        let error = read(&without).unwrap_err();
        assert!(error.to_string().contains("chunks are missing"), "{error}");
    }
}

#[test]
fn invalid_items_are_refused() {
    let of = |visits: &[KeptVisit], sums: Sums| {
        read(&written(&[ReducedTestItem::Visits(visits.to_vec(), sums)]))
    };
    let large = Sums {
        loads: 1 << 53,
        data: true,
        ..Sums::default()
    };
    let mut columns = super::columns::ReducedColumns::default();
    columns.put_visits(0, &large);
    let error = read(&with_chunk(&mut columns)).unwrap_err();
    assert!(error.to_string().contains("exceed the limit"), "{error}");
    let visit = KeptVisit {
        page: 1,
        time: 0,
        loads_before_store: 0,
        manner: Manner::LOAD,
    };
    let none = Sums {
        loads: 1,
        ..Sums::default()
    };
    assert!(of(&[visit], none).is_err());
    // A very long list of pages takes few bytes and would take much memory.
    let mut columns = super::columns::ReducedColumns {
        pages: vec![2; super::columns::MOST_VISITS + 1],
        ..Default::default()
    };
    let error = read(&with_chunk(&mut columns)).unwrap_err();
    assert!(error.to_string().contains("more pages"), "{error}");
}

/// A reduced trace with one chunk of these columns.
fn with_chunk(columns: &mut super::columns::ReducedColumns) -> Vec<u8> {
    let mut chunk = crate::chunk::open(crate::ChunkKind::Reduced, 0);
    let mut packer = crate::compress::Packer::new(1).unwrap();
    columns.pack(&mut packer, &mut chunk).unwrap();
    crate::chunk::close(&mut chunk).unwrap();
    let good = written(&[]);
    let end = good.windows(4).position(|four| four == b"BLCK").unwrap();
    [&good[..end], &chunk, &good[end..]].concat()
}

#[test]
fn every_damage_is_refused() {
    let bytes = written(&pieces(&mut SplitMix64::new(1), 30));
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "cut at {length}");
    }
    let mut random = SplitMix64::new(2);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << random.below(8);
        assert!(read(&damaged).is_err(), "flipped at {at}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(read(&longer).is_err());
}

/// A reader validates the content of a chunk with a valid check.
#[test]
fn made_up_columns_never_panic() {
    let good = written(&pieces(&mut SplitMix64::new(3), 20));
    let mut random = SplitMix64::new(4);
    let (start, end) = {
        let mut at = good
            .windows(4)
            .enumerate()
            .filter(|(_, four)| *four == b"BLCK");
        (at.next().unwrap().0, at.next().unwrap().0)
    };
    for _ in 0..3000 {
        let mut columns = super::columns::ReducedColumns::default();
        columns
            .unpack(
                &good[start + 16..end - 8],
                &mut crate::compress::Unpacker::new(),
            )
            .unwrap();
        for column in [
            &mut columns.script,
            &mut columns.pages,
            &mut columns.low,
            &mut columns.high,
            &mut columns.times,
            &mut columns.manners,
            &mut columns.loads,
            &mut columns.escapes,
        ] {
            match random.below(6) {
                0 if !column.is_empty() => {
                    let at = random.below(column.len() as u64) as usize;
                    column[at] = random.next() as u8;
                }
                1 => column.truncate(random.below(column.len() as u64 + 1) as usize),
                2 => column.push(random.next() as u8),
                _ => {}
            }
        }
        let mut chunk = crate::chunk::open(crate::ChunkKind::Reduced, 0);
        let mut packer = crate::compress::Packer::new(1).unwrap();
        columns.pack(&mut packer, &mut chunk).unwrap();
        crate::chunk::close(&mut chunk).unwrap();
        let whole = [&good[..start], &chunk, &good[end..]].concat();
        let _any = read(&whole);
    }
}
