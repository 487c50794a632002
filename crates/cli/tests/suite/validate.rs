//! `validate` in all formats, and what it refuses.

use std::fs;

use serde_json::Value;

use crate::support::live::{can_govern, compiled};
use crate::support::{folder, run, stderr, succeeded};

/// A program that stores to 32 MiB from `mmap`, and lives long enough for the governor.
const PROGRAM: &str = "#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    int rights = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    volatile char *memory = mmap(0, 32 << 20, rights, kind, -1, 0);
    for (int turn = 0; turn < 2; turn++)
        for (long page = 0; page < 32 << 8; page++) memory[page << 12] = 1;
    usleep(300000);
    return 0;
}
";

/// Every setting has a measurement and a prediction, and the kernel's own counts agree with them.
#[test]
fn each_setting_is_measured_and_predicted() {
    let folder = folder("validate");
    if !can_govern() {
        return;
    }
    let Some(program) = compiled(&folder, "stores", PROGRAM, &[]) else {
        return;
    };
    let counters = folder.join("counters.csv");
    let lines =
        (1..=9).map(|at| format!("0.{at},1000,,L1-dcache-loads\n0.{at},5,,dTLB-load-misses\n"));
    fs::write(&counters, lines.collect::<String>()).expect("a file");
    let output = run(&[
        "validate",
        "--machine",
        "skylake",
        "--rounds",
        "1",
        "--counters",
        counters.to_str().expect("a path"),
        "--format",
        "json",
        "--",
        program.to_str().expect("a path"),
    ]);
    let report: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    assert_eq!(report["schema"], "broadleaf.validate/1");
    let settings = report["settings"].as_array().expect("settings");
    let named = |name: &str| -> &Value {
        let mut all = settings.iter();
        all.find(|one| one["name"] == name).expect(name)
    };
    let [never, policy, huge] = ["never", "pop-256", "all huge"].map(named);
    for one in settings {
        assert_eq!(
            one["runs"].as_array().map(Vec::len),
            Some(1),
            "one round is dropped"
        );
        let of = |part: &str| one[part]["page_faults"].as_f64().expect(part);
        let (measured, predicted) = (of("measured"), of("predicted"));
        assert!(measured > 0.0 && predicted > 0.0, "{one}");
    }
    // The faults of base pages are predicted to a few percent: the kernel's own are not seen.
    let faults = |part: &str| never[part]["page_faults"].as_f64().expect(part);
    let ratio = faults("measured") / faults("predicted");
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
    let blocks = |one: &Value| {
        one["predicted"]["huge_pages_peak"]
            .as_u64()
            .expect("a peak")
    };
    assert_eq!(blocks(never), 0);
    assert!(blocks(huge) >= 15 && blocks(policy) >= 15, "{huge}");
    let peak = huge["measured"]["huge_pages_peak"]
        .as_u64()
        .expect("a peak");
    // On a busy machine the governor comes late to some of the 16 blocks.
    assert!(peak >= 12, "{peak}");
    assert!(never["change"].is_null() && policy["is_end"] == false);
    let walks = |one: &Value| one["whole"]["tlb_misses"].as_u64().expect("misses");
    // Each turn visits 8,192 pages, more than the TLBs hold.
    assert!(walks(never) > walks(huge) + 10_000, "{}", walks(never));
    let curve = &report["curves"][0];
    assert_eq!(curve["measured"].as_array().map(Vec::len), Some(9));
    assert_eq!(curve["whole"][0], 5.0);
}

#[test]
fn wrong_requests_are_refused_before_the_program_runs() {
    let folder = folder("validate-refused");
    let path = |name: &str| folder.join(name).to_str().expect("a path").to_owned();
    fs::write(path("taken"), "x").expect("a file");
    fs::write(path("bad.csv"), "0.1,many,,cycles").expect("a file");
    let ran = path("ran");
    for (options, says) in [
        (vec!["--machine", "nosuch"], "nosuch"),
        (
            vec!["--machine", "skylake", "--keep", &path("taken")],
            "exists already",
        ),
        (
            vec!["--machine", "skylake", "-o", &path("taken")],
            "exists already",
        ),
        (
            vec!["--machine", "skylake", "--counters", &path("bad.csv")],
            "line 1: \"many\" is no count",
        ),
        (
            vec!["--machine", "skylake", "--counters", &path("none")],
            "No such file",
        ),
        (
            vec!["--machine", "skylake", "--policy", "foresight"],
            "can be run",
        ),
        (vec!["--rounds", "0"], "a whole number from 1 on"),
    ] {
        let mut words = vec!["validate"];
        words.extend(options);
        words.extend(["--", "touch", &ran]);
        let output = run(&words);
        let text = stderr(&output);
        assert!(text.contains(says), "{words:?}: {text}");
        let status = output.status.code();
        assert!(
            status == Some(2) || (status == Some(1) && !can_govern()),
            "{status:?}: {text}"
        );
        assert!(!fs::exists(&ran).expect("a folder"), "{words:?}");
    }
}
