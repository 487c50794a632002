//! Measured runs reach both ends, whatever the program's allocator or runtime asks for.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::live::{can_govern, compiled, installed};
use crate::support::{file, folder, run, stderr};
use crate::switches::{HOLD, HOLD_JAVA};

/// A program in Perl that runs a command, and adds a line to a file: the most memory that the
/// command had in huge pages, and the most anonymous memory, in KiB.
const WATCH: &str = r#"
my ($log, @command) = @ARGV;
my $pid = fork // die;
if (!$pid) { exec @command or die }
my ($most_huge, $most) = (0, 0);
while (waitpid($pid, 1) == 0) {
  if (open my $file, '<', "/proc/$pid/smaps_rollup") {
    my $text = join '', <$file>;
    my ($huge) = $text =~ /^AnonHugePages:\s+(\d+)/m;
    my ($all) = $text =~ /^Anonymous:\s+(\d+)/m;
    $most_huge = $huge if ($huge // 0) > $most_huge;
    $most = $all if ($all // 0) > $most;
  }
  select undef, undef, undef, 0.01;
}
my $status = $?;
open my $out, '>>', $log or die;
print $out "$most_huge $most\n";
exit($status >> 8 || $status);
"#;

/// Measures a command at both ends, and checks the page sizes of each run.
fn reaches_both_ends(name: &str, command: &[&str]) {
    let folder = folder(&format!("ends-{name}"));
    let watch = file(&folder, "watch.pl", WATCH.as_bytes());
    let log = folder.join("memory");
    let log_path = log.to_str().expect("UTF-8");
    let asked = ["run", "--baseline", "1", "--format", "json", "perl"];
    let output = run(&[&asked[..], &[&watch, log_path], command].concat());
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    let text = fs::read_to_string(&log).expect("the runs wrote");
    let runs = text.lines().map(|line| {
        let (huge, all) = line.split_once(' ').expect("two numbers");
        let kib = |text: &str| text.parse::<u64>().expect("a number");
        [kib(huge), kib(all)]
    });
    let runs: Vec<[u64; 2]> = runs.collect();
    // A round goes from base pages to huge pages, and the next one back.
    assert_eq!(runs.len(), 8, "{text}");
    for base in [runs[0], runs[7]] {
        assert!(
            base[0] == 0 && base[1] > 30_000,
            "{name}, base pages: {text}"
        );
    }
    for huge in [runs[3], runs[4]] {
        assert!(2 * huge[0] > huge[1], "{name}, huge pages: {text}");
    }
}

/// Returns true if programs can be measured here, with the program that watches them.
fn can_measure() -> bool {
    can_govern() && installed("perl").is_some()
}

#[test]
fn jemalloc_s_own_switches_keep_it_from_no_end() {
    let folder = folder("ends-of-jemalloc");
    let linked = ["-Wl,--no-as-needed", "-l:libjemalloc.so.2"];
    let Some(program) = compiled(&folder, "hold", HOLD, &linked) else {
        return;
    };
    if !can_measure() {
        return;
    }
    let program = program.to_str().expect("UTF-8");
    for setting in ["never", "always"] {
        let variable = format!("MALLOC_CONF=thp:{setting}");
        let command = ["env", &variable, program, "600"];
        reaches_both_ends(&format!("jemalloc-{setting}"), &command);
    }
}

#[test]
fn java_s_own_switch_keeps_it_from_no_end() {
    let Some(javac) = installed("javac") else {
        return;
    };
    if !can_measure() || installed("java").is_none() {
        return;
    }
    let folder = folder("ends-of-java");
    let source = file(&folder, "Hold.java", HOLD_JAVA.as_bytes());
    let status = Command::new(javac).arg(source).status().expect("it runs");
    assert!(status.success());
    let classes = folder.to_str().expect("UTF-8");
    for (name, switch) in [("off", "-"), ("on", "+")] {
        let switch = format!("-XX:{switch}UseTransparentHugePages");
        let command = ["java", &switch, "-Xmx400m", "-cp", classes, "Hold", "600"];
        reaches_both_ends(&format!("java-{name}"), &command);
    }
}

/// The compiler proper takes its memory from `mmap`, in pieces.
#[test]
fn both_ends_of_a_compiler_are_reached() {
    let asked = Command::new("gcc").arg("-print-prog-name=cc1").output();
    let compiler = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let compiler = compiler.unwrap_or_default();
    if !Path::new(&compiler).is_file() || !can_measure() {
        eprintln!("skipped: gcc is not installed");
        return;
    }
    let folder = folder("ends-of-cc1");
    let source: String = (0..650)
        .map(|number| {
            format!(
                "int f{number}(int *a, int n) {{ int s = {number}; for (int i = 0; i < n; i++) \
                 if (a[i] > s) s += a[i] * {number}; else a[i] -= s; return s; }}\n"
            )
        })
        .collect();
    let source = file(&folder, "many.c", source.as_bytes());
    let output = folder.join("many.s");
    let output = output.to_str().expect("UTF-8");
    reaches_both_ends("cc1", &[&compiler, "-quiet", "-O0", &source, "-o", output]);
}
