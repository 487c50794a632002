//! The commands on a recording of a whole system: `true` in a guest of Debian's kernel 6.1. The
//! figures come from the recorder's own output.

use std::path::Path;

use crate::support::{file, folder, refused, run, stderr, succeeded};
use serde_json::Value;

/// A copy of the recording in a folder of its own.
fn recording(name: &str) -> String {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/systems/true.bl");
    let bytes = std::fs::read(kept).expect("a recording");
    file(&folder(name), "true.bl", &bytes)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeded(&run(arguments))).expect("the answer is JSON")
}

#[test]
fn info_tells_the_kernel_apart() {
    let trace = recording("systems-info");
    let info = json(&["info", &trace, "--format", "json"]);
    assert_eq!(info["trace"]["version"], 4);
    assert_eq!(info["accesses"], 720_237);
    let system = &info["system"];
    // The guest's kernel counted as many.
    assert_eq!(system["page_faults"], 57);
    let of = |name: &str| system[name].as_u64().expect("a count");
    assert!(of("kernel_code_accesses") > 500_000, "{system}");
    assert!(of("kernel_address_accesses") > 500_000, "{system}");
    let processes = info["processes"].as_array().expect("processes");
    let commands: Vec<String> = processes
        .iter()
        .map(|process| process["command"].to_string())
        .collect();
    // Busybox runs `true` without executing it.
    assert_eq!(commands[0], r#"["kernel"]"#);
    assert_eq!(commands[commands.len() - 1], r#"["sh"]"#);
}

#[test]
fn policies_change_programs_and_leave_the_kernel_alone() {
    let trace = recording("systems-compare");
    let policies = ["--policy", "guest,4k,greedy", "--format", "json"];
    let compared = |path: &str| {
        let answer = json(&[&["compare", path][..], &policies].concat());
        answer["results"].as_array().expect("results").clone()
    };
    let results = compared(&trace);
    let of = |policy: usize, name: &str| results[policy][name].as_u64().expect("a count");
    // The recorded kernel handled these.
    assert_eq!(of(0, "page_faults"), 57);
    assert_eq!(of(0, "promotions"), 0);
    for policy in 0..3 {
        assert!(of(policy, "kernel_walks") > 0);
        assert!(of(policy, "kernel_walks") < of(policy, "l2_misses"));
        // Most of the kernel's pages are superpages, whatever the policy.
        assert!(of(policy, "walks_2m") > 0);
    }
    assert!(of(2, "promotions") > 0);
    assert!(of(2, "l1_misses") < of(0, "l1_misses"));

    // The other form of the trace holds the same.
    succeeded(&run(&["recode", &trace]));
    let same = |result: &Value| {
        let mut result = result.clone();
        result.as_object_mut().expect("a result").remove("run_time");
        result
    };
    let recoded = compared(&trace.replace(".bl", ".2.bl"));
    let forms = recoded.iter().zip(&results);
    forms.for_each(|(one, other)| assert_eq!(same(one), same(other)));
}

#[test]
fn commands_that_need_mappings_refuse_it() {
    let trace = recording("systems-refused");
    let reason = refused(&run(&["advise", &trace]));
    assert!(reason.contains("whole system"), "{reason}");
    let reason = stderr(&run(&["reduce", &trace]));
    assert!(reason.contains("whole system"), "{reason}");
    let reason = stderr(&run(&["record", "--engine", "qemu-system", "--", "true"]));
    assert!(reason.contains("--guest"), "{reason}");
    let reason = stderr(&run(&["record", "--check", "--", "true"]));
    assert!(reason.contains("--engine qemu-system"), "{reason}");
}

/// Without a choice, the recorded kernel's policy is compared, and none that looks ahead.
#[test]
fn a_comparison_without_a_choice_has_the_kernels_own_policy() {
    let trace = recording("systems-default");
    let answer = json(&["compare", &trace, "--format", "json"]);
    let results = answer["results"].as_array().expect("results").iter();
    let names: Vec<&str> = results
        .filter_map(|result| result["policy"].as_str())
        .collect();
    assert!(
        names.contains(&"guest") && names.contains(&"greedy"),
        "{names:?}"
    );
    assert!(!names.contains(&"foresight"), "{names:?}");
    let refusal = refused(&run(&["compare", &trace, "--policy", "foresight"]));
    assert!(refusal.contains("whole system"), "{refusal}");
}
