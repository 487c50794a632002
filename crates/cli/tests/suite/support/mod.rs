//! Running the command, and texts to run it on.
#![allow(
    dead_code,
    reason = "each test file uses its own part of what stands here"
)]

pub(crate) mod live;
pub(crate) mod programs;
pub(crate) mod service;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The command to test: the build that `make test` names in `BROADLEAF`, or else the build
/// that Cargo made for this test.
pub(crate) fn binary() -> PathBuf {
    let named = std::env::var_os("BROADLEAF").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_broadleaf")))
}

/// The command with these arguments.
pub(crate) fn broadleaf(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env("BROADLEAF_CACHE_SIZE", NO_CACHE)
        // The machine that the user measured is no part of the tests.
        .env(
            "XDG_CONFIG_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-config"),
        )
        .stdin(Stdio::null());
    command
}

/// The value of `BROADLEAF_CACHE_SIZE` in tests without a cache folder of their own. The counts of
/// a test must not depend on the tests before.
pub(crate) const NO_CACHE: &str = "0";

/// Runs it and waits.
pub(crate) fn run(arguments: &[&str]) -> Output {
    broadleaf(arguments)
        .output()
        .expect("the command was built for this test")
}

/// Runs it with a standard output whose reader has gone away, and waits.
pub(crate) fn run_unread(arguments: &[&str]) -> Output {
    let mut child = broadleaf(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built for this test");
    drop(child.stdout.take());
    child.wait_with_output().expect("the command ends")
}

/// Runs it with `input` on its standard input.
pub(crate) fn run_with(arguments: &[&str], input: &[u8]) -> Output {
    fed(&mut broadleaf(arguments), input)
}

/// Runs a command with `input` on its standard input.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built for this test");
    let mut pipe = child.stdin.take().expect("it is piped");
    // A command that refuses its arguments reads nothing.
    let _ = pipe.write_all(input);
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

/// What it wrote to standard output, after it succeeded.
pub(crate) fn succeeded(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}\n{}",
        output.status,
        stderr(output)
    );
    String::from_utf8(output.stdout.clone()).expect("results are UTF-8")
}

/// What it wrote to standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that it refused with one clear line and exit status 2, and returns the line.
pub(crate) fn refused(output: &Output) -> String {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("broadleaf: "), "{text}");
    assert!(
        output.stdout.is_empty(),
        "a refusal prints nothing to standard output"
    );
    text
}

/// An empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// A file with this content.
pub(crate) fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, content).expect("a file for the test");
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// Lackey text of a program that goes through `pages` pages twice, in an order that scatters them,
/// and stores to each third of them.
pub(crate) fn lackey(pages: u64) -> String {
    let mut text = String::from("==1== Lackey, an example Valgrind tool\n==1== \n");
    for step in 0..2 * pages {
        // 7919 is a prime, so that every page is met.
        let page = (step * 7919) % pages;
        let address = 0x2000_0000 + page * 4096 + step % 64 * 8;
        let kind = if page.is_multiple_of(3) { 'S' } else { 'L' };
        text.push_str(&format!("I  00401000,3\n {kind} {address:08x},8\n"));
    }
    text.push_str("==1== Exit code: 0\n");
    text
}

/// The names of the files in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The recordings that are kept.
pub(crate) fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let entries = fs::read_dir(folder).expect("a folder of recordings");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "bl"));
    assert!(found.len() >= 3, "{found:?}");
    found
}
