//! Findings as values of a result.

use broadleaf_metrics::{ProbedFigure, ProbedValue};
use broadleaf_probe::{Analysis, Finding, LevelFound};

/// A finding as a value.
pub(super) fn value<T>(
    name: String,
    found: &Finding<T>,
    unit: &str,
    figure: impl FnOnce(&T) -> ProbedFigure,
) -> ProbedValue {
    ProbedValue {
        name,
        value: found.value.as_ref().map(figure),
        unit: unit.to_owned(),
        confidence: found.value.is_some().then_some(found.confidence),
        note: found.reason.clone(),
    }
}

fn count(number: &usize) -> ProbedFigure {
    ProbedFigure::Count(*number as u64)
}

fn words<T: ToString>(text: &T) -> ProbedFigure {
    ProbedFigure::Words(text.to_string())
}

/// The values of an analysis for pages of a size.
pub(super) fn of_analysis(found: &Analysis, size: &str) -> Vec<ProbedValue> {
    let mut values = of_level(&found.first, &format!("L1 {size}"));
    if let Some(second) = &found.second {
        values.extend(of_level(second, &format!("L2 {size}")));
        let name = format!("L2 {size} inclusion");
        values.push(value(name, &found.inclusion, "", |one| words(&one.name())));
    }
    values
}

fn of_level(level: &LevelFound, name: &str) -> Vec<ProbedValue> {
    let of = |what: &str| format!("{name} {what}");
    vec![
        value(of("capacity in a row"), &level.capacity, "pages", count),
        value(of("entries"), &level.entries, "entries", count),
        value(of("ways"), &level.ways, "ways", count),
        value(of("index"), &level.index, "", words),
        rule(of("replacement"), &level.rules),
    ]
}

/// The rule, if one rule alone answers as the level does.
fn rule(name: String, rules: &Finding<Vec<&'static str>>) -> ProbedValue {
    let alone = match rules.value.as_deref() {
        Some([one]) => Finding {
            value: Some(*one),
            confidence: rules.confidence,
            reason: String::new(),
        },
        Some(several) => Finding::open(format!("one of {}", several.join(", "))),
        None => Finding::open(rules.reason.clone()),
    };
    value(name, &alone, "", words)
}

/// A measured number: the median of trials. Its confidence is the agreement of the trials.
pub(super) fn measured(name: &str, mut trials: Vec<f64>, unit: &str, reason: &str) -> ProbedValue {
    trials.sort_by(f64::total_cmp);
    let found = match (trials.first(), trials.last()) {
        (Some(least), Some(most)) => Finding {
            value: Some(trials[trials.len() / 2]),
            confidence: (1.0 - (most - least) / most.abs().max(1e-9)).clamp(0.0, 1.0),
            reason: String::new(),
        },
        _ => Finding::open(reason),
    };
    let rounded = |number: &f64| ProbedFigure::Number((number * 10.0).round() / 10.0);
    value(name.to_owned(), &found, unit, rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_is_a_value_and_several_are_a_reason() {
        let of = |names: &[&'static str]| Finding {
            value: Some(names.to_vec()),
            confidence: 0.9,
            reason: String::new(),
        };
        let one = rule("r".to_owned(), &of(&["lru"]));
        assert_eq!(one.value, Some(ProbedFigure::Words("lru".to_owned())));
        assert_eq!(one.confidence, Some(0.9));
        let two = rule("r".to_owned(), &of(&["lru", "gods"]));
        assert_eq!((two.value, two.confidence), (None, None));
        assert_eq!(two.note, "one of lru, gods");
    }

    #[test]
    fn trials_that_disagree_lower_the_confidence() {
        let value = measured("w", vec![30.0, 40.0, 31.04], "cycles", "");
        assert_eq!(value.value, Some(ProbedFigure::Number(31.0)));
        assert_eq!(value.confidence, Some(0.75));
        let open = measured("w", Vec::new(), "cycles", "no pages");
        assert_eq!((open.value, open.note.as_str()), (None, "no pages"));
    }
}
