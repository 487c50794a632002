//! Chunks whose sections say what they cannot mean. What of it a vocabulary refuses, its own tests say.

use super::split::Sections;
use super::{Found, LONGEST, MOST_VISITS, PhraseReader};
use crate::compress::Packer;
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes::EventEncoder;
use crate::varint;
use crate::visit::Grain;

/// The body of a chunk of so many visits. It has two words: a load of unit 5, and one of unit 6.
fn body(visits: usize, low: &[u8], high: &[u8], events: &[u8]) -> Vec<u8> {
    let mut sections = Sections {
        units: vec![5, 1],
        counts: vec![0, 1, 0, 0],
        words: vec![1, 0, 1, 0],
        low: low.to_vec(),
        high: high.to_vec(),
        ..Sections::default()
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

/// One whose codes are all below 256.
fn of_codes(visits: usize, codes: &[u8]) -> Vec<u8> {
    body(visits, codes, &vec![0; codes.len()], &[])
}

/// The units that are visited, or why that cannot be said.
fn read_with(reader: &mut PhraseReader, body: &[u8]) -> Result<Vec<u64>, Bad> {
    reader.begin(body, Grain::Page, true)?;
    let mut units = Vec::new();
    loop {
        match reader.advance()? {
            Found::Words => units.extend(reader.phrased().visits().map(|visit| visit.unit)),
            Found::Visits | Found::Event => {}
            Found::End => return Ok(units),
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
fn codes_stand_for_words_and_phrases() {
    // 2 is 5 6, 3 is 6 5 6, 4 is 5 6 6 5 6.
    let units = read(&of_codes(9, &[0, 1, 2, 3, 1, 0]));
    assert_eq!(units, Ok(vec![5, 6, 5, 6, 6, 5, 6, 6, 5]));
}

#[test]
fn codes_that_stand_for_nothing_are_refused_whatever_was_read_before() {
    let nothing = "not there before";
    refused(&of_codes(1, &[2]), Section::Codes, nothing);
    // The phrase that it makes itself.
    refused(&of_codes(3, &[0, 2]), Section::Codes, nothing);
    refused(&of_codes(4, &[0, 1, 3]), Section::Codes, nothing);
    refused(
        &body(2, &[0, 0xff], &[0, 0xff], &[]),
        Section::Codes,
        nothing,
    );
    // What it stood for in the chunk before has the right number of visits.
    let mut reader = PhraseReader::new();
    assert!(read_with(&mut reader, &of_codes(4, &[0, 1, 2])).is_ok());
    let bad = read_with(&mut reader, &of_codes(3, &[0, 2]));
    assert!(bad.is_err_and(|bad| bad.reason.contains(nothing)));
    assert_eq!(reader.made().executions, 0);
    assert!(matches!(reader.advance(), Ok(Found::End)));
}

#[test]
fn no_phrase_is_longer_than_it_may_be() {
    // 2 is two visits, 4 four, 6 eight, 8 sixteen and 10 as many as may be; 3, 5, 7 and 9 lie between.
    let codes = [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10];
    let visits = 62 + 2 * LONGEST;
    assert_eq!(read(&of_codes(visits, &codes)), Ok(vec![5; visits]));
    for more in [&[11][..], &[0, 11]] {
        let codes = [&codes, more].concat();
        refused(
            &of_codes(visits, &codes),
            Section::Codes,
            "not there before",
        );
    }
    let codes = [&codes[..], &[0, 0, 11]].concat();
    assert_eq!(read(&of_codes(visits + 4, &codes)), Ok(vec![5; visits + 4]));
}

#[test]
fn a_chunk_comes_to_what_it_says() {
    assert_eq!(read(&of_codes(2, &[0, 1])), Ok(vec![5, 6]));
    refused(
        &of_codes(3, &[0, 1]),
        Section::Totals,
        "not what the visits come to",
    );
    refused(&of_codes(1, &[0, 1]), Section::Codes, "more visits");
    let many = of_codes(MOST_VISITS + 1, &[0, 1]);
    refused(&many, Section::Totals, "more visits");
    refused(&of_codes(MOST_VISITS, &[0, 1]), Section::Totals, "not what");
    refused(&body(2, &[0, 1], &[0], &[]), Section::Codes, "cut in half");
    let mut behind = of_codes(2, &[0, 1]);
    behind.push(0);
    refused(&behind, Section::Totals, "something follows");
}

#[test]
fn events_stand_before_codes() {
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
    refused(&at(4), Section::Events, "behind the last");
}
