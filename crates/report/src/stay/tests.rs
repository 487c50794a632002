//! The sentences that recommend base pages.

use super::*;
use crate::advice::advise;
use broadleaf_metrics::{MemoryResult, RunTime, RunTimeBasis};

fn result(policy: &str, walk_cycles: u64, promotions: u64) -> CellResult {
    CellResult {
        policy: policy.to_owned(),
        accesses: 1_000_000,
        walk_cycles,
        promotions,
        peak_resident_pages: 1000,
        ..CellResult::default()
    }
}

fn sentence(results: &[CellResult], memory: Option<&MemoryAsked>) -> String {
    let baseline = result("4k", 500_000, 0);
    let baseline = (results.iter().find(|one| one.policy == "4k")).unwrap_or(&baseline);
    let all: Vec<&CellResult> = results.iter().collect();
    let advice = advise(&all, baseline, &|policy| policy != "foresight", memory).unwrap();
    assert_eq!(advice.policy, "4k");
    advice.sentence
}

#[test]
fn a_gain_of_foresight_is_named() {
    let base = result("4k", 500_000, 0);
    let all = [result("foresight", 15_000, 2), base];
    assert_eq!(
        sentence(&all, None),
        "Stay with 4k: no policy that can be run, of those compared here, saves 0.01 walk \
         cycles per access. \
         foresight would need 15.0k walk cycles instead of 500k (x0.03), for no more memory, \
         but it looks into the future."
    );
}

#[test]
fn without_superpages_there_is_no_statement_on_the_program() {
    let base = result("4k", 500_000, 0);
    assert_eq!(
        sentence(std::slice::from_ref(&base), None),
        "No policy that makes superpages was compared, so there is nothing to choose from. Add \
         policies with --policy."
    );
    assert_eq!(
        sentence(&[base.clone(), result("thp-always", 500_000, 0)], None),
        "The compared policies made no superpages of this program's memory. Stay with 4k."
    );
    let refusing = |policy, reasons: &[(&str, u64)]| CellResult {
        refusals: reasons
            .iter()
            .map(|(reason, count)| ((*reason).to_owned(), *count))
            .collect(),
        ..result(policy, 500_000, 0)
    };
    let reasons = [("not_covered", 900), ("too_few_resident", 700)];
    let all = [
        base,
        refusing("thp-always", &reasons),
        refusing("pop-64", &[("too_few_resident", 534)]),
    ];
    assert_eq!(
        sentence(&all, None),
        "The compared policies made no superpages of this program's memory. The most frequent \
         reason is too_few_resident, at 1,234 decisions: broadleaf explain too_few_resident. \
         Stay with 4k."
    );
}

/// Fewer walks can come with a longer run, by a measurement.
#[test]
fn a_loss_of_time_is_no_gain_with_a_sign() {
    let with = |gain| CellResult {
        run_time: Some(RunTime::of_gains([gain; 3], RunTimeBasis::Measured)),
        ..result("greedy", 10_000, 2)
    };
    let said = |gain| sentence(&[with(gain), result("4k", 500_000, 0)], None);
    assert_eq!(
        said(-0.881),
        "Page sizes hardly matter to this program: the most that a policy compared here \
         saves, 490k of 500k walk cycles (greedy), is no gain: the run time is about 88.1% \
         longer. Stay with 4k."
    );
    assert!(said(0.02).contains("is about 2.0% of the run time, and less than 3%"));
}

#[test]
fn a_baseline_without_a_row_comes_with_its_figures() {
    assert_eq!(
        sentence(&[result("navarro", 500_000, 1)], None),
        "Page sizes hardly matter to this program: no policy compared here saves walk cycles. \
         Stay with 4k (500k walk cycles, 3.91 MiB at its peak)."
    );
}

#[test]
fn a_policy_that_is_much_slower_is_named() {
    let with = |policy, promotions, swapped_in_pages| CellResult {
        memory: Some(MemoryResult {
            base_page_bytes: 4096,
            swapped_in_pages,
            fault_cycles: swapped_in_pages * 300_000,
            ..MemoryResult::default()
        }),
        ..result(policy, 10_000, promotions)
    };
    let asked = MemoryAsked {
        bytes: Some(2 << 20),
        footprint_bytes: Some(4 << 20),
        costs: BTreeMap::from([("disk".to_owned(), 300_000)])
            .into_iter()
            .collect(),
        ..MemoryAsked::default()
    };
    let text = sentence(&[with("4k", 0, 10), with("greedy", 2, 38)], Some(&asked));
    assert!(
        text.ends_with(
            "No policy compared here saves much of that, and greedy needs 11.4M cycles of \
             walks and faults instead of 3.01M (x3.79). Stay with 4k."
        ),
        "{text}"
    );
    let text = sentence(&[with("4k", 0, 10), with("greedy", 2, 10)], Some(&asked));
    assert!(
        text.ends_with("No policy compared here changes much of that. Stay with 4k."),
        "{text}"
    );
    let slow = [result("4k", 500_000, 0), result("greedy", 600_000, 1)];
    let text = sentence(&slow, None);
    assert!(
        !text.contains("hardly matter") && text.contains("greedy needs 600k"),
        "{text}"
    );
}
