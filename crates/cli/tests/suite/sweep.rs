//! `sweep`, `explain` of an experiment, and `results`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{broadleaf, folder, refused, run, stderr, succeeded};

fn golden(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    root.join(name).to_str().expect("UTF-8").to_owned()
}

/// The number of files of results.
fn files(out: &Path) -> usize {
    let partition = fs::read_dir(out.join("experiment=exp"));
    let entries = partition.into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().extension().is_some_and(|of| of == "parquet"))
        .count()
}

#[test]
fn a_killed_sweep_goes_on_where_it_ended() {
    let folder = folder("sweep");
    let traces = ["blocks.bl", "children.bl", "sort.bl"].map(golden);
    let file = folder.join("exp.toml");
    let text = format!(
        "traces = {traces:?}\npolicies = [\"4k\", \"pop-64\", \"navarro\"]\n\
         [memory]\nsize = \"90%\"\nseed = \"1..4\"\nfragmentation = [\"20%\", \"90%\"]\n"
    );
    fs::write(&file, text).expect("written");
    let (file, out) = (file.to_str().expect("UTF-8"), folder.join("out"));
    let explained = succeeded(&run(&["explain", file]));
    assert!(
        explained.contains("exp (experiment): 72 cells of 3 traces"),
        "{explained}"
    );
    let output = out.to_str().expect("UTF-8");
    let asked = ["sweep", file, "-o", output, "--threads", "1", "--no-cache"];
    let mut killed = broadleaf(&asked)
        .stderr(Stdio::null())
        .spawn()
        .expect("it was built");
    let began = Instant::now();
    while files(&out) == 0 && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    killed.kill().expect("a child");
    killed.wait().expect("a child");
    let kept = files(&out) * 24;
    let again = run(&asked);
    succeeded(&again);
    let ends = format!("72 cells: {} computed, {kept} known before", 72 - kept);
    assert!(
        kept > 0 && stderr(&again).contains(&ends),
        "{ends}: {}",
        stderr(&again)
    );
    let third = run(&asked);
    assert!(
        stderr(&third).contains("0 computed, 72 known before"),
        "{}",
        stderr(&third)
    );
    let where_seed = [
        "results",
        output,
        "--where",
        "memory_seed=2",
        "--by",
        "policy",
    ];
    let table = succeeded(&run(&where_seed));
    assert_eq!(
        table.lines().filter(|line| line.contains("  6  ")).count(),
        3,
        "{table}"
    );
    // Each task replaced nothing and left no other file.
    assert_eq!(
        fs::read_dir(out.join("experiment=exp"))
            .expect("a folder")
            .count(),
        3
    );
    let nothing = refused(&run(&["results", folder.to_str().expect("UTF-8")]));
    assert!(nothing.contains("has no results"), "{nothing}");
}
