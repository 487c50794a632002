//! Comparisons of several traces and machines, and curves as tables and pictures.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{folder, refused, run, succeeded};

fn golden(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    path.join(name)
        .to_str()
        .expect("the path is UTF-8")
        .to_owned()
}

#[test]
fn several_traces_give_means_of_ratios() {
    let (sort, blocks) = (golden("sort.bl"), golden("blocks.bl"));
    let ask = |format: &str| {
        let arguments = [
            "compare",
            &sort,
            &blocks,
            "--policy",
            "4k,greedy",
            "--format",
            format,
        ];
        succeeded(&run(&arguments))
    };
    let answer: Value = serde_json::from_str(&ask("json")).expect("JSON");
    assert_eq!(answer["schema"], "broadleaf.comparisons/1");
    let compared = answer["comparisons"].as_array().expect("comparisons");
    let cycles = |of: &Value, policy: usize| {
        of["results"][policy]["walk_cycles"]
            .as_f64()
            .expect("cycles")
    };
    let ratios: Vec<f64> = (compared.iter())
        .map(|one| cycles(one, 1) / cycles(one, 0))
        .collect();
    assert_eq!(ratios.len(), 2);
    let greedy = &answer["means"][1];
    let mean = greedy["walk_cycles_mean"].as_f64().expect("a mean");
    assert!(
        (mean - (ratios[0] + ratios[1]) / 2.0).abs() < 1e-9,
        "{greedy}"
    );
    let geometric = greedy["walk_cycles_geometric_mean"]
        .as_f64()
        .expect("a mean");
    assert!(
        (geometric - (ratios[0] * ratios[1]).sqrt()).abs() < 1e-9,
        "{greedy}"
    );
    // Each comparison is that of its trace alone.
    let alone = succeeded(&run(&[
        "compare",
        &sort,
        "--policy",
        "4k,greedy",
        "--format",
        "json",
    ]));
    let alone: Value = serde_json::from_str(&alone).expect("JSON");
    assert_eq!(compared[0], alone);

    let csv = ask("csv");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 5);
    assert!(rows[0].starts_with("trace,trace_hash,version,policy,asked,machine,"));
    assert!(
        rows[1].starts_with(&format!("{sort},blake3:")),
        "{}",
        rows[1]
    );
    assert!(
        rows[4].starts_with(&format!("{blocks},blake3:")),
        "{}",
        rows[4]
    );
    let table = ask("table");
    assert!(table.contains("Means of 2 traces."), "{table}");
    let line = refused(&run(&["compare", "-", "-"]));
    assert!(line.contains("standard input holds one trace"), "{line}");
}

#[test]
fn four_machines_are_one_matrix() {
    let sort = golden("sort.bl");
    let names = "skylake,zen4,neoverse-n1,skylake-unified-96";
    let table = succeeded(&run(&[
        "compare",
        &sort,
        "--policy",
        "4k,greedy",
        "--machine",
        names,
    ]));
    let heads: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("policy"))
        .collect();
    assert_eq!(heads.len(), 1, "{table}");
    assert!(
        names.split(',').all(|name| heads[0].contains(name)),
        "{table}"
    );
    assert!(!table.contains("L1 misses"), "{table}");
    let picture = succeeded(&run(&[
        "compare",
        &sort,
        "--policy",
        "4k,greedy",
        "--machine",
        names,
        "--format",
        "svg",
    ]));
    let shows = |name: &str| picture.contains(&format!("\n{name}\n"));
    assert!(picture.starts_with("<svg "), "{picture}");
    assert!(names.split(',').all(shows), "{picture}");
    // The ground, each cell, and the frame of the chosen one of each machine are rectangles.
    assert_eq!(picture.matches("<rect").count(), 1 + 2 * 4 + 4, "{picture}");
}

#[test]
fn curves_are_rows_and_a_picture() {
    let sort = golden("sort.bl");
    let ask = |format: &str| {
        run(&[
            "compare",
            &sort,
            "--policy",
            "4k,greedy",
            "--curve",
            "--format",
            format,
        ])
    };
    let json: Value = serde_json::from_str(&succeeded(&ask("json"))).expect("JSON");
    let points = |at: usize| {
        json["results"][at]["curve"]
            .as_array()
            .expect("a curve")
            .clone()
    };
    let csv = succeeded(&ask("csv"));
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + points(0).len() + points(1).len());
    let first = &points(0)[0];
    let of = |name: &str| {
        let at = rows[0].iter().position(|head| *head == name).expect(name);
        rows[1][at].parse::<u64>().expect("a number")
    };
    for name in ["page_size", "sets", "ways", "misses"] {
        assert_eq!(first[name].as_u64(), Some(of(name)), "{name}");
    }
    assert!(ask("parquet").stdout.starts_with(b"PAR1"));
    let svg = succeeded(&ask("svg"));
    assert!(
        svg.starts_with("<svg ") && svg.contains("<polyline"),
        "{svg}"
    );
    let folder = folder("several-svg");
    let file = folder.join("curve.svg");
    let file = file.to_str().expect("the path is UTF-8");
    succeeded(&run(&[
        "compare", &sort, "--policy", "4k", "--curve", "--format", "svg", "-o", file,
    ]));
    let both = run(&["compare", &sort, &golden("blocks.bl"), "--format", "svg"]);
    let line = refused(&both);
    assert!(line.contains("one trace at a time"), "{line}");
}

/// A page of several traces holds what JSON prints, with the references of each trace.
#[test]
fn several_traces_are_one_page() {
    let page = folder("several-page").join("both.html");
    let (sort, blocks) = (golden("sort.bl"), golden("blocks.bl"));
    let path = page.to_str().expect("the path is UTF-8");
    let asked = [
        "compare", &sort, &blocks, "--policy", "pop-64", "--html", path,
    ];
    let output = run(&[&asked[..], &["--format", "json"]].concat());
    let printed: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    let html = std::fs::read_to_string(&page).expect("the page");
    let (_, rest) = html
        .split_once("<script id=\"broadleaf-records\" type=\"application/json\">")
        .expect("the page has records");
    let (records, _) = rest.split_once("</script>").expect("the records end");
    let records: Vec<Value> = serde_json::from_str(records).expect("JSON");
    let schemas: Vec<&str> = records
        .iter()
        .filter_map(|record| record["schema"].as_str()?.split(['.', '/']).nth(1))
        .collect();
    let expected = [
        "comparisons",
        "references",
        "references",
        "metrics",
        "policies",
    ];
    assert_eq!(schemas, expected);
    let count = |value: &Value| value["comparisons"].as_array().map(Vec::len);
    assert_eq!((count(&records[0]), count(&printed)), (Some(2), Some(2)));
    assert_eq!(records[0]["means"], printed["means"]);
    for at in 0..2 {
        assert_eq!(
            records[0]["comparisons"][at]["results"],
            printed["comparisons"][at]["results"]
        );
        assert_eq!(records[1 + at]["results"][0]["policy"], "4k");
    }
}
