//! Access times: the printed ratios, the fitted surrogate and the delay equations.

use broadleaf_price::{TlbPlan, surrogate};

use super::WhoseFigure;
use super::comparisons::{ORDERS, rows};
use super::names::TlbFamily;
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::{Table, none};

/// A printed ratio of access times.
struct AccessCell {
    table: &'static str,
    tlbs: String,
    /// The ways and blocks of the base.
    shape: String,
    /// The order of the number of pages, from 1.
    order: u32,
    printed: f64,
    new: TlbPlan,
    base: TlbPlan,
}

impl AccessCell {
    /// The ratio by the fitted surrogate.
    fn surrogate(&self) -> Option<f64> {
        Some(self.new.fitted_surrogate()? / self.base.fitted_surrogate()?)
    }

    /// The ratio by the delay equations.
    fn equations(&self) -> f64 {
        self.new.access_time() / self.base.access_time()
    }

    const fn is_fully_associative(&self) -> bool {
        self.base.ways.is_none()
    }
}

/// All cells but those of a TLB relative to itself.
fn cells() -> Result<Vec<AccessCell>, Failure> {
    let mut cells = Vec::new();
    for row in rows() {
        let printed = row.times()?;
        for blocks in row.blocks {
            for (order, printed) in ORDERS.into_iter().zip(printed) {
                let plans = row.plans(order, *blocks);
                cells.push(AccessCell {
                    table: row.table,
                    tlbs: row.subject(),
                    shape: row.shape(blocks),
                    order,
                    printed,
                    new: plans.new,
                    base: plans.base,
                });
            }
        }
    }
    cells.extend(equal_areas()?);
    Ok(cells)
}

/// The cells of table 5-6, TLBs of equal area. Their numbers of blocks are in table 5-5.
fn equal_areas() -> Result<Vec<AccessCell>, Failure> {
    let (thesis, counts) = (ThesisTable::named("5-6")?, ThesisTable::named("5-5")?);
    let mut cells = Vec::new();
    let kinds = [
        "spg32k", "psb2", "psb4", "psb8", "psb16", "csb2", "csb4", "csb8", "csb16",
    ];
    for (row, _) in &thesis.rows {
        let reference = counts.number(row, "single")? as u32;
        for kind in kinds {
            let Some(family) = TlbFamily::named(kind) else {
                continue;
            };
            let (tlbs, order) = match family {
                TlbFamily::PartialSubblock(order) => ("partial subblocks", order),
                TlbFamily::CompleteSubblock(order) => ("complete subblocks", order),
                TlbFamily::SinglePageSize => ("single page size", 0),
                TlbFamily::Superpage(order) => ("superpages", order),
            };
            cells.push(AccessCell {
                table: thesis.name,
                tlbs: format!("{tlbs} / single page size, equal area"),
                shape: format!("fully {reference}"),
                order,
                printed: thesis.number(row, kind)?,
                new: family.plan(None, counts.number(row, kind)? as u32),
                base: TlbFamily::SinglePageSize.plan(None, reference),
            });
        }
    }
    Ok(cells)
}

/// The spread of our ratios around the printed ones.
struct Spread {
    count: usize,
    largest: f64,
    /// The square root of the mean of squares.
    typical: f64,
    within_a_hundredth: usize,
}

impl Spread {
    fn of(differences: &[f64]) -> Self {
        let squares: f64 = differences.iter().map(|apart| apart * apart).sum();
        let magnitudes = || differences.iter().map(|apart| apart.abs());
        Self {
            count: differences.len(),
            largest: magnitudes().fold(0.0, f64::max),
            typical: (squares / differences.len().max(1) as f64).sqrt(),
            within_a_hundredth: magnitudes().filter(|apart| *apart <= 0.01 + 1e-9).count(),
        }
    }

    fn text(&self) -> String {
        format!(
            "{} ratios: largest difference {:.4}, root mean square {:.4}, {} within 0.01",
            self.count, self.largest, self.typical, self.within_a_hundredth
        )
    }
}

/// The largest differences of the surrogate.
const FITTED_FULLY: f64 = 0.028;
const FITTED_FOUR_WAY: f64 = 0.0113;

fn surrogate_differences(cells: &[AccessCell], fully: bool) -> Vec<f64> {
    let of = cells
        .iter()
        .filter(|cell| cell.is_fully_associative() == fully);
    of.filter_map(|cell| Some(cell.surrogate()? - cell.printed))
        .collect()
}

fn equation_differences(cells: &[AccessCell], fully: bool) -> Vec<f64> {
    let of = cells
        .iter()
        .filter(|cell| cell.is_fully_associative() == fully);
    of.map(|cell| cell.equations() - cell.printed).collect()
}

/// All relative access times.
pub(super) fn table() -> Result<Table, Failure> {
    let cells = cells()?;
    let mut table = Table::new(
        "Relative access times of chapters 3 to 5",
        "For 2, 4, 8 and 16 pages in a superpage or a block. The fitted surrogate is two formulas \
         that were fitted to these cells, so it describes them and predicts nothing. The delay \
         equations are those of Wilton and Jouppi (WRL 93/5) with their constants of 0.8 \
         micrometres. The equations of the thesis's content-addressable memory were never \
         published, so ours are another reading of its description; two of its details were \
         chosen after a comparison with these cells. Table 4-4 repeats cells of table 5-6.",
        &["TLBs", "table", "blocks", "whose", "2", "4", "8", "16"],
    );
    let same = |one: &AccessCell, other: &AccessCell| {
        (one.table, &one.tlbs, &one.shape) == (other.table, &other.tlbs, &other.shape)
    };
    for of_row in cells.chunk_by(same) {
        let Some(first) = of_row.first() else {
            continue;
        };
        let figures: [WhoseFigure<AccessCell>; 3] = [
            ("thesis", |cell| Some(cell.printed), 2),
            (surrogate::LABEL, AccessCell::surrogate, 3),
            ("delay equations", |cell| Some(cell.equations()), 3),
        ];
        for (whose, figure, digits) in figures {
            let names = [
                first.tlbs.clone(),
                first.table.to_owned(),
                first.shape.clone(),
                whose.to_owned(),
            ];
            let figures = ORDERS.map(|order| {
                let cell = of_row.iter().find(|cell| cell.order == order);
                let figure = cell.and_then(figure);
                figure.map_or_else(none, |figure| format!("{figure:.digits$}"))
            });
            table.row(names.into_iter().chain(figures));
        }
    }
    for (fully, name, bound) in [
        (true, "fully associative", FITTED_FULLY),
        (false, "4-way", FITTED_FOUR_WAY),
    ] {
        let differences = surrogate_differences(&cells, fully);
        let spread = Spread::of(&differences);
        table
            .direction(
                spread.largest <= bound,
                format!("{}: {name} ratios are within {bound}", surrogate::LABEL),
            )
            .words("two digits", spread.text());
        let spread = Spread::of(&equation_differences(&cells, fully));
        table
            .text
            .push_str(&format!(" Delay equations, {name}: {}.", spread.text()));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The acceptance figures of the surrogate, and the spread of the equations that the book
    /// states.
    #[test]
    fn spreads() {
        let cells = cells().expect("cells");
        for (fully, count, bound, largest, typical) in [
            (true, 124, FITTED_FULLY, 0.057, 0.019),
            (false, 40, FITTED_FOUR_WAY, 0.095, 0.030),
        ] {
            let spread = Spread::of(&surrogate_differences(&cells, fully));
            assert!(
                spread.count == count && spread.largest <= bound,
                "{}",
                spread.text()
            );
            let spread = Spread::of(&equation_differences(&cells, fully));
            assert_eq!(spread.count, count);
            let is_near = spread.largest <= largest && spread.typical <= typical;
            assert!(is_near, "{}", spread.text());
        }
    }

    /// Table 4-4 has cells of table 5-6, so it is left out.
    #[test]
    fn table_4_4_repeats_table_5_6() {
        let [first, second] = ["4-4", "5-6"].map(|name| ThesisTable::named(name).expect("a table"));
        for (row, _) in &first.rows {
            for column in &first.columns {
                if let Some(kind) = column.strip_suffix("_access") {
                    let cells = [first.number(row, column), second.number(row, kind)];
                    let [first, second] = cells.map(|cell| cell.expect("a cell"));
                    assert_eq!(first, second, "{row} {kind}");
                }
            }
        }
    }

    /// Each line with a figure of the surrogate names it.
    #[test]
    fn the_surrogate_is_named() {
        let table = table().expect("a table");
        let text = table.text("thesis");
        let rows = table.rows.len() / 3;
        let named = |line: &&str| line.starts_with("  ") && line.contains("fitted surrogate");
        // A line for each row, and the two claims.
        assert_eq!(text.lines().filter(named).count(), rows + 2);
    }
}
