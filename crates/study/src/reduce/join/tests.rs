//! Parts whose facts are not those of a part that `reduce` writes, with valid checks.

use std::fs;

use super::super::part_file::{PartFacts, begin, end};
use super::*;
use crate::watch::Unwatched;

/// The bytes of the trace.
const SIZE: u64 = 5000;

/// The facts of parts 1 and 2 of 2.
fn facts() -> [PartFacts; 2] {
    let bytes = [7; SIZE as usize];
    [(1, 0..2500), (2, 2500..SIZE)].map(|(number, range)| {
        let file = io::Cursor::new(&bytes);
        let mut reader = super::super::HashedRange::new(file, SIZE, range.clone());
        reader.read_start(range.start).expect("bytes");
        PartFacts {
            number,
            of: 2,
            trace: "a trace".to_owned(),
            size: SIZE,
            from: range.start,
            to: range.end,
            hashes: reader.finish().expect("bytes"),
            filter: filter_in_words(),
            family: "a family".to_owned(),
            body: 0,
        }
    })
}

/// The refusal of parts with these facts, whose reduced traces are empty and of `family`.
fn refusal(facts: &[PartFacts], family: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let header = ReducedHeader {
        trace: String::new(),
        family: family.to_owned(),
    };
    let paths: Vec<PathBuf> = (facts.iter().enumerate())
        .map(|(number, facts)| {
            let writer = ReducedWriter::new(begin(), &header).expect("a head");
            let (mut bytes, _) = writer.finish().expect("an end");
            let body = bytes.len() as u64 - 12;
            let facts = PartFacts {
                body: facts.body.wrapping_add(body),
                ..facts.clone()
            };
            bytes.extend(end(&facts).expect("facts"));
            let path = folder.path().join(number.to_string());
            fs::write(&path, bytes).expect("room");
            path
        })
        .collect();
    let joined = join(
        &paths,
        Some(&folder.path().join("joined")),
        false,
        &Unwatched,
    );
    joined.expect_err("it is refused").to_string()
}

#[test]
fn forged_facts_are_refused() {
    let right = facts();
    let family = "a family";
    // All is right, but there is nothing to join.
    assert!(refusal(&right, family).contains("no load and no store"));
    type Forgery = fn(&mut PartFacts);
    let damaged: [Forgery; 7] = [
        |facts| facts.to = SIZE + 1,
        |facts| facts.to = u64::MAX,
        |facts| facts.from = facts.to + 1,
        |facts| (facts.from, facts.to, facts.size) = (0, u64::MAX, u64::MAX),
        |facts| facts.body = 1,
        |facts| facts.number = 0,
        |facts| facts.family = "another family".to_owned(),
    ];
    let not_all: [Forgery; 5] = [
        |facts| facts.to -= 1,
        |facts| facts.to = facts.from,
        |facts| facts.hashes.clear(),
        |facts| facts.hashes.push([1; 32]),
        |facts| facts.hashes = vec![[1; 32]; 9000],
    ];
    let forged = |forge: Forgery| {
        let mut facts = right.clone();
        forge(&mut facts[1]);
        refusal(&facts, family)
    };
    for (number, forge) in damaged.into_iter().enumerate() {
        let line = forged(forge);
        assert!(line.contains("is damaged or cut short"), "{number}: {line}");
    }
    for (number, forge) in not_all.into_iter().enumerate() {
        let line = forged(forge);
        assert!(
            line.contains("are not all of the trace"),
            "{number}: {line}"
        );
    }
    let line = forged(|facts| facts.from += 1);
    assert!(line.contains("divide the trace otherwise"), "{line}");
    let line = forged(|facts| (facts.number, facts.of) = (u32::MAX, u32::MAX));
    assert!(line.contains("divide the trace otherwise"), "{line}");
    let line = refusal(&right[..1], family);
    assert!(line.contains("these are missing: 2/2"), "{line}");
    let mut many = right[0].clone();
    many.of = u32::MAX;
    let line = refusal(&[many], family);
    assert!(line.contains("and 4,294,967,286 more"), "{line}");
    // A trace as long as a file can be, of which the only part has too few values.
    let mut long = right[0].clone();
    (long.of, long.to, long.size) = (1, i64::MAX as u64, i64::MAX as u64);
    let line = refusal(&[long], family);
    assert!(line.contains("are not all of the trace"), "{line}");
}

#[test]
fn parts_of_another_filter_are_refused() {
    let mut facts = facts();
    facts
        .iter_mut()
        .for_each(|facts| facts.filter = "filter 0".to_owned());
    let line = refusal(&facts, "a family");
    assert!(
        line.contains("another filter: reduce this part again"),
        "{line}"
    );
    let line = refusal(&super::tests::facts(), "another family");
    assert!(line.contains("is damaged or cut short"), "{line}");
}
