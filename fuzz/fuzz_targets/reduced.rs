//! A reduced trace: a reader reads any bytes to their end, or refuses them, as a file and as the
//! columns of a chunk.
//!
//! Compression and checks in a file keep a fuzzer out. The target therefore also makes uncompressed
//! columns with valid checks from the fuzzer's bytes.
#![no_main]

use broadleaf_fuzz::{chunk, put_checks_right};
use broadleaf_trace::reduced::{
    KeptVisit, REDUCED_MAGIC, ReducedHeader, ReducedItem, ReducedPartReader, ReducedReader,
    ReducedWriter, Sums,
};
use broadleaf_trace::{Event, TraceError};
use libfuzzer_sys::fuzz_target;

/// An item of a reduced trace.
#[derive(Clone, Debug, PartialEq)]
enum FuzzReducedItem {
    Visits(Vec<KeptVisit>, Sums),
    Event(Event),
}

/// Reads all items of a whole trace.
fn read(bytes: &[u8]) -> Result<(ReducedHeader, Vec<FuzzReducedItem>), TraceError> {
    let mut reader = ReducedReader::new(bytes)?;
    let mut part_reader = ReducedPartReader::new();
    let mut pieces = Vec::new();
    let end = loop {
        match reader.next_part() {
            Ok(Some(part)) => part_reader.begin(part),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        while let Some(item) = part_reader.next_item()? {
            pieces.push(match item {
                ReducedItem::Visits(visits, sums) => {
                    hold(visits, &sums);
                    FuzzReducedItem::Visits(visits.to_vec(), sums)
                }
                ReducedItem::Event(event) => FuzzReducedItem::Event(event.clone()),
            });
        }
    };
    assert!(
        matches!(reader.next_part(), Ok(None)),
        "no part follows the end or an error"
    );
    end.map(|()| (reader.header().clone(), pieces))
}

/// Asserts the invariants of an item.
fn hold(visits: &[KeptVisit], sums: &Sums) {
    assert!(visits.is_sorted_by_key(|visit| visit.time), "{visits:?}");
    for visit in visits {
        assert!(visit.time <= sums.accesses(), "{visit:?} in {sums:?}");
        assert!(visit.manner.leads() || visit.manner.accesses(), "{visit:?}");
        assert!(visit.page <= u64::MAX >> 12, "{visit:?}");
    }
}

/// A whole trace can be written, and reads back equal.
fn there_and_back(header: &ReducedHeader, pieces: &[FuzzReducedItem]) {
    let mut writer = ReducedWriter::new(Vec::new(), header).expect("a head that was read");
    for piece in pieces {
        match piece {
            FuzzReducedItem::Visits(visits, sums) => writer.visits(visits, sums),
            FuzzReducedItem::Event(event) => writer.event(event),
        }
        .expect("what was read can be written");
    }
    let (bytes, _) = writer.finish().expect("memory can be written to");
    let again = read(&bytes).expect("what was written can be read");
    assert_eq!(again, (header.clone(), pieces.to_vec()));
}

fn look_at(bytes: &[u8]) {
    if let Ok((header, pieces)) = read(bytes) {
        there_and_back(&header, &pieces);
    }
}

/// A chunk of eight columns, taken from `bytes` after their lengths, which are at most 127.
fn of_columns(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..8 {
        let (length, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let length = usize::from(length & 127).min(rest.len());
        let (column, rest) = rest.split_at(length);
        body.extend_from_slice(&[length as u8; 2]);
        body.extend_from_slice(column);
        bytes = rest;
    }
    let header = ReducedHeader::default();
    let writer = ReducedWriter::new(Vec::new(), &header).expect("memory can be written to");
    let (empty, _) = writer.finish().expect("memory can be written to");
    // The head and the end chunk: its head, four numbers of a byte, and the check.
    let end = 16 + 4 + 8;
    let mut file = empty[..empty.len() - end].to_vec();
    chunk(&mut file, 16, &body);
    file.extend_from_slice(&empty[empty.len() - end..]);
    file
}

fuzz_target!(|bytes: &[u8]| {
    look_at(bytes);
    if bytes.starts_with(&REDUCED_MAGIC) {
        let mut bytes = bytes.to_vec();
        put_checks_right(&mut bytes);
        look_at(&bytes);
    }
    look_at(&of_columns(bytes));
});
