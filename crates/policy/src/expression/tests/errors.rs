//! Errors describe the fault and its position.

use super::super::Expression;
use crate::parse;
use alloc::string::{String, ToString};

/// Texts with a `^` before the fault, and words of the message.
const CASES: &[(&str, &str)] = &[
    ("promote^", "expected `if`, found the end"),
    (
        "promote ^whenever dirty > 1",
        "expected `if`, found `whenever`",
    ),
    (
        "promote if^",
        "expected a name, a number or `(`, found the end",
    ),
    ("promote if populated >=^", "found the end"),
    (
        "promote if populated >= ^and dirty > 1",
        "expected a name, a number or `(`, found `and`",
    ),
    (
        "promote if ^populated",
        "`populated` counts pages and is neither true nor false: compare it",
    ),
    (
        "promote if ^64",
        "`64` is a plain number and is neither true nor false",
    ),
    (
        "promote if ^popluated >= 64",
        "nothing is called `popluated` here: there are populated, dirty, pages,",
    ),
    (
        "promote if dirty > 1 ^dirty",
        "expected `and`, `or` or the end, found `dirty`",
    ),
    (
        "promote if dirty > 1; ^promote if dirty > 2",
        "expected `demote`",
    ),
    ("promote if dirty > 1; demote ^dirty", "expected `if`"),
    (
        "promote if dirty > 1; demote if writable^; demote if writable",
        "or the end, found `;`",
    ),
    ("promote if (dirty > 1^", "expected `)`, found the end"),
    ("promote if dirty > 1^)", "found `)`"),
    ("promote if dirty ^= 1", "write `==` in place of `=`"),
    (
        "promote if dirty > 1 ^&& writable",
        "write `and` in place of `&&`",
    ),
    (
        "promote if dirty > 1 ^|| writable",
        "write `or` in place of `||`",
    ),
    ("promote if ^!writable", "write `not` in place of `!`"),
    ("promote if dirty > 1 ^é", "'é' has no meaning here"),
    ("promote if dirty ^≥ 1", "'≥' has no meaning here"),
    ("promote if 1 < dirty ^< 5", "comparisons cannot be chained"),
    (
        "promote if kind == file ^!= writable",
        "comparisons cannot be chained",
    ),
    ("promote if dirty > ^64x", "a number ends with k, m or g"),
    ("promote if dirty > ^1e", "a number ends with k, m or g"),
    ("promote if dirty > ^.", "this is not a number"),
    ("promote if size > ^1.5m", "an integer number of k, m or g"),
    ("promote if age > ^1e16", "above 2^53"),
    ("promote if size > ^9e15k", "an integer number"),
    ("promote if size > ^9007199254740992k", "above 2^53"),
    ("promote if size > ^99999999999999999999k", "above 2^53"),
    (
        "promote if dirty > ^1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * \
         1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15",
        "too large a number",
    ),
    (
        "promote if ^1 < 2",
        "nothing on either side depends on the block",
    ),
    ("promote if dirty / ^(2 - 2) > 1", "quotient by zero"),
    ("promote if kind^", "`kind` is compared by == or != with"),
    (
        "promote if kind ^< file",
        "`kind` is compared by == or != with anonymous, file or shared",
    ),
    ("promote if kind == ^dirty", "anonymous, file or shared"),
    (
        "promote if file == ^kind",
        "`kind` is compared by == or != with",
    ),
    ("promote if dirty > ^kind", "`kind` is compared"),
    (
        "promote if dirty > ^not writable",
        "put brackets around the comparison",
    ),
    (
        "promote if dirty > ^writable",
        "`writable` is true or false, and no number",
    ),
    (
        "promote if ^(dirty > 1) + 2 > 1",
        "`dirty > 1` is true or false, and no number",
    ),
    (
        "promote if dirty > 1 and ^-dirty",
        "`-dirty` counts pages and is neither true nor false",
    ),
    ("promote if ^if > 1", "found `if`"),
    (
        "promote^(sizes=all if dirty > 1",
        "this bracket is not closed",
    ),
    (
        "promote(sizes=all, ^size=2m) if dirty > 1",
        "no option is called \"size\": there are sizes, frames, copies and scan",
    ),
    ("promote(^all) if dirty > 1", "options are given by name"),
    (
        "promote(scan=5,^) if dirty > 1",
        "options are given by name",
    ),
    ("promote(scan=5, ^scan = 6) if dirty > 1", "given twice"),
    (
        "promote(copies = ^yes) if dirty > 1",
        "the values are on and off",
    ),
    ("promote(sizes=^3m) if dirty > 1", "not a set of page sizes"),
    (
        "promote(scan=^) if dirty > 1",
        "is not a number of accesses",
    ),
    (
        "promote if dirty > 1 and ^referenced > 4",
        "promote(scan=1e9)",
    ),
    (
        "promote(frames=any) if dirty > 1 and ^age > 4",
        "there are no reservations with frames=any",
    ),
    (
        "promote if ^age > populated / pages * 1e6",
        "`age` can be compared with constants only",
    ),
    (
        "promote if misses > 1 and 2 * (5 + ^age) * misses > age",
        "`age` can be compared with constants only",
    ),
    (
        "promote if not misses * 1000 > ^age",
        "`age` can be compared with constants only",
    ),
    (
        "promote if misses * 1000 == ^age",
        "`age` can be compared with constants only",
    ),
    (
        "promote if age > 4 and dirty > 1 or ^age > 8",
        "it is asked about at 5 accesses already",
    ),
    (
        "promote if dirty > 1; demote if ^misses > 4",
        "only superpages are demoted",
    ),
];

#[test]
fn they_point_at_the_place() {
    for (marked, words) in CASES {
        let text = marked.replacen('^', "", 1);
        let column = marked
            .chars()
            .position(|letter| letter == '^')
            .map(|at| at + 1);
        let error = Expression::parse(&text)
            .err()
            .unwrap_or_else(|| panic!("{text} was taken"));
        assert!(error.message().contains(words), "{text}: {error}");
        assert_eq!(Some(error.column()), column, "{text}\n{error}");
    }
}

#[test]
fn they_are_drawn_with_carets() {
    for (text, drawn) in [
        (
            "promote if populated + copy_cycles >= 64",
            "column 22: `populated` counts pages and `copy_cycles` counts cycles: they cannot be \
             added\n  \
             promote if populated + copy_cycles >= 64\n                       ^",
        ),
        (
            "  promote if wriable",
            "column 12: nothing is called `wriable` here: ",
        ),
        (
            "promote if dirty > 1 and\n\twriteable",
            "column 2: nothing is called `writeable` here: ",
        ),
    ] {
        let error = parse(text)
            .err()
            .unwrap_or_else(|| panic!("{text} was taken"))
            .to_string();
        assert!(error.starts_with(drawn), "{error}");
    }
    let error = Expression::parse("promote if dirty > 1 and\n\twriteable\nor dirty > 3").err();
    let drawn: String = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(drawn.ends_with("\n   writeable\n   ^^^^^^^^^"), "{drawn}");
}

#[test]
fn excessive_nesting_is_refused() {
    let many = |piece: &str, times: usize| [&piece.repeat(times), "writable"].concat();
    for (head, words) in [
        (many("(", 100_000), "1000 words, numbers and signs"),
        (
            many("writable or ", 100_000),
            "1000 words, numbers and signs",
        ),
        (many("(", 900), "at most 64 deep"),
        (many("not ", 900), "at most 64 deep"),
        (many("writable or not (", 200), "at most 64 deep"),
        (
            ["dirty > ", &"-".repeat(900), "dirty"].concat(),
            "at most 64 deep",
        ),
    ] {
        let error = Expression::parse(&["promote if ", &head].concat()).err();
        let error = error.unwrap_or_else(|| panic!("{}", &head[..20]));
        assert!(error.message().contains(words), "{}", error.message());
    }
    let long = ["promote if ", &many("writable or ", 490)].concat();
    assert!(Expression::parse(&long).is_ok());
}
