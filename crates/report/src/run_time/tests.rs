//! Sentences on run times.

use super::*;

fn sentence(gains: [f64; 3]) -> String {
    sentence_of(RunTime::of_gains(gains, RunTimeBasis::Table))
}

fn seconds(low: f64, middle: f64, high: f64) -> Option<SecondsRange> {
    Some(SecondsRange { low, middle, high })
}

/// No run of a program shows that a policy without huge pages changes nothing: the model does.
#[test]
fn a_policy_with_the_misses_of_base_pages_is_no_measured_difference() {
    let sentence = |l1_misses, promotions| {
        let baseline = CellResult {
            l1_misses: 12_000,
            ..CellResult::default()
        };
        let run_time = RunTime {
            user_seconds: seconds(1.9, 2.0, 2.1),
            ..RunTime::of_gains([-0.05, 0.0, 0.05], RunTimeBasis::Measured)
        };
        let result = CellResult {
            policy: "pop-512".to_owned(),
            l1_misses,
            promotions,
            run_time: Some(run_time),
            ..CellResult::default()
        };
        run_time_sentence(&result, &baseline, &TraceSummary::default()).expect("it is known")
    };
    let same = sentence(12_000, 3);
    assert!(
        same.starts_with("Run time: as with 4k. pop-512 has the TLB misses of 4k, so the"),
        "{same}"
    );
    assert!(same.contains("2.00 s of user time"), "{same}");
    assert!(!same.contains("this machine can show"), "{same}");
    assert!(sentence(13_000, 0).contains("pop-512 makes no huge page here"));
    let beyond = sentence(13_000, 3);
    assert!(
        beyond.starts_with("Run time: as with 4k. pop-512 has no fewer TLB misses than 4k, so"),
        "{beyond}"
    );
    assert!(!beyond.contains("this machine can show"), "{beyond}");
    assert!(sentence(11_000, 3).contains("no difference that this machine can show"));
}

#[test]
fn page_faults_have_a_sentence_of_their_own() {
    let sentence_of = |saved, paid, system_seconds| {
        let run_time = RunTime {
            system_seconds,
            fault_seconds: Some(broadleaf_metrics::FaultSeconds { saved, paid }),
            ..RunTime::of_gains([0.0; 3], RunTimeBasis::Measured)
        };
        page_faults_sentence(&CellResult {
            policy: "greedy".to_owned(),
            run_time: Some(run_time),
            ..CellResult::default()
        })
    };
    let sentence = |saved, system| sentence_of(saved, 0.05, system);
    let system = seconds(0.2, 0.25, 0.3);
    let none = sentence_of(0.0, 0.0, system).expect("it is known");
    assert!(
        none.starts_with("Page faults: greedy saves no page fault and makes no huge page, by"),
        "{none}"
    );
    assert_eq!(
        sentence(0.1, system).as_deref(),
        Some(
            "Page faults: greedy saves 0.100 s by fewer page faults and pays 0.050 s to make \
             and zero huge pages, by costs that were measured beside the runs. The system \
             time would be 0.250 s (0.200 to 0.300 s)."
        )
    );
    let late = CellResult {
        policy: "greedy".to_owned(),
        faults_saved: 511,
        run_time: Some(RunTime {
            system_seconds: system,
            fault_seconds: Some(broadleaf_metrics::FaultSeconds {
                saved: 0.0,
                paid: 0.05,
            }),
            ..RunTime::of_gains([0.0; 3], RunTimeBasis::Measured)
        }),
        ..CellResult::default()
    };
    let late = page_faults_sentence(&late).expect("it is known");
    assert!(late.contains("since the governor makes huge pages of pages that are in place"));
    let more = sentence(-0.1, system).expect("it is known");
    assert!(
        more.contains("greedy spends 0.100 s on more page faults and pays"),
        "{more}"
    );
    assert_eq!(sentence(0.1, None), None);
    let result = CellResult {
        run_time: Some(RunTime {
            user_seconds: seconds(1.0, 1.0, 1.0),
            fault_seconds: None,
            ..RunTime::of_gains([0.0; 3], RunTimeBasis::Measured)
        }),
        ..CellResult::default()
    };
    assert_eq!(page_faults_sentence(&result), None);
    assert!(!measured(&result.run_time.expect("set")).contains("ystem time"));
}

fn sentence_of(run_time: RunTime) -> String {
    let trace = TraceSummary {
        instructions: 14_000_000,
        ..TraceSummary::default()
    };
    let baseline = CellResult {
        l1_misses: 12_000,
        l2_misses: 10_000,
        ..CellResult::default()
    };
    let result = CellResult {
        policy: "greedy".to_owned(),
        promotions: 1,
        run_time: Some(run_time),
        ..CellResult::default()
    };
    run_time_sentence(&result, &baseline, &trace).expect("it is known")
}

#[test]
fn an_estimate_names_its_table_and_its_inputs() {
    assert_eq!(
        sentence([0.02, 0.1, 0.2]),
        "Run time: some gain. greedy may save 2.0% to 20.0% of the user time (4k takes 1.02 \
         to 1.25 times as long). This is an estimate from a table, not a measurement: 4k \
         makes 10.0k page walks, one in 1.40k instructions, and 2.00k hits in the second level \
         of the TLB."
    );
    let measured = sentence_of(RunTime::of_gains(
        [-0.01, 0.0, 0.02],
        RunTimeBasis::Measured,
    ));
    assert!(
        measured.starts_with(
            "Run time: no difference that this machine can show. greedy may cost up to \
             1.0% or save up to 2.0% of the user time"
        ),
        "{measured}"
    );
    assert!(sentence([-0.2, -0.1, 0.0]).contains("no gain. greedy may cost 0.0% to 20.0% of"));
    assert!(
        sentence([0.0, 0.0, 0.0004]).contains("may change the user time by less than 0.1% (4k")
    );
    assert!(
        sentence([-0.2, 0.1, 0.3]).contains("may cost up to 20.0% or save up to 30.0% of the user")
    );
    let unknown = CellResult::default();
    assert!(run_time_sentence(&unknown, &unknown, &TraceSummary::default()).is_none());
    let samples = TraceSummary {
        samples: true,
        ..TraceSummary::default()
    };
    let said = run_time_sentence(&unknown, &unknown, &samples).expect("the reason");
    assert!(said.starts_with("Run time: no estimate. The trace holds samples"));
}

#[test]
fn faults_that_decide_against_a_gain_are_named() {
    let result = |policy: &str, walk_cycles, fault_cycles| CellResult {
        policy: policy.to_owned(),
        accesses: 1_000_000,
        walk_cycles,
        memory: Some(broadleaf_metrics::MemoryResult {
            fault_cycles,
            ..broadleaf_metrics::MemoryResult::default()
        }),
        ..CellResult::default()
    };
    let said = |faults: [u64; 2], gain| {
        let with = CellResult {
            run_time: Some(RunTime::of_gains([gain; 3], RunTimeBasis::Table)),
            ..result("greedy", 100_000, faults[1])
        };
        deciding_faults(&with, &result("4k", 9_000_000, faults[0]))
    };
    assert_eq!(
        said([1_000_000, 20_000_000], 0.2).as_deref(),
        Some(
            "This leaves out page faults and bookkeeping, which take 20.0M cycles instead of \
             1.00M; the walks that greedy saves take 8.90M."
        )
    );
    // The saved walks are less than a hundredth of all cycles.
    let hidden = said([2_000_000_000, 2_000_001_000], 0.2).expect("faults decide");
    assert!(
        hidden.contains("take 2.00G cycles instead of 2.00G"),
        "{hidden}"
    );
    assert_eq!(said([1_000_000, 20_000_000], 0.01), None);
    assert_eq!(said([1_000_000, 2_000_000], 0.2), None);
}
