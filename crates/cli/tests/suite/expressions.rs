//! Policies that are written down: in an argument, and in a file.

use crate::support::{broadleaf, file, folder, lackey, refused, run, stderr, succeeded};
use serde_json::Value;

/// Runs a command with a mistake in an expression. Returns the lines on standard error; the last
/// line has the carets under the mistake.
fn shown(arguments: &[&str]) -> Vec<String> {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let lines: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    lines
}

/// The part of the second line that the carets of the third mark.
fn pointed_at(lines: &[String]) -> String {
    let carets = lines[2].chars().take_while(|letter| *letter == ' ').count();
    let width = lines[2].chars().filter(|letter| *letter == '^').count();
    lines[1].chars().skip(carets).take(width).collect()
}

fn results(arguments: &[&str]) -> Value {
    let all = [arguments, &["--format", "json"]].concat();
    serde_json::from_str(&succeeded(&run(&all))).unwrap()
}

#[test]
fn an_expression_stands_where_a_name_would() {
    let folder = folder("expression");
    let path = file(&folder, "x.lackey", lackey(600).as_bytes());
    let policies = "4k,promote(scan=0) if (populated>=64),pop-64,promote if populated >= 64,promote if populated == pages; demote if writable";
    let json = results(&["compare", &path, "--policy", policies]);
    let results = json["results"].as_array().unwrap();
    let names: Vec<&str> = results
        .iter()
        .map(|result| result["policy"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "4k",
            "promote if populated >= 64",
            "pop-64",
            "promote if populated == pages; demote if writable"
        ]
    );
    let mut same = results[1].clone();
    same["policy"] = "pop-64".into();
    same["asked"] = "pop-64".into();
    assert_eq!(same, results[2]);
    // Its name in a table and in CSV is the text too.
    for format in ["table", "csv"] {
        let text = succeeded(&run(&[
            "compare", &path, "--policy", policies, "--format", format,
        ]));
        assert!(text.contains("promote if populated >= 64"), "{text}");
    }
}

#[test]
fn a_mistake_is_shown_with_its_place() {
    let folder = folder("expression-mistakes");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    for (text, says, place) in [
        (
            "promote if populated + copy_cycles > 1",
            "column 22: `populated` counts pages and `copy_cycles` counts cycles: they cannot be added",
            "+",
        ),
        (
            "4k,promote if popluated > 1",
            "column 12: nothing is called `popluated` here",
            "popluated",
        ),
        (
            "promote(size=2m) if dirty > 1",
            "column 9: no option is called \"size\"",
            "size",
        ),
        (
            "promote if dirty > 1 &&  writable",
            "write `and` in place of `&&`",
            "&&",
        ),
    ] {
        let lines = shown(&["compare", &path, "--policy", text]);
        assert!(
            lines[0].starts_with("broadleaf: column ") && lines[0].contains(says),
            "{lines:?}"
        );
        assert_eq!(pointed_at(&lines), place);
    }
    let lines = shown(&["explain", "promote if dirty ="]);
    assert_eq!(pointed_at(&lines), "=");
    // A policy that counts misses needs frames, and gets them.
    let output = succeeded(&run(&[
        "compare",
        &path,
        "--policy",
        "promote if misses > 3",
    ]));
    assert!(output.contains("memory without limit"), "{output}");
}

#[test]
fn a_file_gives_names() {
    let folder = folder("expression-file");
    let path = file(&folder, "x.lackey", lackey(600).as_bytes());
    let mine = file(
        &folder,
        "mine.toml",
        b"zealous = \"promote if dirty > 0\"\neager = 'promote if populated>=8'\n[patient]\nsummary = \"waits\"\npolicy = \"\"\"\npromote if age >= 1e5\n  and populated >= 25%\"\"\"\n",
    );
    let of = |json: &Value, field: &str| -> Vec<String> {
        let all = json["results"].as_array().unwrap().iter();
        all.map(|result| result[field].as_str().unwrap().to_owned())
            .collect()
    };
    // All, in the order of the file.
    let json = results(&["compare", &path, "--policies", &mine]);
    assert_eq!(
        of(&json, "policy"),
        [
            "promote if dirty > 0",
            "promote if populated >= 8",
            "promote if age >= 1e5 and populated >= 25%"
        ]
    );
    let notes = json["notes"].to_string();
    assert!(
        notes.contains("patient of")
            && notes.contains("(waits) is: promote if age >= 1e5 and populated >= 25%"),
        "{notes}"
    );
    // Or those that are named, and no note of the others.
    let json = results(&[
        "compare",
        &path,
        "--policies",
        &mine,
        "--policy",
        "pop-64,eager",
        "--policy",
        "promote if dirty > 4",
    ]);
    assert_eq!(
        of(&json, "policy"),
        [
            "pop-64",
            "promote if populated >= 8",
            "promote if dirty > 4"
        ]
    );
    let notes = json["notes"].to_string();
    assert!(
        notes.contains("eager of") && !notes.contains("zealous"),
        "{notes}"
    );
    let line = refused(&run(&[
        "compare",
        &path,
        "--policies",
        &mine,
        "--policy",
        "eagr",
    ]));
    assert!(line.contains("did you mean eager?"), "{line}");
    let line = refused(&run(&[
        "compare",
        &path,
        "--policies",
        &mine,
        "-o",
        &mine,
        "--force",
    ]));
    assert!(line.contains("is read by this command"), "{line}");
    let line = refused(&run(&["compare", &path, "--policies", "nowhere.toml"]));
    assert!(line.contains("nowhere.toml: cannot read it"), "{line}");
}

#[test]
fn a_file_s_mistakes_are_shown_with_line_and_column() {
    let folder = folder("expression-file-mistakes");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    for (text, says, place) in [
        (
            "a = \"promote if dirty\"",
            "line 1, column 17: `dirty` counts pages and is neither true nor false",
            "dirty",
        ),
        (
            "# mine\n\na = 'promote if dirty + age > 1'",
            "line 3, column 23: `dirty` counts pages",
            "+",
        ),
        (
            "[a]\npolicy = \"\"\"\npromote if age > 4\n  and dirty+age > 3\"\"\"",
            "line 4, column 12: `dirty` counts pages",
            "+",
        ),
        (
            "a = \"promote if \\u0064irt > 3\"",
            "line 1, column 5: column 12 of the expression: nothing is called `dirt`",
            "\"promote if \\u0064irt > 3\"",
        ),
        (
            "a = \"pop-64\"",
            "line 1, column 6: expected `promote`",
            "p",
        ),
        (
            "a = \"promote if dirty > 1\"\npop-7 = \"promote if dirty > 1\"",
            "line 2, column 1: \"pop-7\" means a policy of the catalogue",
            "pop-7",
        ),
        (
            "promote = \"promote if dirty > 1\"",
            "line 1, column 1: \"promote\" means a policy",
            "promote",
        ),
        (
            "\"a,b\" = \"promote if dirty > 1\"",
            "line 1, column 1: a name is made of letters",
            "\"a,b\"",
        ),
        (
            "a = { policy = 'promote if dirty > 1', sumary = 'x' }",
            "line 1, column 40: no key is called \"sumary\"",
            "sumary",
        ),
        (
            "[a]\nsummary = 'x'",
            "line 1, column 2: \"a\" lacks its policy",
            "a",
        ),
        (
            "[a]\npolicy = 3",
            "line 2, column 10: this has to be a text",
            "3",
        ),
        (
            "a = ['promote if dirty > 1']",
            "line 1, column 5: this has to be an expression in quotes",
            "['promote if dirty > 1']",
        ),
        ("a = 'x'\na = 'y'", "line 2, column 1: duplicate key", "a"),
        ("a = ", "line 1, column 5: ", ""),
    ] {
        let mine = file(&folder, "mine.toml", text.as_bytes());
        let lines = shown(&["compare", &path, "--policies", &mine]);
        assert!(
            lines[0].contains(&mine) && lines[0].contains(says),
            "{text}: {lines:?}"
        );
        assert!(place.is_empty() || pointed_at(&lines) == place, "{lines:?}");
    }
    let mine = file(&folder, "mine.toml", b"# nothing\n");
    let line = refused(&run(&["compare", &path, "--policies", &mine]));
    assert!(line.contains("names no policy"), "{line}");
}

#[test]
fn an_expression_is_spread_out() {
    let text = succeeded(&run(&[
        "explain",
        " promote if populated>=64 or (misses*35 > 0.125*copy_cycles and not age<1e6)",
    ]));
    for line in [
        "promote if populated >= 64 or misses * 35 > 0.125 * copy_cycles and not age < 1e6 (policy): your own expression over the block's counters",
        "    populated is at least 64 pages",
        "      misses * 35 is more than 0.125 * copy_cycles, in cycles",
        "        age is less than 1e6 accesses",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(
        text.contains("when a reservation is 1e6 accesses old and at") && text.contains("--memory"),
        "{text}"
    );
    let form = succeeded(&run(&["explain", "promote"]));
    assert!(
        form.contains("miss_cycles, cycles: ") && form.contains("copies, on or off"),
        "{form}"
    );
    assert!(succeeded(&run(&["list", "policies"])).contains("promote if EXPRESSION"));
    assert!(
        !broadleaf(&["explain", "promotes"])
            .output()
            .unwrap()
            .status
            .success()
    );
}
