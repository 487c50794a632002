//! The inputs of the recorded programs.

use std::fmt::Write as _;
use std::path::Path;

use crate::failure::{Failure, reason};
pub(in crate::papers) use crate::papers::programs::digits::digits;

pub(in crate::papers) const FFT: &str = include_str!("inputs/fft.c");
pub(in crate::papers) const WAVES: &str = include_str!("inputs/waves.c");
pub(in crate::papers) const PARTICLES: &str = include_str!("inputs/particles.c");
pub(in crate::papers) const LEARN: &str = include_str!("inputs/learn.ml");
pub(in crate::papers) const POWER: &str = include_str!("inputs/power.py");
pub(in crate::papers) const LBM: &str = include_str!("inputs/lbm.c");
pub(in crate::papers) const LATTICE: &str = include_str!("inputs/lattice.c");
pub(in crate::papers) const FIELDS: &str = include_str!("inputs/fields.c");
pub(in crate::papers) const SPARSE: &str = include_str!("inputs/sparse.c");
pub(in crate::papers) const NETWORK: &str = include_str!("inputs/network.c");
pub(in crate::papers) const ROUTES: &str = include_str!("inputs/routes.c");
pub(in crate::papers) const EVENTS: &str = include_str!("inputs/events.py");
pub(in crate::papers) const SIMPLEX: &str = include_str!("inputs/simplex.c");
pub(in crate::papers) const UPDATES: &str = include_str!("inputs/updates.c");
pub(in crate::papers) const PACKETS: &str = include_str!("inputs/packets.c");
pub(in crate::papers) const ANNEAL: &str = include_str!("inputs/anneal.c");
pub(in crate::papers) const PAGERANK: &str = include_str!("inputs/pagerank.c");
pub(in crate::papers) const CLIMATE: &str = include_str!("inputs/climate.c");
pub(in crate::papers) const TELCO: &str = include_str!("inputs/Telco.java");
pub(in crate::papers) const TRADES: &str = include_str!("inputs/Trades.java");
pub(in crate::papers) const REDIS: &str = include_str!("inputs/redis.sh");
pub(in crate::papers) const POSTGRES: &str = include_str!("inputs/postgres.sh");

/// Writes an input to a folder.
pub(in crate::papers) fn write(
    folder: &Path,
    name: &str,
    text: impl AsRef<[u8]>,
) -> Result<(), Failure> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| {
        let why = reason(&error);
        Failure::failed(format!("{}: {why}", path.display()))
    })
}

/// A text of numbers, as large as that many KiB.
pub(in crate::papers) fn text(kib: u32) -> String {
    let mut text = String::new();
    let mut number = 0_u64;
    while text.len() < (kib as usize) << 10 {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _ = writeln!(text, "{number} {mixed:x} {:x}", mixed % 10_007);
        number += 1;
    }
    text
}

/// An image of a disk of 78 MiB, in which a share of blocks holds text, in percent. The others are
/// blank.
pub(in crate::papers) fn image(percent: u32) -> Vec<u8> {
    const BLOCK: usize = 64 << 10;
    const BLOCKS: usize = 1250;
    let share = percent as usize;
    let text = text((((BLOCKS * share / 100 + 2) * BLOCK) >> 10) as u32);
    let mut image = vec![0; BLOCKS * BLOCK];
    for (number, block) in image.chunks_mut(BLOCK).enumerate() {
        // The number of blocks with text before this one.
        let before = number * share / 100;
        if (number + 1) * share / 100 > before {
            block.copy_from_slice(&text.as_bytes()[before * BLOCK..][..BLOCK]);
        }
    }
    image
}

/// Functions in C that walk lists, with loops and switches.
pub(in crate::papers) fn code(functions: u32) -> String {
    let mut code = String::new();
    for number in 0..functions {
        let _ = writeln!(
            code,
            "struct s{number} {{ int a, b[8]; struct s{number} *next; }};\n\
             int f{number}(struct s{number} *list, int n) {{\n\
             int t = {number};\n\
             for (; list; list = list->next) {{\n\
             for (int i = 0; i < 8; i++) {{\n\
             if (list->b[i] % {} > n) t += list->b[i] * {number};\n\
             else t ^= list->a << (i & {});\n\
             }}\n\
             switch (t & 7) {{\n\
             case 0: t += n; break;\n\
             case 3: t *= {}; break;\n\
             case {}: t -= list->a / (n | 1);\n\
             }}\n\
             }}\n\
             return t;\n\
             }}",
            number + 3,
            number % 7,
            number + 5,
            number % 2 + 4
        );
    }
    code
}

/// A query of SQL that joins two tables by a column without order.
pub(in crate::papers) fn joins(rows: u32) -> String {
    format!(
        "CREATE TABLE one(id INTEGER PRIMARY KEY, other INT, text TEXT);\n\
         CREATE TABLE two(id INTEGER PRIMARY KEY, worth INT, text TEXT);\n\
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})\n\
         INSERT INTO two SELECT i, i * 7919 % 10007, hex(i * 65537) || 'abcdefgh' FROM n;\n\
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})\n\
         INSERT INTO one SELECT i, 1 + i * 104729 % {rows}, 'row ' || i FROM n;\n\
         SELECT sum(worth) FROM one JOIN two ON one.other = two.id WHERE one.id % 3 > 0;\n\
         SELECT count(*) FROM one JOIN two ON one.other = two.id WHERE two.text > one.text;\n"
    )
}

/// A square mesh of resistors, capacitors and diodes behind a pulse.
pub(in crate::papers) fn circuit(side: u32) -> String {
    let mut circuit = "mesh\n".to_owned();
    for y in 0..side {
        for x in 0..side {
            let node = format!("n{x}_{y}");
            let _ = writeln!(circuit, "C{node} {node} 0 1p");
            if x + 1 < side {
                let _ = writeln!(circuit, "Rx{node} {node} n{}_{y} 1k", x + 1);
            }
            if y + 1 < side {
                let _ = writeln!(circuit, "Ry{node} {node} n{x}_{} 1k", y + 1);
            }
            if (x * 7 + y * 3) % 5 == 0 {
                let _ = writeln!(circuit, "D{node} {node} 0 D");
            }
        }
    }
    circuit
        + "V1 n0_0 0 PULSE(0 5 0 1n 1n 20n 40n)\n.model D D\n.tran 1n 60n\n.save v(n0_0)\n.end\n"
}

/// The gates of the logic circuit.
const GATES: u32 = 1000;

/// A circuit of random gates between registers, for a number of clock cycles.
pub(in crate::papers) fn logic(cycles: u32) -> String {
    let last = GATES - 1;
    let mut logic =
        format!("module top;\nreg clock = 0;\nreg [{last}:0] state = 1;\nwire [{last}:0] next;\n");
    for gate in 0..GATES {
        let (one, other) = ((gate * 7919 + 13) % GATES, (gate * 104_729 + 7) % GATES);
        let operator = ["^", "&", "|"][gate as usize % 3];
        let _ = writeln!(
            logic,
            "assign next[{gate}] = state[{}] ^ (state[{one}] {operator} state[{other}]);",
            (gate + last) % GATES
        );
    }
    let _ = writeln!(
        logic,
        "always @(posedge clock) state <= next;\ninteger i;\ninitial begin\n\
         for (i = 0; i < {cycles}; i = i + 1) begin #1 clock = 1; #1 clock = 0; end\n\
         $display(\"%b\", state[0]);\n$finish;\nend\nendmodule"
    );
    logic
}
