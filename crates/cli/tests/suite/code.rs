//! Recordings with code, and machines whose cores follow it.

use crate::support::{broadleaf, folder, refused, run, stderr, succeeded};
use std::fs;
use std::path::Path;

/// Records `true` by lines. `None` without a recorder.
fn recorded(folder: &Path, name: &str, more: &[&str]) -> Option<String> {
    let trace = folder.join(name).to_str().expect("UTF-8").to_owned();
    let line = ["record", "--grain", "line", "--instructions", "-o", &trace];
    let record = [&line[..], more, &["--", "true"]].concat();
    let recorded = broadleaf(&record).output().expect("it was built");
    if stderr(&recorded).contains("has no recorder") {
        return None;
    }
    succeeded(&recorded);
    Some(trace)
}

/// A machine of the catalogue without these lines of its description.
fn machine_without(folder: &Path, file: &str, keys: &[&str]) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/zen5-core.toml");
    let text = fs::read_to_string(path).expect("the machine is there");
    let kept = text
        .lines()
        .filter(|line| !keys.iter().any(|key| line.starts_with(key)));
    let text = kept
        .collect::<Vec<_>>()
        .join("\n")
        .replace("zen5-core", "other");
    let path = folder.join(file);
    fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// A core that follows code changes cycles, and no other count. Prefetching changes hits below the
/// first level, and no lookup of the TLBs.
#[test]
fn following_code_changes_cycles_alone() {
    let folder = folder("code-cycles");
    let Some(trace) = recorded(&folder, "coded.bl", &["--code"]) else {
        return;
    };
    let result = |machine: &str| {
        let asked = ["compare", &trace, "--policy", "4k", "--machine", machine];
        let json = succeeded(&run(&[&asked[..], &["--format", "json"]].concat()));
        let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        parsed["results"][0].clone()
    };
    let code = ["mispredicted-branch", "units"];
    let prefetch = ["prefetch-streams", "prefetch-distance", "prefetch-step"];
    let follows = result("zen5-core");
    let interval = result(&machine_without(&folder, "interval.toml", &code));
    let plain = result(&machine_without(
        &folder,
        "plain.toml",
        &[&code[..], &prefetch].concat(),
    ));
    let pipeline = result(&machine_without(&folder, "pipeline.toml", &prefetch));
    assert!(follows["mispredicted_branches"].as_u64().expect("branches") > 0);
    assert!(interval.get("mispredicted_branches").is_none());
    assert!(follows["cache2_prefetched"].as_u64().expect("lines") > 0);
    assert!(plain.get("cache2_prefetched").is_none());
    let tlbs = [
        "accesses",
        "l1_misses",
        "l2_misses",
        "walks_4k",
        "page_faults",
    ];
    for figure in tlbs {
        for other in [&interval, &plain, &pipeline] {
            assert_eq!(follows[figure], other[figure], "{figure}");
        }
    }
    let lines = [
        "cache1_data_hits",
        "cache1_data_misses",
        "cache2_data_misses",
        "cache3_data_misses",
        "cache1_instruction_misses",
        "cache2_walk_misses",
        "memory_reads",
        "memory_writes",
    ];
    for figure in lines {
        assert_eq!(plain[figure], pipeline[figure], "{figure}");
    }
    let cycles = |of: &serde_json::Value| of["cycles"].as_u64().expect("cycles");
    assert!(
        cycles(&pipeline) > cycles(&plain),
        "branches and dependences take time"
    );
    assert!(
        cycles(&follows) <= cycles(&pipeline),
        "prefetching spares time"
    );
}

#[test]
fn a_trace_without_code_is_refused_by_a_core_that_follows_it() {
    let folder = folder("code-refused");
    let Some(plain) = recorded(&folder, "plain.bl", &[]) else {
        return;
    };
    let asked = |trace: &str| run(&["compare", trace, "--machine", "zen5-core"]);
    let message = stderr(&asked(&plain));
    assert!(!asked(&plain).status.success());
    assert!(
        message.contains("has no code of its instructions"),
        "{message}"
    );
    assert!(message.contains("--code --grain line"), "{message}");
    // A recoded copy names visits, and no executions.
    let coded = recorded(&folder, "coded.bl", &["--code"]).expect("it was recorded before");
    let recoded = folder.join("recoded.bl");
    let recoded = recoded.to_str().expect("UTF-8");
    succeeded(&run(&["recode", &coded, "-o", recoded]));
    let message = stderr(&asked(recoded));
    assert!(
        message.contains("has no code of its instructions"),
        "{message}"
    );
    let record = [
        "record",
        "--engine",
        "trap",
        "--code",
        "--machine",
        "skylake",
        "true",
    ];
    let message = refused(&run(&record));
    assert!(message.contains("--code"), "{message}");
}

/// Several traces of a mix each have code of their own.
#[test]
fn programs_of_a_mix_follow_their_own_code() {
    let folder = folder("code-mix");
    let Some(one) = recorded(&folder, "a.bl", &["--code"]) else {
        return;
    };
    let two = recorded(&folder, "b.bl", &["--code"]).expect("it was recorded before");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/zen5-core.toml");
    let text = fs::read_to_string(path).expect("the machine is there");
    let text = text
        .replace("count = 1", "count = 2")
        .replace("zen5-core", "two");
    let machine = folder.join("two.toml");
    fs::write(&machine, text).expect("a file");
    let machine = machine.to_str().expect("UTF-8");
    let mix = |threads: &str| {
        let asked = ["compare", &one, &two, "--together", "--machine", machine];
        let more = ["--policy", "4k", "--threads", threads, "--format", "json"];
        succeeded(&run(&[&asked[..], &more].concat()))
    };
    let json = mix("1");
    assert_eq!(json, mix("2"));
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let programs = parsed["results"][0]["programs"]
        .as_array()
        .expect("programs");
    for program in programs {
        let speedup = program["speedup"].as_f64().expect("a speedup");
        // Both map the same files, so each fetches lines for the other.
        assert!((0.3..=3.0).contains(&speedup), "{speedup}");
    }
}
