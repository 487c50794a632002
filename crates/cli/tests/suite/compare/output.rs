//! Where results go: files, pipes, terminals and links.

use super::*;
use broadleaf_policy::Refusal;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// A value of Parquet's as CSV has it.
fn plain(value: &Field) -> String {
    match value {
        Field::Str(text) => text.clone(),
        Field::ULong(count) => count.to_string(),
        Field::Long(difference) => difference.to_string(),
        Field::Double(ratio) => ratio.to_string(),
        Field::Null => String::new(),
        other => panic!("a column holds {other:?}"),
    }
}

#[test]
fn csv_and_parquet_hold_the_same_figures_as_json() {
    let folder = folder("csv");
    let path = file(&folder, "x.lackey", lackey(2000).as_bytes());
    let policies = ["--policy", "4k", "--policy", "pop-128"];
    let ask = |format: &str| {
        let mut arguments = vec!["compare", &path, "--format", format];
        arguments.extend(policies);
        run(&arguments)
    };
    let answer = json(&ask("json"));
    let text = succeeded(&ask("csv"));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    let fields = answer["results"][0].as_object().unwrap();
    let parts = ["refusals", "run_time"];
    for field in fields
        .keys()
        .filter(|field| !parts.contains(&field.as_str()))
    {
        assert!(rows[0].contains(&field.as_str()), "{field} has no column");
    }
    // Whatever the trace, the columns are the same.
    for refusal in Refusal::ALL {
        let name = format!("refusal_{}", refusal.name());
        assert!(rows[0].contains(&name.as_str()), "{name} has no column");
    }
    for (row, result) in rows[1..].iter().zip(answer["results"].as_array().unwrap()) {
        for (name, cell) in rows[0].iter().zip(row) {
            let value = match name.strip_prefix("refusal_") {
                Some(refusal) => result["refusals"]
                    .get(refusal)
                    .unwrap_or(&Value::from(0))
                    .clone(),
                None if *name == "trace" => answer["trace"]["path"].clone(),
                None if *name == "trace_hash" => answer["trace"]["hash"].clone(),
                None if *name == "samples" => "no".into(),
                None if *name == "version" => answer["provenance"]["version"].clone(),
                // No program was measured.
                None if name.ends_with("_seconds_saved") || name.ends_with("_seconds_paid") => {
                    Value::Null
                }
                None => match name.strip_prefix("run_time_") {
                    Some(part) => result["run_time"][part].clone(),
                    None => result[*name].clone(),
                },
            };
            let value = if value.is_null() { "".into() } else { value };
            let expected = match (&value, value.as_str()) {
                (_, Some(text)) => text.to_owned(),
                (Value::Number(number), _) if number.is_f64() => {
                    number.as_f64().unwrap().to_string()
                }
                _ => value.to_string(),
            };
            assert_eq!(*cell, expected, "{name}");
        }
    }
    let parquet = ask("parquet");
    assert!(parquet.status.success());
    let parquet = std::fs::File::open(file(&folder, "x.parquet", &parquet.stdout)).unwrap();
    let parquet = SerializedFileReader::new(parquet).unwrap();
    let read: Vec<Vec<(String, String)>> = parquet
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let row = row.unwrap();
            row.get_column_iter()
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect()
        })
        .collect();
    let written: Vec<Vec<(String, String)>> = rows[1..]
        .iter()
        .map(|row| {
            let cells = rows[0].iter().zip(row);
            cells
                .map(|(name, cell)| (name.to_string(), cell.to_string()))
                .collect()
        })
        .collect();
    assert_eq!(read, written);
}

#[test]
fn the_table_is_plain_on_a_pipe_and_coloured_on_demand() {
    let folder = folder("table");
    let path = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let plain = succeeded(&run(&["compare", &path]));
    assert!(!plain.contains('\x1b'), "{plain}");
    for part in [
        "Choose ",
        "Rule: ",
        "thp-always",
        "walk cycles",
        "added",
        "* best",
    ] {
        assert!(plain.contains(part), "{part} is missing in\n{plain}");
    }
    let coloured = succeeded(&run(&["--color", "always", "compare", &path]));
    assert!(coloured.contains("\x1b[32m"));
    let never = succeeded(&run(&["compare", &path, "--color=never"]));
    assert_eq!(never, plain);
    // The table has the requested policies alone. 4k and freebsd are replayed for its columns.
    let one = succeeded(&run(&["compare", &path, "--policy", "greedy"]));
    assert!(
        one.contains("vs freebsd") && !one.contains("\n  4k "),
        "{one}"
    );
}

#[test]
fn nothing_but_results_is_written_where_nobody_watches() {
    let folder = folder("quiet");
    let path = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let output = run(&["compare", &path, "--format", "csv"]);
    assert_eq!(support::stderr(&output), "");
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = folder("broken-pipe");
    let path = file(&folder, "x.lackey", lackey(100).as_bytes());
    for arguments in [
        &["compare", &path, "--format", "json"][..],
        &["list", "metrics"],
        &["--help"],
        &["completions", "bash"],
    ] {
        let output = run_unread(arguments);
        assert_eq!(support::stderr(&output), "", "{arguments:?}");
        assert!(output.status.success(), "{arguments:?}: {}", output.status);
    }
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    use std::os::unix::process::ExitStatusExt;
    let folder = folder("interrupt");
    let result = folder.join("result.json");
    let mut child = broadleaf(&[
        "compare",
        "-",
        "--format",
        "json",
        "-o",
        result.to_str().unwrap(),
    ])
    .stdin(Stdio::piped())
    .spawn()
    .unwrap();
    // It has made its unfinished file, and waits for input that does not come.
    let begun = || std::fs::read_dir(&folder).unwrap().count() > 0;
    while !begun() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Kept open: at the end of its input it would end by itself. Not an interrupt from the
    // terminal: where the tests run in the background, those are ignored, and then they are ignored
    // here too.
    let input = child.stdin.take();
    let signalled = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(signalled.success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    drop(input);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let folder = folder("link");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    let target = file(&folder, "target.csv", b"old");
    let link = folder.join("link.csv");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let link = link.to_str().unwrap();
    let arguments = [
        "compare", &path, "--policy", "4k", "--format", "csv", "-o", link,
    ];
    refused(&run(&arguments));
    assert_eq!(std::fs::read(&target).unwrap(), b"old");
    succeeded(&run(&[&arguments[..], &["--force"]].concat()));
    assert!(std::fs::symlink_metadata(link).unwrap().is_symlink());
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .starts_with("trace,")
    );
}
