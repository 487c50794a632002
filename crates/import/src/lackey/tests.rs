//! Whole texts, cut and damaged in every way that a file or a pipe can be.

use std::io::Read;

use broadleaf_trace::{Grain, Lead, Visit};
use proptest::prelude::*;

use super::*;

fn read_all(source: impl Read) -> Result<(Vec<Visit>, LackeyCounts), LackeyError> {
    let mut reader = LackeyReader::new(source, Grain::Page);
    let mut visits = Vec::new();
    while reader.read(&mut visits)? {}
    Ok((visits, reader.counts()))
}

/// A source that gives a few bytes at a time, as a pipe may.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(into.len());
        into[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

const SAMPLE: &str = "==7== Lackey, an example Valgrind tool\n\
    ==7== \n\
    I  04010173,3\n\
    I  04010176,5\n S 1ffefffff8,8\n\
    I  04010ec0,1\n L 1ffefffffc,8\n\
    I  04010ec1,3\n M 1fff000000,4\n\
    I  04010ec4,2\n\
    ==7== Exit code: 0\n";

fn sample_visits() -> Vec<Visit> {
    vec![
        Visit {
            unit: 0x1ff_efff,
            loads: 1,
            stores: 1,
            instructions: 3,
            ..Visit::default()
        },
        Visit {
            unit: 0x1ff_f000,
            loads: 1,
            stores: 1,
            instructions: 2,
            lead: Lead::Load,
            ..Visit::default()
        },
    ]
}

#[test]
fn a_text_becomes_visits() {
    let (visits, counts) = read_all(SAMPLE.as_bytes()).unwrap();
    assert_eq!(visits, sample_visits());
    assert_eq!(
        counts,
        LackeyCounts {
            lines: 11,
            bytes: SAMPLE.len() as u64,
            instructions: 5,
            loads: 2,
            stores: 2
        }
    );
}

#[test]
fn a_pipe_may_cut_anywhere() {
    for step in 1..40 {
        let (visits, _) = read_all(Trickle(SAMPLE.as_bytes(), step)).unwrap();
        assert_eq!(visits, sample_visits(), "{step} bytes at a time");
    }
}

#[test]
fn carriage_returns_and_a_missing_last_newline_do_no_harm() {
    let text = SAMPLE.replace('\n', "\r\n");
    assert_eq!(read_all(text.as_bytes()).unwrap().0, sample_visits());
    assert_eq!(
        read_all(text.trim_end().as_bytes()).unwrap().0,
        sample_visits()
    );
    let (visits, counts) = read_all(&b" L 5000,1"[..]).unwrap();
    assert_eq!((visits[0].unit, visits[0].loads), (5, 1));
    assert_eq!(counts.lines, 1);
}

#[test]
fn nothing_and_only_valgrinds_own_lines_make_no_visit() {
    for text in ["", "\n\n\n", "==1== Exit code: 0\n", "I  1000,1\n"] {
        assert_eq!(read_all(text.as_bytes()).unwrap().0, [], "{text:?}");
    }
}

#[test]
fn a_bad_line_is_refused_with_its_number_place_and_content() {
    let mut text = " L 1000,4\n".repeat(100_000);
    text.push_str(" L 10z0,4\n L 1000,4\n");
    let mut reader = LackeyReader::new(text.as_bytes(), Grain::Page);
    let mut visits = Vec::new();
    let error = loop {
        match reader.read(&mut visits) {
            Ok(more) => assert!(more, "the damage was passed"),
            Err(error) => break error,
        }
    };
    assert_eq!(
        error.to_string(),
        "line 100001 (at byte 1000000): no comma and decimal size after the address: \" L 10z0,4\""
    );
    // What stood before the damage was read, and asking again does not pass it.
    assert_eq!(visits.iter().map(Visit::accesses).sum::<u64>(), 100_000);
    assert!(reader.read(&mut visits).is_err());
}

#[test]
fn binary_content_is_shown_escaped_and_cut() {
    let error = read_all(&[0xff; 1000][..]).unwrap_err().to_string();
    assert!(error.starts_with("line 1 (at byte 0): neither"), "{error}");
    assert!(
        error.ends_with("\\xff\"...") && error.len() < 400,
        "{error}"
    );
}

#[test]
fn one_of_valgrinds_own_lines_may_be_longer_than_the_buffer() {
    let text = format!("==1== Command: {}\n L 1000,4\n", "x".repeat(3 * BUFFER));
    assert_eq!(read_all(text.as_bytes()).unwrap().1.loads, 1);
    let endless = format!("==1== {}", "x".repeat(LONGEST_LINE + 1));
    assert!(matches!(
        read_all(endless.as_bytes()),
        Err(LackeyError::BadLine {
            reason: LackeyReason::TooLong,
            ..
        })
    ));
}

#[test]
fn batches_are_bounded() {
    let text: String = (0..50_000)
        .map(|page| format!(" L {:x},8\n", page << 12))
        .collect();
    let mut reader = LackeyReader::new(text.as_bytes(), Grain::Page);
    let mut total = 0;
    loop {
        let mut visits = Vec::new();
        if !reader.read(&mut visits).unwrap() {
            break;
        }
        assert!(visits.len() <= BATCH + 1);
        total += visits.len();
    }
    assert_eq!(total, 50_000);
}

#[test]
fn line_grain_names_lines() {
    let mut reader = LackeyReader::new(&b" L 1038,16\n"[..], Grain::Line);
    let mut visits = Vec::new();
    while reader.read(&mut visits).unwrap() {}
    assert_eq!(
        visits.iter().map(|visit| visit.unit).collect::<Vec<_>>(),
        [0x40, 0x41]
    );
}

#[test]
fn what_looks_like_lackey() {
    for text in ["==1== x", "\n\nI  04010173,3\n", " L 1000,4\nwhat"] {
        assert!(looks_like_lackey(text.as_bytes()), "{text:?}");
    }
    for text in ["", "\n", "Lorem ipsum", "0123456789", "I  am text\n"] {
        assert!(!looks_like_lackey(text.as_bytes()), "{text:?}");
    }
}

proptest! {
    /// The fast reader against one that a reader of this file can check by eye.
    #[test]
    fn equals_a_plain_reading(
        lines in proptest::collection::vec((0_u8..4, 0_u64..5, 0_u64..4096, 1_u64..200), 0..300),
        step in 1_usize..100,
    ) {
        let mut text = String::new();
        let (mut accesses, mut translations, mut instructions) = (0, Vec::new(), 0);
        for &(kind, page, offset, size) in &lines {
            let address = page * 4096 + offset;
            let (name, times) = [("I ", 0), (" L", 1), (" S", 1), (" M", 2)][kind as usize];
            text.push_str(&format!("{name} {address:08x},{size}\n"));
            instructions += u64::from(kind == 0);
            accesses += times;
            for _ in 0..times {
                translations.extend(address >> 12..=(address + size - 1) >> 12);
            }
        }
        let (visits, counts) = read_all(Trickle(text.as_bytes(), step)).unwrap();
        prop_assert_eq!(visits.iter().map(Visit::accesses).sum::<u64>(), accesses);
        prop_assert_eq!(counts.loads + counts.stores, accesses);
        let mut seen = Vec::new();
        for visit in &visits {
            seen.extend(std::iter::repeat_n(visit.unit, visit.lookups() as usize));
        }
        prop_assert_eq!(seen, translations);
        if accesses > 0 {
            let counted = visits.iter().map(|visit| u64::from(visit.instructions));
            prop_assert_eq!(counted.sum::<u64>(), instructions);
        }
    }

    /// No bytes whatever make it panic.
    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_all(&bytes[..]);
        let _ = looks_like_lackey(&bytes);
    }

    /// Nor do bytes that are nearly right.
    #[test]
    fn never_panics_near_the_truth(text in "[ILSM =0-9a-f,\r\n\t]{0,200}") {
        let _ = read_all(text.as_bytes());
        let _ = looks_like_lackey(text.as_bytes());
    }
}
