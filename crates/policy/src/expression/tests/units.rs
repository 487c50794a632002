//! The combinations of units.

use super::super::Expression;
use alloc::string::ToString;

#[test]
fn matching_units() {
    for text in [
        // One unit on both sides, and literals that fit any.
        "populated >= dirty",
        "populated + dirty - swapped >= 64",
        "populated >= 12.5%",
        "12.5% + 3 < populated",
        "size >= 64k",
        "size == 65536",
        "size - 64k > 0",
        "age > 1e6",
        "copy_cycles > miss_cycles",
        "misses > prefetch + capacity",
        "-populated < -64",
        // Products and quotients with plain numbers, ratios.
        "populated * 2 > dirty",
        "2 * populated > dirty",
        "populated / 2 > dirty",
        "misses * miss_cycles > copy_cycles",
        "miss_cycles * misses > 0.125 * copy_cycles",
        "copy_cycles / misses > miss_cycles",
        "copy_cycles / miss_cycles < misses",
        "populated / pages > dirty / populated",
        "populated / pages > 0.5",
        "populated / pages * size > 64k",
        "512 / populated < 3",
        // A literal may be a number of cycles per miss.
        "misses * 35 > 0.125 * copy_cycles",
        "(misses + prefetch) * 35 > copy_cycles",
        "misses * 1000 > age",
    ] {
        let text = ["promote if ", text].concat();
        if let Err(error) = Expression::parse(&text) {
            panic!("{error}");
        }
    }
}

#[test]
fn mismatched_units() {
    for (text, words) in [
        (
            "populated + copy_cycles > 1",
            "`populated` counts pages and `copy_cycles` counts cycles: they cannot be added",
        ),
        (
            "populated - size > 1",
            "`populated` counts pages and `size` counts bytes: one cannot be taken from the other",
        ),
        (
            "populated > age",
            "`populated` counts pages and `age` counts accesses: they cannot be compared",
        ),
        (
            "age != copy_cycles",
            "`age` counts accesses and `copy_cycles` counts cycles: they cannot be compared",
        ),
        (
            "populated > 64k",
            "`populated` counts pages and `64k` counts bytes: they cannot be compared",
        ),
        (
            "size > 50%",
            "`size` counts bytes and `50%` counts pages: they cannot be compared",
        ),
        (
            "misses > populated",
            "`misses` is a plain number and `populated` counts pages: they cannot be compared",
        ),
        (
            "misses > copy_cycles",
            "`misses` is a plain number and `copy_cycles` counts cycles: they cannot be compared",
        ),
        (
            "misses + dirty > 1",
            "`misses` is a plain number and `dirty` counts pages: they cannot be added",
        ),
        ("populated * dirty > 1", "their product has no unit here"),
        (
            "populated * age > 1",
            "`populated` counts pages and `age` counts accesses: their product has no unit here",
        ),
        ("50% * size > 1", "their product has no unit here"),
        (
            "populated / age > 1",
            "`populated` counts pages and `age` counts accesses: their quotient has no unit here",
        ),
        (
            "misses / age > 1",
            "`misses` is a plain number and `age` counts accesses: their quotient has no unit here",
        ),
        (
            "populated / pages + dirty > 1",
            "`populated / pages` is a plain number and `dirty` counts pages: they cannot be added",
        ),
        (
            "-(populated) * 2 > age / 2",
            "`-populated * 2` counts pages and `age / 2` counts accesses",
        ),
    ] {
        let text = ["promote if ", text].concat();
        let error = Expression::parse(&text)
            .err()
            .unwrap_or_else(|| panic!("{text} was taken"));
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn lines_have_units() {
    let text = "promote if populated >= 64 or kind != file and not (misses * 35 > 0.125 * \
                copy_cycles or writable) and not promoted \
                or dirty < 12.5% or size == 2m or miss_cycles > 30 or misses > 7; demote if dirty \
                == 0";
    let policy = Expression::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let lines: alloc::vec::Vec<_> = policy
        .lines()
        .iter()
        .map(|line| [&"  ".repeat(line.depth), &*line.text].concat())
        .collect();
    assert_eq!(
        lines,
        [
            "promote where",
            "  one of these holds:",
            "    populated is at least 64 pages",
            "    all of these hold:",
            "      kind is not file",
            "      this does not hold:",
            "        one of these holds:",
            "          misses * 35 is more than 0.125 * copy_cycles, in cycles",
            "          writable",
            "      not promoted",
            "    dirty is less than 12.5% of the block's pages",
            "    size is equal to 2m bytes",
            "    miss_cycles is more than 30 cycles",
            "    misses is more than 7",
            "demote where",
            "  dirty is equal to 0 pages",
        ]
    );
}
