use super::*;
use crate::batch::ImportBatch;
use crate::import::ImportCounts;
use crate::testing::{import_bytes, import_with_taken};
use broadleaf_trace::Visit;

/// Writes numbers and fields as the documentation of Protocol Buffers says.
fn number(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn message(fields: &[(u64, u64)]) -> Vec<u8> {
    let mut message = Vec::new();
    for &(field, value) in fields {
        number(field << 3, &mut message);
        number(value, &mut message);
    }
    message
}

fn file(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut header = vec![0x0a, 7];
    header.extend(b"monitor");
    header.extend(message(&[(3, 1_000_000_000_000)]));
    let mut all = MAGIC.to_vec();
    for message in [header].iter().chain(packets) {
        number(message.len() as u64, &mut all);
        all.extend(message);
    }
    all
}

fn packet(command: u64, address: u64, size: u64, flags: u64) -> Vec<u8> {
    message(&[
        (1, 500),
        (2, command),
        (3, address),
        (4, size),
        (5, flags),
        (7, 0x40_0000),
    ])
}

fn import(bytes: Vec<u8>) -> Result<(Vec<Visit>, ImportCounts, Vec<LeftOut>), String> {
    import_bytes(GEM5.import.as_ref(), bytes)
}

#[test]
fn reads_writes_and_fetches_are_told_apart() {
    let packets = [
        packet(READ, 0x40_0000, 64, INST_FETCH),
        packet(READ, 0x1ff8, 16, 0),
        packet(WRITE, 0x2000, 0, 0),
        packet(2, 0x1ff8, 16, 0),
    ];
    let (visits, counts, left_out) = import(file(&packets)).unwrap();
    let ImportCounts {
        records,
        instructions,
        loads,
        stores,
    } = counts;
    assert_eq!((records, instructions, loads, stores), (4, 1, 1, 1));
    assert_eq!(left_out[0].count, 1, "the response");
    // The load reaches into page 2, where the store of no bytes is one of a byte.
    let units: Vec<u64> = visits.iter().map(|visit| visit.unit).collect();
    assert_eq!(units, [1, 2]);
}

#[test]
fn wrong_files_are_refused_with_their_place() {
    let whole = file(&[packet(READ, 0x1000, 8, 0)]);
    let cases = [
        (
            b"gem6....".to_vec(),
            "x: does not begin with \"gem5\" (at byte 0): ",
        ),
        (
            MAGIC.to_vec(),
            "x: message 1 (at byte 4): the header of the trace is missing",
        ),
        (
            whole[..whole.len() - 1].to_vec(),
            "message 2 (at byte 21): the input ends inside",
        ),
        (
            file(&[message(&[(2, 1)])]),
            "message 2 (at byte 21): the packet lacks",
        ),
        (
            file(&[packet(READ, u64::MAX, 2, 0)]),
            "past the end of the address space",
        ),
        (
            file(&[packet(READ, 0, 1 << 20, 0)]),
            "the packet has 1048576 bytes",
        ),
        (file(&[vec![0x12, 0x05, 0x01]]), "a field is cut short"),
    ];
    for (bytes, says) in cases {
        let refused = import(bytes).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn packets_of_no_bytes_are_counted() {
    let packets = [
        packet(READ, 0x1fff, 0, 0),
        packet(READ, 0x40_0000, 0, INST_FETCH),
        packet(WRITE, 0x2000, 1, 0),
        // A response is no reference.
        packet(2, 0x1ff8, 0, 0),
    ];
    let (imported, taken) = import_with_taken(GEM5.import.as_ref(), file(&packets)).unwrap();
    let units: Vec<u64> = imported.0.iter().map(|visit| visit.unit).collect();
    assert_eq!(units, [1, 2]);
    let [of_no_bytes] = taken[..] else {
        panic!("{taken:?}");
    };
    assert_eq!((of_no_bytes.count, of_no_bytes.how), (2, OF_NO_BYTES));
}

/// Packets across the buffer's end are whole.
#[test]
fn long_traces_are_read_in_batches() {
    let packets: Vec<_> = (0..100_000)
        .map(|at| packet(READ, at << 12, 8, 0))
        .collect();
    let (visits, counts, _) = import(file(&packets)).unwrap();
    assert_eq!(counts.loads, 100_000);
    assert!(visits.len() == 100_000 && visits.len() > ImportBatch::GOAL);
}

/// The sample is written by the functions above.
#[test]
fn the_sample_is_as_written_here() {
    let packets = [
        packet(READ, 0x40_0000, 64, INST_FETCH),
        packet(READ, 0x7fff_0ff8, 16, 0),
        packet(2, 0x7fff_0ff8, 16, 0),
        packet(READ, 0x40_0040, 64, INST_FETCH),
        packet(WRITE, 0x60_1000, 8, 0),
        packet(READ, 0x7f12_3456_7000, 64, 0),
        packet(WRITE, 0x7f12_3456_8000, 64, 0),
        packet(READ, 0x40_1000, 64, INST_FETCH),
    ];
    let written = file(&packets);
    if std::env::var_os("BROADLEAF_WRITE_SAMPLES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gem5/sample");
        std::fs::write(path, &written).unwrap();
    }
    assert_eq!(GEM5.sample, written);
}
