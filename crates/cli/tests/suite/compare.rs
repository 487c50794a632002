//! `compare` from end to end: what comes back, in each shape.

mod output;

use crate::support;
use std::process::Stdio;

use crate::support::{
    broadleaf, file, folder, lackey, refused, run, run_unread, run_with, succeeded,
};
use serde_json::Value;

/// 40 MiB, four times the reach of the second-level TLB for 4 KiB pages and more.
const PAGES: u64 = 10_000;

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&succeeded(output)).expect("the answer is JSON")
}

#[test]
fn json_has_the_promised_shape_and_true_counts() {
    let folder = folder("json");
    let text = lackey(PAGES);
    let path = file(&folder, "x.lackey", text.as_bytes());
    let answer = json(&run(&[
        "compare",
        &path,
        "--policy",
        "pop-64,4k",
        "--machine",
        "skylake-va23",
        "--machine",
        "skylake",
        "--format",
        "json",
    ]));
    assert_eq!(answer["schema"], "broadleaf.compare/1");
    let trace = &answer["trace"];
    assert_eq!(trace["path"], path.as_str());
    let hash = format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex());
    assert_eq!(trace["hash"], hash);
    assert_eq!(trace["accesses"], 2 * PAGES);
    assert_eq!(trace["instructions"], 2 * PAGES);
    assert_eq!(trace["pages"], PAGES);
    assert_eq!(trace["events"], false);
    let loads = trace["loads"].as_u64().unwrap();
    assert_eq!(loads + trace["stores"].as_u64().unwrap(), 2 * PAGES);

    // Policies in the order asked, machines inside.
    let results = answer["results"].as_array().unwrap();
    let order: Vec<(&str, &str)> = results
        .iter()
        .map(|result| {
            (
                result["policy"].as_str().unwrap(),
                result["machine"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        order,
        [
            ("pop-64", "skylake-va23"),
            ("pop-64", "skylake"),
            ("4k", "skylake-va23"),
            ("4k", "skylake")
        ]
    );
    for result in results {
        let count = |name: &str| result[name].as_u64().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(count("walks_4k") + count("walks_2m"), count("l2_misses"));
        assert_eq!(
            count("walk_cycles"),
            35 * count("walks_4k") + 21 * count("walks_2m")
        );
        assert_eq!(count("touched_pages"), PAGES);
        assert_eq!(count("regions"), PAGES.div_ceil(512));
    }
    let (pop, base) = (&results[1], &results[3]);
    // Every page is met once before any is met again, and there are more than the TLB holds.
    assert_eq!(base["l2_misses"], 2 * PAGES);
    assert_eq!(base["page_faults"], PAGES);
    assert_eq!(base["faults_saved"], 0);
    assert_eq!(base["resident_pages"], PAGES);
    assert_eq!(pop["promotions"], PAGES.div_ceil(512));
    assert_eq!(
        pop["faults_saved"].as_u64().unwrap() + pop["page_faults"].as_u64().unwrap(),
        PAGES
    );
    assert_eq!(pop["resident_pages"], PAGES.div_ceil(512) * 512);

    let advice = answer["advice"].as_array().unwrap();
    let chosen: Vec<(&str, &str)> = advice
        .iter()
        .map(|advice| {
            let text = |field: &str| advice[field].as_str().unwrap();
            assert!(text("sentence").starts_with("Choose pop-64: "), "{advice}");
            (text("machine"), text("policy"))
        })
        .collect();
    assert_eq!(chosen, [("skylake-va23", "pop-64"), ("skylake", "pop-64")]);
    assert_eq!(answer["damage"], Value::Null);

    let provenance = &answer["provenance"];
    assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"));
    for field in ["commit", "config_hash", "host"] {
        assert!(
            !provenance[field].as_str().unwrap().is_empty(),
            "{field} is empty"
        );
    }
}

#[test]
fn the_configuration_s_hash_tells_configurations_apart() {
    let folder = folder("config-hash");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    let hash = |arguments: &[&str]| {
        let mut all = vec!["compare", &path, "--format", "json"];
        all.extend(arguments);
        json(&run(&all))["provenance"]["config_hash"].clone()
    };
    let one = hash(&["--policy", "4k"]);
    assert_eq!(one, hash(&["--policy", "4k"]));
    assert_ne!(one, hash(&["--policy", "greedy"]));
    assert_ne!(one, hash(&["--policy", "4k", "--machine", "skylake-va23"]));
}

#[test]
fn standard_input_gives_the_same_as_the_file() {
    let folder = folder("stdin");
    let text = lackey(2000);
    let path = file(&folder, "x.lackey", text.as_bytes());
    // Foresight reads the trace twice, the others once.
    for policy in ["greedy", "foresight"] {
        let arguments = |trace| ["compare", trace, "--policy", policy, "--format", "json"];
        let from_file = json(&run(&arguments(&path)));
        let from_pipe = json(&run_with(&arguments("-"), text.as_bytes()));
        assert_eq!(from_file["results"], from_pipe["results"], "{policy}");
        assert_eq!(from_file["trace"]["hash"], from_pipe["trace"]["hash"]);
    }
}

#[test]
fn all_policies_are_compared_by_default() {
    let folder = folder("default-policies");
    let path = file(&folder, "x.lackey", lackey(600).as_bytes());
    let answer = json(&run(&["compare", &path, "--format", "json"]));
    let compared: Vec<&str> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["policy"].as_str().unwrap())
        .collect();
    let listed = json(&run(&["list", "policies", "--format", "json"]));
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["by_default"] == true)
        .flat_map(|entry| entry["examples"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(listed.len() > 18);
    // Linux with the settings of this machine comes last.
    let (usual, others) = compared.split_at(listed.len());
    assert_eq!(usual, listed);
    assert!(
        others.iter().all(|policy| policy.starts_with("linux")) && others.len() < 2,
        "{others:?}"
    );
}

#[test]
fn commas_inside_brackets_separate_no_policies() {
    let folder = folder("policies-in-brackets");
    let path = file(&folder, "x.lackey", lackey(600).as_bytes());
    let names = "4k,advice(file=8, anonymous=32),pop-64";
    let answer = run(&["compare", &path, "--policy", names, "--format", "json"]);
    let answer = json(&answer);
    let compared = answer["results"].as_array().unwrap().iter();
    let compared: Vec<&str> = compared
        .map(|result| result["policy"].as_str().unwrap())
        .collect();
    assert_eq!(compared, ["4k", "advice(anonymous=32,file=8)", "pop-64"]);
    // A comma is no column of CSV either.
    let csv = run(&["compare", &path, "--policy", names, "--format", "csv"]);
    assert!(succeeded(&csv).contains("\"advice(anonymous=32,file=8)\","));
}

#[test]
fn damage_is_passed_over_on_demand_and_said() {
    let folder = folder("keep-going");
    let text = format!("{}garbage\n L 1000,8\n", lackey(100));
    let path = file(&folder, "x.lackey", text.as_bytes());
    let answer = json(&run(&[
        "compare",
        &path,
        "--policy",
        "4k",
        "--policy",
        "foresight",
        "--format",
        "json",
        "--keep-going",
    ]));
    assert_eq!(answer["trace"]["accesses"], 200);
    let notes = answer["notes"].to_string();
    let damage = answer["damage"].as_str().unwrap();
    assert!(damage.contains("line 404"), "{damage}");
    assert!(
        notes.contains("line 404") && notes.contains("garbage"),
        "{notes}"
    );
}

/// One level, each page size by itself: what a curve's geometries are.
const SINGLE: &str = r#"
name = "single"
summary = "one level"
explanation = "One level, each page size by itself."
source = "this test"
[[tlb]]
name = "dtlb-4k"
level = 1
entries = 64
ways = 4
replacement = "lru"
index = { 4k = "va[15:12]" }
[[tlb]]
name = "dtlb-2m"
level = 1
entries = 8
ways = 2
replacement = "lru"
index = { 2m = "va[22:21]" }
[walk-cycles]
4k = 35
2m = 21
"#;

#[test]
fn a_curve_goes_through_what_machines_count() {
    let folder = folder("curve");
    let path = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let machine = file(&folder, "single.toml", SINGLE.as_bytes());
    // 4k has base pages alone, and greedy makes superpages before a base page is ever looked up.
    let policies = ["--policy", "4k,greedy", "--machine", &machine];
    let mut arguments = vec!["compare", &path, "--curve", "--format", "json"];
    arguments.extend(policies);
    let answer = json(&run(&arguments));
    for (result, page_size, geometry, walks) in [
        (&answer["results"][0], 4096, (16, 4), "walks_4k"),
        (&answer["results"][1], 2 << 20, (4, 2), "walks_2m"),
    ] {
        let curve = result["curve"].as_array().unwrap();
        assert_eq!(curve.len(), 2 * (13 * 16 + 8));
        let (sets, ways) = geometry;
        let point = curve
            .iter()
            .find(|point| {
                (&point["page_size"], &point["sets"], &point["ways"])
                    == (
                        &Value::from(page_size),
                        &Value::from(sets),
                        &Value::from(ways),
                    )
            })
            .unwrap();
        assert_ne!(point["misses"], 0);
        assert_eq!(point["misses"], result[walks], "{walks}");
        // The other size has no page.
        let others = curve.iter().filter(|point| point["page_size"] != page_size);
        assert!(others.into_iter().all(|point| point["misses"] == 0));
    }
    let mut arguments = vec!["compare", &path];
    arguments.extend(policies);
    let without = succeeded(&run(&arguments));
    arguments.push("--curve");
    let with = succeeded(&run(&arguments));
    assert!(with.starts_with(&without), "{with}");
    for part in [
        "4k pages: misses against entries",
        "Without 2m pages: 4k\n",
        "  a  greedy\n",
    ] {
        assert!(with[without.len()..].contains(part), "{part} in\n{with}");
    }
}

/// A script finds the result under the name that it asked for, however the policy spells its own
/// name.
#[test]
fn a_result_has_the_name_as_asked_beside_the_canonical_one() {
    let folder = folder("asked");
    let path = file(&folder, "x.lackey", lackey(600).as_bytes());
    let asked = ["compare", &path, "--policy", "life-1000,pop-64", "--format"];
    let answer = json(&run(&[&asked[..], &["json"]].concat()));
    for (at, names) in [["life-1000", "life-1e3"], ["pop-64", "pop-64"]]
        .iter()
        .enumerate()
    {
        let result = &answer["results"][at];
        assert_eq!([&result["asked"], &result["policy"]], *names);
    }
    let rows = succeeded(&run(&[&asked[..], &["csv"]].concat()));
    let row = rows.lines().nth(1).expect("there is a result");
    assert!(row.contains(",life-1e3,life-1000,skylake,"), "{rows}");
}
