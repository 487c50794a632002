//! A reduced trace: any bytes are read to their end or refused, as a file and as the columns of a chunk.
//!
//! Columns are compressed and checked in a file, which keeps a fuzzer out. So its bytes are also put together as columns that are stored as they are, in
//! chunks whose checks agree.
#![no_main]

use broadleaf_fuzz::{chunk, put_checks_right};
use broadleaf_trace::reduced::{
    Kept, REDUCED_MAGIC, ReducedHeader, ReducedItem, ReducedPartReader, ReducedReader,
    ReducedWriter, Sums,
};
use broadleaf_trace::{Event, TraceError};
use libfuzzer_sys::fuzz_target;

/// What was read of a reduced trace.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Visits(Vec<Kept>, Sums),
    Event(Event),
}

/// All pieces, where it is whole.
fn read(bytes: &[u8]) -> Result<(ReducedHeader, Vec<Piece>), TraceError> {
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
                    Piece::Visits(visits.to_vec(), sums)
                }
                ReducedItem::Event(event) => Piece::Event(event.clone()),
            });
        }
    };
    assert!(
        matches!(reader.next_part(), Ok(None)),
        "there is nothing behind the end or an error"
    );
    end.map(|()| (reader.header().clone(), pieces))
}

/// What every piece keeps.
fn hold(visits: &[Kept], sums: &Sums) {
    assert!(visits.is_sorted_by_key(|visit| visit.time), "{visits:?}");
    for visit in visits {
        assert!(visit.time <= sums.accesses(), "{visit:?} in {sums:?}");
        assert!(visit.manner.leads() || visit.manner.accesses(), "{visit:?}");
        assert!(visit.page <= u64::MAX >> 12, "{visit:?}");
    }
}

/// What is whole can be written, and read again as the same.
fn there_and_back(header: &ReducedHeader, pieces: &[Piece]) {
    let mut writer = ReducedWriter::new(Vec::new(), header).expect("a head that was read");
    for piece in pieces {
        match piece {
            Piece::Visits(visits, sums) => writer.visits(visits, sums),
            Piece::Event(event) => writer.event(event),
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

/// A chunk of eight columns, which stand in `bytes` one behind the other with their lengths, at most 127, before them.
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
    // Behind the head stands the end alone: magic, kind and the like, four numbers of a byte, and the check.
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
