//! Recordings of real programs on this machine.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::best::{BestRow, none_is_slower, replay};
use super::{none, percent, times};
use crate::failure::{Failure, reason};
use crate::papers::recorded::{is_here, recording};
use crate::papers::{PaperSetting, Table};
use broadleaf_record::scratch::{Purpose, Scratch};

/// A program with its arguments, for a folder in which `input` is a text of half a megabyte.
struct NavarroReal {
    program: &'static str,
    represents: &'static str,
    arguments: &'static [&'static str],
}

const REAL: &[NavarroReal] = &[
    NavarroReal {
        program: "gcc",
        represents: "gcc (CINT2000)",
        arguments: &["-O2", "-S", "-o", "out.s", "input.c"],
    },
    NavarroReal {
        program: "sqlite3",
        represents: "-",
        arguments: &[":memory:", ".read input.sql"],
    },
    NavarroReal {
        program: "xz",
        represents: "bzip2 (CINT2000)",
        arguments: &["-k", "-T1", "-2", "input"],
    },
    NavarroReal {
        program: "povray",
        represents: "POV-Ray",
        arguments: &["+Iinput.pov", "+W120", "+H90", "-D", "+Oout.png"],
    },
    // The C library as one object.
    NavarroReal {
        program: "ld",
        represents: "Linker",
        arguments: &["-r", "-o", "out.o", "--whole-archive", "input.a"],
    },
    // Compiled from `connect4.c` below.
    NavarroReal {
        program: "./connect4",
        represents: "C4",
        arguments: &[],
    },
    NavarroReal {
        program: "python3",
        represents: "perlbmk (CINT2000)",
        arguments: &[
            "-c",
            "d = {str(i * 7919 % 40009): i for i in range(40009)}; print(sum(d[str(i)] for i in \
             range(0, 40009, 3)))",
        ],
    },
];

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("a folder for recordings: {}", reason(&error)))
    };
    let work = Scratch::new(Purpose::Work).map_err(failed)?;
    inputs(work.path()).map_err(failed)?;
    let mut table = Table::new(
        "Real programs: superpages of all sizes against base pages",
        "Recorded on this machine with their mappings as Linux made them, and replayed on the \
         Alpha in 4 GiB of empty memory.",
        &[
            "program",
            "represents",
            "slides",
            "accesses",
            "misses spared",
            "speedup (est.)",
        ],
    );
    let mut rows = Vec::new();
    let here = |real: &&NavarroReal| match real.program {
        "./connect4" => compiled(work.path()),
        "ld" => is_here("ld") && library(work.path()),
        program => is_here(program),
    };
    for real in REAL.iter().filter(here) {
        let row = one(setting, real, work.path())?;
        let (base, all) = (row.took[0], row.took[4]);
        table.row([
            row.name.clone(),
            real.represents.to_owned(),
            none(),
            broadleaf_report::number::grouped(row.accesses),
            percent(all.spares_of(base)),
            times(all.speedup_over(base)),
        ]);
        rows.push(row);
    }
    none_is_slower(&mut table, &rows);
    Ok(vec![table])
}

fn one(setting: &PaperSetting, real: &NavarroReal, work: &Path) -> Result<BestRow, Failure> {
    let arguments = real.arguments.iter().map(OsString::from);
    let command = [real.program.into()].into_iter().chain(arguments);
    let name = real.program.trim_start_matches("./");
    let (mut trace, accesses) = recording(setting, name, command, work)?;
    replay(setting, name, &mut trace, accesses)
}

/// The solver of Connect-4.
const CONNECT4: &str = include_str!("connect4.c");

/// Compiles the solver of Connect-4. Without a compiler, a note says that the solver is left out.
fn compiled(folder: &Path) -> bool {
    let command = || {
        Command::new("cc")
            .args(["-O2", "-o", "connect4", "connect4.c"])
            .current_dir(folder)
            .status()
    };
    is_here("cc") && command().is_ok_and(|status| status.success())
}

/// Copies the archive of the C library for the linker. Without an archive, a note says that the
/// linker is left out.
fn library(folder: &Path) -> bool {
    let found = Command::new("cc").arg("-print-file-name=libc.a").output();
    let path = found
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    let copied =
        path.is_some_and(|path| std::fs::copy(path.trim(), folder.join("input.a")).is_ok());
    if !copied {
        log::info!("there is no archive of the C library: ld is left out");
    }
    copied
}

/// The inputs of the programs.
fn inputs(folder: &Path) -> std::io::Result<()> {
    let mut code = String::new();
    let mut sql = "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);\n".to_owned();
    let mut text = String::new();
    for number in 0..100 {
        let _ = writeln!(
            code,
            "int f{number}(int a, int b) {{ int s = {number}; for (int i = a; i < b; i++) s = s * \
             31 + (i ^ {number}) % (a | 1); return s; }}"
        );
    }
    for number in 0_u64..12_000 {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _ = writeln!(sql, "INSERT INTO t VALUES({}, '{mixed:x}');", mixed >> 20);
        let _ = writeln!(text, "{number} {mixed:x} {:x}", mixed % 10_007);
    }
    sql.push_str("SELECT sum(length(b)) FROM t WHERE a % 3 = 0;\n");
    std::fs::write(folder.join("input.c"), code)?;
    std::fs::write(folder.join("input.pov"), scene())?;
    std::fs::write(folder.join("connect4.c"), CONNECT4)?;
    std::fs::write(folder.join("input.sql"), sql)?;
    std::fs::write(folder.join("input"), text)
}

/// A picture of a few thousand balls in rows, with a light.
fn scene() -> String {
    let mut scene = "camera { location <0, 20, -40> look_at <0, 0, 20> }\nlight_source { <50, 80, \
                     -50> rgb 1 }\n"
        .to_owned();
    for number in 0..4000 {
        let (x, z) = (number % 63 - 31, number / 63);
        let _ = writeln!(
            scene,
            "sphere {{ <{x}, {}, {z}>, 0.45 pigment {{ rgb <0.{}, 0.5, 0.7> }} }}",
            number * 7 % 5,
            number % 10
        );
    }
    scene
}
