//! Every machine of the catalogue can be replayed on, whatever its page sizes.

use std::path::Path;

use crate::support::{file, folder, lackey, run, succeeded};
use serde_json::Value;

const POLICIES: &str = "4k,greedy,navarro,freebsd14,two-stage,linux";

fn golden(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let path = folder.join(name);
    path.to_str().expect("the path is UTF-8").to_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&succeeded(&output)).expect("the answer is JSON")
}

/// The machines that replay traces of pages: those without caches.
fn machines() -> Vec<String> {
    let listed = json(&["list", "machines"]);
    let names = listed.as_array().expect("a list").iter();
    names
        .map(|machine| machine["name"].as_str().expect("a name").to_owned())
        .filter(|name| !text_of(name).contains("[[cache]]"))
        .collect()
}

/// The description of a machine.
fn text_of(name: &str) -> String {
    let file = format!("../../machines/{name}.toml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(path).expect("a machine has a file")
}

/// Where a machine needs the frames of memory, every policy has costs of faults, Linux's own too.
#[test]
fn all_default_policies_have_costs_on_a_machine_that_needs_frames() {
    let trace = golden("blocks.bl");
    let answer = json(&["compare", &trace, "--machine", "chen2014-scattered"]);
    let results = answer["results"].as_array().expect("results");
    assert!(results.len() > 18, "{}", results.len());
    let is_linux = |result: &&Value| {
        let policy = result["policy"].as_str().expect("a name");
        policy.starts_with("linux")
    };
    assert_eq!(results.iter().filter(is_linux).count(), 1);
    for result in results {
        let cycles = result["fault_cycles"].as_u64();
        assert!(cycles.is_some_and(|cycles| cycles > 0), "{result}");
    }
}

/// Every power of two from 4 KiB to 8 MiB.
const ROMER: &[&str] = &[
    "4096", "8192", "16384", "32768", "65536", "131072", "262144", "524288", "1048576", "2097152",
    "4194304", "8388608",
];

/// The page sizes of a machine's file in bytes: the keys of its costs.
fn sizes_in_file(name: &str) -> Vec<String> {
    let text = text_of(name);
    let (_, costs) = text.split_once("[walk-cycles]").expect("costs");
    let keys = costs.lines().filter_map(|line| line.split_once(" = "));
    let bytes = keys.map(|(size, _)| {
        let (number, unit) = size.split_at(size.len() - 1);
        let shift = ["k", "m", "g"].iter().position(|known| *known == unit);
        let shift = 10 * (1 + shift.expect("a unit"));
        (number.parse::<u64>().expect("a number") << shift).to_string()
    });
    bytes.collect()
}

#[test]
fn each_has_a_memory_of_its_own_page_sizes() {
    let small = lackey(700);
    let small = file(&folder("machines-sizes"), "x.lackey", small.as_bytes());
    sizes_are_those_of_files(&[
        (&golden("sort.bl"), "unlimited"),
        (&golden("children.bl"), "unlimited"),
        (&small, "150%"),
    ]);
}

/// The recordings of a whole program in a memory that is limited.
#[test]
#[ignore = "takes 20 seconds: tests/hard/limited-memory runs it"]
fn each_has_a_limited_memory_of_its_own_page_sizes() {
    sizes_are_those_of_files(&[(&golden("sort.bl"), "150%"), (&golden("blocks.bl"), "150%")]);
}

/// Asserts that pages of each machine have the sizes of its file. A case is a trace and a memory.
fn sizes_are_those_of_files(cases: &[(&str, &str)]) {
    let machines = machines();
    for needed in ["alpha21264", "neoverse-n1", "neoverse-n1-16k", "skylake-1g"] {
        assert!(machines.iter().any(|name| name == needed), "{machines:?}");
    }
    let named = machines.iter().flat_map(|name| ["--machine", name]);
    let named: Vec<&str> = named.collect();
    for (trace, memory) in cases {
        let asked = ["compare", trace, "--policy", POLICIES, "--memory", memory];
        let answer = json(&[&asked[..], &named].concat());
        let results = answer["results"].as_array().expect("results");
        assert_eq!(results.len(), 6 * machines.len());
        for result in results {
            let machine = result["machine"].as_str().expect("a name");
            let sizes = result["page_sizes"].as_object().expect("sizes");
            let count = |name: &str| result[name].as_u64().expect("a count");
            let walks: u64 = (result.as_object().expect("a result").iter())
                .filter(|(name, _)| name.starts_with("walks_"))
                .filter_map(|(_, walks)| walks.as_u64())
                .sum();
            assert_eq!(walks, count("l2_misses"), "{result}");
            assert_eq!(count("accesses"), answer["trace"]["accesses"], "{result}");
            let in_file = sizes_in_file(machine);
            let in_file: Vec<&str> = in_file.iter().map(String::as_str).collect();
            let smallest = in_file.iter().map(|size| size.parse().expect("bytes"));
            let smallest = smallest.min().expect("a size");
            let (base, navarro): (u64, &[&str]) = match machine {
                "romer1995" => (4096, ROMER),
                "alpha21264" => (8192, &["8192", "65536", "524288", "4194304"]),
                "neoverse-n1" => (4096, &["4096", "16384", "65536", "2097152"]),
                "neoverse-n1-16k" => (16384, &["16384", "2097152", "33554432"]),
                "skylake-1g" => (4096, &["4096", "2097152", "1073741824"]),
                "skylake" | "skylake-va23" | "skylake-unified-64" | "skylake-unified-96" => {
                    (4096, &["4096", "2097152"])
                }
                _ => (smallest, &in_file),
            };
            assert_eq!(count("base_page_bytes"), base, "{machine}");
            if result["policy"] == "navarro" {
                let mut wanted = navarro.to_vec();
                let mut found: Vec<&str> = sizes.keys().map(String::as_str).collect();
                wanted.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, wanted, "{machine}");
            }
        }
    }
}

#[test]
fn sizes_between_base_pages_and_2_mib_are_made() {
    let trace = golden("blocks.bl");
    let asked = ["compare", &trace, "--memory", "unlimited"];
    let on = ["--policy", "navarro,two-stage", "--machine", "neoverse-n1"];
    let answer = json(&[&asked[..], &on].concat());
    for (at, sizes) in [(0, &["16384", "65536"][..]), (1, &["65536"])] {
        let result = &answer["results"][at];
        let made = |size: &&str| result["page_sizes"][*size].as_u64().is_some_and(|n| n > 0);
        assert!(sizes.iter().any(made), "{}", result["page_sizes"]);
    }
}

#[test]
fn a_size_that_nobody_makes_changes_no_count() {
    let trace = golden("blocks.bl");
    let on = |machine: &str, memory: &[&str]| {
        let asked = ["compare", &trace, "--machine", machine];
        let mut answer = json(&[&asked[..], memory].concat());
        let results = answer["results"].as_array_mut().expect("results");
        for result in &mut *results {
            result["machine"] = Value::Null;
        }
        results.clone()
    };
    for memory in [&[][..], &["--memory", "75%"]] {
        assert_eq!(on("skylake", memory), on("skylake-1g", memory));
    }
}

#[test]
fn native_names_its_choice_or_the_reasons_against_one() {
    let sort = golden("sort.bl");
    let output = run(&["compare", &sort, "--policy", "4k", "--machine", "native"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--machine native: "), "{said}");
    // The processor of this computer decides.
    if output.status.success() {
        let printed = String::from_utf8_lossy(&output.stdout);
        let named = machines()
            .into_iter()
            .find(|name| printed.contains(name.as_str()));
        let named = named.unwrap_or_else(|| panic!("{printed}"));
        assert!(said.contains(&named), "{named}: {said}");
    } else {
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("no machine fits"), "{said}");
        assert!(said.contains("--machine FILE.toml"), "{said}");
    }
}

#[test]
fn machines_stand_apart_by_commas() {
    let sort = golden("sort.bl");
    let compare = |machines: &[&str]| {
        json(&[&["compare", sort.as_str(), "--policy", "4k"], machines].concat())
    };
    let one = compare(&["--machine", "skylake, skylake-1g"]);
    let two = compare(&["--machine", "skylake", "--machine", "skylake-1g"]);
    assert_eq!(one["results"], two["results"]);
    assert_eq!(one["results"].as_array().unwrap().len(), 2);
}

#[test]
fn a_machine_beside_another_changes_no_recommendation() {
    let trace = golden("blocks.bl");
    let answer = |machines: &str| {
        let policies = ["compare", &trace, "--policy", "4k,greedy"];
        let machines = machines.split(' ').flat_map(|name| ["--machine", name]);
        json(&[&policies[..], &machines.collect::<Vec<_>>()].concat())
    };
    let alone = answer("skylake");
    let both = answer("skylake neoverse-n1-16k");
    let large = answer("neoverse-n1-16k");
    let advice = |answer: &Value, number: usize| answer["advice"][number].clone();
    assert_eq!(advice(&alone, 0)["machine"], "skylake");
    assert_eq!(advice(&alone, 0), advice(&both, 0));
    assert_eq!(advice(&large, 0), advice(&both, 1));
    // The name 4k is that of the smallest pages, which are larger on one of the machines.
    let note = "on neoverse-n1-16k, 4k means base pages of 16 KiB";
    let is_noted = |answer: &Value| answer["notes"].to_string().contains(note);
    assert!(is_noted(&both) && is_noted(&large) && !is_noted(&alone));
}

#[test]
fn what_only_foresight_saves_is_named() {
    let trace = golden("blocks.bl");
    let sentence = |policies: &str| {
        // This machine has no estimate of the run time: walk cycles alone decide.
        let machine = ["--machine", "romer1995"];
        let asked = ["compare", &trace, "--policy", policies];
        let answer = json(&[&asked[..], &machine].concat());
        let sentence = answer["advice"][0]["sentence"].as_str();
        sentence.expect("a sentence").to_owned()
    };
    let foresight = sentence("foresight,4k");
    assert!(
        foresight.contains("no policy that can be run")
            && foresight.contains("foresight would need"),
        "{foresight}"
    );
    let alone = sentence("4k");
    assert!(
        alone.starts_with("No policy that makes superpages was compared"),
        "{alone}"
    );
}

/// The reader of a text leaves fetches out, whatever the text has.
#[test]
fn a_text_is_not_said_to_have_fetches() {
    let folder = folder("machines-text");
    let path = file(&folder, "x.lackey", lackey(2000).as_bytes());
    let answer = json(&[
        "compare",
        &path,
        "--policy",
        "4k",
        "--machine",
        "skylake-instructions",
    ]);
    let notes = answer["notes"].to_string();
    assert!(!notes.contains("are translated"), "{notes}");
    assert!(notes.contains("make a recording"), "{notes}");
}

#[test]
fn the_explanation_of_a_machine_names_organisations() {
    let text = succeeded(&run(&["explain", "neoverse-n1-aggregating"]));
    assert!(text.contains("partial-subblock("), "{text}");
    assert!(text.contains("coalesced("), "{text}");
}
