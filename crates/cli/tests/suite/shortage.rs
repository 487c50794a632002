//! `compare --memory` where memory runs short: what is warned of, noted and advised, and what would
//! do.

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::{file, folder, refused, run, stderr, succeeded};
use serde_json::Value;

fn golden(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let path = path.join(name);
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// The warnings on standard error about used-up memory: the policy and machine, and the rest of the
/// line.
fn used_up(output: &std::process::Output) -> Vec<(String, String)> {
    let text = stderr(output);
    let lines = text.lines().filter_map(|line| {
        let told = line.strip_prefix("broadleaf: ")?;
        let (who, what) = told.split_once(": memory was used up after ")?;
        Some((who.to_owned(), what.to_owned()))
    });
    lines.collect()
}

#[test]
fn memory_that_is_used_up_is_warned_of_with_what_would_do() {
    let trace = golden("blocks.bl");
    let policies = "4k,greedy,two-stage,navarro";
    let with = |memory: &[&str]| {
        let first = ["compare", &trace, "--policy", policies, "--format", "csv"];
        run(&[&first, memory].concat())
    };
    for more in [
        &["--files=memory"][..],
        &["--occupied=30%", "--movable=0%"],
        &["--machine=neoverse-n1", "--machine=alpha21264"],
    ] {
        let swap = ["--swap=0%"];
        let output = with(&[&["--memory=60%"], &swap[..], more].concat());
        let warned = used_up(&output);
        let machines = if more.len() == 2 && more[0].starts_with("--machine") {
            2
        } else {
            1
        };
        assert_eq!(warned.len(), 4 * machines, "{}", stderr(&output));
        // The work was done: that a policy needs more is what came of it.
        succeeded(&output);
        for (who, what) in warned {
            let (policy, machine) = who.split_once(" on ").expect("who it was");
            assert!(policies.split(',').any(|name| name == policy), "{who}");
            let (_, advised) = what.split_once(" at its peak: --memory ").expect("advice");
            let (size, rest) = advised.split_once(" would do").expect("advice");
            assert_eq!(rest, ", or more swap");
            let enough = [
                "compare",
                &trace,
                "--policy",
                policy,
                "--memory",
                size,
                "--swap=0%",
            ];
            let machine = ["--machine", machine];
            let more = more
                .iter()
                .filter(|option| !option.starts_with("--machine"));
            let more: Vec<&str> = more.copied().collect();
            let output = run(&[&enough[..], &machine, &more].concat());
            let ended = used_up(&output);
            assert!(
                !ended.iter().any(|(again, _)| *again == who),
                "{who}: {what}"
            );
        }
    }
    // What others would need that ran before is not known.
    let more = "; give it more memory, with --memory, or more swap";
    let after = used_up(&with(&["--memory=60%", "--swap=0%", "--after", &trace]));
    assert!(
        !after.is_empty() && after.iter().all(|(_, what)| what.ends_with(more)),
        "{after:?}"
    );
    // Standard input cannot be read again.
    let bytes = std::fs::read(&trace).expect("a recording");
    let arguments = ["compare", "-", "--policy=4k", "--memory=8M", "--swap=0%"];
    let output = support::run_with(&arguments, &bytes);
    let warned = used_up(&output);
    assert!(warned[0].1.ends_with(more), "{warned:?}");
    // Also if a file has its name.
    let folder = folder("shortage-input");
    file(&folder, "-", &bytes);
    let mut command = support::broadleaf(&arguments);
    let output = support::fed(command.current_dir(&folder), &bytes);
    succeeded(&output);
    assert_eq!(used_up(&output), warned);
    assert!(used_up(&with(&["--memory=60%"])).is_empty());
}

#[test]
fn the_warning_of_too_little_memory_depends_on_no_other_policy() {
    let trace = golden("sort.bl");
    let warning = |policies| {
        let output = run(&["compare", &trace, "--memory=90%", "--policy", policies]);
        let table = succeeded(&output);
        let mut lines = table.lines();
        let said = lines.find(|line| line.starts_with("Memory is too small"));
        let (warning, rest) = said
            .and_then(|said| said.split_once(" too little. "))
            .expect(&table);
        (warning.to_owned(), rest.to_owned())
    };
    let (alone, stay) = warning("4k");
    assert!(stay.ends_with("Add policies with --policy."), "{stay}");
    let (beside, choose) = warning("4k,linux");
    assert!(choose.contains("Choose linux: "), "{choose}");
    assert_eq!(alone, beside);
}

#[test]
fn page_tables_leave_navarro_room_in_a_small_memory() {
    let trace = golden("children.bl");
    let policies = "--policy=4k,navarro";
    let arguments = ["compare", &trace, "--memory=75%", "--format=json", policies];
    let answer: Value = serde_json::from_str(&succeeded(&run(&arguments))).expect("JSON");
    let of = |row: usize, name: &str| answer["results"][row][name].as_u64().expect("a count");
    for figure in ["page_faults", "swapped_in_pages", "file_pages_read"] {
        let (of_4k, of_navarro) = (of(0, figure), of(1, figure));
        assert!(
            of_navarro <= 2 * of_4k + 16,
            "{figure}: {of_4k}, {of_navarro}"
        );
    }
}

#[test]
fn where_the_disk_is_all_that_matters_page_sizes_are_not_blamed() {
    let trace = golden("sort.bl");
    let advised = |memory: &[&str]| {
        let first = [
            "compare",
            &trace,
            "--policy",
            "4k,greedy",
            "--format",
            "json",
        ];
        let output = succeeded(&run(&[&first, memory].concat()));
        let answer: Value = serde_json::from_str(&output).expect("JSON");
        let sentence = answer["advice"][0]["sentence"]
            .as_str()
            .expect("a sentence");
        (
            sentence.to_owned(),
            answer["memory"]["footprint_bytes"].as_u64(),
        )
    };
    let (half, footprint) = advised(&["--memory=50%"]);
    assert!(
        half.starts_with("Memory is too small for this program: 4k would hold "),
        "{half}"
    );
    assert!(half.ends_with("Stay with 4k."), "{half}");
    let size = footprint.expect("it was looked at") / 2;
    // The same amount, named by its size.
    let (sized, again) = advised(&["--memory", &format!("{size}")]);
    assert_eq!((&sized, again), (&half, footprint));
    // There is enough, and all that is waited for are first reads.
    let (enough, looked) = advised(&["--memory=1G"]);
    assert!(
        enough.starts_with("The disk outweighs page sizes here: "),
        "{enough}"
    );
    assert_eq!(looked, footprint);
    let (unlimited, looked) = advised(&["--memory=unlimited"]);
    assert_eq!((&unlimited, looked), (&enough, None));
    let (none, looked) = advised(&["--memory=1G", "--files=memory"]);
    assert!(
        !none.contains("disk") && none.starts_with("The compared policies made no superpages"),
        "{none}"
    );
    assert_eq!(looked, None);
}

#[test]
fn sizes_that_a_machine_lacks_are_noted() {
    let noted = |policies: &str, machine: &str| {
        let trace = golden("blocks.bl");
        let asked = ["compare", &trace, "--memory=unlimited", "--format=json"];
        let on = ["--policy", policies, "--machine", machine];
        let output = succeeded(&run(&[&asked[..], &on].concat()));
        let answer: Value = serde_json::from_str(&output).expect("JSON");
        let notes = answer["notes"].as_array().expect("notes").clone();
        let notes = notes.iter().filter_map(Value::as_str);
        let lacking = notes.filter(|note| note.contains("has no pages"));
        lacking.map(str::to_owned).collect::<Vec<_>>()
    };
    let policies = "4k,greedy,navarro,two-stage,freebsd14";
    assert_eq!(
        noted(policies, "skylake"),
        ["skylake has no pages of 64k: two-stage cannot map any there"]
    );
    assert_eq!(
        noted(policies, "alpha21264"),
        ["alpha21264 has no pages of 2m: two-stage, freebsd14 cannot map any there"]
    );
    assert_eq!(noted(policies, "neoverse-n1"), [""; 0]);
    assert_eq!(noted("4k,linux,navarro", "skylake-1g"), [""; 0]);
}

#[test]
fn a_policy_of_sizes_that_no_machine_has_is_refused() {
    let trace = golden("blocks.bl");
    let compare = |policies: &str, machines: &[&str]| {
        let asked = ["compare", &trace, "--memory=unlimited", "--format=json"];
        let on = machines.iter().flat_map(|machine| ["--machine", machine]);
        let all = asked.into_iter().chain(["--policy", policies]).chain(on);
        run(&all.collect::<Vec<_>>())
    };
    for policy in ["fixed-16k", "offline(sizes=16k)"] {
        let line = refused(&compare(&["4k,", policy].concat(), &["skylake"]));
        let says = "makes pages of 16k, which the machine lacks: skylake has 4k, 2m";
        assert!(line.contains(policy) && line.contains(says), "{line}");
    }
    // A kernel that allocates such extents does so whatever the TLB holds.
    let answer = succeeded(&compare("4k,linux(sizes=16k)", &["skylake"]));
    let says =
        "skylake has no translations for 16k: linux(sizes=16k) allocates such extents all the same";
    assert!(answer.contains(says), "{answer}");
    // A policy without given sizes is compared beside the rest.
    let output = compare("4k,freebsd14", &["alpha21264"]);
    succeeded(&output);
    assert_eq!(
        stderr(&output),
        "broadleaf: freebsd14 makes pages of 2m, which the machine lacks: alpha21264 has 8k, 64k, 512k, 4m; it makes no superpages there\n"
    );
    // One machine that has them is enough, and so is one size of several.
    succeeded(&compare("fixed-16k", &["skylake", "romer1995"]));
    succeeded(&compare("fixed(size=16k+2m)", &["skylake"]));
    succeeded(&compare("fixed-4k,fixed(size=none)", &["skylake"]));
}

/// A machine of 4 KiB pages alone does for policies that make no superpages; the table leaves out
/// the reference that does.
#[test]
fn base_pages_alone_are_a_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = folder.path().join("base.toml");
    let text = "name = 'base'\nsummary = 's'\nexplanation = 'e'\nsource = 'n'\n[[tlb]]\nname = 'l1'\nlevel = 1\nentries = 4\n\
                ways = 2\nreplacement = 'lru'\nindex = { 4k = 'va[12]' }\n[walk-cycles]\n4k = 30\n";
    std::fs::write(&machine, text).expect("a machine");
    let machine = machine.to_str().expect("UTF-8");
    let trace = golden("sort.bl");
    let compare = |more: &[&str]| {
        let asked = ["compare", &trace, "--machine", machine];
        run(&[&asked[..], more].concat())
    };
    let table = succeeded(&compare(&["--policy", "4k"]));
    assert!(
        table.contains("machine base") && !table.contains("freebsd"),
        "{table}"
    );
    let line = refused(&compare(&[]));
    let says = "policy freebsd makes 2m pages, and the machine base has none";
    assert!(line.contains(says), "{line}");
    let answer = succeeded(&compare(&[
        "--policy",
        "4k,freebsd14",
        "--memory",
        "unlimited",
    ]));
    assert!(
        answer.contains("base has no pages of 2m: freebsd14 cannot map any there"),
        "{answer}"
    );
}

#[test]
fn a_policy_that_is_named_again_is_said_to_be() {
    let trace = golden("blocks.bl");
    let output = run(&[
        "compare",
        &trace,
        "--policy=pop-64,4k",
        "--policy=pop(64),4k",
    ]);
    succeeded(&output);
    assert_eq!(
        stderr(&output),
        "broadleaf: pop(64) is pop-64, which is named more than once, and compared once\n\
         broadleaf: 4k is named more than once, and compared once\n"
    );
}

/// A recording of a process that stores to 64 pages, and of its child, which loads them all.
fn forked() -> Vec<u8> {
    use broadleaf_trace::{Encoder, Event, Grain, Header, Options, Visit};
    use broadleaf_units::SpaceId;
    let mut header = Header::new(Grain::Page);
    header.options = Options {
        events: true,
        children: true,
        system: false,
        ..Options::default()
    };
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    let visits = |stores: u32| -> Vec<Visit> {
        let visit = |page: u64| Visit {
            unit: 0x1000 + page,
            loads: 1 - stores,
            stores,
            loads_before_store: 1 - stores,
            ..Visit::default()
        };
        (0..64_u64).map(visit).collect()
    };
    encoder.visits(&visits(1)).expect("visits");
    let events = [
        Event::Fork { child: 2 },
        Event::SpaceSwitch(SpaceId(1)),
        Event::SpaceStart {
            pid: 2,
            parent: 1,
            command: Vec::new(),
        },
    ];
    for event in &events {
        encoder.event(event).expect("an event");
    }
    encoder.visits(&visits(0)).expect("visits");
    encoder.finish().expect("a trace")
}

#[test]
fn a_peak_above_memory_is_explained() {
    let trace = file(&folder("forked"), "forked.bl", &forked());
    let noted = |memory: &str| {
        let asked = ["compare", &trace, "--policy=4k", "--memory", memory];
        let text = succeeded(&run(&asked));
        let mut notes = text.lines().filter_map(|line| line.strip_prefix("Note: "));
        let noted = notes.find(|note| note.contains("several processes map"));
        noted.map(str::to_owned)
    };
    // 64 frames, which two processes map.
    let note = noted("400K").expect("a note");
    assert!(
        note.ends_with(" more than memory, 512 KiB under 4k"),
        "{note}"
    );
    assert_eq!(noted("600K"), None);
}
