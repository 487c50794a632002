//! The ten recorded programs: memory-hungry programs of today, each for one of the paper's.

use crate::papers::programs::{CC, RecordedProgram, compilation, compiled, inputs, words};

/// The quick scale has 30 to 100 million instructions of each program; the full scale has ten times
/// as many or more. Tests use four programs that need a compiler alone. Two of these have arrays of
/// several superpages, so that superpages spare walks on every machine.
pub(super) const PROGRAMS: [RecordedProgram; 10] = [
    RecordedProgram {
        name: "gcc",
        kind: "compiling",
        represents: "gcc",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [1, 1, 80],
        prepare: |folder, work| {
            inputs::write(folder, "chen.c", inputs::code(work))?;
            Ok(words(&compilation("chen")?, None))
        },
    },
    RecordedProgram {
        name: "network",
        kind: "paths in a random network",
        represents: "mcf",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [0, 2, 30],
        prepare: |folder, work| {
            compiled(folder, "network", inputs::NETWORK, &[])?;
            Ok(words("./network 300000", work))
        },
    },
    RecordedProgram {
        name: "lbm",
        kind: "lattice-Boltzmann",
        represents: "lbm",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [1, 2, 22],
        prepare: |folder, work| {
            let side = if work > 2 { 320 } else { 220 };
            compiled(folder, "lbm", inputs::LBM, &[])?;
            Ok(words(&format!("./lbm {side}"), work))
        },
    },
    RecordedProgram {
        name: "sqlite",
        kind: "database",
        represents: "hmmer",
        packages: "sqlite3",
        needs: &["/usr/bin/sqlite3"],
        work: [0, 3_000, 60_000],
        prepare: |folder, work| {
            inputs::write(folder, "joins.sql", inputs::joins(work))?;
            let mut command = words("/usr/bin/sqlite3 :memory:", None);
            command.push(".read joins.sql".to_owned());
            Ok(command)
        },
    },
    RecordedProgram {
        name: "events",
        kind: "discrete events in Python",
        represents: "omnetpp",
        packages: "python3",
        needs: &["/usr/bin/python3"],
        work: [0, 1_000, 40_000],
        prepare: |folder, work| {
            inputs::write(folder, "events.py", inputs::EVENTS)?;
            Ok(words(&format!("/usr/bin/python3 events.py {work}"), work))
        },
    },
    RecordedProgram {
        name: "lattice",
        kind: "lattice of matrices",
        represents: "milc",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [0, 1, 4],
        prepare: |folder, work| {
            let side = if work == 1 { 11 } else { 16 };
            compiled(folder, "lattice", inputs::LATTICE, &["-ffast-math"])?;
            Ok(words(&format!("./lattice {side}"), work))
        },
    },
    RecordedProgram {
        name: "routes",
        kind: "shortest routes",
        represents: "astar",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [200, 700, 1_500],
        prepare: |folder, work| {
            let routes = if work > 1_000 { 6 } else { 1 };
            compiled(folder, "routes", inputs::ROUTES, &[])?;
            Ok(words(&format!("./routes {work}"), routes))
        },
    },
    RecordedProgram {
        name: "sparse",
        kind: "sparse linear algebra",
        represents: "soplex",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [1, 2, 40],
        prepare: |folder, work| {
            let rows = match work {
                1 => 100_000,
                2 => 200_000,
                _ => 400_000,
            };
            compiled(folder, "sparse", inputs::SPARSE, &[])?;
            Ok(words(&format!("./sparse {rows}"), work))
        },
    },
    RecordedProgram {
        name: "waves",
        kind: "waves",
        represents: "cactusADM",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [0, 4, 40],
        prepare: |folder, work| {
            let side = if work == 4 { 700 } else { 1_000 };
            compiled(folder, "waves", inputs::WAVES, &[])?;
            Ok(words(&format!("./waves {side}"), work))
        },
    },
    RecordedProgram {
        name: "fields",
        kind: "electromagnetic fields",
        represents: "GemsFDTD",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [0, 1, 10],
        prepare: |folder, work| {
            let side = if work == 1 { 96 } else { 120 };
            compiled(folder, "fields", inputs::FIELDS, &[])?;
            Ok(words(&format!("./fields {side}"), work))
        },
    },
];

/// The program of today for a program of the paper.
pub(super) fn program_for(represented: &str) -> Option<&'static RecordedProgram> {
    PROGRAMS
        .iter()
        .find(|program| program.represents == represented)
}
