//! Passes the commit of the build to the code.

#![allow(clippy::disallowed_macros, reason = "Cargo reads standard output")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=BROADLEAF_COMMIT");
    println!("cargo::rustc-env=BROADLEAF_COMMIT={}", commit());
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
    println!("cargo::rerun-if-changed=..");
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
