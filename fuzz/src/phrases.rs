//! The inside of chunks of phrases: any vocabulary, any codes, any events.
//!
//! Compression and checks in a file keep a fuzzer out. This target makes uncompressed sections with
//! valid checks from the fuzzer's bytes. It makes several chunks, because state left from one chunk
//! may affect the next.

use crate::traces::chunk;
use broadleaf_trace::{Grain, Header, Options, Recoder};

/// The number of sections of a chunk.
const SECTIONS: usize = 6;

/// A body: totals of one byte each, and sections after their lengths, which are at most 127.
fn body(mut bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut body = Vec::new();
    for _ in 0..4 {
        let (number, rest) = bytes.split_first().unwrap_or((&0, &[]));
        body.push(number & 127);
        bytes = rest;
    }
    // The clock.
    body.push(0);
    for _ in 0..SECTIONS {
        let (length, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let length = usize::from(length & 127).min(rest.len());
        let (section, rest) = rest.split_at(length);
        body.extend_from_slice(&[length as u8; 2]);
        body.extend_from_slice(section);
        bytes = rest;
    }
    (body, bytes)
}

fn trace(bytes: &[u8]) -> Option<Vec<u8>> {
    let (flags, mut bytes) = bytes.split_first()?;
    let mut header = Header::new(if flags & 1 == 0 {
        Grain::Page
    } else {
        Grain::Line
    });
    header.options = Options {
        instruction_counts: true,
        instruction_pages: true,
        events: true,
        system: false,
        kernel_events: false,
        code: false,
        children: false,
    };
    let mut file = Vec::new();
    // The head alone, as at the start of a recording that was cut short.
    drop(Recoder::writer(&mut file, &header).ok()?);
    while !bytes.is_empty() {
        let (body, rest) = body(bytes);
        chunk(&mut file, 3, &body);
        bytes = rest;
    }
    Some(file)
}

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    if let Some(trace) = trace(bytes) {
        crate::traces::read_in_every_manner(&trace);
    }
}
