//! Talluri 1995: the tables of chapters 2 to 5 and of appendices B, C, H and I that follow from its
//! models and from Appendix J, and the experiments of chapters 2 to 7 on recorded programs.

mod access;
mod appendix_i;
mod areas;
mod bases;
mod chapters;
mod comparisons;
mod coverage;
mod critical;
mod measured;
mod misses;
mod names;
mod page_tables;
mod preloading;
mod recorded;
mod sensitivity;
mod speedups;
mod subblocks;
mod thesis;

use super::{Experiment, Paper, PaperSetting, Table};
use crate::failure::Failure;

/// A row of figures: whose they are, the figure of a cell, and the digits.
type WhoseFigure<C> = (&'static str, fn(&C) -> Option<f64>, usize);

pub(crate) const PAPER: Paper = Paper {
    name: "talluri1995",
    title: "Talluri: Use of Superpages and Subblocking in the Address Translation Hierarchy \
            (thesis, University of Wisconsin, 1995)",
    source: "thesis",
    help: "Superpage and subblock TLBs: chip areas, access times, execution times from the \
           thesis's misses; misses, speedups, placement of pages and page tables of ten recorded \
           programs. It records at every scale, which takes longer; --tiny needs gcc alone. With \
           -o, it keeps all cells of Appendix I, and an interrupted run goes on where it ended.",
    remarks: "The thesis's figures are beside ours; a dash marks a missing figure. The first \
              tables cover what follows from the thesis's own inputs: chip areas and TLBs of \
              equal area, access times, and execution times from the misses of Appendix J. Names \
              of TLBs are \
              those of the thesis's kinds: sp (single page size), spg (superpages), csb and psb \
              (complete and partial subblocks), then fa or sa4 (fully associative, 4-way), b and \
              the number of blocks, and pre (preloading). The last tables repeat the experiments \
              on ten programs, recorded on this computer: 100 million references each, and 1,000 \
              million with --full. They have misses and speedups, the placement of pages \
              (chapter 6), and page tables (chapter 7). The very last table lists every numbered \
              table of the thesis, and what cannot be produced.",
    cycles_per_access: Some(3.0),
    switches: None,
    records_guests: false,
    // The recorded programs follow the tables that need no recording.
    experiments: &[
        Experiment {
            tables: &["equal-areas", "relative-areas"],
            run: areas,
            only_full: false,
        },
        Experiment {
            tables: &["access-times", "valid-bits", "multiplexors"],
            run: access_times,
            only_full: false,
        },
        Experiment {
            tables: &[
                "measured-programs",
                "ideal-times",
                "sensitivity",
                "headline",
                "chapters",
                "appendix-i",
                "appendix-i-cells",
                "critical-penalties",
                "preloading",
            ],
            run: execution_times,
            only_full: false,
        },
        Experiment {
            tables: &["linear-lines", "clustered-memory"],
            run: page_tables,
            only_full: false,
        },
        Experiment {
            tables: recorded::TABLES,
            run: recorded::run,
            only_full: false,
        },
        Experiment {
            tables: &["coverage"],
            run: |_| Ok(vec![coverage::table()?]),
            only_full: false,
        },
    ],
};

fn areas(_: &PaperSetting) -> Result<Vec<Table>, Failure> {
    Ok(vec![areas::equal_areas()?, areas::relative_areas()?])
}

fn access_times(_: &PaperSetting) -> Result<Vec<Table>, Failure> {
    Ok(vec![
        access::table()?,
        subblocks::valid_bits()?,
        subblocks::multiplexors()?,
    ])
}

fn page_tables(_: &PaperSetting) -> Result<Vec<Table>, Failure> {
    Ok(vec![page_tables::linear_lines()?, page_tables::memory()?])
}

fn execution_times(_: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let [summary, cells] = appendix_i::tables_of_speedups()?;
    Ok(vec![
        measured::table()?,
        sensitivity::ideal_times()?,
        sensitivity::sensitivity()?,
        sensitivity::headline()?,
        chapters::table()?,
        summary,
        cells,
        critical::table()?,
        preloading::table()?,
    ])
}
