//! The switches that answers suggest, tried on their programs. Each command comes from an answer:
//! the tests hold none. No test here changes a setting of the system, except those of [`system`].

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

mod setting;
mod system;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

use broadleaf_study::answer::AnsweredProgram;
use broadleaf_study::answer::switches::SWITCHES;
use broadleaf_trace::Backing;
use serde_json::Value;

use crate::support::live::{compiled, eventually, installed, is_installed};
use crate::support::programs::{Area, MIB, Walk, program_parts, recording_of};
use crate::support::{file, folder, run, stderr, succeeded};
use setting::setting;

/// The start of the memory that the recorded program uses.
const START: u64 = 0x10_0000_0000;

/// A program in C that allocates 80 MB, and prints its memory in huge pages. An argument makes it
/// rest for milliseconds before it ends.
pub(crate) const HOLD: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  static char *kept[800];
  for (int i = 0; i < 800; i++) kept[i] = memset(malloc(100000), 1, 100000);
  char line[256];
  FILE *memory = fopen("/proc/self/smaps_rollup", "r");
  while (fgets(line, sizeof line, memory))
    if (!strncmp(line, "AnonHuge", 8)) fputs(line, stdout);
  fflush(stdout);
  usleep(argc > 1 ? 1000 * atoi(argv[1]) : 0);
  return kept[799][1] - 1;
}
"#;

/// The same in Java.
pub(crate) const HOLD_JAVA: &str = r#"
import java.nio.file.*;
class Hold {
  public static void main(String[] arguments) throws Exception {
    byte[][] kept = new byte[80][];
    for (int i = 0; i < kept.length; i++) {
      kept[i] = new byte[1 << 20];
      java.util.Arrays.fill(kept[i], (byte) 1);
    }
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup")))
      if (line.startsWith("AnonHuge")) System.out.println(line);
    if (arguments.length > 0) Thread.sleep(Integer.parseInt(arguments[0]));
    System.exit(kept[79][1] - 1);
  }
}
"#;

/// A recording of a command that gains from huge pages.
fn recorded(folder: &Path, program: &Path, command: &[&str]) -> String {
    let area = Area {
        backing: Backing::Anonymous,
        start: START,
        len: 64 * MIB,
        used: 64 << 8,
        walk: Walk::Random,
        weight: 1,
    };
    let parts = program_parts(&[area], 200_000, None);
    let command = command.iter().map(|&word| word.to_owned()).collect();
    let path = program.to_str().expect("UTF-8");
    file(folder, "recorded.bl", &recording_of(command, path, &parts))
}

/// The commands after a comparison of policies, each with its purpose.
fn answered(trace: &str, policies: &str) -> Vec<[String; 2]> {
    let asked = ["compare", trace, "--policy", policies, "--format", "json"];
    let answer: Value = serde_json::from_str(&succeeded(&run(&asked))).expect("JSON");
    let commands = answer["advice"][0]["commands"]
        .as_array()
        .expect("commands");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let each = commands.iter();
    each.map(|one| [text(&one["purpose"]), text(&one["command"])])
        .collect()
}

/// The purpose and the command line of a switch, as the answer on a command suggests them.
fn suggested(folder: &Path, name: &str, program: &Path, command: &[&str]) -> [String; 2] {
    let trace = recorded(folder, program, command);
    let switch = SWITCHES.iter().find(|switch| switch.name == name);
    let purpose = switch.expect(name).purpose;
    let all = answered(&trace, "4k,greedy");
    let found = all.iter().find(|[of, _]| of == purpose);
    found.unwrap_or_else(|| panic!("{name}: {all:?}")).clone()
}

/// KiB in huge pages, by the words of smaps.
fn huge_kib(text: &str) -> u64 {
    let line = text.lines().find(|line| line.contains("AnonHugePages"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or_else(|| panic!("{text}"))
}

/// Runs a command line of a program that prints its memory in huge pages.
fn tried(line: &str) -> u64 {
    let output = Command::new("sh").args(["-c", line]).output().expect("sh");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{line}\n{text}{}", stderr(&output));
    huge_kib(&text)
}

/// Tries a command with the switch that its answer suggests, and without.
fn has_effect(folder: &Path, name: &str, program: &Path, command: &[&str]) {
    let Some(setting) = setting() else { return };
    let [_, line] = suggested(folder, name, program, command);
    let with = tried(&line);
    assert!(with > 20_000, "{name}: {with} KiB\n{line}");
    if setting == "madvise" {
        let without = tried(&broadleaf_report::command_line(command));
        assert!(without < 4_000, "{name}: {without} KiB\n{line}");
    }
}

#[test]
fn the_c_library_s_switch_gives_huge_pages() {
    let Some(perl) = installed("perl") else {
        return;
    };
    let script = "my @x = map { 'x' x 100000 } 1 .. 400; \
                  open F, '/proc/self/smaps_rollup'; print grep /AnonHuge/, <F>";
    let folder = folder("switches-glibc");
    has_effect(&folder, "glibc", &perl, &["perl", "-e", script]);
}

#[test]
fn python_s_switch_gives_huge_pages() {
    let Some(python) = installed("python3") else {
        return;
    };
    let script = "x = [str(i) * 9 for i in range(500000)]; \
                  print(*[l for l in open('/proc/self/smaps_rollup') if 'AnonHuge' in l])";
    let folder = folder("switches-python");
    has_effect(&folder, "python", &python, &["python3", "-c", script]);
}

#[test]
fn jemalloc_s_switch_gives_huge_pages() {
    let folder = folder("switches-jemalloc");
    let linked = ["-Wl,--no-as-needed", "-l:libjemalloc.so.2"];
    let Some(program) = compiled(&folder, "hold", HOLD, &linked) else {
        return;
    };
    let command = [program.to_str().expect("UTF-8")];
    has_effect(&folder, "jemalloc", &program, &command);
}

#[test]
fn java_s_switch_gives_huge_pages() {
    let (Some(java), Some(javac)) = (installed("java"), installed("javac")) else {
        return;
    };
    let folder = folder("switches-java");
    let source = file(&folder, "Hold.java", HOLD_JAVA.as_bytes());
    let status = Command::new(javac).arg(source).status().expect("it runs");
    assert!(status.success());
    let classes = folder.to_str().expect("UTF-8");
    let command = ["java", "-Xmx400m", "-cp", classes, "Hold"];
    has_effect(&folder, "java", &java, &command);
}

/// tcmalloc has no switch that asks for huge pages: the kernel's setting decides, as the answer
/// says.
#[test]
fn tcmalloc_gets_huge_pages_by_the_kernel_s_setting_alone() {
    let folder = folder("switches-tcmalloc");
    let libraries = ["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"];
    let mut programs = libraries.iter().filter_map(|library| {
        let library = format!("-l:{library}");
        compiled(&folder, "hold", HOLD, &["-Wl,--no-as-needed", &library])
    });
    let (Some(setting), Some(program)) = (setting(), programs.next()) else {
        return;
    };
    let command = [program.to_str().expect("UTF-8")];
    let [_, line] = suggested(&folder, "tcmalloc", &program, &command);
    let huge = tried(&line);
    match &*setting {
        "always" => assert!(huge > 20_000, "{huge} KiB"),
        _ => assert_eq!(huge, 0, "{line}"),
    }
}

/// A redis that runs, with the data that it was given.
struct Redis(Child);

impl Redis {
    /// Starts a command line, which listens at a socket, and stores some 90 MB there.
    fn filled(line: &str, socket: &Path) -> Self {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &format!("exec {line}")]);
        let redis = Self(
            shell
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("sh"),
        );
        let mut stream = eventually(|| UnixStream::connect(socket).ok());
        let store = "for i = 1, 100000 do redis.call('set', 'k' .. i, string.rep('x', 700)) end";
        writeln!(stream, "EVAL \"{store} return 1\" 0\r").expect("it listens");
        let mut answer = String::new();
        BufReader::new(&stream)
            .read_line(&mut answer)
            .expect("an answer");
        assert_eq!(answer.trim(), ":1");
        redis
    }

    fn huge_kib(&self) -> u64 {
        let path = format!("/proc/{}/smaps_rollup", self.0.id());
        huge_kib(&fs::read_to_string(path).expect("it runs"))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Redis's own switch alone has no effect where `enabled` is `madvise`: its allocator has to ask.
#[test]
fn redis_s_command_gives_huge_pages() {
    let Some(program) = installed("redis-server") else {
        return;
    };
    if setting().is_none() {
        return;
    }
    let answered = AnsweredProgram::new(Vec::new(), &program);
    if !answered.contains("libjemalloc") && !answered.contains("MALLOC_CONF") {
        eprintln!("skipped: this redis has no jemalloc");
        return;
    }
    let folder = folder("switches-redis");
    // The path of a socket has at most 107 bytes, and folders of tests may be deep.
    let socket = std::env::temp_dir().join(format!("broadleaf-{}.redis", std::process::id()));
    let path = socket.to_str().expect("UTF-8");
    let command = [
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        path,
        "--save",
        "",
    ];
    let [_, line] = suggested(&folder, "redis", &program, &command);
    let with = Redis::filled(&line, &socket).huge_kib();
    assert!(with > 40_000, "{with} KiB\n{line}");
    let _ = fs::remove_file(&socket);
    let line = broadleaf_report::command_line(&command);
    let without = Redis::filled(&line, &socket).huge_kib();
    let _ = fs::remove_file(&socket);
    assert!(without < 4_000, "{without} KiB");
}

/// The code of `advise` is compiled into a program with the mappings of the recorded program.
#[test]
fn the_code_of_advise_gives_huge_pages() {
    let Some(setting) = setting() else { return };
    let folder = folder("switches-advise");
    let trace = recorded(&folder, Path::new(""), &[]);
    let code = succeeded(&run(&["advise", &trace, "--format", "madvise"]));
    assert!(code.contains("\nmadvise("), "{code}");
    file(&folder, "advised.h", code.as_bytes());
    let source = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  size_t size = 64 << 20;
  char *memory = mmap((void *)0x1000000000, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) return 1;
#ifdef ADVISED
#include "advised.h"
#endif
  memset(memory, 1, size);
  char line[256];
  FILE *smaps = fopen("/proc/self/smaps_rollup", "r");
  while (fgets(line, sizeof line, smaps))
    if (!strncmp(line, "AnonHuge", 8)) fputs(line, stdout);
  return memory[size - 1] - 1;
}
"#;
    for (name, arguments) in [("plain", &[][..]), ("advised", &["-DADVISED"])] {
        let Some(program) = compiled(&folder, name, source, arguments) else {
            return;
        };
        let huge = tried(program.to_str().expect("UTF-8"));
        match name {
            "advised" => assert!(huge > 40_000, "{huge} KiB\n{code}"),
            _ if setting == "madvise" => assert_eq!(huge, 0, "without advice"),
            _ => {}
        }
    }
}

/// PostgreSQL's switch takes reserved pages, which tests/hard/switches reserves. Its name is right.
#[test]
fn postgres_has_its_switch() {
    if !is_installed("postgres") {
        return;
    }
    let mut command = Command::new("postgres");
    let output = command.arg("--describe-config").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let program = Path::new("/no/such/postgres");
    let [_, line] = suggested(
        &folder("switches-postgres"),
        "postgres",
        program,
        &["postgres"],
    );
    let (_, switch) = line.split_once(" -c ").expect("a switch");
    let (name, _) = switch.split_once('=').expect("a value");
    assert!(text.lines().any(|line| line.starts_with(name)), "{line}");
}

/// Redis's command has the variable of the jemalloc that the server loads, or that is inside it.
#[test]
fn redis_s_command_has_its_allocator_s_variable() {
    let folder = folder("switches-redis-command");
    let switch = SWITCHES.iter().find(|switch| switch.name == "redis");
    let command = switch.expect("redis").command;
    for (content, before) in [
        ("libc.so.6", ""),
        ("libjemalloc.so.2 libc.so.6", "env MALLOC_CONF=thp:always "),
        ("JE_MALLOC_CONF", "env JE_MALLOC_CONF=thp:always "),
    ] {
        let path = file(&folder, "redis-server", content.as_bytes());
        let words = vec!["redis-server".to_owned(), "a.conf".to_owned()];
        let program = AnsweredProgram::new(words, Path::new(&path));
        let expected = format!("{before}redis-server a.conf --disable-thp no");
        assert_eq!(command(&program), expected);
    }
}

/// A switch is only named for its own program.
#[test]
fn switches_apply_to_their_programs_alone() {
    let names = |path: &str| -> Vec<&str> {
        let program = AnsweredProgram::new(vec![path.to_owned()], Path::new(path));
        let applying = SWITCHES.iter().filter(|switch| (switch.applies)(&program));
        applying.map(|switch| switch.name).collect()
    };
    assert_eq!(names("/no/such/redis-server"), ["redis"]);
    assert_eq!(names("/no/such/mongod"), ["mongodb"]);
    assert_eq!(names("/no/such/postgres"), ["postgres"]);
    assert!(names("/no/such/program").is_empty());
    if Path::new("/bin/ls").exists() {
        assert_eq!(names("/bin/ls"), ["glibc"]);
    }
    if Path::new("/usr/bin/redis-server").exists() {
        // The C library's switch has no effect on jemalloc, and redis's command has jemalloc's.
        assert!(names("/usr/bin/redis-server").starts_with(&["redis"]));
        assert!(!names("/usr/bin/redis-server").contains(&"jemalloc"));
    }
    if Path::new("/usr/local/go/bin/go").exists() {
        assert_eq!(names("/usr/local/go/bin/go"), ["go"]);
    }
    for switch in SWITCHES {
        assert!(
            !switch.source.is_empty() && !switch.purpose.is_empty(),
            "{}",
            switch.name
        );
    }
}
