//! `sweep`, `explain` of an experiment, and `results`.
#![allow(clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{binary, broadleaf, folder, refused, run, stderr, succeeded};

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
    // Three policies have a line each, with a point for each of four seeds.
    let picture = folder.join("means.svg");
    let drawn = ["results", output, "--by", "policy,memory_seed", "--mean"];
    let to_file = ["l2_misses", "--format", "svg", "-o"];
    let picture_name = picture.to_str().expect("UTF-8");
    let draw = [&drawn[..], &to_file, &[picture_name]].concat();
    succeeded(&run(&draw));
    let svg = fs::read_to_string(&picture).expect("a picture");
    assert_eq!(svg.matches("<circle").count(), 12, "{svg}");
    for text in ["mean l2_misses", "memory_seed", "navarro"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert!(refused(&run(&draw)).contains("means.svg"));
    let no_number = [&drawn[..], &["machine", "--format", "svg"]].concat();
    assert!(refused(&run(&no_number)).contains("no cell has a number"));
    let sql = ["results", output, "select 1", "--format", "svg"];
    assert_eq!(run(&sql).status.code(), Some(2));
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

/// Sweeps into a file system that is too small, says which files it kept, and sweeps again when the
/// file system is larger. Arguments: size in bytes, mount point, command, experiment.
const ON_A_FULL_DISK: &str = r#"
mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77
said=$("$3" sweep "$4" -o "$2" --threads 1 --no-cache 2>&1)
echo "first: status $?; $said"
echo "kept: $(ls -A "$2"/experiment=exp | wc -l), $(ls "$2"/experiment=exp/*.parquet | wc -l) whole"
mount -o remount,size=16m "$2" || exit 77
said=$("$3" sweep "$4" -o "$2" --threads 1 --no-cache 2>&1)
echo "second: status $?; $said"
"#;

#[test]
fn a_full_disk_loses_at_most_the_tasks_in_flight() {
    let folder = folder("full-disk");
    let traces = ["blocks.bl", "children.bl", "sort.bl"].map(golden);
    let file = folder.join("exp.toml");
    let text =
        format!("traces = {traces:?}\npolicies = [\"4k\", \"pop-64\", \"greedy\", \"linux\"]\n");
    fs::write(&file, text).expect("written");
    let (file, whole) = (file.to_str().expect("UTF-8"), folder.join("whole"));
    let output = whole.to_str().expect("UTF-8");
    succeeded(&run(&["sweep", file, "-o", output, "--no-cache"]));
    // Pages of memory hold the files of a tmpfs. One page is missing for the last file.
    let entries = fs::read_dir(whole.join("experiment=exp")).expect("a folder");
    let sizes = entries.map(|entry| entry.and_then(|of| of.metadata()).expect("a file").len());
    let size = sizes.map(|size| size.next_multiple_of(4096)).sum::<u64>() - 4096;
    let full = folder.join("full");
    fs::create_dir(&full).expect("a folder");
    let done = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .args([ON_A_FULL_DISK, "sh", &size.to_string()])
        .args([full.as_os_str(), binary().as_os_str(), file.as_ref()])
        .env("BROADLEAF_CACHE_SIZE", "0")
        .stdin(Stdio::null())
        .output();
    // The script ends with 77 if it cannot mount. Other failures are those of the command.
    let is_refused = |done: &Output| {
        let refusal = stderr(done).contains("unshare");
        !done.status.success() && (refusal || done.status.code() == Some(77))
    };
    let done = match done {
        Ok(done) if !is_refused(&done) => done,
        cannot => {
            eprintln!("skipped: no file system can be mounted here: {cannot:?}");
            return;
        }
    };
    let text = succeeded(&done);
    let lines: Vec<&str> = text.lines().collect();
    let [first, kept, second] = lines[..] else {
        panic!("{text}");
    };
    assert!(
        first.starts_with("first: status 1;") && first.contains("No space left on device"),
        "{text}"
    );
    // Two of three tasks were written. The third left nothing.
    assert_eq!(kept, "kept: 2, 2 whole", "{text}");
    assert!(
        second.starts_with("second: status 0; broadleaf: 12 cells: 4 computed, 8 known before"),
        "{text}"
    );
}
