//! A journal holds observations, decisions and outcomes, and reports damage wherever it can be
//! detected.

use crate::common::deeds::{budget, deed, policy, run};
use crate::common::fake::FakeStep;
use crate::common::observations::seen;
use crate::common::{BASE, FakeWorld, UNLIMITED, header, journal};
use broadleaf_governor::journal::{Journal, JournalError, TickRecord, read, under, verify};
use broadleaf_governor::{Observation, TickPlan, Ticked};
use proptest::prelude::*;
use std::io::{self, Write};
use std::time::Duration;

fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn records(bytes: &[u8]) -> Result<Vec<TickRecord>, JournalError> {
    let (_, ticks) = read(bytes)?;
    ticks.collect()
}

fn expected(ticks: &[Ticked]) -> Vec<TickRecord> {
    let record = |ticked: &Ticked| TickRecord {
        seen: ticked.seen.clone(),
        plan: ticked.plan.clone(),
        outcomes: ticked.done.outcomes.clone(),
    };
    ticks.iter().map(record).collect()
}

/// Returns a tick with this observation.
fn ticked(seen: Observation) -> Ticked {
    Ticked {
        seen,
        plan: TickPlan::default(),
        done: Default::default(),
        wait: Duration::ZERO,
        alive: true,
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn whatever_is_seen_is_read_as_it_was(all in prop::collection::vec(seen(), 0..12)) {
        let ticks = all.into_iter().enumerate().map(|(at, seen)| Observation {
            at: Duration::from_nanos(at as u64 * 123_456_789),
            ..seen
        });
        let ticks: Vec<Ticked> = ticks.map(ticked).collect();
        let bytes = journal(&header("4k", UNLIMITED), &ticks);
        prop_assert_eq!(records(&bytes).unwrap(), expected(&ticks));
    }

    #[test]
    fn runs_are_read_as_they_were(
        policy in policy(),
        added in budget(),
        deeds in prop::collection::vec(deed(true), 1..40),
    ) {
        let budgets = broadleaf_governor::Budgets { added, ..UNLIMITED };
        let mut ticks = Vec::new();
        run(policy, budgets, deeds, |_, ticked| ticks.push(ticked));
        let header = header(policy, budgets);
        let bytes = journal(&header, &ticks);
        prop_assert_eq!(&read(bytes.as_slice()).unwrap().0, &header);
        prop_assert_eq!(records(&bytes).unwrap(), expected(&ticks));
    }

    #[test]
    fn damage_is_an_error_and_no_panic(at in 0..10_000_usize, byte in any::<u8>()) {
        let mut bytes = some_journal();
        let at = at % bytes.len();
        bytes[at] = byte;
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        if let Ok((header, ticks)) = read(bytes.as_slice()) {
            let _ = verify(&header, ticks);
            let (_, ticks) = read(bytes.as_slice()).unwrap();
            let policy = broadleaf_policy::parse("greedy").unwrap();
            let _ = under(policy, UNLIMITED, &header, Some(7), ticks);
        }
        match records(&bytes) {
            Ok(_) | Err(JournalError::NoJournal(_)) => {}
            Err(JournalError::Damaged { line: said, .. }) => prop_assert!(said >= line),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

/// Returns ticks with some activity.
fn some_ticks() -> Vec<Ticked> {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 8);
    let mut ticks = Vec::new();
    for round in 0..6 {
        world.fill(round, 100 * round);
        ticks.push(world.tick());
        world.purge(round, 3..9);
        ticks.push(world.tick());
        ticks.push(world.tick());
    }
    world.step(FakeStep::Fork);
    ticks.push(world.tick());
    world.step(FakeStep::Unmap(BASE..BASE + 3));
    ticks.push(world.tick());
    ticks
}

fn some_journal() -> Vec<u8> {
    journal(&header("pop-64", UNLIMITED), &some_ticks())
}

#[test]
fn an_incomplete_last_line_is_left_out_and_reported() {
    let bytes = some_journal();
    let all = records(&bytes).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in 0..=bytes.len() {
        let cut = &bytes[..cut];
        if cut.len() < header {
            assert!(matches!(records(cut), Err(JournalError::NoJournal(_))));
            continue;
        }
        let (_, mut ticks) = read(cut).unwrap();
        let read: Result<Vec<_>, _> = ticks.by_ref().collect();
        let read = read.unwrap();
        let whole = cut.iter().filter(|byte| **byte == b'\n').count().max(1) - 1;
        assert_eq!(read[..], all[..whole]);
        let behind_last = cut.iter().rposition(|byte| *byte == b'\n');
        let torn = behind_last.map_or(0, |at| cut.len() - at - 1);
        assert_eq!(ticks.torn_bytes(), torn as u64);
        assert!(ticks.next().is_none());
    }
}

/// Returns the journal in the version before checksums.
fn unsealed(journal: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(journal).unwrap();
    let text = text.replace("broadleaf.journal/2", "broadleaf.journal/1");
    let lines = text.lines().map(|line| {
        let (record, _) = line.rsplit_once(",\"crc\":").unwrap();
        format!("{record}}}\n")
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn journals_without_checksums_are_read() {
    let ticks = some_ticks();
    let journal = some_journal();
    let old = unsealed(&journal);
    assert!(old.len() < journal.len());
    assert_eq!(records(&old).unwrap(), expected(&ticks));
}

#[test]
fn every_changed_character_is_found() {
    let journal = some_journal();
    let all = records(&journal).unwrap();
    let text = std::str::from_utf8(&journal).unwrap();
    let digits = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_digit());
    let mut changed = 0;
    for (at, digit) in digits {
        for other in [
            b'0' + (digit - b'0' + 1) % 10,
            b'0' + (digit - b'0' + 5) % 10,
            b'e',
        ] {
            let mut damaged = journal.clone();
            damaged[at] = other;
            let line = text[..at].matches('\n').count() as u64 + 1;
            match records(&damaged) {
                Err(JournalError::Damaged { line: said, .. }) => assert_eq!(said, line.max(2)),
                Err(JournalError::NoJournal(_)) => assert_eq!(line, 1),
                other => panic!("byte {at}: {:?}", other.map(|read| read == all)),
            }
            changed += 1;
        }
    }
    assert!(changed > 1000, "{changed}");
}

#[test]
fn a_line_that_is_missing_doubled_or_moved_is_found() {
    let journal = some_journal();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    for at in 1..lines.len() - 1 {
        let mut missing = lines.clone();
        missing.remove(at);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let mut moved = lines.clone();
        moved.swap(at, at + 1);
        for lines in [missing, doubled, moved] {
            let error = records(&lines.concat()).unwrap_err().to_string();
            assert!(error.contains("its checksum differs"), "{error}");
        }
    }
}

#[test]
fn a_damaged_line_is_named() {
    // The lines have no checksums here, so that errors in their contents are reported.
    let bytes = unsealed(&some_journal());
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        let line = format!("{line}\n");
        lines[at] = line.as_bytes();
        (lines.concat(), lines[..at].concat().len() as u64)
    };
    for (line, what) in [
        ("{\"at\":", "EOF"),
        ("", "EOF"),
        ("[]", "invalid length"),
        ("{\"at\":1}", "time goes back"),
        (
            "{\"at\":99999999999999,\"gone\":[[7,7]]}",
            "never was there",
        ),
        ("{\"at\":99999999999999,\"what\":1}", "unknown field"),
        (
            "{\"at\":99999999999999,\"processes\":[{\"id\":[1,1],\"pages\":{\"gone\":\
             [[0,18446744073709551615]]}}]}",
            "were not all there",
        ),
        (
            "{\"at\":99999999999999,\"processes\":[{\"id\":[1,1],\"pages\":{\"mappings\":\
             {\"after\":1,\"drop\":18446744073709551615,\"add\":[]}}}]}",
            "never were there",
        ),
        (
            "{\"at\":99999999999999,\"processes\":[{\"id\":[1,1],\"pages\":{\"blocks\":\
             [[1,300,300]]}}]}",
            "holds 600 pages",
        ),
        (
            "{\"at\":99999999999999,\"outcomes\":[{\"process\":{\"pid\":1,\"started\":1},\
             \"block\":1,\"came\":{\"promoted\":{\"block\":1,\"present\":900,\"zero\":0,\
             \"swapped\":0,\"huge\":false}}}]}",
            "holds 900 pages",
        ),
        (
            "{\"at\":99999999999999,\"plan\":{\"demote\":[],\"promote\":[{\"process\":\
             {\"pid\":1,\"started\":1},\"blocks\":{\"start\":7,\"end\":9},\
             \"present\":[512,513]}]}}",
            "block 8 holds 513 pages",
        ),
        (
            "{\"at\":99999999999999,\"plan\":{\"demote\":[],\"promote\":[{\"process\":\
             {\"pid\":1,\"started\":1},\"blocks\":{\"start\":7,\"end\":9},\
             \"present\":[512]}]}}",
            "blocks 7..9 with 1 counts of pages",
        ),
    ] {
        let (bytes, before) = with(5, line);
        let (_, ticks) = read(bytes.as_slice()).unwrap();
        let ticks: Vec<_> = ticks.collect();
        assert_eq!(ticks.len(), 5, "four, and the error");
        match ticks.last() {
            Some(Err(JournalError::Damaged {
                line: 6,
                offset,
                what: said,
            })) => {
                assert_eq!(*offset, before);
                assert!(said.contains(what), "{said}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_no_journal_is_refused() {
    for (bytes, what) in [
        (&b""[..], "no JSON"),
        (b"\x00\xff\n", "no JSON"),
        (b"{}\n", "names no schema"),
        (
            b"{\"schema\":\"broadleaf.report/1\"}\n",
            "broadleaf.report/1",
        ),
        (b"{\"schema\":\"broadleaf.journal/1\"}\n", "missing field"),
    ] {
        let error = read(bytes).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// A writer that records the length of each call.
#[derive(Default)]
struct Calls(Vec<usize>);

impl Write for &mut Calls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_tick_is_one_call_and_a_quiet_one_is_short() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 2000);
    (0..2000).for_each(|block| world.fill(block, 30));
    let ticks = world.run_for(30);
    let mut calls = Calls::default();
    let mut journal = Journal::begin(&mut calls, &header("pop-64", UNLIMITED)).unwrap();
    for ticked in &ticks {
        journal.tick(ticked).unwrap();
    }
    assert_eq!(calls.0.len(), ticks.len() + 1);
    assert!(calls.0[1] < 2000 * 20, "{}", calls.0[1]);
    let most = calls.0[2..].iter().max().unwrap();
    assert!(
        *most <= 96,
        "{most} bytes for a tick in which nothing happened"
    );
}
