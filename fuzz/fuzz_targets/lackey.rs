//! Lackey text: a reader reads any bytes to their end, or refuses them, however many pieces they
//! arrive in.
#![no_main]

use std::io::Read;

use broadleaf_import::{LackeyCounts, LackeyError, LackeyReader};
use broadleaf_trace::{Grain, Visit};
use libfuzzer_sys::fuzz_target;

/// A reader that returns a few bytes at a time.
struct ShortReads<'a>(&'a [u8], usize);

impl Read for ShortReads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(buffer.len()).min(self.0.len());
        let (now, later) = self.0.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

fn read(source: impl Read, grain: Grain) -> (Vec<Visit>, LackeyCounts, Option<String>) {
    let mut reader = LackeyReader::new(source, grain);
    let mut visits = Vec::new();
    let error = loop {
        match reader.read(&mut visits) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(LackeyError::Io(error)) => panic!("bytes in memory do not fail: {error}"),
            Err(error) => break Some(error.to_string()),
        }
    };
    (visits, reader.counts(), error)
}

fuzz_target!(|bytes: &[u8]| {
    for grain in [Grain::Page, Grain::Line] {
        let (visits, counts, error) = read(bytes, grain);
        let accesses: u64 = visits.iter().map(Visit::accesses).sum();
        assert_eq!(accesses, counts.loads + counts.stores);
        let piece = 1 + bytes.len() % 7;
        assert_eq!(
            read(ShortReads(bytes, piece), grain),
            (visits, counts, error)
        );
    }
});
