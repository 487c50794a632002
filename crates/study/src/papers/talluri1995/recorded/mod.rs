//! The experiments on misses and speedups again, on recorded programs.

mod designs;
mod inputs;
mod programs;
mod runs;
mod tables;
mod tendencies;

use crate::failure::Failure;
use crate::papers::{PaperSetting, Table};

/// The names of the tables.
pub(super) const TABLES: &[&str] = &[
    "programs",
    "recorded-misses",
    "recorded-speedups",
    "tendencies",
];

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let all = runs::all(setting)?;
    Ok(vec![
        tables::programs(setting, &all),
        tables::misses(&all)?,
        tables::speedups(setting, &all)?,
        tendencies::table(&all),
    ])
}
