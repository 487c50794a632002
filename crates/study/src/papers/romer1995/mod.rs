//! Romer, Ohlrich, Karlin, Bershad 1995: its tables and figures, with newly written programs.

mod bound;
mod costs;
mod counters;
mod figure2;
mod figures;
mod fragmented;
mod kernels;
mod mechanisms;
mod overhead;
mod percentile;
mod policies;
mod programs;
mod published;
mod real;
mod recomputed;
mod rows;
mod runs;
mod sensitivity;
mod small;
mod tables;

use super::{Experiment, Paper, PaperSetting, Table, none};
use crate::failure::Failure;

pub(crate) const PAPER: Paper = Paper {
    name: "romer1995",
    title: "Romer, Ohlrich, Karlin, Bershad: Reducing TLB and Memory Overhead Using Online \
            Superpage Promotion (ISCA 1995)",
    source: "paper",
    help: "Superpages that TLB misses pay for: misses, time, memory and page sizes under each of \
           its policies. --full also records compress, gcc, ngspice, sqlite3, xz and python3, \
           where they are installed.",
    remarks: "The paper's figures are above ours; a dash marks a missing figure. Misses are \
              counted in hundreds, as there. Costs are the paper's: 30 cycles for a miss, 100 more \
              where prefetch charges \
              are kept and 2470 where capacity charges are, 3000 for each KiB that a promotion \
              copies. Counts are exact; times are estimates, in which an access that misses no TLB \
              takes a fixed number of cycles \
              (--cycles-per-access). Only data references are translated. Programs are kernels \
              after those of the paper, as references: how often each touches a page before it \
              goes on was chosen so that its \
              misses at 4 KiB weigh about as much as in the paper's tables 2 and 4; what larger \
              pages and policies make of them was not. --full adds recordings of real ones.",
    cycles_per_access: Some(3.0),
    switches: None,
    records_guests: false,
    experiments: &[Experiment {
        tables: &[
            "table-2",
            "table-3",
            "table-4",
            "table-5",
            "table-5-recomputed",
            "table-6",
            "figure-1",
            "figure-2",
            "figure-3",
            "figure-4",
            "figure-5",
            "bound",
            "thresholds",
            "counters",
            "sensitivity",
            "mechanisms",
        ],
        run: all,
        only_full: false,
    }],
};

/// All tables. Most use the same runs.
fn all(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let runs = runs::all(setting)?;
    Ok(vec![
        tables::baseline(setting, &runs),
        costs::table(&runs),
        tables::misses(&runs),
        tables::improvement(setting, &runs),
        recomputed::table(),
        tables::page_sizes(&runs),
        figures::page_size_tradeoff(&runs),
        figure2::table(),
        overhead::table(&runs),
        figures::memory(&runs),
        figures::tradeoff(&runs),
        bound::table(setting)?,
        percentile::table(&runs),
        counters::table(setting)?,
        sensitivity::table(setting)?,
        mechanisms::table()?,
    ])
}
