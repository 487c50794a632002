//! The arguments of `tables`.

use clap::Args;

use super::number::process;
use super::{ResultFile, TableOrJson};

/// Build every page table for what a running process has mapped
///
/// Reads the entries of the process's page table and changes nothing. For each table of `broadleaf
/// list page-tables`, prints its memory, its nodes, and what a walk reads: the mean over all mapped
/// pages. Beside them is the kernel's own table (VmPTE), with the parts that explain it: the tables
/// that the mapped pages need, those that the kernel keeps for anonymous superpages, and empty
/// ones.
///
/// Your own processes need no privileges. The kernel shows frames to root alone: partial-subblock
/// entries and ranges need them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf tables $(pidof redis-server)
  broadleaf tables 1234 --table x86-64,clustered --line 256
  broadleaf tables 1234 --table 'clustered(subblocks=8),hashed(buckets=65536)'
  broadleaf tables 1234 --format json | jq '.kernel'")]
pub(crate) struct Tables {
    /// The process, by number
    #[arg(value_name = "PID", value_parser = process)]
    pub(crate) pid: u32,

    /// Build a table, or several separated by commas, with parameters in brackets [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Vec<String>,

    /// Count cache lines of this many bytes
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = line)]
    pub(crate) line: u64,

    /// Set the format of the result
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    #[command(flatten)]
    pub(crate) result: ResultFile,
}

/// Reads the bytes of a line.
fn line(text: &str) -> Result<u64, String> {
    let bytes: Option<u64> = text.parse().ok();
    bytes
        .filter(|bytes| bytes.is_power_of_two() && (8..=4096).contains(bytes))
        .ok_or_else(|| "a line has 8 to 4096 bytes, a power of two".to_owned())
}
