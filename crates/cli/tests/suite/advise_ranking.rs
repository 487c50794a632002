//! Advice held against what happens: each range that is advised is asked for by the program itself,
//! alone, and what that spares is measured.

use crate::support::programs::{areas, program, range};
use crate::support::{file, folder, run, succeeded};
use serde_json::Value;

const REFERENCES: u64 = 120_000;
/// Nothing costs anything, so that whatever spares a walk is worth it.
const FREE: &str = "--costs=fault=0,zero-kib=0,copy-kib=0,promotion=0";

/// A fully associative TLB of pages of 4 KiB and 2 MiB.
const SMALL: &str = "name = \"small\"\nsummary = \"a test's\"\nexplanation = \"\"\nsource = \"a test\"\n\
    [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = 48\nways = 48\nreplacement = \"lru\"\nindex = { 4k = \"none\", 2m = \"none\" }\n\
    [walk-cycles]\n4k = 30\n2m = 30\n";

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeded(&run(arguments))).expect("the answer is JSON")
}

fn number(value: &Value, field: &str) -> u64 {
    value[field]
        .as_u64()
        .unwrap_or_else(|| panic!("no number {field} in {value}"))
}

/// An advised range, with its superpages: the walk cycles that the advice promises to spare, and
/// those that a replay spares.
#[derive(Clone, Copy, Debug)]
struct Measured {
    said: u64,
    spared: i64,
    superpages: u64,
}

/// Advice for a machine, and what each of its ranges spares if the program asks for superpages
/// there and nowhere else.
fn measured(name: &str, machine: &str) -> Vec<Measured> {
    let folder = folder(name);
    let areas = areas();
    let plain = file(&folder, "plain.bl", &program(&areas, REFERENCES, None));
    let advice = json(&[
        "advise",
        &plain,
        "--machine",
        machine,
        "--format=json",
        FREE,
    ]);
    let walk_cycles = |trace: &str| {
        let memory = ["--memory=unlimited", FREE, "--format=json"];
        let policy = "promote if advised";
        let first = ["compare", trace, "--policy", policy, "--machine", machine];
        let answer = json(&[&first[..], &memory].concat());
        number(&answer["results"][0], "walk_cycles")
    };
    let without = walk_cycles(&plain);
    assert_eq!(without, number(&advice["results"][0], "walk_cycles"));
    let ranges = advice["ranges"].as_array().expect("ranges");
    assert_eq!(ranges.len(), areas.len(), "{advice}");
    let told = ranges.iter().map(|told| {
        let start = number(told, "start");
        let advised = range(start, number(told, "end") - start);
        let trace = program(&areas, REFERENCES, Some(advised));
        let trace = file(&folder, "advised.bl", &trace);
        Measured {
            said: number(told, "walk_cycles_spared"),
            spared: without.cast_signed() - walk_cycles(&trace).cast_signed(),
            superpages: number(told, "superpages"),
        }
    });
    told.collect()
}

/// That where two ranges spare amounts that differ by more than a twentieth, the advice has them in
/// the same order.
fn assert_same_order(ranges: &[Measured]) {
    let mut told_apart = 0;
    for (better, one) in ranges.iter().enumerate() {
        for other in &ranges[better + 1..] {
            assert!(one.said >= other.said, "the best come first: {ranges:?}");
            let near = one.spared.max(other.spared) * 19 < one.spared.min(other.spared) * 20;
            if !near {
                told_apart += 1;
                assert!(one.spared > other.spared, "{one:?} {other:?} of {ranges:?}");
            }
        }
    }
    assert!(told_apart > 20, "{ranges:?}");
}

#[test]
fn on_a_fully_associative_tlb_a_superpage_spares_what_is_said_to_the_last_walk() {
    let folder = folder("ranking-machine");
    let machine = file(&folder, "small.toml", SMALL.as_bytes());
    let ranges = measured("ranking-small", &machine);
    assert_same_order(&ranges);
    for range in &ranges {
        assert_eq!(range.said.cast_signed(), range.spared, "{ranges:?}");
    }
    assert!(ranges.iter().any(|range| range.superpages > 1));
}

#[test]
fn on_skylake_the_order_is_the_same() {
    let ranges = measured("ranking-skylake", "skylake");
    assert_same_order(&ranges);
}
