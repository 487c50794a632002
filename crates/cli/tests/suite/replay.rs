//! `replay` from end to end, on journals of a governor over memory that never changes.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use crate::support::{file, folder, refused, run, stderr, succeeded};
use broadleaf_governor::journal::{Header, JOURNAL_SCHEMA, Journal};
use broadleaf_governor::{
    BLOCK_BYTES, BlockSeen, Budgets, Governor, Headroom, Kernel, KernelError, LiveBacking,
    LiveMapping, LivePages, MachineSeen, ProcessId, ProcessTree, Vitals, Ward,
};
use serde_json::Value;

const ONE: ProcessId = ProcessId {
    pid: 7,
    started: 70,
};

/// One process, whose block `n` holds `32 * (n + 1)` pages.
struct Still {
    now: Duration,
    huge: [bool; 16],
}

impl Still {
    fn block(&self, block: u64) -> BlockSeen {
        let huge = self.huge[block as usize];
        BlockSeen {
            block,
            present: if huge { 0 } else { 32 * (block as u16 + 1) },
            huge,
            ..BlockSeen::default()
        }
    }
}

impl Kernel for Still {
    fn now(&mut self) -> Duration {
        self.now
    }
    fn own_cpu(&mut self) -> Duration {
        Duration::ZERO
    }
    fn machine(&mut self) -> MachineSeen {
        MachineSeen {
            available_bytes: 1 << 33,
            free_blocks: 1000,
            pressure: Some(0),
        }
    }
    fn held(&mut self, _: ProcessId) -> Option<u64> {
        None
    }
    fn process(&mut self, _: u32) -> Option<ProcessId> {
        Some(ONE)
    }
    fn vitals(&mut self, _: ProcessId) -> Result<Vitals, KernelError> {
        let rss_bytes = (0..16).map(|block| self.block(block).resident_bytes());
        Ok(Vitals {
            command: "still".to_owned(),
            rss_bytes: rss_bytes.sum(),
            ..Vitals::default()
        })
    }
    fn headroom(&mut self, _: ProcessId) -> Option<Headroom> {
        None
    }
    fn children(&mut self, _: ProcessId) -> Vec<ProcessId> {
        Vec::new()
    }
    fn pages(&mut self, _: ProcessId) -> Result<LivePages, KernelError> {
        Ok(LivePages {
            held: None,
            asked: None,
            used: None,
            mappings: vec![LiveMapping {
                start: 0,
                end: 16 * BLOCK_BYTES,
                backing: LiveBacking::Anonymous,
                writable: true,
                congruent: true,
                inode: 0,
                offset: 0,
                name: String::new(),
            }],
            blocks: (0..16).map(|block| self.block(block)).collect(),
        })
    }
    fn blocks(&mut self, _: ProcessId, blocks: Range<u64>) -> Result<Vec<BlockSeen>, KernelError> {
        Ok(blocks.map(|block| self.block(block)).collect())
    }
    fn shared(&mut self, _: ProcessId, _: u64) -> Result<u32, KernelError> {
        Ok(0)
    }
    fn collapse(&mut self, _: ProcessId, blocks: Range<u64>) -> Result<(), KernelError> {
        blocks.for_each(|block| self.huge[block as usize] = true);
        Ok(())
    }
    fn split(&mut self, _: ProcessId, block: u64) -> Result<(), KernelError> {
        self.huge[block as usize] = false;
        Ok(())
    }
}

/// The journal of ten ticks under a policy.
pub(crate) fn recorded(policy: &str, dry: bool) -> Vec<u8> {
    recorded_as(policy, policy, dry)
}

/// The same, with the name of a policy in the header that may be another.
fn recorded_as(name: &str, policy: &str, dry: bool) -> Vec<u8> {
    let header = Header {
        schema: JOURNAL_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        policy: name.to_owned(),
        budgets: Budgets::DEFAULT,
        command: vec!["broadleaf".to_owned(), "run".to_owned()],
        dry,
        started: 1_700_000_000,
    };
    let kernel = Still {
        now: Duration::ZERO,
        huge: [false; 16],
    };
    let ward = Ward::new(broadleaf_policy::parse(policy).unwrap(), header.budgets);
    let mut governor = Governor::new(kernel, ward, ProcessTree::of([ONE]), dry);
    let mut bytes = Vec::new();
    let mut journal = Journal::begin(&mut bytes, &header).unwrap();
    for _ in 0..10 {
        let ticked = governor.tick();
        journal.tick(&ticked).unwrap();
        governor.kernel().now += ticked.wait;
    }
    bytes
}

fn json(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&succeeded(&output)).expect("JSON")
}

fn written(folder: &Path, policy: &str) -> String {
    file(folder, "run.journal", &recorded(policy, false))
}

#[test]
fn a_run_is_made_again_and_others_are_estimated() {
    let folder = folder("replay-again");
    let path = written(&folder, "pop-256");
    let answer = json(&[
        "replay",
        &path,
        "--policy",
        "4k,pop-480",
        "--policy",
        "greedy",
    ]);
    assert_eq!(answer["schema"], "broadleaf.replay/1");
    assert_eq!(answer["reproduced"], true);
    assert_eq!(answer["difference"], Value::Null);
    assert_eq!(answer["ticks"], 10);
    let of = |at: usize, field: &str| answer["policies"][at][field].clone();
    let names: Vec<Value> = (0..4).map(|at| of(at, "policy")).collect();
    assert_eq!(names, ["pop-256", "4k", "pop-480", "greedy"]);
    assert_eq!(
        (of(0, "estimated"), of(1, "estimated")),
        (false.into(), true.into())
    );
    // A tenth of 17 MiB is enough for five: 0, 32, 64, 96 and 128 pages are added.
    assert_eq!(of(0, "promotions"), 5);
    assert_eq!(of(0, "added_bytes_peak"), (32 + 64 + 96 + 128) * 4096);
    assert_eq!(
        (of(1, "promotions"), of(1, "added_bytes")),
        (0.into(), 0.into())
    );
    assert_eq!(of(2, "promotions"), 2);
    assert_eq!(of(2, "huge_bytes"), 2 * BLOCK_BYTES);
    assert_eq!(of(3, "promotions"), 5);
    assert_eq!(of(3, "refusals")["over_budget"], 11);
    let table = succeeded(&run(&["replay", &path]));
    assert!(table.starts_with("10 ticks in "), "{table}");
    assert!(
        table.contains(": each decision is the same again."),
        "{table}"
    );
    assert!(
        table.contains("pop-256 (recorded)  ") && table.contains("\nfreebsd "),
        "{table}"
    );
    assert!(table.contains("is an estimate"), "{table}");
}

#[test]
fn budgets_are_estimated_too() {
    let folder = folder("replay-budgets");
    let path = written(&folder, "pop-256");
    let budgets = ["--max-added", "0", "--max-added", "unlimited"];
    let answer = json(&[&["replay", &path], &budgets[..]].concat());
    let promotions = |at: usize| answer["policies"][at]["promotions"].clone();
    assert_eq!((promotions(1), promotions(2)), (1.into(), 9.into()));
    assert_eq!(answer["policies"][2]["max_added"], "unlimited");
    assert_eq!(answer["policies"][3], Value::Null);
}

#[test]
fn of_a_dry_run_its_own_policy_is_estimated_too() {
    let folder = folder("replay-dry");
    let path = file(&folder, "dry.journal", &recorded("pop-256", true));
    let answer = json(&["replay", &path]);
    assert_eq!(answer["dry_run"], true);
    let policies = answer["policies"].as_array().unwrap();
    let own = |row: &&Value| row["policy"] == "pop-256";
    let own: Vec<&Value> = policies.iter().filter(own).collect();
    assert_eq!(own.len(), 2);
    assert_eq!(
        (&own[0]["promotions"], &own[1]["promotions"]),
        (&0.into(), &5.into())
    );
    let table = succeeded(&run(&["replay", &path]));
    assert!(table.contains("only said what it would do"), "{table}");
}

#[test]
fn another_decision_is_told_and_is_a_failure() {
    let folder = folder("replay-differs");
    let changed = recorded_as("pop-481", "pop-256", false);
    let path = file(&folder, "changed.journal", &changed);
    let output = run(&["replay", &path, "--policy", "4k"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("a decision differs from the recorded one: tick 1, 0.000 s"),
        "{said}"
    );
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("10 ticks") && table.contains("NOT the same again"),
        "{table}"
    );
    let answer = run(&["replay", &path, "--format", "json"]);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(answer["reproduced"], false);
}

#[test]
fn a_torn_tick_is_left_out_and_damage_is_refused() {
    let folder = folder("replay-damage");
    let bytes = recorded("pop-256", false);
    let torn = file(&folder, "torn.journal", &bytes[..bytes.len() - 5]);
    let output = run(&["replay", &torn, "--policy", "4k"]);
    assert!(succeeded(&output).starts_with("9 ticks"));
    assert!(stderr(&output).contains("is incomplete, and "));
    let mut damaged = bytes.clone();
    let first = damaged.iter().position(|byte| *byte == b'\n').unwrap();
    damaged[first + 1] = b'#';
    // A time that is later by a nanosecond: all else would be the same again.
    let mut later = bytes.clone();
    let at = later.iter().rposition(|byte| *byte == b'\n').unwrap();
    let at = at
        - later[..at]
            .iter()
            .rev()
            .position(|byte| *byte == b',')
            .unwrap()
        - 2;
    later[at] = if later[at] == b'9' {
        b'8'
    } else {
        later[at] + 1
    };
    for (name, bytes, words) in [
        ("damaged", &damaged[..], "damaged in line 2, from byte "),
        ("later", &later[..], "its checksum differs"),
        ("empty", b"", "no journal"),
        ("trace", b"BROADLEAF", "no journal"),
    ] {
        let path = file(&folder, name, bytes);
        let said = refused(&run(&["replay", &path]));
        assert!(said.contains(words), "{said}");
    }
    let path = written(&folder, "pop-256");
    for (arguments, words) in [
        (&["--policy", "linux"][..], "linux"),
        (&["--policy", "pup-64"], "pop-64"),
        (&["-o", &path, "--force"], "run.journal"),
        (&["--max-added", "much"], "much"),
    ] {
        let output = run(&[&["replay", &path], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    let missing = folder.join("missing");
    let said = refused(&run(&["replay", missing.to_str().unwrap()]));
    assert!(said.contains("No such file"), "{said}");
}
