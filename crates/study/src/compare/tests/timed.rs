//! Comparisons of recordings that hold run times.

use std::fs;

use broadleaf_metrics::Recommendation;
use broadleaf_report::{BASELINE, View};
use broadleaf_trace::{EndRun, FaultCosts, MeasuredEnds};

use super::{compare, on_skylake};
use crate::testing::{header, recording_under};
use crate::watch::Unwatched;

/// The recommendation and the table for a program whose huge pages save 0.4 of 2 s of user time,
/// and cost this many nanoseconds each.
fn advised(asked: &[&str], huge_nanos: u64) -> (Recommendation, String) {
    let run = |user_micros| EndRun {
        user_micros,
        system_micros: 100_000,
        ..EndRun::default()
    };
    let mut header = header();
    header.measured = Some(MeasuredEnds {
        rounds: vec![[run(2_000_000), run(1_600_000)]; 3],
        costs: FaultCosts {
            base_nanos: 1000,
            huge_nanos,
            collapse_nanos: huge_nanos,
        },
    });
    // More pages than the second level of the TLB holds, in no order.
    let scattered = |number: u64| (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 4096;
    let pages = (0..4096).chain((0..100_000).map(scattered));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, recording_under(&header, "program", pages)).expect("a trace");
    let request = on_skylake(&path, asked, &Unwatched);
    let answer = compare(request, &[BASELINE]).expect("a comparison");
    let table = answer.table(View::default());
    (answer.comparison.advice[0].clone(), table)
}

#[test]
fn measured_user_and_system_time_choose_the_policy() {
    for asked in [&["4k", "greedy"][..], &["greedy"]] {
        let (cheap, table) = advised(asked, 100_000);
        assert!(
            (cheap.sentence)
                .starts_with("Choose greedy: it takes about 1.70 s of processor time instead of"),
            "{}",
            cheap.sentence
        );
        assert!(table.contains("\nRule: least processor time, "), "{table}");
        // Eight huge pages take a second, and save 0.4 s.
        let (dear, _) = advised(asked, 125_000_000);
        assert_eq!(dear.policy, "4k");
        assert!(
            dear.sentence
                .contains("more system time than the user time"),
            "{}",
            dear.sentence
        );
        let faults = dear.page_faults.expect("they have costs");
        assert!(faults.contains("pays 1.000 s to make"), "{faults}");
    }
}
