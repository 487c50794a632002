use super::*;
use crate::import::ImportCounts;
use crate::testing::{import_text, import_with_taken};
use broadleaf_trace::Visit;

fn import(text: &str) -> Result<(Vec<Visit>, ImportCounts, Vec<LeftOut>), String> {
    import_text(DINERO.import.as_ref(), text)
}

#[test]
fn both_forms_hold_the_same_references() {
    let (visits, counts, left_out) = import("2 400000\n0 1ffe comment\n1 2001\n4 0\n").unwrap();
    assert_eq!(
        (counts.loads, counts.stores, counts.instructions),
        (1, 1, 1)
    );
    assert_eq!((counts.records, left_out[0].count), (4, 1));
    let units: Vec<u64> = visits.iter().map(|visit| visit.unit).collect();
    // An address is moved down to a multiple of 4, so that no reference crosses a page.
    assert_eq!(units, [1, 2]);
    let (extended, ..) = import("i 400000 4\nr 0x1ffc 4\nw 2000 4\nc 0 0\n").unwrap();
    assert_eq!(extended, visits);
    let (crossing, ..) = import("r 1ffe 10\n").unwrap();
    assert_eq!(crossing.len(), 2, "16 bytes reach into the next page");
}

/// Dinero IV gives labels 3 and m to the cache of data, as a read, and takes letters of both cases.
#[test]
fn miscellaneous_accesses_are_loads() {
    let all = [
        "0 1000\n1 2000\n3 3000\n2 400000\n4 0\n",
        "r 1000 4\nw 2000 4\nm 3000 4\ni 400000 4\nc 0 0\n",
        "R 1000 4\nW 2000 4\nM 3000 4\nI 400000 4\nV 0 0\n",
    ];
    for text in all {
        let bytes = text.as_bytes().to_vec();
        let (imported, taken) = import_with_taken(DINERO.import.as_ref(), bytes).unwrap();
        let (visits, counts, left_out) = imported;
        assert_eq!(
            (counts.loads, counts.stores, counts.instructions),
            (2, 1, 1),
            "{text}"
        );
        let units: Vec<u64> = visits.iter().map(|visit| visit.unit).collect();
        assert_eq!(units, [1, 2, 3], "{text}");
        assert_eq!(
            (left_out[0].count, left_out[0].what),
            (1, "commands to caches")
        );
        let [miscellaneous] = taken[..] else {
            panic!("{taken:?}");
        };
        assert_eq!(miscellaneous.count, 1);
        assert!(miscellaneous.how.contains("taken to be loads"), "{text}");
    }
}

#[test]
fn references_of_no_bytes_are_counted() {
    // A command to a cache may have no bytes.
    let text = b"r 1ffe 0\nw 2000 0\nm 3fff 0\nv 0 0\nr 5000 1\n".to_vec();
    let (imported, taken) = import_with_taken(DINERO.import.as_ref(), text).unwrap();
    let units: Vec<u64> = imported.0.iter().map(|visit| visit.unit).collect();
    assert_eq!(units, [1, 2, 3, 5]);
    let of_no_bytes = taken.iter().find(|taken| taken.how == OF_NO_BYTES);
    assert_eq!(of_no_bytes.map(|taken| taken.count), Some(3));
}

#[test]
fn wrong_lines_are_refused_with_their_place() {
    for (text, says) in [
        (
            "0 1000\n5 1000\n",
            "line 2 (at byte 7): the label \"5\" is none of",
        ),
        ("0\n", "line 1 (at byte 0): no label and address"),
        (
            "0 10000000000000000\n",
            "\"10000000000000000\" is no hexadecimal address",
        ),
        ("r 1000\n", "\"\" is no hexadecimal size"),
        (
            "r 1000 ffffffff\n",
            "\"ffffffff\" is no hexadecimal size of at most",
        ),
        (
            "r ffffffffffffffff 2\n",
            "past the end of the address space",
        ),
        (
            "0 1000\nr 1000 4\n",
            "line 2 (at byte 7): the line has the other form",
        ),
    ] {
        let refused = import(text).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
}
