//! Tables B-5 and C-3: two circuits of complete-subblock TLBs, by the delay equations.

use broadleaf_price::TlbPlan;
use broadleaf_price::delay::{SubblockSelector, access_time};

use super::comparisons::ORDERS;
use super::names::TlbFamily;
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::Table;

/// The reduction of the access time in percent: of a circuit, and without it.
type Reduction = fn(&TlbPlan, u32) -> f64;

fn percent(with: f64, without: f64) -> f64 {
    100.0 * (1.0 - with / without)
}

/// A block-valid bit in the tag instead of a valid bit for each subblock.
fn block_valid(plan: &TlbPlan, order: u32) -> f64 {
    let compared = TlbPlan {
        bits: plan.bits.with_valid_in_tag(1 << order),
        ..*plan
    };
    percent(plan.access_time(), compared.access_time())
}

/// Column multiplexors instead of more inputs of the output multiplexor.
fn column_multiplexors(plan: &TlbPlan, _: u32) -> f64 {
    let output = access_time(plan, SubblockSelector::OutputMultiplexor);
    percent(
        access_time(plan, SubblockSelector::ColumnMultiplexor),
        output,
    )
}

/// A row of a table: the ways, the blocks, and the percentages of the thesis and ours.
type ReductionRow = (Option<u32>, u32, [f64; 4], [f64; 4]);

fn rows(name: &str, reduction: Reduction) -> Result<Vec<ReductionRow>, Failure> {
    let thesis = ThesisTable::named(name)?;
    let mut rows = Vec::new();
    for (row, _) in &thesis.rows {
        let (shape, blocks) = row.split_once("_b").unwrap_or((row, ""));
        let ways = (shape == "sa4").then_some(4);
        let blocks = blocks.parse().map_err(|_| {
            Failure::failed(format!("table {name}: row {row} has no number of blocks"))
        })?;
        let (mut printed, mut here) = ([0.0; 4], [0.0; 4]);
        for ((order, printed), here) in ORDERS.into_iter().zip(&mut printed).zip(&mut here) {
            *printed = thesis.number(row, &format!("s{}", 1 << order))?;
            let plan = TlbFamily::CompleteSubblock(order).plan(ways, blocks);
            *here = reduction(&plan, order);
        }
        rows.push((ways, blocks, printed, here));
    }
    Ok(rows)
}

fn table(title: &str, text: &str, rows: &[ReductionRow]) -> Table {
    let mut table = Table::new(title, text, &["blocks", "whose", "2", "4", "8", "16"]);
    for (ways, blocks, printed, here) in rows {
        let ways = if ways.is_some() { "4-way" } else { "fully" };
        for (whose, cells) in [("thesis", printed), ("delay equations", here)] {
            let cells = cells.map(|cell| format!("{cell:.1}"));
            let names = [format!("{ways} {blocks}"), whose.to_owned()];
            table.row(names.into_iter().chain(cells));
        }
    }
    let cells = || {
        let pairs = rows
            .iter()
            .flat_map(|(_, _, printed, here)| printed.iter().zip(here));
        pairs.map(|(printed, here)| (printed - here).abs())
    };
    table.text.push_str(&format!(
        " Largest difference to the thesis: {:.1} points, in {} cells.",
        cells().fold(0.0, f64::max),
        cells().count()
    ));
    let grows = |cells: &[f64; 4]| cells.windows(2).all(|pair| pair[0] < pair[1]);
    table.direction(
        rows.iter().all(|(_, _, _, here)| grows(here)),
        "the reduction grows with the number of subblocks",
    );
    table
}

/// Table B-5.
pub(super) fn valid_bits() -> Result<Table, Failure> {
    Ok(table(
        "Table B-5: access time saved by a block-valid bit, in percent",
        "Complete-subblock TLBs of 2 to 16 subblocks with one valid bit in the tag, instead of one \
         for each subblock.",
        &rows("B-5", block_valid)?,
    ))
}

/// Table C-3.
pub(super) fn multiplexors() -> Result<Table, Failure> {
    let rows = rows("C-3", column_multiplexors)?;
    let mut table = table(
        "Table C-3: access time saved by column multiplexors, in percent",
        "Complete-subblock TLBs of 2 to 16 subblocks that select the subblock in the data array, \
         instead of at the output.",
        &rows,
    );
    let last = |of_sets: bool| {
        let of = rows
            .iter()
            .filter(move |(ways, ..)| ways.is_some() == of_sets);
        of.map(|(_, _, _, here)| here[3])
    };
    let least = last(true).fold(f64::INFINITY, f64::min);
    table.direction(
        last(false).all(|fully| fully < least),
        "4-way TLBs of 16 subblocks save more than fully associative ones",
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spread that the book states, in points: all cells of both tables.
    #[test]
    fn each_cell_is_near_the_printed_one() {
        for (name, reduction, bound) in [
            ("B-5", block_valid as Reduction, 1.9),
            ("C-3", column_multiplexors, 1.9),
        ] {
            for (ways, blocks, printed, here) in rows(name, reduction).expect("rows") {
                for (printed, here) in printed.iter().zip(here) {
                    let apart = (printed - here).abs();
                    assert!(apart <= bound, "{name} {ways:?} {blocks}: {printed} {here}");
                }
            }
        }
    }
}
