//! The experiments again, on recorded programs: misses and speedups, the placement of pages, and
//! page tables.

mod counts;
mod designs;
mod placement;
mod programs;
mod runs;
mod table_memory;
mod tables;
mod tendencies;
mod walks;
mod worlds;

use crate::failure::Failure;
use crate::papers::{PaperSetting, Table};

/// The names of the tables.
pub(super) const TABLES: &[&str] = &[
    "programs",
    "recorded-misses",
    "recorded-speedups",
    "tendencies",
    "placement",
    "lines-a-miss",
    "clustered-lines",
    "table-memory",
    "superpage-table-memory",
];

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let all = runs::all(setting)?;
    Ok(vec![
        tables::programs(setting, &all),
        tables::misses(&all)?,
        tables::speedups(setting, &all)?,
        tendencies::table(&all)?,
        placement::table(&all)?,
        walks::lines_a_miss(&all)?,
        walks::clustered(&all)?,
        table_memory::base_pages(&all)?,
        table_memory::superpages(&all)?,
    ])
}
