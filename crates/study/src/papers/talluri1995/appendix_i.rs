//! Appendix I recomputed from Appendix J and table 2-1.

use broadleaf_price::execution::DEFAULT_PENALTY;

use super::WhoseFigure;
use super::bases::base;
use super::misses::PROGRAMS;
use super::speedups::{Inputs, WEIGHTS_OF_SENSITIVITY};
use super::thesis::{ThesisTable, tables};
use crate::failure::Failure;
use crate::papers::{Table, none};

/// The largest difference between a printed speedup and ours.
pub(super) const TOLERANCE: f64 = 0.0007;

/// The name of the last row of the thesis's tables.
const AVERAGE: &str = "weighted_average";

/// A speedup of Appendix I.
pub(super) struct SpeedupCell {
    /// The program, or [`AVERAGE`].
    pub(super) row: &'static str,
    /// The printed value. `None` if the layout lost it.
    pub(super) printed: Option<f64>,
    /// Our value. `None` if Appendix J has no misses of the TLB.
    pub(super) here: Option<f64>,
}

impl SpeedupCell {
    /// The distance of the two values.
    fn difference(&self) -> Option<f64> {
        let (printed, here) = self.printed.zip(self.here)?;
        Some((printed - here).abs())
    }
}

/// The speedups of a TLB in a table of Appendix I.
pub(super) struct SpeedupColumn {
    pub(super) table: &'static str,
    pub(super) subject: &'static str,
    pub(super) tlb: &'static str,
    pub(super) base: String,
    pub(super) cells: Vec<SpeedupCell>,
}

/// All columns of speedups.
pub(super) fn columns() -> Result<Vec<SpeedupColumn>, Failure> {
    let inputs = Inputs::read()?;
    let mut columns = Vec::new();
    for table in tables().filter(|table| table.name.starts_with('I')) {
        for column in &table.columns {
            let tlb = column.strip_suffix("_speedup").unwrap_or(column);
            if !tlb.ends_with("_critical_miss_penalty") {
                columns.push(recomputed(&inputs, &table, column, tlb)?);
            }
        }
    }
    Ok(columns)
}

/// The miss penalty of a table, and the penalty of its weights.
fn penalties(table: &str) -> (f64, f64) {
    match table {
        "I2-3a" => (30.0, WEIGHTS_OF_SENSITIVITY),
        "I2-3b" => (40.0, WEIGHTS_OF_SENSITIVITY),
        "I2-3c" => (50.0, WEIGHTS_OF_SENSITIVITY),
        _ => (DEFAULT_PENALTY, DEFAULT_PENALTY),
    }
}

fn recomputed(
    inputs: &Inputs,
    table: &ThesisTable,
    column: &str,
    tlb: &'static str,
) -> Result<SpeedupColumn, Failure> {
    let base = base(table.name, tlb)
        .ok_or_else(|| Failure::failed(format!("table {} has no base for {tlb}", table.name)))?;
    let (penalty, weights_of) = penalties(table.name);
    let here = inputs.speedups(&base, tlb, penalty, weights_of);
    let mut cells = Vec::new();
    for (number, row) in PROGRAMS.into_iter().chain([AVERAGE]).enumerate() {
        let printed = table.printed(row, column)?;
        let here = here
            .as_ref()
            .map(|figures| match figures.programs.get(number) {
                Some(program) => *program,
                None => figures.weighted,
            });
        cells.push(SpeedupCell {
            row,
            printed: printed.parse().ok(),
            here,
        });
    }
    Ok(SpeedupColumn {
        table: table.name,
        subject: table.subject,
        tlb,
        base,
        cells,
    })
}

/// A summary with a row for each table, and all cells, which are written to files only.
pub(super) fn tables_of_speedups() -> Result<[Table; 2], Failure> {
    let columns = columns()?;
    Ok([summary(&columns), all_cells(&columns)])
}

fn summary(columns: &[SpeedupColumn]) -> Table {
    let mut table = Table::new(
        "Appendix I recomputed: execution-time speedups",
        "Each speedup follows from the misses of Appendix J and the run times of table 2-1: all \
         TLBs have a miss penalty of 40 cycles at 40 MHz, and a program's weight is the inverse \
         of its time without misses. Tables I2-3 have penalties of 30, 40 and 50 cycles, and the \
         weights of 30 cycles. A cell is recomputable if it was printed and Appendix J has the \
         misses of both TLBs.",
        &[
            "subject",
            "table",
            "cells",
            "recomputable",
            "largest difference",
        ],
    );
    let cells = || columns.iter().flat_map(|column| &column.cells);
    for of_table in columns.chunk_by(|one, other| one.table == other.table) {
        let cells = || of_table.iter().flat_map(|column| &column.cells);
        let differences = cells().filter_map(SpeedupCell::difference);
        let Some(first) = of_table.first() else {
            continue;
        };
        table.row([
            first.subject.to_owned(),
            first.table.to_owned(),
            cells().count().to_string(),
            differences.clone().count().to_string(),
            format!("{:.5}", differences.fold(0.0, f64::max)),
        ]);
    }
    let recomputable = cells().filter_map(SpeedupCell::difference);
    let count = recomputable.clone().count();
    let largest = recomputable.clone().fold(0.0, f64::max);
    let near = recomputable.filter(|apart| *apart <= TOLERANCE).count();
    table
        .direction(
            near == count,
            format!("each of the {count} recomputable speedups is within {TOLERANCE}"),
        )
        .words("three decimals", format!("largest difference {largest:.5}"));
    for (text, names) in [
        (
            "columns for which Appendix J has no misses",
            without_misses(columns),
        ),
        (
            "cells that the printed layout lost, with our values",
            lost(columns),
        ),
    ] {
        table
            .text
            .push_str(&format!(" {} {text}: {}.", names.len(), names.join("; ")));
    }
    table
}

/// The columns without misses.
fn without_misses(columns: &[SpeedupColumn]) -> Vec<String> {
    let without = |column: &&SpeedupColumn| column.cells.iter().any(|cell| cell.here.is_none());
    let name = |column: &SpeedupColumn| format!("{} {}", column.table, column.tlb);
    columns.iter().filter(without).map(name).collect()
}

/// The cells that were not printed, with our values.
fn lost(columns: &[SpeedupColumn]) -> Vec<String> {
    let of_column = |column: &SpeedupColumn| {
        let lost = column.cells.iter().filter(|cell| cell.printed.is_none());
        let named = lost.map(|cell| {
            let here = cell.here.map_or_else(none, |here| format!("{here:.3}"));
            format!("{} {} {} {here}", column.table, column.tlb, cell.row)
        });
        named.collect::<Vec<String>>()
    };
    columns.iter().flat_map(of_column).collect()
}

fn all_cells(columns: &[SpeedupColumn]) -> Table {
    let heads = ["table", "TLB", "relative to", "whose"];
    let heads: Vec<&str> = heads
        .into_iter()
        .chain(PROGRAMS)
        .chain(["weighted"])
        .collect();
    let mut table = Table::new(
        "Appendix I: each speedup, the thesis's and ours",
        "A row of the thesis and one of ours for each TLB of each table.",
        &heads,
    );
    table.only_in_files = true;
    for column in columns {
        let rows: [WhoseFigure<SpeedupCell>; 2] = [
            ("thesis", |cell| cell.printed, 3),
            ("here", |cell| cell.here, 4),
        ];
        for (whose, figure, digits) in rows {
            let names = [column.table, column.tlb, &column.base, whose].map(str::to_owned);
            let figures = column
                .cells
                .iter()
                .map(|cell| figure(cell).map_or_else(none, |figure| format!("{figure:.digits$}")));
            table.row(names.into_iter().chain(figures));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The acceptance figures: 4,826 speedups within 0.0007, two columns without misses, and three
    /// lost cells.
    #[test]
    fn the_whole_of_appendix_i_follows_from_appendix_j() {
        let columns = columns().expect("speedups");
        let cells = || columns.iter().flat_map(|column| &column.cells);
        let differences: Vec<f64> = cells().filter_map(SpeedupCell::difference).collect();
        assert_eq!(differences.len(), 4826);
        assert!(differences.iter().all(|apart| *apart <= TOLERANCE));
        assert_eq!(
            without_misses(&columns),
            ["I3-3b spg32k_sa4super_b512", "I3-3b spg64k_sa4super_b512"]
        );
        assert_eq!(
            lost(&columns),
            [
                "I5-11c psb16_sa4_b16_pre coral 0.961",
                "I5-11d psb16_sa4_b32_pre coral 0.927",
                "I5-13a psb16_fa_b64_pre coral 1.004",
            ]
        );
        // Every other cell is either recomputed, lost or without misses.
        assert_eq!(cells().count(), 4826 + 22 + 3);
    }

    /// With its own weights, table I2-3c has averages that are not the printed ones.
    #[test]
    fn the_sensitivity_study_keeps_the_weights_of_30_cycles() {
        let inputs = Inputs::read().expect("inputs");
        let printed = ThesisTable::named("I2-3c").expect("a table");
        let tlb = "psb16_fa_b114_pre";
        let printed = printed.number(AVERAGE, tlb).expect("a cell");
        let average = |weights_of| {
            let figures = inputs.speedups("sp_fa_b64", tlb, 50.0, weights_of);
            figures.expect("misses").weighted
        };
        assert!((average(30.0) - printed).abs() <= TOLERANCE);
        assert!((average(50.0) - printed).abs() > 10.0 * TOLERANCE);
    }
}
