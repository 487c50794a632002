//! Tables 7-6 and 7-7: the memory that page tables take.

use super::designs::{RANDOM, RESERVE};
use super::placement::ASSIGN_64K;
use super::runs::{AllResults, DesignResults};
use super::walks::by_row;
use super::worlds::World;
use crate::failure::Failure;
use crate::papers::Table;
use crate::papers::talluri1995::thesis::ThesisTable;

/// A column: its name in the thesis and here, the policy, and the TLB with the page table.
struct MemoryColumn {
    thesis: &'static str,
    head: &'static str,
    policy: &'static str,
    grid: &'static str,
}

const fn column(
    thesis: &'static str,
    head: &'static str,
    policy: &'static str,
    grid: &'static str,
) -> MemoryColumn {
    MemoryColumn {
        thesis,
        head,
        policy,
        grid,
    }
}

const HASHED: &str = "single:entries=64,line=256,table=hashed";

/// Table 7-6: base pages. The column hashed is the unit.
const BASE_PAGES: [MemoryColumn; 5] = [
    column(
        "linear_6level",
        "linear, 6 levels",
        RANDOM,
        "single:entries=56,line=256,table=linear",
    ),
    column(
        "linear_1level",
        "linear, 1 level",
        RANDOM,
        "single:entries=64,line=256,table=linear-1",
    ),
    column(
        "forward_mapped",
        "forward-mapped",
        RANDOM,
        "single:entries=64,line=256,table=forward-mapped",
    ),
    column("hashed", "hashed", RANDOM, HASHED),
    column(
        "clustered_s16",
        "clustered",
        RANDOM,
        "single:entries=64,line=256,table=clustered",
    ),
];

/// Table 7-7: superpages of 64 KiB, and partial subblocks of 16 pages.
const SUPERPAGES: [MemoryColumn; 5] = [
    column("hashed_base", "hashed: base", RANDOM, HASHED),
    column(
        "hashed_superpage",
        "hashed: superpages",
        ASSIGN_64K,
        "superpage:entries=64,sizes=4k+64k,line=256,table=hashed",
    ),
    column(
        "clustered_base",
        "clustered: base",
        RANDOM,
        "single:entries=64,line=256,table=clustered",
    ),
    column(
        "clustered_superpage",
        "clustered: superpages",
        ASSIGN_64K,
        "superpage:entries=64,sizes=4k+64k,line=256,table=clustered",
    ),
    column(
        "clustered_psb",
        "clustered: psb",
        RESERVE,
        "partial-subblock:entries=64,block=64k,preload=true,line=256,table=clustered-partial",
    ),
];

/// The TLBs, each with its world.
pub(super) fn observers() -> impl Iterator<Item = (World, &'static str)> {
    BASE_PAGES
        .iter()
        .chain(&SUPERPAGES)
        .map(|column| (World::plentiful(column.policy), column.grid))
}

/// The most memory of a page table, in bytes.
fn bytes(run: &DesignResults, policy: &'static str, grid: &str) -> Result<u64, Failure> {
    Ok(run.counts(World::plentiful(policy), grid)?.table_bytes)
}

/// The memory of each column, relative to that of a hashed table with base pages.
fn relative(run: &DesignResults, columns: &[MemoryColumn]) -> Result<Vec<f64>, Failure> {
    let unit = bytes(run, RANDOM, HASHED)?.max(1) as f64;
    let each = columns.iter();
    each.map(|column| Ok(bytes(run, column.policy, column.grid)? as f64 / unit))
        .collect()
}

/// A claim: its text, the thesis's figures, and whether it holds for the figures of a program.
type MemoryClaim = (&'static str, &'static str, fn(&[f64]) -> bool);

/// The table of some columns, with the thesis's rows.
fn of_columns(
    mut table: Table,
    number: &str,
    columns: &[MemoryColumn],
    claims: &[MemoryClaim],
    all: &AllResults,
) -> Result<Table, Failure> {
    let thesis = ThesisTable::named(number)?;
    let size = "hashed_size_KB";
    let mut rows = Vec::new();
    for run in &all.runs {
        let represents = run.program.represents;
        if thesis.rows.iter().any(|(row, _)| *row == represents) {
            let printed: Result<Vec<String>, Failure> = columns
                .iter()
                .map(|column| Ok(format!("{:.2}", thesis.number(represents, column.thesis)?)))
                .collect();
            let kib = match thesis.columns.contains(&size) {
                true => format!("{}", thesis.number(represents, size)?),
                false => "-".to_owned(),
            };
            let names = [represents.to_owned(), "thesis".to_owned(), kib];
            table.row(names.into_iter().chain(printed?));
        }
        let here = relative(run, columns)?;
        let kib = bytes(run, RANDOM, HASHED)?.div_ceil(1 << 10);
        let names = [
            run.program.name.to_owned(),
            "here".to_owned(),
            kib.to_string(),
        ];
        let cells = here.iter().map(|cell| format!("{cell:.2}"));
        table.row(names.into_iter().chain(cells));
        rows.push(here);
    }
    for (text, words, holds) in claims {
        let holds: Vec<bool> = rows.iter().map(|row| holds(row)).collect();
        let (all, count) = by_row(&holds);
        table
            .direction(all, *text)
            .words(words, count)
            .because("few of the program's blocks are full, or few are superpages");
    }
    Ok(table)
}

/// Table 7-6.
pub(super) fn base_pages(all: &AllResults) -> Result<Table, Failure> {
    let table = Table::new(
        "Table 7-6: memory of page tables with base pages",
        "Relative to a hashed table, whose size is in KiB. Ours is the most memory at one time, \
         summed over the processes. The thesis has a snapshot near the peak. Its row for the \
         kernel's own addresses has no counterpart, since recordings are of user programs.",
        &heads(&BASE_PAGES),
    );
    of_columns(
        table,
        "7-6",
        &BASE_PAGES,
        &[
            (
                "clustered tables take less memory than hashed ones",
                "0.38 to 0.84",
                |row| row[4] < row[3],
            ),
            (
                "clustered tables of dense programs take 0.375 of a hashed one at least",
                "0.38 to 0.84",
                |row| row[4] >= 0.374,
            ),
            (
                "linear tables of six levels take more memory than those of one level",
                "0.54 to 27.63, and 0.38 to 8.17",
                |row| row[0] > row[1],
            ),
        ],
        all,
    )
}

/// Table 7-7.
pub(super) fn superpages(all: &AllResults) -> Result<Table, Failure> {
    let table = Table::new(
        "Table 7-7: memory of page tables with superpages or partial subblocks",
        "Relative to a hashed table with base pages. Superpages of 64 KiB have the policy foxtrot, \
         partial subblocks (psb) page reservation.",
        &heads(&SUPERPAGES),
    );
    of_columns(
        table,
        "7-7",
        &SUPERPAGES,
        &[
            (
                "superpages make clustered tables smaller",
                "0.09 to 0.71, and 0.38 to 0.84",
                |row| row[3] < row[2],
            ),
            (
                "partial subblocks make clustered tables smaller than superpages do",
                "0.07 to 0.40, and 0.09 to 0.71",
                |row| row[4] <= row[3],
            ),
        ],
        all,
    )
}

fn heads(columns: &[MemoryColumn]) -> Vec<&'static str> {
    let columns = columns.iter().map(|column| column.head);
    ["program", "whose", "KiB"]
        .into_iter()
        .chain(columns)
        .collect()
}
