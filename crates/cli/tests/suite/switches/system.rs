//! Switches of the whole system, and switches that need one. `tests/hard/switches` runs these
//! tests: they change settings of the kernel, and set them back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{HOLD, answered, recorded, suggested, tried};
use crate::support::live::{compiled, eventually, installed};
use crate::support::{broadleaf, file, folder, stderr};
use broadleaf_study::answer::kernel::SETTINGS;

/// The number of reserved huge pages of 2 MiB.
const RESERVED: &str = "/proc/sys/vm/nr_hugepages";

/// The kernel's settings before a test. They are set back when the value is dropped.
struct SavedSettings(Vec<(PathBuf, String)>);

impl SavedSettings {
    /// Saves all settings. Returns `None` unless the script allowed changes.
    fn save() -> Option<Self> {
        if std::env::var_os("BROADLEAF_MAY_CHANGE_SETTINGS").is_none() {
            eprintln!("skipped: tests/hard/switches runs this test");
            return None;
        }
        let mut files = vec![PathBuf::from(RESERVED)];
        let mut folders = vec![PathBuf::from(SETTINGS)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("settings").flatten() {
                let path = entry.path();
                let metadata = entry.metadata().expect("metadata");
                if metadata.is_dir() {
                    folders.push(path);
                } else if metadata.mode() & 0o200 != 0 {
                    files.push(path);
                }
            }
        }
        let saved = files.into_iter().map(|path| {
            let text = fs::read_to_string(&path).expect("a setting");
            let chosen = text
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'));
            let value = chosen.map_or(text.trim(), |(value, _)| value).to_owned();
            (path, value)
        });
        Some(Self(saved.collect()))
    }
}

impl Drop for SavedSettings {
    fn drop(&mut self) {
        for (path, value) in &self.0 {
            // The kernel refuses to write some values that it prints.
            let _ = fs::write(path, value);
        }
    }
}

/// Sets `enabled`.
fn enable(setting: &str) {
    fs::write(Path::new(SETTINGS).join("enabled"), setting).expect("root may");
}

/// Runs the command of the kernel's switches that the answer on a policy prints.
fn switch_kernel(folder: &Path, policy: &str) {
    let trace = recorded(folder, Path::new(""), &[]);
    let all = answered(&trace, &format!("4k,{policy}"));
    let mut lines = all.iter().map(|[_, line]| line);
    let line = lines.find(|line| line.contains("sudo tee"));
    let line = line.unwrap_or_else(|| panic!("{policy}: {all:?}"));
    // The test is root, and sudo may not be installed.
    let script = format!("set -e; sudo() {{ \"$@\"; }}; {line}");
    let output = Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("sh");
    assert!(output.status.success(), "{line}\n{}", stderr(&output));
}

/// A program that ends with the test.
struct SwitchedProgram(Child);

impl SwitchedProgram {
    /// Starts a command line.
    fn start(line: &str) -> Self {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &format!("exec {line}")]);
        Self(shell.stdout(Stdio::null()).spawn().expect("sh"))
    }
}

impl Drop for SwitchedProgram {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        for _ in 0..50 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "it changes settings of the kernel: tests/hard/switches runs it"]
fn a_switch_of_a_size_gives_pages_of_this_size() {
    let of_size = Path::new(SETTINGS).join("hugepages-64kB");
    let count = of_size.join("stats/anon_fault_alloc");
    if !count.is_file() {
        eprintln!("skipped: this kernel has no sizes below 2 MiB, or does not count them");
        return;
    }
    // No block of 2 MiB fits: every second MiB is unmapped.
    let source = r#"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  size_t mib = 1 << 20, size = 128 * mib;
  char *all = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *first = (char *)(((uintptr_t)all + mib - 1) & ~(uintptr_t)(mib - 1));
  for (char *at = first; at + 2 * mib <= all + size; at += 2 * mib) {
    munmap(at + mib, mib);
    memset(at, 1, mib);
  }
  return 0;
}
"#;
    let folder = folder("switches-sizes");
    let Some(program) = compiled(&folder, "pieces", source, &[]) else {
        return;
    };
    let Some(_saved) = SavedSettings::save() else {
        return;
    };
    let made = || -> u64 {
        let before = fs::read_to_string(&count).expect("a count");
        assert!(Command::new(&program).status().expect("it runs").success());
        let after = fs::read_to_string(&count).expect("a count");
        let number = |text: &str| text.trim().parse::<u64>().expect("a number");
        number(&after) - number(&before)
    };
    fs::write(of_size.join("enabled"), "never").expect("root may");
    assert!(made() < 100, "other programs");
    switch_kernel(&folder, "linux(enabled=always,sizes=64k+2m)");
    let pages = made();
    assert!(pages > 500, "{pages} pages of 64 KiB");
}

/// Go gets huge pages by the kernel's setting, and none with the variable that the answer names.
#[test]
#[ignore = "it changes settings of the kernel: tests/hard/switches runs it"]
fn go_s_setting_keeps_huge_pages_away() {
    let source = r#"package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	kept := make([][]byte, 80)
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
		for j := range kept[i] {
			kept[i][j] = 1
		}
	}
	text, _ := os.ReadFile("/proc/self/smaps_rollup")
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "AnonHuge") {
			fmt.Println(line)
		}
	}
	os.Exit(int(kept[79][0]) - 1)
}
"#;
    let Some(go) = installed("go") else { return };
    let folder = folder("switches-go");
    let (source, program) = (
        file(&folder, "hold.go", source.as_bytes()),
        folder.join("hold"),
    );
    let mut build = Command::new(go);
    build
        .args(["build", "-o"])
        .args([program.as_os_str(), source.as_ref()]);
    build
        .env("GOCACHE", folder.join("cache"))
        .current_dir(&folder);
    let output = build.output().expect("go runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let Some(_saved) = SavedSettings::save() else {
        return;
    };
    let command = program.to_str().expect("UTF-8");
    let [purpose, line] = suggested(&folder, "go", &program, &[command]);
    assert_eq!(line, "", "Go has no switch that asks for huge pages");
    let mut words = purpose.split_whitespace();
    let variable = words.find(|word| word.starts_with("GODEBUG="));
    let variable = variable.expect("a variable");
    enable("always");
    let with = tried(command);
    assert!(with > 20_000, "{with} KiB");
    let without = tried(&format!("env {variable} {command}"));
    assert!(without < 4_000, "{without} KiB with {variable}");
}

#[test]
#[ignore = "it changes settings of the kernel: tests/hard/switches runs it"]
fn tcmalloc_s_command_has_huge_pages_under_always() {
    let Some(_saved) = SavedSettings::save() else {
        return;
    };
    enable("always");
    super::tcmalloc_gets_huge_pages_by_the_kernel_s_setting_alone();
}

/// Reserves huge pages. Returns false if the machine has no memory for them.
fn reserve(pages: u32) -> bool {
    fs::write(RESERVED, pages.to_string()).expect("root may");
    let reserved = fs::read_to_string(RESERVED).expect("a number");
    let enough = reserved.trim().parse::<u32>().is_ok_and(|now| now >= pages);
    if !enough {
        eprintln!("skipped: {} huge pages could be reserved", reserved.trim());
    }
    enough
}

/// The server ends at once if it gets no reserved pages, since the switch says `on`.
#[test]
#[ignore = "it changes settings of the kernel: tests/hard/switches runs it"]
fn postgres_s_switch_takes_reserved_pages() {
    let Some(server) = installed("postgres") else {
        return;
    };
    // initdb is beside the server itself, wherever a link to the server lies.
    let server = server.canonicalize().expect("a file");
    let initdb = server.with_file_name("initdb");
    if !initdb.is_file() || installed("runuser").is_none() {
        eprintln!("skipped: no {} or no runuser", initdb.display());
        return;
    }
    let Some(_saved) = SavedSettings::save() else {
        return;
    };
    if !reserve(48) {
        return;
    }
    // The server refuses to run as root, and its user may not enter the folders of tests.
    let folder = std::env::temp_dir().join(format!("broadleaf-postgres-{}", std::process::id()));
    let data = folder.to_str().expect("UTF-8");
    let as_user = |line: &str| format!("runuser -u postgres -- {line}");
    let made = Command::new("sh")
        .args([
            "-c",
            &as_user(&format!("{} -D {data} -A trust", initdb.display())),
        ])
        .output()
        .expect("sh");
    assert!(made.status.success(), "{}", stderr(&made));
    let path = server.to_str().expect("UTF-8");
    let options = ["-c", "shared_buffers=32MB", "-c", "listen_addresses="];
    let command = [&[path, "-D", data, "-k", data], &options[..]].concat();
    let folder_of_trace = super::folder("switches-postgres-reserved");
    let [_, line] = suggested(&folder_of_trace, "postgres", &server, &command);
    let _ = fs::remove_file(folder.join("postmaster.pid"));
    let running = SwitchedProgram::start(&as_user(&line));
    // `runuser` waits for the server.
    let pid = eventually(|| {
        let text = fs::read_to_string(folder.join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse::<u32>().ok()
    });
    let maps = eventually(|| {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        maps.contains("/anon_hugepage").then_some(maps)
    });
    assert!(maps.contains("rw-s"), "{maps}");
    let _ = Command::new("kill")
        .args(["-INT", &pid.to_string()])
        .status();
    drop(running);
    fs::remove_dir_all(folder).expect("the test's own folder");
}

/// Nothing splits reserved pages, so a note says that the end with 4 KiB pages has them too.
#[test]
#[ignore = "it changes settings of the kernel: tests/hard/switches runs it"]
fn a_measurement_names_reserved_pages() {
    let folder = folder("switches-reserved");
    let Some(program) = compiled(&folder, "hold", HOLD, &[]) else {
        return;
    };
    let Some(_saved) = SavedSettings::save() else {
        return;
    };
    if !reserve(64) {
        return;
    }
    let program = program.to_str().expect("UTF-8");
    for (kind, is_noted) in [("2", true), ("0", false)] {
        let mut command = broadleaf(&["run", "--baseline", "1", "--", program, "300"]);
        command.env("GLIBC_TUNABLES", format!("glibc.malloc.hugetlb={kind}"));
        let output = command.output().expect("it runs");
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("reserved huge pages"), is_noted, "{said}");
    }
}
