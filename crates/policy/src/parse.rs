//! Parsing the name of a policy.
//!
//! A name has one of these forms:
//!
//! - a catalogue name: `greedy`;
//! - a catalogue name with its only parameter after a dash or in brackets: `pop-64`, `life-1e6`,
//!   `fixed-16k`, `pop(64)`, `life(x=1000000)`;
//! - a catalogue name with any of its parameters in brackets:
//!   `linux(enabled=madvise,defrag=defer)`;
//! - an expression, which begins with `promote`.

use crate::{Expression, ParseError, Policy, PolicyEntry, catalogue, entry};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Makes the policy with this name.
///
/// ```
/// use broadleaf_policy::parse;
/// assert_eq!(parse("life(x=1000000)").unwrap().name(), "life-1e6");
/// assert_eq!(parse("fixed(size=16k)").unwrap().name(), "fixed-16k");
/// assert_eq!(parse("linux(defrag=defer, enabled=always)").unwrap().name(), "linux(defrag=defer)");
/// ```
///
/// # Errors
/// Returns an error that describes the fault in the name or in its parameters.
pub fn parse(name: &str) -> Result<Box<dyn Policy>, ParseError> {
    let name = name.trim();
    known(name).unwrap_or_else(|| {
        Err(ParseError::Unknown {
            name: name.to_string(),
        })
    })
}

/// Makes the policy with this name, or returns `None` if no catalogue entry has the name.
fn known(name: &str) -> Option<Result<Box<dyn Policy>, ParseError>> {
    if let Some(entry) = entry(name) {
        return Some(entry.with(&[]));
    }
    if Expression::is_meant_by(name) {
        return Some(match Expression::parse(name) {
            Ok(policy) => Ok(Box::new(policy)),
            Err(error) => Err(error.into()),
        });
    }
    if let Some((family, rest)) = name.split_once('(') {
        let entry = entry(family)?;
        let Some(inside) = rest.strip_suffix(')') else {
            let letters = |text: &str| text.chars().count();
            // A name with text after the closing bracket is unknown.
            return (!rest.contains(')')).then(|| {
                Err(ParseError::NotClosed {
                    text: name.to_string(),
                    opened: letters(family) + 1,
                    column: letters(name) + 1,
                })
            });
        };
        return Some(in_brackets(entry, inside).and_then(|given| entry.with(&given)));
    }
    let (family, text) = name.split_once('-')?;
    let entry = entry(family)?;
    match entry.only() {
        Some(only) => Some(entry.with(&[(only.name, text)])),
        // The text may be the name of another policy that begins alike.
        None if is_beginning(family) => None,
        None => Some(Err(ParseError::Unwanted { name: entry.name })),
    }
}

/// Returns true if a name of the catalogue begins with this name and a dash.
fn is_beginning(name: &str) -> bool {
    let goes_on = |other: &str| {
        let rest = other.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    catalogue().iter().any(|other| goes_on(other.name))
}

/// Splits the content of brackets into parameter names and texts. An only parameter may lack its
/// name.
fn in_brackets<'a>(
    entry: &PolicyEntry,
    inside: &'a str,
) -> Result<Vec<(&'a str, &'a str)>, ParseError> {
    let name = entry.name;
    if entry.parameters.is_empty() {
        return Err(ParseError::Unwanted { name });
    }
    if inside.trim().is_empty() {
        return Ok(Vec::new());
    }
    let one = |part: &'a str| match (part.split_once('='), entry.only()) {
        (Some((parameter, text)), _) => Ok((parameter.trim(), text)),
        (None, Some(only)) => Ok((only.name, part)),
        (None, None) => Err(ParseError::NotNamed {
            name,
            text: part.trim().to_string(),
            example: (entry.examples.iter().find(|example| example.contains('=')))
                .unwrap_or(&entry.syntax),
        }),
    };
    inside.split(',').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> ParseError {
        parse(name)
            .err()
            .unwrap_or_else(|| panic!("{name} was taken for a policy"))
    }

    #[test]
    fn every_way_to_write_a_number() {
        for (written, name) in [
            ("pop-64", "pop-64"),
            ("pop(64)", "pop-64"),
            ("pop(n=64)", "pop-64"),
            ("pop( n = 64 )", "pop-64"),
            (" pop-64 ", "pop-64"),
            ("pop-1", "pop-1"),
            ("greedy", "greedy"),
            ("life-1e6", "life-1e6"),
            ("life-1000000", "life-1e6"),
            ("life(x=1000000)", "life-1e6"),
            ("life-25E5", "life-25e5"),
            ("life-1234", "life-1234"),
            ("thp-always", "thp-always"),
            ("4k", "4k"),
        ] {
            assert_eq!(parse(written).unwrap().name(), name, "{written}");
        }
    }

    #[test]
    fn every_way_to_write_romer_s_policies() {
        for (written, name) in [
            ("fixed-16k", "fixed-16k"),
            ("fixed(size=16k)", "fixed-16k"),
            ("fixed(16k)", "fixed-16k"),
            ("fixed( size = 16K )", "fixed-16k"),
            ("fixed-2048k", "fixed-2m"),
            ("fixed-4k", "fixed-4k"),
            ("fixed(size=4k)", "fixed-4k"),
            ("fixed", "fixed-64k"),
            ("fixed()", "fixed-64k"),
            ("fixed(size=2m+16k)", "fixed(size=16k+2m)"),
            ("fixed-16k+2m", "fixed(size=16k+2m)"),
            ("fixed(size=none)", "fixed(size=none)"),
            ("fixed-all", "fixed(size=all)"),
            ("asap", "asap"),
            ("asap-4-64", "asap-4-64"),
            ("asap(part=50, sizes=64k)", "asap-4-64"),
            ("asap(sizes=64k)", "asap(sizes=64k)"),
            ("asap(part=50)", "asap(part=50)"),
            ("asap(sizes=64k+2m,part=50)", "asap(sizes=64k+2m,part=50)"),
        ] {
            assert_eq!(parse(written).unwrap().name(), name, "{written}");
        }
    }

    #[test]
    fn every_way_to_write_parameters() {
        for (written, name) in [
            ("linux", "linux"),
            ("linux()", "linux"),
            ("linux( )", "linux"),
            // The name omits defaults.
            ("linux(enabled=always)", "linux"),
            ("linux(enabled=madvise)", "linux(enabled=madvise)"),
            // The name has the catalogue's order, for any order of the input.
            (
                "linux( max_ptes_none = 0 , enabled = never )",
                "linux(enabled=never,max_ptes_none=0)",
            ),
            (
                "linux(defrag=defer+madvise,sizes=2m+64k)",
                "linux(defrag=defer+madvise,sizes=64k+2m)",
            ),
            ("linux(scan_period=1000000)", "linux(scan_period=1e6)"),
            ("two-stage(second=128)", "two-stage(second=128)"),
            ("navarro(sizes=none)", "navarro(sizes=none)"),
        ] {
            assert_eq!(parse(written).unwrap().name(), name, "{written}");
        }
    }

    #[test]
    fn unknown_names_differ_from_bad_numbers() {
        for name in [
            "",
            "gredy",
            "pup-64",
            "Freebsd",
            "4K",
            "pop(64)x",
            "pup(64",
            "Linux()",
            // Text with this beginning is only valid as asap-4-64.
            "asap-4-32",
            "asap-4",
        ] {
            let unknown = ParseError::Unknown { name: name.into() };
            assert_eq!(error(name), unknown);
        }
    }

    #[test]
    fn bad_numbers_have_distinct_errors() {
        assert!(matches!(error("pop"), ParseError::Missing { .. }));
        assert!(matches!(error("pop()"), ParseError::Missing { .. }));
        assert!(matches!(error("pop-x"), ParseError::NotANumber { .. }));
        assert!(matches!(error("pop-"), ParseError::NotANumber { .. }));
        assert!(matches!(error("pop--1"), ParseError::NotANumber { .. }));
        assert!(matches!(
            error("pop-0"),
            ParseError::OutOfRange {
                least: 1,
                most: 512,
                ..
            }
        ));
        assert!(matches!(error("pop-513"), ParseError::OutOfRange { .. }));
        assert!(matches!(error("life-1e99"), ParseError::OutOfRange { .. }));
        assert!(matches!(
            error("life-1e99999999999"),
            ParseError::OutOfRange { .. }
        ));
        assert!(matches!(error("greedy-1"), ParseError::Unwanted { .. }));
        assert!(matches!(error("greedy(n=1)"), ParseError::Unwanted { .. }));
        assert!(matches!(error("linux-1"), ParseError::Unwanted { .. }));
        for name in ["fixed-3k", "fixed-", "fixed-1", "fixed(size=2k)"] {
            assert!(matches!(error(name), ParseError::NotSizes { .. }), "{name}");
        }
        let asap = error("asap-4-64(part=50)");
        assert!(matches!(asap, ParseError::Unwanted { name: "asap-4-64" }));
        assert!(matches!(
            error("pop(x=1)"),
            ParseError::UnknownParameter { .. }
        ));
        assert!(matches!(error("pop(1,2)"), ParseError::GivenTwice { .. }));
    }

    #[test]
    fn errors_describe_the_fault() {
        for (name, words) in [
            ("pop-513", "the policy pop takes 1 to 512 base pages"),
            (
                "pop(x=1)",
                "the policy pop has no parameter \"x\"; it has n",
            ),
            (
                "linux(max_ptes_none=512)",
                "\"max_ptes_none\" of the policy linux takes 0 to 511 base pages",
            ),
            (
                "linux(max_ptes_none=)",
                "\"\" is not a number of base pages for \"max_ptes_none\" of the policy linux; \
                 write it as 64 or 1e6",
            ),
            (
                "foxtrot(counters=object)",
                "counters=object of the policy foxtrot has no effect without objects=shared or \
                 read_around=yes",
            ),
            (
                "foxtrot(reserve=no)",
                "reserve=no of the policy foxtrot has no effect without gather=yes",
            ),
            (
                "foxtrot(reserve=no,gather=yes,read_around=yes)",
                "read_around=yes of the policy foxtrot has no effect without reserve=yes",
            ),
            (
                "foxtrot(network=80)",
                "network=80 of the policy foxtrot has no effect without files=network",
            ),
            (
                "linux(enabled=alway)",
                "\"alway\" is not a value of \"enabled\" of the policy linux; the values are \
                 always, madvise and never",
            ),
            (
                "linux(sizes=3m)",
                "\"3m\" is not a set of page sizes for \"sizes\" of the policy linux; write it as \
                 2m, 64k+2m, all or none; sizes are powers of two from 4k to 512g",
            ),
            (
                "fixed-3k",
                "\"3k\" is not a set of page sizes for \"size\" of the policy fixed; write it as \
                 2m, 64k+2m, all or none; sizes are powers of two from 4k to 512g",
            ),
            (
                "linux(enabled=never,enabled=always)",
                "\"enabled\" of the policy linux is given twice",
            ),
            (
                "linux(always)",
                "the policy linux takes its parameters by name, as in linux(enabled=madvise); \
                 \"always\" has none",
            ),
            (
                "linux(enabled=never,)",
                "the policy linux takes its parameters by name, as in linux(enabled=madvise); \"\" \
                 has none",
            ),
            (
                " linux(",
                "\"linux(\" lacks a closing bracket: \"(\" is at column 6, and \")\" is missing at \
                 column 7",
            ),
            (
                "pop(64",
                "\"pop(64\" lacks a closing bracket: \"(\" is at column 4, and \")\" is missing at \
                 column 7",
            ),
            (
                "hawkeye(period=1)",
                "the policy hawkeye has no parameter \"period\"; it has order, scan_period, \
                 promotions, zero and zeroed_ahead",
            ),
        ] {
            assert_eq!(error(name).to_string(), words, "{name}");
        }
    }
}
