//! `explain` for expressions: how one is written, and the meaning of one.

use broadleaf_policy::{Expression, FORM, Flag, Policy, Quantity, Unit};
use broadleaf_report::{View, command_line};

use super::explain::{Explanation, parameters};
use super::next::NEXT;

/// The explanation of how expressions are written.
pub(super) fn form() -> Explanation {
    let mut facts = vec![(
        "written",
        format!("{}, for example {}", FORM.syntax, FORM.examples[0]),
    )];
    facts.push((
        "operators",
        "or, and, not, < <= > >= == !=, + -, * /, -; those further right bind first, and brackets \
        go anywhere"
            .to_owned(),
    ));
    facts.push((
        "numbers",
        "64, 0.125, 1e6 of any unit; 64k, 2m, 1g are bytes; 12.5% is a part of the block's pages"
            .to_owned(),
    ));
    facts.extend(
        Quantity::ALL
            .iter()
            .map(|quantity| ("number", described(*quantity))),
    );
    facts.extend(
        Flag::ALL
            .iter()
            .map(|flag| ("truth", format!("{}: {}", flag.name(), flag.sentence()))),
    );
    facts.push((
        "truth",
        "kind == anonymous, kind == file, kind == shared, and the same with !=: The kind of \
        memory of the block."
            .to_owned(),
    ));
    facts.extend(parameters(FORM.options));
    facts.push(("source", FORM.source.to_owned()));
    facts.push((NEXT, compared(FORM.examples[0])));
    Explanation {
        heading: FORM.syntax.to_owned(),
        kind: "policy",
        summary: FORM.summary.to_owned(),
        paragraphs: vec![FORM.explanation.to_owned()],
        facts,
        support: None,
    }
}

/// The meaning of an expression: its canonical form, and its comparisons with their units.
pub(super) fn spread_out(expression: &Expression, view: View) -> String {
    let mut facts = vec![("asked", expression.asked())];
    let (quantities, flags) = expression.speaks_of();
    facts.extend(
        quantities
            .into_iter()
            .map(|quantity| ("number", described(quantity))),
    );
    facts.extend(
        flags
            .into_iter()
            .map(|flag| ("truth", format!("{}: {}", flag.name(), flag.sentence()))),
    );
    if expression.needs().needs_frames() {
        facts.push((
            "needs",
            "memory that is modelled down to the frame: compare it with --memory".to_owned(),
        ));
    }
    facts.push((NEXT, compared(&expression.name())));
    let explanation = Explanation {
        heading: expression.name(),
        kind: "policy",
        summary: "your own expression over the block's counters".to_owned(),
        paragraphs: Vec::new(),
        facts,
        support: None,
    };
    let mut text = explanation.render(view);
    text.push('\n');
    for line in expression.lines() {
        text.push_str(&format!("{}{}\n", "  ".repeat(line.depth), line.text));
    }
    text
}

/// The command that compares an expression with base pages.
fn compared(expression: &str) -> String {
    let asked = format!("4k,{expression}");
    command_line(&["broadleaf", "compare", "TRACE", "--policy", &asked])
}

fn described(quantity: Quantity) -> String {
    let unit = match quantity.unit() {
        Unit::Any | Unit::Number => "a plain number".to_owned(),
        unit => unit.to_string(),
    };
    format!("{}, {unit}: {}", quantity.name(), quantity.sentence())
}
