//! Equal-area numbers of blocks and relative areas.

use broadleaf_price::nearest_entries;

use super::WhoseFigure;
use super::comparisons::{ComparisonRow, ORDERS, rows};
use super::names::TlbFamily;
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::{Table, none};

/// The rows of table 3-3: two for each area, of which the 4-way one has the reference.
const AREAS_OF_3_3: [(&str, u32); 2] = [("area19160_fa", 256), ("area35412_fa", 512)];

/// A number of blocks of equal area.
struct EqualAreaCell {
    kind: &'static str,
    printed: u32,
    here: u32,
}

/// Numbers of blocks of one area.
struct EqualAreaRow {
    table: &'static str,
    /// The reference: its ways, its blocks and its area.
    reference: (Option<u32>, u32, f64),
    cells: Vec<EqualAreaCell>,
}

fn equal_area_rows() -> Result<Vec<EqualAreaRow>, Failure> {
    let mut rows = Vec::new();
    let thesis = ThesisTable::named("3-3")?;
    for (row, blocks) in AREAS_OF_3_3 {
        let kinds = ["single", "spg32k", "spg64k"].map(|kind| (kind, format!("{kind}_blocks")));
        rows.push(equal_area(&thesis, row, (Some(4), blocks), &kinds)?);
    }
    let thesis = ThesisTable::named("5-5")?;
    for (row, _) in &thesis.rows {
        let blocks = thesis.number(row, "single")? as u32;
        let kinds: Vec<(&'static str, String)> = (thesis.columns.iter())
            .filter(|kind| **kind != "single")
            .map(|kind| (*kind, (*kind).to_owned()))
            .collect();
        rows.push(equal_area(&thesis, row, (None, blocks), &kinds)?);
    }
    Ok(rows)
}

fn equal_area(
    thesis: &ThesisTable,
    row: &str,
    (ways, blocks): (Option<u32>, u32),
    kinds: &[(&'static str, String)],
) -> Result<EqualAreaRow, Failure> {
    let area = TlbFamily::SinglePageSize.plan(ways, blocks).area();
    let mut cells = Vec::new();
    for (kind, column) in kinds {
        let family = TlbFamily::named(kind)
            .ok_or_else(|| Failure::failed(format!("{kind} is no kind of TLB")))?;
        cells.push(EqualAreaCell {
            kind,
            printed: thesis.number(row, column)? as u32,
            here: nearest_entries(area, |blocks| family.plan(None, blocks).area()),
        });
    }
    Ok(EqualAreaRow {
        table: thesis.name,
        reference: (ways, blocks, area),
        cells,
    })
}

/// Tables 3-3 and 5-5.
pub(super) fn equal_areas() -> Result<Table, Failure> {
    const KINDS: [&str; 11] = [
        "single", "spg32k", "spg64k", "psb2", "psb4", "psb8", "psb16", "csb2", "csb4", "csb8",
        "csb16",
    ];
    let mut heads = vec!["table", "reference", "area in rbe", "whose"];
    heads.extend(KINDS);
    let mut table = Table::new(
        "Tables 3-3 and 5-5: blocks of fully associative TLBs of equal area",
        "The number of blocks whose area is nearest to that of a single-page-size TLB, above or \
         below it, in register-bit equivalents (rbe): spg are superpages, psb and csb partial and \
         complete subblocks.",
        &heads,
    );
    let rows = equal_area_rows()?;
    for row in &rows {
        let (ways, blocks, area) = row.reference;
        let shape = if ways.is_some() { "4-way" } else { "fully" };
        let figures: [WhoseFigure<EqualAreaCell>; 2] = [
            ("thesis", |cell| Some(cell.printed.into()), 0),
            ("here", |cell| Some(cell.here.into()), 0),
        ];
        for (whose, figure, digits) in figures {
            let mut cells = vec![
                row.table.to_owned(),
                format!("{shape} {blocks}"),
                format!("{area:.1}"),
                whose.to_owned(),
            ];
            cells.extend(KINDS.map(|kind| {
                let cell = row.cells.iter().find(|cell| cell.kind == kind);
                let figure = cell.and_then(figure);
                figure.map_or_else(none, |figure| format!("{figure:.digits$}"))
            }));
            table.row(cells);
        }
    }
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let equal = cells().filter(|cell| cell.printed == cell.here).count();
    let count = cells().count();
    table.direction(
        equal == count,
        format!("{equal} of {count} numbers of blocks are the printed ones"),
    );
    Ok(table)
}

/// The cells that the thesis misprints: they are areas relative to a superpage TLB.
const MISPRINTED: [(&str, &str); 2] = [("4-2", "sa4_b256"), ("5-14", "sa4")];

fn is_misprinted(row: &ComparisonRow) -> bool {
    MISPRINTED.contains(&(row.table, row.row))
}

/// The relative areas of a cell, for each number of blocks of the row.
fn relative(row: &ComparisonRow, order: u32) -> Vec<f64> {
    let ratio = |blocks: &u32| {
        let plans = row.plans(order, *blocks);
        plans.new.area() / plans.base.area()
    };
    row.blocks.iter().map(ratio).collect()
}

/// The ratio, as printed, of any of the numbers of blocks.
fn agrees(ratios: &[f64], printed: f64) -> bool {
    let near = |ratio: &f64| (ratio - printed).abs() <= 0.005 + 1e-9;
    ratios.iter().any(near)
}

/// Relative areas of chapters 3 to 5.
pub(super) fn relative_areas() -> Result<Table, Failure> {
    let mut table = Table::new(
        "Relative areas of chapters 3 to 5",
        "For 2, 4, 8 and 16 pages in a superpage or a block. The thesis prints one value for 64 \
         to 256 blocks; ours are for the first and the last. The 4-way rows of tables 4-2 and \
         5-14 are misprinted: they have the area of the complete-subblock TLB relative to a \
         superpage TLB, as table 4-8, and not to a single-page-size TLB.",
        &["TLBs", "table", "blocks", "whose", "2", "4", "8", "16"],
    );
    let (mut equal, mut misprinted, mut count) = (0, 0, 0);
    for row in rows() {
        let printed = row.areas()?;
        let names = |whose: &str| {
            [
                row.subject(),
                row.table.to_owned(),
                row.shape(row.range()),
                whose.to_owned(),
            ]
        };
        let whose = match is_misprinted(&row) {
            true => "thesis (misprinted)",
            false => "thesis",
        };
        table.row(
            names(whose)
                .into_iter()
                .chain(printed.map(|cell| format!("{cell:.2}"))),
        );
        let here = ORDERS.map(|order| relative(&row, order));
        for (ratios, printed) in here.iter().zip(printed) {
            count += 1;
            equal += usize::from(agrees(ratios, printed));
            misprinted += usize::from(!agrees(ratios, printed) && is_misprinted(&row));
        }
        let shown = here.map(|ratios| match (ratios.first(), ratios.last()) {
            (Some(first), Some(last)) if format!("{first:.2}") != format!("{last:.2}") => {
                format!("{first:.2} to {last:.2}")
            }
            (Some(first), _) => format!("{first:.2}"),
            (None, _) => none(),
        });
        table.row(names("here").into_iter().chain(shown));
    }
    table.direction(
        equal + misprinted == count,
        format!(
            "{equal} of {count} relative areas are the printed ones; {misprinted} are misprints"
        ),
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_42_numbers_of_blocks_are_the_printed_ones() {
        let rows = equal_area_rows().expect("rows");
        let cells: Vec<&EqualAreaCell> = rows.iter().flat_map(|row| &row.cells).collect();
        assert_eq!(cells.len(), 42);
        assert!(cells.iter().all(|cell| cell.printed == cell.here));
    }

    /// 72 of 80 as printed. The eight misprints, with the values of the formula beside.
    #[test]
    fn all_but_eight_relative_areas_are_the_printed_ones() {
        let (mut count, mut equal) = (0, 0);
        let mut apart = Vec::new();
        for row in rows() {
            for (order, printed) in ORDERS.into_iter().zip(row.areas().expect("areas")) {
                let ratios = relative(&row, order);
                count += 1;
                if agrees(&ratios, printed) {
                    equal += 1;
                } else {
                    apart.push((row.table, printed, format!("{:.2}", ratios[0])));
                }
            }
        }
        assert_eq!((equal, count), (72, 80), "{apart:?}");
        let apart: Vec<(&str, f64, &str)> = (apart.iter())
            .map(|(table, printed, here)| (*table, *printed, here.as_str()))
            .collect();
        assert_eq!(
            apart,
            [
                ("4-2", 1.38, "1.40"),
                ("4-2", 2.14, "2.20"),
                ("4-2", 3.66, "3.80"),
                ("4-2", 6.71, "7.02"),
                ("5-14", 0.73, "0.72"),
                ("5-14", 0.48, "0.46"),
                ("5-14", 0.29, "0.28"),
                ("5-14", 0.17, "0.16"),
            ]
        );
    }
}
