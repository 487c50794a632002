//! The normalised speedups of chapters 2 to 5: averages of Appendix I, with two digits.

use super::WhoseFigure;
use super::appendix_i::{SpeedupColumn, columns};
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::{Table, none};

/// A row of a table of a chapter, and where Appendix I has its speedups.
struct ChapterRow {
    table: &'static str,
    row: &'static str,
    /// The first of the row's speedups that Appendix I has.
    skip: usize,
    appendix: &'static str,
    /// The columns of the table of Appendix I.
    at: &'static [usize],
}

const fn row(
    table: &'static str,
    row: &'static str,
    appendix: &'static str,
    at: &'static [usize],
) -> ChapterRow {
    ChapterRow {
        table,
        row,
        skip: 0,
        appendix,
        at,
    }
}

const FIRST: &[usize] = &[0, 1, 2, 3];
const SECOND: &[usize] = &[4, 5, 6, 7];
const EIGHT: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7];
const NINE: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8];
const TEN: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/// The columns of fully associative and of 4-way TLBs in tables I3-3.
const FULLY: &[usize] = &[0, 1, 2, 5, 6];
const FOUR_WAY: &[usize] = &[3, 4, 7, 8];

const ROWS: &[ChapterRow] = &[
    row("2-5", "normalized_speedup", "I2-5", &[0, 1, 2]),
    row("3-1", "speedup_b64", "I3-1a", FIRST),
    row("3-1", "speedup_b128", "I3-1a", SECOND),
    row("3-1", "speedup_b256", "I3-1b", FIRST),
    row("3-2", "speedup_superpage-index", "I3-2a", EIGHT),
    row("3-2", "speedup_exact-index", "I3-2b", FIRST),
    row("3-3", "area19160_fa", "I3-3a", FULLY),
    four_way("area19160_sa4", "I3-3a"),
    row("3-3", "area35412_fa", "I3-3b", FULLY),
    four_way("area35412_sa4", "I3-3b"),
    row("4-1", "fa_b64", "I4-1a", FIRST),
    row("4-1", "fa_b128", "I4-1b", FIRST),
    row("4-1", "sa4_b256", "I4-1c", FIRST),
    row("4-3", "fa_b64", "I4-3a", FIRST),
    row("4-3", "fa_b128", "I4-3b", FIRST),
    row("4-3", "sa4_b256", "I4-3c", FIRST),
    row("4-3", "sa4_b512", "I4-3d", FIRST),
    row("4-5", "area_7984", "I4-5a", TEN),
    row("4-5", "area_15298", "I4-5b", TEN),
    row("4-5", "area_29928", "I4-5c", TEN),
    row("4-5", "area_59186", "I4-5d", TEN),
    row("4-6", "fa_b256", "I4-6a", EIGHT),
    row("4-6", "fa_b512", "I4-6b", EIGHT),
    row("4-6", "sa4_b256", "I4-6c", EIGHT),
    row("4-6", "sa4_b512", "I4-6d", EIGHT),
    row("4-9", "fa_b64", "I4-9a", EIGHT),
    row("4-9", "fa_b128", "I4-9b", EIGHT),
    row("4-9", "sa4_b256", "I4-9c", EIGHT),
    row("5-1", "fa_b64", "I5-1a", FIRST),
    row("5-1", "fa_b128", "I5-1b", FIRST),
    row("5-1", "sa4_b256", "I5-1c", FIRST),
    row("5-3", "fa_b64", "I5-3a", FIRST),
    row("5-3", "fa_b128", "I5-3b", FIRST),
    row("5-3", "fa_b256", "I5-3c", FIRST),
    row("5-3", "sa4_b256", "I5-3d", FIRST),
    row("5-3", "sa4_b512", "I5-3e", FIRST),
    row("5-4", "fa_b64", "I5-4a", EIGHT),
    row("5-4", "sa4_b256", "I5-4b", EIGHT),
    row("5-7", "area_7984", "I5-7a", NINE),
    row("5-7", "area_15298", "I5-7b", NINE),
    row("5-7", "area_29928", "I5-7c", NINE),
    row("5-7", "area_59186", "I5-7d", NINE),
    row("5-8", "area_7984", "I5-8a", NINE),
    row("5-8", "area_15298", "I5-8b", NINE),
    row("5-8", "area_29928", "I5-8c", NINE),
    row("5-8", "area_59186", "I5-8d", NINE),
    row("5-9", "area_7984", "I5-9a", NINE),
    row("5-9", "area_15298", "I5-9b", NINE),
    row("5-9", "area_29928", "I5-9c", NINE),
    row("5-9", "area_59186", "I5-9d", NINE),
    row("5-11", "fa_b256", "I5-11a", SECOND),
    row("5-11", "fa_b512", "I5-11b", SECOND),
    row("5-11", "sa4_b256", "I5-11c", SECOND),
    row("5-11", "sa4_b512", "I5-11d", SECOND),
    row("5-13", "fa_b64", "I5-13a", EIGHT),
    row("5-13", "fa_b128", "I5-13b", EIGHT),
    row("5-13", "sa4_b256", "I5-13c", EIGHT),
    row("5-15", "fa_b64", "I5-15a", SECOND),
    row("5-15", "fa_b128", "I5-15b", SECOND),
    row("5-15", "sa4_b256", "I5-15c", SECOND),
];

/// A 4-way row of table 3-3, whose first speedup is that of the reference over itself.
const fn four_way(name: &'static str, appendix: &'static str) -> ChapterRow {
    ChapterRow {
        skip: 1,
        ..row("3-3", name, appendix, FOUR_WAY)
    }
}

/// True for columns of speedups over another TLB.
fn is_speedup(column: &str) -> bool {
    let own = matches!(column, "single" | "gods" | "area_rbe");
    let other = column.ends_with("_blocks") || column.ends_with("_critical_miss_penalty");
    !own && !other
}

/// The printed speedups of a row and ours, and the TLBs.
struct ChapterCell {
    tlb: &'static str,
    printed: f64,
    /// `None` if Appendix J has no misses.
    here: Option<f64>,
}

impl ChapterCell {
    /// True if our speedup is the printed one. Appendix I has three digits, ours more.
    fn agrees(&self) -> bool {
        self.here
            .is_none_or(|here| (here - self.printed).abs() <= 0.005 + 0.0007)
    }
}

fn cells(row: &ChapterRow, appendix: &[SpeedupColumn]) -> Result<Vec<ChapterCell>, Failure> {
    let thesis = ThesisTable::named(row.table)?;
    let printed = thesis.columns.iter().filter(|column| is_speedup(column));
    let of_table = appendix.iter();
    let of_table = of_table.filter(|column| column.table == row.appendix);
    let of_table: Vec<&SpeedupColumn> = of_table.collect();
    let mut cells = Vec::new();
    for (column, at) in printed.skip(row.skip).zip(row.at) {
        let recomputed = of_table
            .get(*at)
            .ok_or_else(|| Failure::failed(format!("table {} has no column {at}", row.appendix)))?;
        cells.push(ChapterCell {
            tlb: recomputed.tlb,
            printed: thesis.number(row.row, column)?,
            here: recomputed.cells.last().and_then(|average| average.here),
        });
    }
    Ok(cells)
}

pub(super) fn table() -> Result<Table, Failure> {
    let heads = ["table", "row", "whose"].map(str::to_owned);
    let numbers = (1..=TEN.len()).map(|number| number.to_string());
    let heads: Vec<String> = heads.into_iter().chain(numbers).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(
        "Normalised speedups of chapters 2 to 5",
        "The averages of Appendix I, in the order of the thesis's columns; the table \
         appendix-i-cells has the TLBs. A column of 1.00 by definition is left out. The thesis \
         rounds to two digits.",
        &heads,
    );
    let appendix = columns()?;
    let (mut count, mut agree) = (0, 0);
    let mut apart = Vec::new();
    for row in ROWS {
        let cells = cells(row, &appendix)?;
        let rows: [WhoseFigure<ChapterCell>; 2] = [
            ("thesis", |cell| Some(cell.printed), 2),
            ("here", |cell| cell.here, 3),
        ];
        for (whose, figure, digits) in rows {
            let names = [row.table, row.row, whose].map(str::to_owned);
            let figures = cells
                .iter()
                .map(|cell| figure(cell).map_or_else(none, |figure| format!("{figure:.digits$}")));
            let missing = heads.len() - names.len() - cells.len();
            let empty = std::iter::repeat_n(String::new(), missing);
            table.row(names.into_iter().chain(figures).chain(empty));
        }
        let known = || cells.iter().filter(|cell| cell.here.is_some());
        count += known().count();
        agree += known().filter(|cell| cell.agrees()).count();
        for cell in known().filter(|cell| !cell.agrees()) {
            apart.push(format!("{} {}: {:.2}", row.table, cell.tlb, cell.printed));
        }
    }
    table.text.push_str(&format!(
        " {} printed cells differ from Appendix I itself: {}.",
        apart.len(),
        apart.join("; ")
    ));
    table.direction(
        agree + MISPRINTED == count,
        format!("{agree} of {count} speedups of the chapters are the printed ones"),
    );
    Ok(table)
}

/// The cells of tables 5-4 and 5-11 that differ from Appendix I.
const MISPRINTED: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_two_speedups_are_those_of_appendix_i() {
        let appendix = columns().expect("speedups");
        let (mut known, mut unknown) = (0, 0);
        let mut apart = Vec::new();
        for row in ROWS {
            let cells = cells(row, &appendix).expect("cells");
            assert_eq!(cells.len(), row.at.len(), "{} {}", row.table, row.row);
            for cell in cells {
                match cell.here {
                    Some(_) => known += 1,
                    None => unknown += 1,
                }
                if !cell.agrees() {
                    apart.push((row.table, cell.tlb, cell.printed));
                }
            }
        }
        assert_eq!(
            apart,
            [
                ("5-4", "psb16_sa4_b256_pre_noos", 0.80),
                ("5-11", "psb8_sa4_b32_pre", 0.98),
            ]
        );
        // Appendix J lacks two columns of table I3-3b.
        assert_eq!((known, unknown), (375, 2));
    }
}
