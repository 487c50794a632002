//! Programs in C that the command compiles.

use std::path::Path;

use crate::failure::Failure;
use crate::papers::programs::{CC, RecordedProgram, compiled, done, inputs, words};

const PACKAGES: &str = "gcc libc6-dev";

/// Compiles a program, and returns its command with the work at the end.
fn command(
    folder: &Path,
    name: &str,
    source: &str,
    arguments: &str,
    work: u32,
) -> Result<Vec<String>, Failure> {
    compiled(folder, name, source, &["-lm"])?;
    Ok(words(&format!("./{name} {arguments}"), work))
}

pub(super) const NETWORK: RecordedProgram = RecordedProgram {
    name: "network",
    kind: "paths in a random network",
    represents: "429.mcf",
    packages: PACKAGES,
    needs: &[CC],
    work: [1, 6, 150],
    prepare: |folder, work| {
        let nodes = if work == 150 { "2000000" } else { "400000" };
        command(folder, "network", inputs::NETWORK, nodes, work)
    },
};

pub(super) const SIMPLEX: RecordedProgram = RecordedProgram {
    name: "simplex",
    kind: "network simplex",
    represents: "605.mcf",
    packages: PACKAGES,
    needs: &[CC],
    work: [500, 1_500, 20_000],
    prepare: |folder, work| {
        let sides = match work {
            500 => "20000 8",
            1_500 => "100000 8",
            _ => "400000 8",
        };
        command(folder, "simplex", inputs::SIMPLEX, sides, work)
    },
};

pub(super) const LBM: RecordedProgram = RecordedProgram {
    name: "lbm",
    kind: "lattice-Boltzmann",
    represents: "lbm",
    packages: PACKAGES,
    needs: &[CC],
    work: [0, 8, 100],
    prepare: |folder, work| {
        let side = if work == 8 { "600" } else { "1300" };
        command(folder, "lbm", inputs::LBM, side, work)
    },
};

pub(super) const PACKETS: RecordedProgram = RecordedProgram {
    name: "packets",
    kind: "network of queues",
    represents: "omnetpp",
    packages: PACKAGES,
    needs: &[CC],
    work: [0, 600, 10_000],
    prepare: |folder, work| {
        let nodes = if work == 600 { "200000" } else { "2000000" };
        command(folder, "packets", inputs::PACKETS, nodes, work)
    },
};

pub(super) const CLIMATE: RecordedProgram = RecordedProgram {
    name: "climate",
    kind: "atmosphere of a globe",
    represents: "cam4",
    packages: PACKAGES,
    needs: &[CC],
    work: [0, 6, 100],
    prepare: |folder, work| {
        let around = if work == 6 { "192" } else { "288" };
        command(folder, "climate", inputs::CLIMATE, around, work)
    },
};

pub(super) const WAVES: RecordedProgram = RecordedProgram {
    name: "waves",
    kind: "waves on water",
    represents: "roms",
    packages: PACKAGES,
    needs: &[CC],
    work: [0, 6, 100],
    prepare: |folder, work| {
        let side = if work == 6 { "1600" } else { "3000" };
        command(folder, "waves", inputs::WAVES, side, work)
    },
};

pub(super) const ANNEAL: RecordedProgram = RecordedProgram {
    name: "anneal",
    kind: "simulated annealing",
    represents: "canneal",
    packages: PACKAGES,
    needs: &[CC],
    work: [0, 200, 20_000],
    prepare: |folder, work| {
        let elements = if work == 200 { "400000" } else { "2000000" };
        command(folder, "anneal", inputs::ANNEAL, elements, work)
    },
};

pub(super) const PAGERANK: RecordedProgram = RecordedProgram {
    name: "pagerank",
    kind: "ranks of a graph in a file",
    represents: "graphchi",
    packages: PACKAGES,
    needs: &[CC],
    work: [1, 3, 30],
    prepare: |folder, work| {
        let vertices = match work {
            1 => "100000",
            3 => "500000",
            _ => "3000000",
        };
        compiled(folder, "pagerank", inputs::PAGERANK, &[])?;
        done(folder, "./pagerank", &["graph", vertices, "6"])?;
        Ok(words("./pagerank graph", work))
    },
};

pub(super) const UPDATES: RecordedProgram = RecordedProgram {
    name: "updates",
    kind: "random updates",
    represents: "gups",
    packages: PACKAGES,
    needs: &[CC],
    work: [1, 4, 300],
    prepare: |folder, work| {
        let mib = match work {
            1 => "16",
            4 => "256",
            _ => "4096",
        };
        command(folder, "updates", inputs::UPDATES, mib, work)
    },
};
