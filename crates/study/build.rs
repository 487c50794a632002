//! Passes the commit of the build, and a hash of its sources, to the code.

#![allow(clippy::disallowed_macros, reason = "Cargo reads standard output")]

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of all crates.
const CRATES: &str = "..";

fn main() {
    println!("cargo::rerun-if-env-changed=BROADLEAF_COMMIT");
    println!("cargo::rustc-env=BROADLEAF_COMMIT={}", commit());
    println!("cargo::rerun-if-changed={CRATES}");
    println!("cargo::rerun-if-changed=../../machines");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    println!("cargo::rerun-if-changed=../../Cargo.toml");
    println!("cargo::rustc-env=BROADLEAF_SOURCES={:016x}", sources());
}

/// A hash of the code of all crates, of the machines and of the libraries' versions. Builds of
/// equal code have equal hashes.
fn sources() -> u64 {
    let mut paths = ["../../Cargo.lock", "../../Cargo.toml"]
        .map(PathBuf::from)
        .to_vec();
    for folder in [CRATES, "../../machines"] {
        add_files(Path::new(folder), &mut paths);
    }
    paths.sort();
    let mut hasher = DefaultHasher::new();
    for path in paths {
        hasher.write(path.to_string_lossy().as_bytes());
        // A file that went away meanwhile has other code after it: Cargo builds again.
        hasher.write(&fs::read(&path).unwrap_or_default());
        hasher.write_u8(0);
    }
    hasher.finish()
}

/// Adds the files of code in a folder and in its folders.
fn add_files(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let is_code = path
            .extension()
            .is_some_and(|of| of == "rs" || of == "toml");
        if path.is_dir() {
            add_files(&path, paths);
        } else if is_code {
            paths.push(path);
        }
    }
}

/// The commit: `BROADLEAF_COMMIT` if it is set (a packager's build has no repository), otherwise
/// git's answer, otherwise `unknown`. Modified sources are marked, so that a result never names a
/// commit that did not make it.
fn commit() -> String {
    if let Ok(given) = std::env::var("BROADLEAF_COMMIT")
        && !given.trim().is_empty()
    {
        return given.trim().to_owned();
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else {
        return "unknown".to_owned();
    };
    // These lines make Cargo ask again if the answer may have changed.
    for place in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", place]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".."])
        .is_none_or(|list| !list.is_empty());
    format!("{commit}{}", if changed { "+changes" } else { "" })
}

/// The output of git; `None` without git or without a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
