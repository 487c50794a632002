//! The counts of a replay in one form, and the expected counts.

use crate::Failed;
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_oracle::{OracleCounts, PolicySpec};
use broadleaf_units::PageSize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Counts by name. A refusal is `refusals.REASON`. Counts of zero are left out.
pub type PolicyFigures = BTreeMap<String, u64>;

/// The figures of each policy, by its name.
pub type Answers = BTreeMap<String, PolicyFigures>;

fn figures(counts: &[(&str, u64)], refusals: impl Iterator<Item = (String, u64)>) -> PolicyFigures {
    let counts = counts
        .iter()
        .map(|(name, count)| (name.to_string(), *count));
    counts
        .chain(refusals.map(|(reason, count)| (format!("refusals.{reason}"), count)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Returns the engine's figures of one policy.
pub fn of_engine(result: &CellResult, trace: &TraceSummary) -> (String, PolicyFigures) {
    let counts = [
        ("accesses", result.accesses),
        ("loads", trace.loads),
        ("stores", trace.stores),
        ("l1_misses", result.l1_misses),
        ("l2_misses", result.l2_misses),
        ("walks_4k", result.walks.of(PageSize::SIZE_4K)),
        ("walks_2m", result.walks.of(PageSize::SIZE_2M)),
        ("walk_cycles", result.walk_cycles),
        ("page_faults", result.page_faults),
        ("promotions", result.promotions),
        ("demotions", result.demotions),
        ("extra_zeroed_pages", result.extra_zeroed_pages),
        ("extra_disk_read_pages", result.extra_disk_read_pages),
        ("false_dirty_pages", result.false_dirty_pages),
        (
            "false_dirty_pages_anonymous",
            result.false_dirty_pages_anonymous,
        ),
        ("false_dirty_pages_file", result.false_dirty_pages_file),
        (
            "clean_pages_in_superpages",
            result.clean_pages_in_superpages,
        ),
        (
            "clean_pages_in_superpages_anonymous",
            result.clean_pages_in_superpages_anonymous,
        ),
        (
            "clean_pages_in_superpages_file",
            result.clean_pages_in_superpages_file,
        ),
        ("touched_pages", result.touched_pages),
        ("touched_pages_anonymous", result.touched_pages_anonymous),
        ("touched_pages_file", result.touched_pages_file),
        ("resident_pages", result.resident_pages),
        ("peak_resident_pages", result.peak_resident_pages),
        ("regions", result.regions),
        ("regions_anonymous", result.regions_anonymous),
        ("regions_file", result.regions_file),
    ];
    let refusals = result.refusals.iter();
    let refusals = refusals.map(|(reason, count)| (reason.clone(), *count));
    (result.policy.clone(), figures(&counts, refusals))
}

/// Returns the oracle's figures of one policy.
pub fn of_oracle(policy: PolicySpec, counts: &OracleCounts) -> (String, PolicyFigures) {
    let list = [
        ("accesses", counts.accesses),
        ("loads", counts.loads),
        ("stores", counts.stores),
        ("l1_misses", counts.l1_misses),
        ("l2_misses", counts.l2_misses),
        ("walks_4k", counts.walks_4k),
        ("walks_2m", counts.walks_2m),
        ("walk_cycles", counts.walk_cycles),
        ("page_faults", counts.page_faults),
        ("promotions", counts.promotions),
        ("demotions", counts.demotions),
        ("extra_zeroed_pages", counts.extra_zeroed_pages),
        ("extra_disk_read_pages", counts.extra_disk_read_pages),
        ("false_dirty_pages", counts.false_dirty_pages),
        (
            "false_dirty_pages_anonymous",
            counts.false_dirty_pages_anonymous,
        ),
        ("false_dirty_pages_file", counts.false_dirty_pages_file),
        (
            "clean_pages_in_superpages",
            counts.clean_pages_in_superpages,
        ),
        (
            "clean_pages_in_superpages_anonymous",
            counts.clean_pages_in_superpages_anonymous,
        ),
        (
            "clean_pages_in_superpages_file",
            counts.clean_pages_in_superpages_file,
        ),
        ("touched_pages", counts.touched_pages),
        ("touched_pages_anonymous", counts.touched_pages_anonymous),
        ("touched_pages_file", counts.touched_pages_file),
        ("resident_pages", counts.resident_pages),
        ("peak_resident_pages", counts.peak_resident_pages),
        ("regions", counts.regions),
        ("regions_anonymous", counts.regions_anonymous),
        ("regions_file", counts.regions_file),
    ];
    let refusals = counts.refusals.iter();
    let refusals = refusals.map(|(reason, count)| (reason.to_string(), *count));
    (policy.to_string(), figures(&list, refusals))
}

/// Compares the answers for these policies with the expected ones.
///
/// # Errors
/// Returns an error if an answer is missing on either side or a count differs. The error lists
/// every differing count on a line.
pub fn agree(
    what: &str,
    policies: &[String],
    found: &Answers,
    right: &Answers,
) -> Result<(), Failed> {
    let mut wrong = String::new();
    for policy in policies {
        let found = (found.get(policy))
            .ok_or_else(|| format!("{what}: there is no answer for {policy}"))?;
        let right =
            (right.get(policy)).ok_or_else(|| format!("{what}: nothing is known of {policy}"))?;
        let names: std::collections::BTreeSet<_> = found.keys().chain(right.keys()).collect();
        for name in names {
            let (found, right) = (found.get(name), right.get(name));
            if found != right {
                let (found, right) = (found.unwrap_or(&0), right.unwrap_or(&0));
                wrong.push_str(&format!(
                    "\n{what}: {name} of {policy} is {found}, should be {right}"
                ));
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("wrong answers:{wrong}").into())
}

/// Returns the oracle's counts of the generated traces, from `counts.json` beside this crate's
/// manifest.
///
/// # Errors
/// Returns an error if the file differs from the format of [`stored_text`].
pub fn stored() -> Result<BTreeMap<String, Answers>, Failed> {
    let lines: Vec<Value> = serde_json::from_str(include_str!("../counts.json"))?;
    let mut stored: BTreeMap<String, Answers> = BTreeMap::new();
    for mut line in lines {
        let line = line.as_object_mut().ok_or("counts.json: not an object")?;
        let mut text = |name| match line.remove(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(format!("counts.json: a line without {name}")),
        };
        let (trace, policy) = (text("trace")?, text("policy")?);
        let figures = serde_json::from_value(Value::Object(std::mem::take(line)))?;
        stored.entry(trace).or_default().insert(policy, figures);
    }
    Ok(stored)
}

/// Returns the text of `counts.json`, with one answer on a line.
///
/// # Errors
/// Returns an error if JSON cannot be written, which does not occur.
pub fn stored_text(all: &BTreeMap<String, Answers>) -> Result<String, Failed> {
    let mut lines = Vec::new();
    for (trace, answers) in all {
        for (policy, figures) in answers {
            let (trace, policy) = (
                serde_json::to_string(trace)?,
                serde_json::to_string(policy)?,
            );
            let figures = serde_json::to_string(figures)?;
            let figures = figures.trim_start_matches('{');
            lines.push(format!(r#"{{"trace":{trace},"policy":{policy},{figures}"#));
        }
    }
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(walks: u64) -> Answers {
        let figures = figures(
            &[("accesses", 7), ("l2_misses", walks), ("demotions", 0)],
            [("too_young".to_owned(), 2)].into_iter(),
        );
        Answers::from([("4k".to_owned(), figures)])
    }

    #[test]
    fn a_wrong_answer_is_named() {
        let asked = ["4k".to_owned()];
        assert!(agree("gups", &asked, &answers(3), &answers(3)).is_ok());
        let refusal = |found: &Answers, right: &Answers| {
            let error = agree("gups", &asked, found, right).expect_err("it is wrong");
            error.to_string()
        };
        assert_eq!(
            refusal(&answers(0), &answers(3)),
            "wrong answers:\ngups: l2_misses of 4k is 0, should be 3"
        );
        assert_eq!(
            refusal(&answers(3), &Answers::new()),
            "gups: nothing is known of 4k"
        );
        assert_eq!(
            refusal(&Answers::new(), &answers(3)),
            "gups: there is no answer for 4k"
        );
    }

    #[test]
    fn what_is_stored_can_be_read() {
        let all = BTreeMap::from([("scan".to_owned(), answers(3))]);
        let text = stored_text(&all).expect("text");
        assert_eq!(
            text,
            "[\n{\"trace\":\"scan\",\"policy\":\"4k\",\"accesses\":7,\"l2_misses\":3,\
             \"refusals.too_young\":2}\n]\n"
        );
    }
}
