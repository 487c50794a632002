//! Chunks with invalid sections. The module `vocabulary` tests invalid vocabularies.

use super::split::PhraseSections;
use super::{LONGEST, MOST_VISITS, PhraseItemKind, PhraseReader};
use crate::compress::Packer;
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes::EventEncoder;
use crate::varint;
use crate::visit::Grain;

/// The body of a chunk with `visits` visits. The vocabulary has two words: a load of unit 5, and a
/// load of unit 6.
fn body(visits: usize, low: &[u8], high: &[u8], events: &[u8]) -> Vec<u8> {
    let mut sections = PhraseSections {
        units: vec![5, 1],
        counts: vec![0, 1, 0, 0],
        words: vec![1, 0, 1, 0],
        low: low.to_vec(),
        high: high.to_vec(),
        ..PhraseSections::default()
    };
    sections.events.bytes = events.to_vec();
    let mut body = Vec::new();
    for number in [visits, visits, 0, 0, 0] {
        varint::put(&mut body, number as u64);
    }
    let mut packer = Packer::new(1).expect("there is such a level");
    sections.pack(&mut body, &mut packer).expect("a body");
    body
}

/// The body of a chunk whose codes are all below 256.
fn of_codes(visits: usize, codes: &[u8]) -> Vec<u8> {
    body(visits, codes, &vec![0; codes.len()], &[])
}

/// Returns the visited units, or the error of decoding.
fn read_with(reader: &mut PhraseReader, body: &[u8]) -> Result<Vec<u64>, Bad> {
    reader.begin(body, Grain::Page, true)?;
    let mut units = Vec::new();
    loop {
        match reader.advance()? {
            PhraseItemKind::Words => {
                units.extend(reader.phrased().visits().map(|visit| visit.unit))
            }
            PhraseItemKind::Visits | PhraseItemKind::Event => {}
            PhraseItemKind::End => return Ok(units),
        }
    }
}

fn read(body: &[u8]) -> Result<Vec<u64>, Bad> {
    read_with(&mut PhraseReader::new(), body)
}

#[track_caller]
fn refused(body: &[u8], section: Section, why: &str) {
    let bad = read(body).expect_err(why);
    assert_eq!(bad.section, section, "{bad}");
    assert!(bad.reason.contains(why), "{bad}");
}

#[test]
fn codes_name_words_and_phrases() {
    // 2 is 5 6, 3 is 6 5 6, 4 is 5 6 6 5 6.
    let units = read(&of_codes(9, &[0, 1, 2, 3, 1, 0]));
    assert_eq!(units, Ok(vec![5, 6, 5, 6, 6, 5, 6, 6, 5]));
}

#[test]
fn undefined_codes_are_refused_after_any_chunk() {
    let nothing = "not defined yet";
    refused(&of_codes(1, &[2]), Section::Codes, nothing);
    // A code names the phrase that it would define.
    refused(&of_codes(3, &[0, 2]), Section::Codes, nothing);
    refused(&of_codes(4, &[0, 1, 3]), Section::Codes, nothing);
    refused(
        &body(2, &[0, 0xff], &[0, 0xff], &[]),
        Section::Codes,
        nothing,
    );
    // In the chunk before, the code had the right number of visits.
    let mut reader = PhraseReader::new();
    assert!(read_with(&mut reader, &of_codes(4, &[0, 1, 2])).is_ok());
    let bad = read_with(&mut reader, &of_codes(3, &[0, 2]));
    assert!(bad.is_err_and(|bad| bad.reason.contains(nothing)));
    assert_eq!(reader.made().executions, 0);
    assert!(matches!(reader.advance(), Ok(PhraseItemKind::End)));
}

#[test]
fn no_phrase_exceeds_the_maximum_length() {
    // Phrase 2 has two visits, 4 four, 6 eight, 8 sixteen and 10 the maximum; 3, 5, 7 and 9 lie
    // between.
    let codes = [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10];
    let visits = 62 + 2 * LONGEST;
    assert_eq!(read(&of_codes(visits, &codes)), Ok(vec![5; visits]));
    for more in [&[11][..], &[0, 11]] {
        let codes = [&codes, more].concat();
        refused(&of_codes(visits, &codes), Section::Codes, "not defined yet");
    }
    let codes = [&codes[..], &[0, 0, 11]].concat();
    assert_eq!(read(&of_codes(visits + 4, &codes)), Ok(vec![5; visits + 4]));
}

#[test]
fn the_visits_of_a_chunk_equal_its_totals() {
    assert_eq!(read(&of_codes(2, &[0, 1])), Ok(vec![5, 6]));
    refused(
        &of_codes(3, &[0, 1]),
        Section::Totals,
        "differ from the sums",
    );
    refused(&of_codes(1, &[0, 1]), Section::Codes, "more visits");
    let many = of_codes(MOST_VISITS + 1, &[0, 1]);
    refused(&many, Section::Totals, "more visits");
    refused(
        &of_codes(MOST_VISITS, &[0, 1]),
        Section::Totals,
        "differ from",
    );
    refused(&body(2, &[0, 1], &[0], &[]), Section::Codes, "cut in half");
    let mut trailing = of_codes(2, &[0, 1]);
    trailing.push(0);
    refused(&trailing, Section::Totals, "bytes after");
}

#[test]
fn events_precede_codes() {
    let at = |codes| {
        let mut events = EventEncoder::new();
        let event = Event::Fork { child: 1 };
        events.push(codes, &event).expect("an event");
        body(4, &[0, 1, 2], &[0; 3], events.bytes())
    };
    for codes in 0..=3 {
        assert_eq!(
            read(&at(codes)),
            Ok(vec![5, 6, 5, 6]),
            "before code {codes}"
        );
    }
    refused(&at(4), Section::Events, "after the last");
}
