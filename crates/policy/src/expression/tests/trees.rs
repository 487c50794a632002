//! Normal forms parse back to equal trees, and no text makes the parser panic.

use super::super::Expression;
use super::super::grammar::Parser;
use super::super::names::{Flag, KINDS, Quantity};
use super::super::tokens::{Lexeme, MOST, tokens};
use super::super::tree::{ExpressionNode, Operator, What};
use crate::{Policy, View};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

fn node(what: What) -> ExpressionNode {
    ExpressionNode { what, at: 0..0 }
}

fn words() -> Vec<&'static str> {
    let quantities = Quantity::ALL.iter().map(|quantity| quantity.name());
    quantities
        .chain(Flag::ALL.iter().map(|flag| flag.name()))
        .chain(["x1_", "kindly"])
        .collect()
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0_u64..10_000).prop_map(|whole| whole as f64),
        (0_u64..1 << 53).prop_map(|whole| whole as f64),
        (0_u32..16).prop_map(|power| 10_f64.powi(power as i32)),
        0.0..1000.0_f64,
        0.0..1e-4_f64,
        any::<f64>()
            .prop_map(f64::abs)
            .prop_filter("as large as may be", |number| *number <= MOST),
    ]
}

/// Any tree, valid or not.
fn tree() -> impl Strategy<Value = ExpressionNode> {
    let leaf = prop_oneof![
        number().prop_map(What::Number),
        number().prop_map(What::Percent),
        (0_u64..1 << 43).prop_map(|count| What::Size(count << 10)),
        (0_u64..8, 0_u32..3).prop_map(|(count, unit)| What::Size(count << (10 * (unit + 1)))),
        prop::sample::select(words()).prop_map(|word| What::Name(String::from(word))),
        (prop::sample::select(KINDS.to_vec()), any::<bool>())
            .prop_map(|((_, kind), equal)| What::Kind { kind, equal }),
    ];
    leaf.prop_map(node).prop_recursive(8, 60, 2, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|part| node(What::Negative(Box::new(part)))),
            1 => inner.clone().prop_map(|part| node(What::Not(Box::new(part)))),
            5 => (prop::sample::select(Operator::ALL.to_vec()), inner.clone(), inner)
                .prop_map(|(operator, left, right)| {
                    node(What::Two(operator, Box::new([left, right])))
                }),
        ]
    })
}

fn read(text: &str) -> ExpressionNode {
    let tokens = tokens(text, 0).unwrap_or_else(|error| panic!("{error}"));
    let mut parser = Parser::new(text, &tokens);
    let node = parser
        .expression()
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(parser.take(Lexeme::End), "{text}");
    node
}

/// A text close to an expression.
fn nearly() -> impl Strategy<Value = String> {
    let mut pieces = words();
    pieces.extend(Operator::ALL.map(Operator::written));
    pieces.extend([
        "(", ")", "not", "kind", "file", "64", "12.5%", "64k", "1e6", ";", "demote", "if",
        "promote", "scan=5", ",", "é", "\n", "\t", "1e", ".", "=", "9e99",
    ]);
    prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn a_tree_round_trips(tree in tree()) {
        let text = tree.to_string();
        prop_assert_eq!(read(&text), tree, "{}", text);
    }

    #[test]
    fn redundant_brackets_and_blanks_change_nothing(tree in tree()) {
        let text = tree.to_string();
        let other = text.replace(' ', " \t ").replace('(', "(( ").replace(')', "\n))");
        prop_assert_eq!(read(&other).to_string(), text);
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in nearly(),
        options in any::<bool>(),
    ) {
        let wild = String::from_utf8_lossy(&bytes);
        for text in [&wild, text.as_str()] {
            let with_options = "promote(frames=any) if misses > 3 and ";
            for head in ["", "promote if ", if options { "promote(" } else { with_options }] {
                let text = [head, text].concat();
                match Expression::parse(&text) {
                    Ok(policy) => reads_again(&policy)?,
                    Err(error) => {
                        prop_assert!(error.offset() <= text.len());
                        prop_assert!(text.is_char_boundary(error.offset()));
                        error.to_string();
                    }
                }
            }
        }
    }
}

/// The name of a valid expression parses to an equal policy.
fn reads_again(policy: &Expression) -> Result<(), TestCaseError> {
    let again = Expression::parse(&policy.name()).unwrap_or_else(|error| panic!("{error}"));
    prop_assert_eq!(again.name(), policy.name());
    prop_assert_eq!(again.needs(), policy.needs());
    for point in crate::Point::ALL {
        let blank = &View::BLANK;
        prop_assert_eq!(again.decide(*point, blank), policy.decide(*point, blank));
    }
    policy.lines();
    policy.asked();
    Ok(())
}

#[test]
fn the_normal_form() {
    for (written, name) in [
        ("promote if populated>=64", "promote if populated >= 64"),
        (
            " promote()  if\n(populated) >= (64.0) ",
            "promote if populated >= 64",
        ),
        ("promote if age > 1000000", "promote if age > 1e6"),
        ("promote if age > 25E5", "promote if age > 25e5"),
        ("promote if size == 2048k", "promote if size == 2m"),
        (
            "promote if size > 3M or size < 1g",
            "promote if size > 3m or size < 1g",
        ),
        (
            "promote if populated / pages > .50",
            "promote if populated / pages > 0.5",
        ),
        (
            "promote if populated >= 1e1%",
            "promote if populated >= 10%",
        ),
        (
            "promote if populated > 1e-7 * pages",
            "promote if populated > 1e-7 * pages",
        ),
        (
            "promote if (dirty > 1 and dirty < 4) or (writable)",
            "promote if dirty > 1 and dirty < 4 or writable",
        ),
        (
            "promote if dirty > 1 and (dirty < 4 or writable)",
            "promote if dirty > 1 and (dirty < 4 or writable)",
        ),
        (
            "promote if not (not writable)",
            "promote if not not writable",
        ),
        (
            "promote if not (writable or advised_against)",
            "promote if not (writable or advised_against)",
        ),
        (
            "promote if dirty - (populated - pages) > (2 * dirty)",
            "promote if dirty - (populated - pages) > 2 * dirty",
        ),
        (
            "promote if kind==file;demote if(writable)",
            "promote if kind == file; demote if writable",
        ),
        (
            "promote ( copies = on , sizes = 2m+64k ) if dirty > 1",
            "promote(sizes=64k+2m,copies=on) if dirty > 1",
        ),
        ("promote(scan=0) if dirty > 1", "promote if dirty > 1"),
        ("promote(scan=1000000,) if dirty > 1", ""),
    ] {
        let read = Expression::parse(written).map(|policy| policy.name());
        assert_eq!(read.unwrap_or_default(), name, "{written}");
    }
}

#[test]
fn words_that_begin_alike_are_not_expressions() {
    for (text, is) in [
        ("promote if dirty > 1", true),
        ("promote", true),
        (" promote(sizes=all)", true),
        ("promoted", false),
        ("promote-64", false),
        ("promote_if", false),
        ("demote if writable", false),
        ("", false),
    ] {
        assert_eq!(Expression::is_meant_by(text), is, "{text}");
    }
}
