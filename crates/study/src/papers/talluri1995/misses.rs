//! The measured programs of table 2-1, and the misses of Appendix J.

use std::collections::BTreeMap;

use broadleaf_price::execution::MeasuredProgram;

use super::thesis::{ThesisTable, tables};
use crate::failure::Failure;

/// The names of the programs, in the order of the tables.
pub(super) const PROGRAMS: [&str; 10] = [
    "coral", "nasa7", "compress", "fftpde", "wave5", "mp3d", "spice", "pthor", "ML", "gcc",
];

/// The programs on the machine: run time in whole seconds, and misses of its TLB of 64 blocks.
pub(super) fn measured() -> Result<Vec<MeasuredProgram>, Failure> {
    let table = ThesisTable::named("2-1")?;
    let program = |name: &&str| {
        Ok(MeasuredProgram {
            seconds: table.number(name, "total_time_s")?,
            misses: 1000.0 * table.number(name, "user_tlb_misses_thousands")?,
        })
    };
    PROGRAMS.iter().map(program).collect()
}

/// The misses of each TLB of Appendix J, in thousands as printed, in the order of the programs.
pub(super) fn thousands() -> Result<BTreeMap<&'static str, Vec<f64>>, Failure> {
    let mut misses = BTreeMap::new();
    for table in tables().filter(|table| table.name.starts_with('J')) {
        for tlb in &table.columns {
            let cells = PROGRAMS.iter().map(|program| table.number(program, tlb));
            misses.insert(*tlb, cells.collect::<Result<Vec<f64>, Failure>>()?);
        }
    }
    Ok(misses)
}
