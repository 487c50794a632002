//! A journal: a reader reads any bytes to their end, or refuses them. The ticks that it reads can
//! be written, read back equal, and be replayed.
//!
//! Random bytes never have valid checksums, so the target also corrects the checksum of each line.

use std::time::Duration;

use broadleaf_governor::journal::{
    Header, JOURNAL_SCHEMA, Journal, TickRecord, read, under, verify,
};
use broadleaf_governor::{Done, Ticked};

/// The end of a line without the checksum's eight digits and the bracket.
const CHECKSUM: &[u8] = b",\"crc\":\"";
/// The length of the end of a line: the checksum field and the bracket.
const END: usize = CHECKSUM.len() + 8 + 2;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    look_at(bytes);
    look_at(&with_checksums(bytes));
}

/// Corrects the checksum of each line that has one.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut sum = crc32fast::Hasher::new();
    let mut corrected = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let (record, end) = text.split_at(text.len().saturating_sub(END));
        if end.starts_with(CHECKSUM) {
            sum.update(record);
            let digits = format!("{:08x}\"}}", sum.clone().finalize());
            corrected.extend_from_slice(record);
            corrected.extend_from_slice(CHECKSUM);
            corrected.extend_from_slice(digits.as_bytes());
            corrected.extend_from_slice(&line[text.len()..]);
        } else {
            corrected.extend_from_slice(line);
        }
    }
    corrected
}

fn look_at(bytes: &[u8]) {
    let Some((header, records)) = ticks_of(bytes) else {
        return;
    };
    let header = Header {
        schema: JOURNAL_SCHEMA.to_owned(),
        ..header
    };
    let again = written(&header, &records);
    assert_eq!(ticks_of(&again), Some((header, records)));
    replay(&again);
}

/// Reads the ticks of a journal up to its end or its first error. Returns `None` if the bytes are
/// no journal.
fn ticks_of(bytes: &[u8]) -> Option<(Header, Vec<TickRecord>)> {
    let (header, mut ticks) = read(bytes).ok()?;
    let records = ticks.by_ref().map_while(Result::ok).collect();
    assert!(
        ticks.next().is_none(),
        "no tick follows the end or an error"
    );
    assert!(ticks.torn_bytes() <= bytes.len() as u64);
    Some((header, records))
}

/// A journal of these ticks.
fn written(header: &Header, records: &[TickRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut journal = Journal::begin(&mut bytes, header).expect("memory can be written to");
    for record in records {
        let ticked = Ticked {
            seen: record.seen.clone(),
            plan: record.plan.clone(),
            done: Done {
                outcomes: record.outcomes.clone(),
            },
            wait: Duration::ZERO,
            alive: true,
        };
        journal.tick(&ticked).expect("what was read can be written");
    }
    bytes
}

/// Replays a whole journal under its own policy and under another policy. A policy that cannot
/// decide on live processes is refused.
fn replay(bytes: &[u8]) {
    let ticks = || read(bytes).expect("a whole journal");
    let (header, own) = ticks();
    let Ok(verified) = verify(&header, own) else {
        return;
    };
    let policy = broadleaf_policy::parse("pop-64").expect("a policy");
    let (budgets, reach) = (header.budgets, verified.reach);
    under(policy, budgets, &header, reach, ticks().1).expect("a whole journal");
}
