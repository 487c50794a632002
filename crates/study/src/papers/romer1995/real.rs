//! Recordings of today's real programs that do the work of the paper's.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::runs::{ProgramRun, policies, replay};
use crate::failure::{Failure, reason};
use crate::papers::PaperSetting;
use crate::papers::recorded::{is_here, recording};
use broadleaf_record::scratch::{Purpose, Scratch};

/// A program with its arguments, for a folder with all inputs.
struct RomerReal {
    /// The name of the paper's program that it represents, or its own name.
    represents: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

/// The programs, in the order of the paper's tables.
const REAL: [RomerReal; 6] = [
    RomerReal {
        represents: "coral",
        program: "sqlite3",
        arguments: &[":memory:", ".read query.sql"],
    },
    RomerReal {
        represents: "compress",
        program: "compress",
        arguments: &["-f", "text"],
    },
    RomerReal {
        represents: "spice",
        program: "ngspice",
        arguments: &["-b", "-r", "result", "-o", "log", "circuit.cir"],
    },
    RomerReal {
        represents: "gcc",
        program: "gcc",
        arguments: &["-quiet", "-o", "out.s", "code.c"],
    },
    RomerReal {
        represents: "xz",
        program: "xz",
        arguments: &["-k", "-T1", "-2", "text2"],
    },
    RomerReal {
        represents: "python3",
        program: "python3",
        arguments: &[
            "-c",
            "d = {str(i * 7919 % 40009): i for i in range(40009)}; s = sum(d[str(i)] for i in \
             range(0, 40009, 3))",
        ],
    },
];

/// The programs that exist on this machine.
pub(super) fn all(setting: &PaperSetting) -> Result<Vec<ProgramRun>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("a folder for recordings: {}", reason(&error)))
    };
    let work = Scratch::new(Purpose::Work).map_err(failed)?;
    inputs(work.path()).map_err(failed)?;
    let mut runs = Vec::new();
    for real in REAL.iter().filter(|real| is_here(real.program)) {
        let arguments = real.arguments.iter().map(OsString::from);
        let command = [executable(real.program)].into_iter().chain(arguments);
        // Other papers give the same programs other work.
        let name = format!("romer1995-{}", real.program);
        let (mut trace, accesses) = recording(setting, &name, command, work.path())?;
        let outcome = replay(setting, real.program, &policies()).of(&mut trace, accesses)?;
        runs.push(ProgramRun::of(real.represents, true, &outcome)?);
    }
    Ok(runs)
}

/// The program to run: for `gcc` the compiler proper, which the driver only starts.
fn executable(program: &str) -> OsString {
    let compiler = || {
        let asked = Command::new(program).arg("-print-prog-name=cc1").output();
        let name = String::from_utf8(asked.ok()?.stdout).ok()?;
        Path::new(name.trim())
            .is_absolute()
            .then(|| name.trim().into())
    };
    let proper = if program == "gcc" { compiler() } else { None };
    proper.unwrap_or_else(|| program.into())
}

/// The inputs of the programs: texts of about a megabyte, code of 30 KB, a circuit, and a query
/// that derives facts from facts.
fn inputs(folder: &Path) -> std::io::Result<()> {
    let mut text = String::new();
    let mut number = 0_u64;
    while text.len() < 977 << 10 {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _ = writeln!(text, "{number} {mixed:x} {:x}", mixed % 10_007);
        number += 1;
    }
    std::fs::write(folder.join("text"), &text)?;
    std::fs::write(folder.join("text2"), &text)?;
    std::fs::write(folder.join("code.c"), code())?;
    std::fs::write(folder.join("circuit.cir"), circuit())?;
    std::fs::write(folder.join("query.sql"), QUERY)
}

fn code() -> String {
    let mut code = String::new();
    let mut number = 0;
    while code.len() < 30 << 10 {
        let _ = writeln!(
            code,
            "int f{number}(int a, int b) {{ int s = {number}; for (int i = a; i < b; i++) s = s * \
             31 + (i ^ {number}) % (a | 1); return s; }}"
        );
        number += 1;
    }
    code
}

/// A chain of inverters with a pulse that passes through it.
fn circuit() -> String {
    let mut circuit = "inverters\nvdd vdd 0 5\nvin n0 0 pulse(0 5 1n 1n 1n 20n 40n)\n".to_owned();
    for stage in 0..200 {
        let next = stage + 1;
        let _ = writeln!(circuit, "mp{stage} n{next} n{stage} vdd vdd p w=2u l=1u");
        let _ = writeln!(circuit, "mn{stage} n{next} n{stage} 0 0 n w=1u l=1u");
        let _ = writeln!(circuit, "c{stage} n{next} 0 10f");
    }
    circuit.push_str(".model n nmos(level=1 vto=1 kp=60u)\n.model p pmos(level=1 vto=-1 kp=25u)\n");
    circuit.push_str(".tran 0.1n 3n\n.end\n");
    circuit
}

/// Reachability, and membership in one generation, over 50,000 facts.
const QUERY: &str = "\
.output result
CREATE TABLE fact(a INTEGER, b INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
  INSERT INTO fact SELECT i * 7919 % 20011, (i * 2654435761 >> 13) % 20011 FROM n;
CREATE INDEX forth ON fact(a);
WITH RECURSIVE reached(x) AS (SELECT 1 UNION SELECT b FROM fact JOIN reached ON a = x)
  SELECT count(*) FROM reached;
WITH RECURSIVE same(x, y) AS (
  SELECT f.b, g.b FROM fact f JOIN fact g ON f.a = g.a WHERE f.a < 40
  UNION SELECT f.b, g.b FROM same JOIN fact f ON f.a = x JOIN fact g ON g.a = y LIMIT 500)
SELECT count(*) FROM same;
";
