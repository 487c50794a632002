//! Each command names the next command.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::live::{can_attach, can_govern, is_installed};
use crate::support::{file, folder, lackey, run, stderr, succeeded};

/// The text of a command on both streams.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = succeeded(&output);
    format!("{text}\n{}", stderr(&output))
}

/// The command that a text names last: after `next:` or `Next:`, or below `What to type now`. Empty
/// if none is named.
fn next_of(text: &str) -> String {
    let mut next = String::new();
    let mut is_list = false;
    for line in text.lines() {
        let lower = line.to_lowercase();
        let follows = [" next:", "next, "].iter().any(|word| lower.contains(word));
        is_list |= line.starts_with("What to type now");
        if (follows || lower.starts_with("next:") || (is_list && line.starts_with("    ")))
            && let Some(at) = line.find("broadleaf ")
        {
            line[at..].clone_into(&mut next);
        }
    }
    next
}

/// Asserts that a command names a next one that begins so.
fn names(arguments: &[&str], wanted: &str) {
    let text = said(arguments);
    let next = next_of(&text);
    assert!(
        next.starts_with(wanted),
        "{arguments:?} names {next:?}, not {wanted:?}: {text}"
    );
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A small recording in an empty folder.
fn recording(name: &str) -> (PathBuf, String) {
    let folder = folder(name);
    let text = file(&folder, "x.lackey", lackey(600).as_bytes());
    let trace = folder.join("x.bl");
    let import = ["import", "lackey", &text, "-o", text_of(&trace)];
    names(&import, &format!("broadleaf compare {}", text_of(&trace)));
    (folder, trace.display().to_string())
}

#[test]
fn commands_on_traces_name_the_next_command() {
    let (folder, trace) = recording("next-traces");
    let exported = folder.join("x.champsimtrace");
    let exported = text_of(&exported);
    let recoded = folder.join("recoded.bl");
    for (arguments, wanted) in [
        (&["info", &trace][..], "broadleaf compare "),
        (&["compare", &trace], "broadleaf "),
        (&["advise", &trace], "broadleaf "),
        (&["reduce", &trace], "broadleaf compare "),
        (
            &["recode", &trace, "-o", text_of(&recoded)],
            "broadleaf compare ",
        ),
        (
            &["export", "champsim", &trace, "-o", exported],
            "broadleaf import champsim ",
        ),
        (
            &["record", "--force", "-o", &trace, "--", "true"],
            "broadleaf compare ",
        ),
    ] {
        names(arguments, wanted);
    }
    let catalogue = "schema = \"broadleaf.traces/1\"\n[[trace]]\nname = \"x\"\n\
        address = \"x.bl\"\nsummary = \"a trace\"\n";
    let catalogue = file(&folder, "catalogue.toml", catalogue.as_bytes());
    let list = ["fetch-traces", &catalogue];
    names(&list, "broadleaf fetch-traces ");
}

/// The test of `paper navarro2002` asks for the command after a paper.
#[test]
fn catalogues_and_studies_name_the_next_command() {
    let (folder, trace) = recording("next-studies");
    let experiment = format!("traces = [{trace:?}]\npolicies = [\"4k\", \"greedy\"]\n");
    let experiment = file(&folder, "exp.toml", experiment.as_bytes());
    let out = folder.join("out");
    let out = text_of(&out);
    for (arguments, wanted) in [
        (&["list"][..], "broadleaf explain NAME"),
        (&["list", "tlbs", "--area"], "broadleaf explain NAME"),
        (
            &["explain", &experiment],
            &format!("broadleaf sweep {experiment} -o DIR"),
        ),
        (&["sweep", &experiment, "-o", out], "broadleaf results "),
        (&["results", out], "broadleaf results "),
        (&["cache"], "broadleaf compare TRACE"),
        (
            &["probe", "--machine", "skylake"],
            "broadleaf compare TRACE --machine skylake",
        ),
    ] {
        names(arguments, wanted);
    }
}

/// Each kind of entry has a command in which the entry is of use.
#[test]
fn each_explanation_names_a_command() {
    for (name, wanted) in [
        ("pop-64", "broadleaf compare TRACE --policy 4k,pop-64"),
        ("promote", "broadleaf compare TRACE --policy '4k,promote"),
        (
            "promote if age > 1",
            "broadleaf compare TRACE --policy '4k,promote if age > 1'",
        ),
        ("skylake", "broadleaf compare TRACE --machine skylake"),
        ("walk_cycles", "broadleaf compare TRACE --format csv"),
        ("added", "broadleaf compare TRACE"),
        ("gained", "broadleaf advise TRACE"),
        ("not_covered", "broadleaf compare TRACE --format json"),
        ("hashed", "broadleaf tables PID"),
        ("champsim", "broadleaf import champsim FILE"),
        ("broadleaf", "broadleaf compare TRACE"),
        ("folded", "broadleaf advise TRACE --format folded"),
        ("superpage", "broadleaf list"),
        ("lru", "broadleaf list machines"),
        (
            "pools",
            "broadleaf compare TRACE --memory 1G --allocator pools",
        ),
    ] {
        let text = said(&["explain", name]);
        let line = text.lines().find(|line| line.starts_with("next: "));
        let next = line.map_or("", |line| line["next: ".len()..].trim());
        assert!(next.starts_with(wanted), "{name}: {next:?}, not {wanted:?}");
    }
}

#[test]
fn commands_on_processes_name_the_next_command() {
    let folder = folder("next-processes");
    let own = std::process::id().to_string();
    names(&["tables", &own], &format!("broadleaf report {own}"));
    let rules = "[[rule]]\ncommand = \"no such program\"\n";
    let rules = file(&folder, "rules.toml", rules.as_bytes());
    let wanted = format!("broadleaf service {rules}");
    names(&["service", &rules, "--once"], &wanted);
    if !can_govern() || !is_installed("perl") {
        return;
    }
    let program = [
        "perl",
        "-e",
        "my $x = 'x' x 1e7; select undef, undef, undef, 0.25",
    ];
    // Limits that were set are those of the measurement too.
    let gain = "broadleaf run --baseline 7 --policy pop-256 --max-added 15% --interval 100 -- ";
    let limits = ["run", "--max-added", "15%", "--interval", "100", "--"];
    let ran = [&limits[..], &program].concat();
    names(&ran, gain);
    // One round decides nothing. The table has the commands of the page and of JSON: that which
    // measures with more rounds, and that which records.
    let page = folder.join("page.html");
    let measured = ["run", "--baseline", "1", "--html", text_of(&page), "--"];
    let table = said(&[&measured[..], &program].concat());
    let html = fs::read_to_string(&page).expect("a page");
    for command in [
        "run --baseline 7 --policy pop-256 -- ",
        "record -o my.bl -- ",
    ] {
        let command = format!("    broadleaf {command}perl -e ");
        assert!(table.contains(&command), "{command}: {table}");
        assert!(html.contains(command.trim()), "{command}");
    }
    let validated = [
        &["validate", "--machine", "skylake", "--rounds", "1", "--"][..],
        &program,
    ];
    names(
        &validated.concat(),
        "broadleaf record --measure 7 -- perl -e ",
    );
    if can_attach() {
        let mut sleep = std::process::Command::new("sleep");
        let mut sleep = sleep.arg("60").spawn().expect("sleep starts");
        let pid = sleep.id().to_string();
        let text = said(&["attach", &pid, "--for", "0.2"]);
        sleep.kill().and_then(|()| sleep.wait()).expect("a child");
        let gain = "broadleaf run --baseline 7 --policy pop-256 -- COMMAND";
        assert_eq!(next_of(&text), gain, "{text}");
    }
}
