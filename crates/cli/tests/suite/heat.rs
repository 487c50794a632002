//! `report --heat`: which blocks of a live process are used.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{folder, run, stderr, succeeded};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// A program that fills 300 MiB, prints their address, and then updates random bytes of a third:
/// the argument says where it begins, in MiB.
const PROGRAM: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
  size_t block = 2 << 20, size = (size_t)300 << 20;
  char *memory = mmap(0, size + block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory = (char *)(((uintptr_t)memory + block - 1) & ~(uintptr_t)(block - 1));
  memset(memory, 1, size);
  printf("%p\n", (void *)memory);
  fflush(stdout);
  char *hot = memory + ((size_t)atoi(argv[1]) << 20);
  for (uint64_t x = 88172645463325252u;;) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    hot[x % ((size_t)100 << 20)]++;
  }
}
"#;

/// A process that lives as long as this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The blocks of the 300 MiB with their used pages, by the offset in MiB.
fn used(heat: &Value, address: u64) -> Vec<(u64, u64)> {
    let blocks = heat["blocks"].as_array().expect("blocks").iter();
    let each = blocks.filter_map(|block| {
        let offset = block["address"].as_u64()?.checked_sub(address)?;
        Some((offset / MIB, block["used_pages"].as_u64()?))
    });
    each.filter(|(offset, _)| *offset < 300).collect()
}

#[test]
#[ignore = "it measures a live program, which needs a quiet machine: tests/hard/live-heat runs it"]
fn heat_finds_the_hot_third() {
    let folder = folder("heat");
    let (source, program) = (folder.join("third.c"), folder.join("third"));
    std::fs::write(&source, PROGRAM).expect("a file for the test");
    let mut compiler = Command::new("cc");
    compiler.arg("-O1").arg("-o").args([&program, &source]);
    if !compiler.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no C compiler");
        return;
    }
    // The hot third moves, so that no answer is right by luck.
    for third in [0_u64, 100, 200] {
        let child = Command::new(&program)
            .arg(third.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was built");
        let mut running = Running(child);
        let mut line = String::new();
        let out = running.0.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line.trim().trim_start_matches("0x");
        let address = u64::from_str_radix(address, 16).expect("an address");
        let pid = running.0.id().to_string();
        // A busy machine may miss a group in one measurement.
        let found = (0..3).any(|_| hot_third_is_found(&pid, address, third));
        assert!(found, "{third}");
    }
}

/// Measures once. Returns true if the blocks of the hot third are found, or if blocks cannot be
/// seen here.
fn hot_third_is_found(pid: &str, address: u64, third: u64) -> bool {
    let output = run(&["report", pid, "--heat", "3", "--format", "json"]);
    let report: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    let heat = &report["processes"][0]["heat"];
    let together = heat["blocks_together"].as_u64().unwrap_or(0);
    if heat["blocks"].as_array().is_none_or(Vec::is_empty) {
        // The output says why; mappings are what is left.
        assert!(
            heat["source"] == "mappings" || !report["notes"].as_array().unwrap().is_empty(),
            "{report}"
        );
        eprintln!("skipped: blocks cannot be seen here: {heat}");
        return true;
    }
    let used = used(heat, address);
    assert_eq!(used.len(), 150, "{heat}");
    let is_hot = |offset: u64| (third..third + 100).contains(&offset);
    let wrong = used
        .iter()
        .filter(|(offset, used)| (*used > 8) != is_hot(*offset));
    // References at random reach a part of a block's pages while it is watched: 20 to all of them.
    // A group of blocks may lie across a border.
    let is_found = wrong.count() as u64 <= 4 * together.max(2);
    if !is_found {
        eprintln!("{third}: {used:?}");
    }
    is_found
}

#[test]
fn heat_of_what_cannot_be_watched_is_refused() {
    let own = std::process::id().to_string();
    for (arguments, what) in [
        (&["report", &own, "--heat", "0"][..], "0.1 to 3600 seconds"),
        (&["report", "--all", "--heat", "1"], "--all"),
        (&["report", &own, "--heat-source", "damon"], "--heat"),
        (
            &["report", &own, "--heat", "1", "--heat-source", "telepathy"],
            "idle-pages, damon, damon-physical, cooling, mappings",
        ),
    ] {
        let output = run(arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(what), "{arguments:?}: {message}");
    }
}
