//! The inside of chunks of phrases: any vocabulary, any codes, any events.
//!
//! In a file they are compressed and checked, which keeps a fuzzer out. Here sections are put together from its bytes, stored as they are, in chunks whose checks
//! agree. One behind the other, so that what a reader keeps of one may show in the next.
#![no_main]

use broadleaf_fuzz::chunk;
use broadleaf_trace::{Grain, Header, Options, Recoder};
use libfuzzer_sys::fuzz_target;

/// How many sections such a chunk has.
const SECTIONS: usize = 6;

/// A body: what it says that it comes to, a byte each, and sections with their lengths, at most 127, before them.
fn body<'a>(mut bytes: &'a [u8]) -> (Vec<u8>, &'a [u8]) {
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
        children: false,
    };
    let mut file = Vec::new();
    // The head alone: what a recording that was cut short begins with.
    drop(Recoder::writer(&mut file, &header).ok()?);
    while !bytes.is_empty() {
        let (body, rest) = body(bytes);
        chunk(&mut file, 3, &body);
        bytes = rest;
    }
    Some(file)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(trace) = trace(bytes) {
        broadleaf_fuzz::read_in_every_manner(&trace);
    }
});
