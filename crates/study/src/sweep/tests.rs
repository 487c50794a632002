use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use broadleaf_report::{Column, View};

use super::{
    DataSet, Experiment, KeyTable, ResultQuestion, SWEEP_KEYS, SweepOutcome, SweepTask, plan,
    result_table, sweep,
};
use crate::failure::Failure;
use crate::testing::recording;
use crate::watch::Unwatched;

/// A folder with two traces and the experiment file `grid.toml` of this text.
pub(super) fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, step) in [("a.bl", 7), ("b.bl", 77)] {
        let pages = (0..6_000).map(|number| number * step % 2_048);
        fs::write(folder.path().join(name), recording(name, pages)).expect("written");
    }
    fs::write(folder.path().join("grid.toml"), text).expect("written");
    folder
}

pub(super) fn read(folder: &Path) -> Result<Experiment, Failure> {
    Experiment::read(&folder.join("grid.toml"))
}

pub(super) fn swept(folder: &Path, out: &str) -> SweepOutcome {
    let experiment = read(folder).expect("an experiment");
    sweep(&experiment, &folder.join(out), None, None, &Unwatched).expect("a sweep")
}

/// The rows of a data set as texts, in the order of their keys.
pub(super) fn rows(folder: &Path) -> BTreeSet<Vec<(String, String)>> {
    let files = DataSet::new(folder).columns("grid").expect("columns");
    let rows = files.iter().flat_map(|columns| {
        let count = columns.first().map_or(0, |column| column.values.len());
        (0..count).map(|row| {
            let value = |column: &Column| (column.name.clone(), column.values.text(row));
            let values = columns.iter().map(value);
            values.filter(|(_, text)| !text.is_empty()).collect()
        })
    });
    rows.collect()
}

/// The message of a refused experiment.
fn refused(text: &str) -> String {
    let folder = folder(text);
    match read(folder.path()) {
        Err(Failure::Wrong(message)) => message.replace(&folder.path().display().to_string(), "."),
        other => panic!("{other:?}"),
    }
}

const GRID: &str = "\
traces = \"*.bl\"
policies = [\"4k\", \"pop-64\", \"navarro\"]
machines = \"skylake, zen4\"

[[memory]]

[[memory]]
size = \"75%\"
fragmentation = \"50%\"
seed = \"1..2\"
";

#[test]
fn wrong_files_are_refused_with_the_place_and_the_nearest_key() {
    assert_eq!(
        refused("traces = \"a.bl\"\npolices = \"4k\"\n")
            .lines()
            .next(),
        Some(
            "./grid.toml: line 2, column 1: no key is called \"polices\" here; did you mean \
             policies? (there are name, traces, policies, machines, restart, max-accesses, \
             program, memory, override)"
        )
    );
    for (text, message) in [
        (
            "traces = \"a.bl\"\n[memory]\nsize = \"1G\"\nsede = 1\n",
            "line 4, column 1: ",
        ),
        (
            "traces = \"a.bl\"\n[memory]\nsize = \"1G\"\nsede = 1\n",
            "did you mean seed, ",
        ),
        (
            "traces = \"a.bl\"\n[memory]\nseed = 1\n",
            "this memory has no size",
        ),
        (
            "traces = \"a.bl\"\npolicies = [\"4k\", \"pup-64\"]\n",
            "line 2, column 19: no policy",
        ),
        (
            "traces = \"a.bl\"\nmachines = \"skylark\"\n",
            "did you mean skylake?",
        ),
        ("traces = \"x*.bl\"\n", "line 1, column 10: no file fits"),
        (
            "traces = \"a.bl\"\n[memory]\nsize = \"1G\"\nseed = \"3..1\"\n",
            "line 4, column 8: ",
        ),
        ("policies = \"4k\"\n", "names no trace"),
        (
            "traces = \"a.bl\"\n[[override]]\npolicies = \"4k\"\n",
            "names no traces",
        ),
        (
            "traces = [\"a.bl\", \"b.bl\"]\n[[override]]\ntraces = [\"a*\", \"x*\"]\n",
            "line 3, column 17: this pattern fits no trace of the experiment, which has a.bl, b.bl",
        ),
        (
            "[[program]]\nname = \"../x\"\ncommand = \"true\"\n",
            "line 2, column 8: a name is",
        ),
        ("traces = [\n", "line 1, column 11: unclosed array"),
    ] {
        let refusal = refused(text);
        assert!(refusal.contains(message), "{message}: {refusal}");
    }
}

#[test]
fn a_grid_has_the_product_of_its_axes_and_overrides_replace_them() {
    let folder_of_grid = folder(GRID);
    let experiment = read(folder_of_grid.path()).expect("an experiment");
    let count =
        |experiment: &Experiment, trace| experiment.cells_of(trace, "").expect("cells").cells.len();
    // 3 policies x 2 machines x (1 + 2) memories.
    assert_eq!(count(&experiment, "a.bl"), 18);
    let folder = folder(&format!(
        "{GRID}\n[[override]]\ntraces = \"b*\"\npolicies = [\"4k\", \"4k\", \"pop-64\"]\n\
         [override.memory]\nsize = [\"1G\", \"2G\"]\n"
    ));
    let experiment = read(folder.path()).expect("an experiment");
    assert_eq!(count(&experiment, "a.bl"), 18);
    assert_eq!(count(&experiment, "b.bl"), 2 * 2 * 2);
}

#[test]
fn cells_are_computed_once_and_do_not_depend_on_the_others() {
    let folder = folder(&GRID.replace(", \"navarro\"", ""));
    let (path, part) = (folder.path(), folder.path().join("part"));
    let first = swept(path, "part");
    assert_eq!((first.cells, first.computed, first.finished), (24, 24, 0));
    let again = swept(path, "part");
    assert_eq!((again.computed, again.finished), (0, 24));
    fs::write(path.join("grid.toml"), GRID).expect("written");
    let more = swept(path, "part");
    assert_eq!((more.cells, more.computed, more.finished), (36, 12, 24));
    assert_eq!(swept(path, "whole").computed, 36);
    assert_eq!(rows(&part), rows(&path.join("whole")));
    // A trace with other bytes has other cells.
    let pages = (0..3_000).map(|number| number * 5 % 1_024);
    fs::write(path.join("a.bl"), recording("a", pages)).expect("written");
    assert_eq!(swept(path, "part").computed, 18);
}

#[test]
fn a_trace_that_fails_loses_its_own_cells_alone() {
    let folder = folder("traces = [\"a.bl\", \"none.bl\", \"b.bl\"]\npolicies = \"4k\"\n");
    let experiment = read(folder.path()).expect("an experiment");
    let data = DataSet::new(&folder.path().join("out"));
    let missing = plan(&experiment, &data, &Unwatched).expect_err("a name of no file");
    assert!(missing.to_string().starts_with("none.bl: "), "{missing}");
    fs::write(folder.path().join("none.bl"), "").expect("written");
    fs::write(folder.path().join("b.bl"), "no trace").expect("written");
    let outcome = swept(folder.path(), "out");
    assert_eq!(outcome.computed, 1);
    let failed: Vec<&str> = outcome.failed.iter().map(|(trace, _)| &**trace).collect();
    assert_eq!(failed, ["none.bl", "b.bl"]);
    let failure = outcome.complete().expect_err("two traces failed");
    assert!(
        failure.to_string().contains("none.bl: is empty"),
        "{failure}"
    );
}

#[test]
fn unfinished_and_damaged_files_count_for_nothing() {
    let folder = folder("traces = [\"a.bl\", \"b.bl\"]\npolicies = \"4k,pop-64\"\n");
    assert_eq!(swept(folder.path(), "out").computed, 4);
    let partition = folder.path().join("out/experiment=grid");
    let files = fs::read_dir(&partition).expect("a folder");
    let file = files.flatten().next().expect("a file").path();
    let bytes = fs::read(&file).expect("bytes");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
    fs::write(partition.join(".half.parquet"), &bytes).expect("written");
    let outcome = swept(folder.path(), "out");
    assert_eq!((outcome.computed, outcome.finished), (2, 2));
    assert!(fs::read(&file).expect("bytes").len() > bytes.len() / 2);
    assert_eq!(swept(folder.path(), "out").finished, 4);
}

#[test]
fn traces_of_equal_bytes_share_their_cells() {
    let folder = folder("traces = \"*.bl\"\npolicies = \"4k,pop-64\"\n");
    fs::copy(folder.path().join("a.bl"), folder.path().join("c.bl")).expect("copied");
    let first = swept(folder.path(), "out");
    assert_eq!((first.cells, first.computed), (4, 4));
    let again = swept(folder.path(), "out");
    assert_eq!((again.cells, again.finished), (4, 4));
}

#[test]
fn another_build_or_another_trace_is_refused() {
    let folder = folder("traces = \"a.bl\"\npolicies = \"4k\"\n");
    let experiment = read(folder.path()).expect("an experiment");
    let data = DataSet::new(&folder.path().join("out"));
    let planned = plan(&experiment, &data, &Unwatched).expect("a plan");
    let json = serde_json::to_string(&planned.tasks[0]).expect("JSON");
    let run = |json: &str| {
        let task: SweepTask = serde_json::from_str(json).expect("a task");
        task.run(None, std::num::NonZero::<usize>::MIN, None, &Unwatched)
    };
    assert!(run(&json).is_ok());
    let other = json.replace(crate::cache::build(), "other");
    let refusal = run(&other).expect_err("another build").to_string();
    assert!(
        refusal.contains("install the same version on all machines"),
        "{refusal}"
    );
    fs::copy(folder.path().join("b.bl"), folder.path().join("a.bl")).expect("copied");
    let refusal = run(&json).expect_err("another trace").to_string();
    assert!(
        refusal.contains("has other bytes than when the sweep was planned"),
        "{refusal}"
    );
}

#[test]
fn results_have_filters_and_means() {
    let folder = folder(GRID);
    swept(folder.path(), "out");
    let out = folder.path().join("out");
    let question = ResultQuestion {
        filters: vec!["policy=4k".to_owned(), "memory_size=".to_owned()],
        by: vec!["trace".to_owned()],
        means: vec!["accesses".to_owned()],
    };
    let table = result_table(&out, &question, View::default()).expect("a table");
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["trace", "cells", "accesses"]);
    assert!(lines.contains(&vec!["a.bl", "2", "6000"]), "{table}");
    let refusal = |filter: &str| {
        let filters = vec![filter.to_owned()];
        let question = ResultQuestion {
            filters,
            ..ResultQuestion::default()
        };
        result_table(&out, &question, View::default())
            .expect_err("refused")
            .to_string()
    };
    assert!(refusal("polcy=4k").contains("did you mean policy?"));
    assert!(refusal("policy=8k").contains("no cell meets the conditions"));
    assert!(refusal("policy").contains("write COLUMN=VALUE"));
}

#[test]
fn each_table_has_keys_of_different_names() {
    for table in KeyTable::ALL {
        let names = table.names();
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert!(
            !names.is_empty() && names.len() == different.len(),
            "{table:?}"
        );
    }
    assert!(SWEEP_KEYS.iter().all(|key| key.meaning.ends_with('.')));
}
