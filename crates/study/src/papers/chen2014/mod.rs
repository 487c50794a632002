//! Chen, Wang, Cui, Huang, Bao and Chen 2014: superpages that share a cache without its sets.

mod gains;
mod native;
mod own_machine;
mod programs;
mod published;
mod runs;
mod schemes;
mod tables;

use super::{Experiment, Paper, PaperSetting, Table, none};
use crate::failure::Failure;

pub(crate) const PAPER: Paper = Paper {
    name: "chen2014",
    title: "Chen, Wang, Cui, Huang, Bao, Chen: Scattered Superpage: A Case for Bridging the Gap between \
            Superpage and Page Coloring (ICCD 2014)",
    source: "paper",
    help: "Superpages beside page colouring, in a cache that four programs share: throughput, \
           fairness and misses of sixteen mixes of recorded programs. It records at every scale, \
           which takes longer; --tiny needs gcc alone. With -o, it keeps its recordings.",
    remarks: "Ten programs of today are recorded by cache lines, with instructions, and run in the \
              paper's sixteen mixes of four: each takes the core of the program that it \
              represents. Counts of misses are exact for the modelled machine. Cycles and IPC are \
              estimates of an interval model. Each program is moved forward by three fifths of its \
              instructions; then caches are warmed, and a number of instructions counts. The paper \
              skips 10,000 million instructions and counts 1,000 million for each mix. Intervals \
              are 95 percent, over mixes.",
    cycles_per_access: None,
    switches: None,
    records_guests: false,
    experiments: &[
        Experiment {
            tables: &[
                "programs",
                "figure-3",
                "table-2",
                "figure-8",
                "figure-9",
                "figure-10",
                "figure-11",
                "schemes",
            ],
            run: simulated,
            only_full: false,
        },
        Experiment {
            tables: &["figure-2", "single-programs"],
            run: native::tables,
            only_full: true,
        },
    ],
};

fn simulated(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let runs = runs::all(setting)?;
    Ok(vec![
        tables::programs(&runs),
        tables::needs(&runs),
        tables::misses(&runs),
        gains::throughput(setting, &runs),
        gains::unfairness(setting, &runs),
        gains::cache_misses(setting, &runs),
        gains::tlb_misses(setting, &runs),
        gains::order(setting, &runs),
    ])
}
