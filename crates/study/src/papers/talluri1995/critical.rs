//! The critical miss penalties of preloading: tables I4-3 and I5-3.

use std::collections::BTreeMap;

use super::bases::base;
use super::misses::PROGRAMS;
use super::speedups::Inputs;
use super::thesis::tables;
use crate::failure::Failure;
use crate::papers::Table;

/// Half of the unit of Appendix J, a thousand misses.
const HALF: f64 = 500.0;

/// A critical miss penalty.
struct PenaltyCell {
    program: &'static str,
    printed: &'static str,
    /// The misses of Appendix J without and with preloading, in thousands.
    thousands: [u32; 2],
    /// Our value, formatted as the thesis's.
    here: String,
    /// True if misses that round to those of Appendix J give the printed value.
    agrees: bool,
}

/// The penalties of a TLB.
struct PenaltyColumn {
    table: &'static str,
    tlb: String,
    cells: Vec<PenaltyCell>,
    weighted: (f64, f64),
}

/// The penalty as the thesis prints it: one divided by a ratio that was rounded to two digits.
fn written(hundredths: f64) -> String {
    format!("{:.2}", 100.0 / hundredths)
}

fn hundredths(with: f64, without: f64) -> f64 {
    (100.0 * with / without + 0.5).floor().max(1.0)
}

fn cell(program: &'static str, printed: &'static str, without: f64, with: f64) -> PenaltyCell {
    let least = hundredths(with - HALF, without + HALF) as u32;
    let most = hundredths(with + HALF, without - HALF) as u32;
    PenaltyCell {
        program,
        printed,
        thousands: [without, with].map(|misses| (misses / 1000.0) as u32),
        here: written(hundredths(with, without)),
        agrees: (least..=most).any(|value| written(value.into()) == printed),
    }
}

fn columns() -> Result<Vec<PenaltyColumn>, Failure> {
    let inputs = Inputs::read()?;
    let mut columns = Vec::new();
    for table in tables().filter(|table| table.name.starts_with('I')) {
        for column in &table.columns {
            let Some(tlb) = column.strip_suffix("_critical_miss_penalty") else {
                continue;
            };
            let tlb = format!("{tlb}_pre");
            let wrong = || Failure::failed(format!("Appendix J has no misses of {tlb}"));
            let base = base(table.name, &tlb).ok_or_else(wrong)?;
            let with = inputs.misses(&tlb).ok_or_else(wrong)?;
            let without = inputs.misses(&base).ok_or_else(wrong)?;
            let figures = inputs.critical(&base, &tlb).ok_or_else(wrong)?;
            let mut cells = Vec::new();
            for (program, (without, with)) in PROGRAMS.iter().zip(without.iter().zip(&with)) {
                cells.push(cell(
                    program,
                    table.printed(program, column)?,
                    *without,
                    *with,
                ));
            }
            let weighted = table.number("weighted_average", column)?;
            columns.push(PenaltyColumn {
                table: table.name,
                weighted: (weighted, figures.weighted),
                tlb,
                cells,
            });
        }
    }
    Ok(columns)
}

pub(super) fn table() -> Result<Table, Failure> {
    let columns = columns()?;
    let mut table = Table::new(
        "Tables I4-3 and I5-3: critical miss penalties of preloading",
        "How many times as long a handler that preloads may take until it loses. A program's \
         value is misses without preloading divided by those with preloading; the thesis prints \
         1/x, where x is the inverse rounded to two digits. Appendix J has thousands of misses, \
         and the thesis divided misses that it does not print. A printed value matches if misses \
         that round to the printed thousands give it.",
        &[
            "table",
            "TLB",
            "match",
            "weighted: thesis",
            "weighted: here",
            "programs whose value does not match",
        ],
    );
    for column in &columns {
        let apart = column.cells.iter().filter(|cell| !cell.agrees);
        let apart = apart.map(|cell| {
            let PenaltyCell {
                program,
                printed,
                here,
                ..
            } = cell;
            format!("{program} {printed}, here {here}")
        });
        let agree = column.cells.iter().filter(|cell| cell.agrees).count();
        let (printed, here) = column.weighted;
        table.row([
            column.table.to_owned(),
            column.tlb.clone(),
            format!("{agree} of {}", column.cells.len()),
            format!("{printed:.3}"),
            format!("{here:.3}"),
            apart.collect::<Vec<String>>().join("; "),
        ]);
    }
    let cells = || columns.iter().flat_map(|column| &column.cells);
    let agree = cells().filter(|cell| cell.agrees).count();
    let equal = cells().filter(|cell| cell.here == cell.printed).count();
    let count = cells().count();
    let (most, [without, with], values) = bound(cells());
    table.text.push_str(&format!(
        " With the printed thousands themselves, {equal} of {count} are equal. No rule on these \
         thousands could match more than {most}: cells with {without} and {with} thousand misses, \
         for example, have {values} different printed values.",
    ));
    let claim = format!(
        "{agree} of {count} match as printed, for misses that round to those of Appendix J"
    );
    table
        .direction(agree >= AGREEING, claim)
        .words(
            "as printed",
            format!("{equal} with the rounded misses, where at most {most} could match"),
        )
        .because("Appendix J rounds misses to thousands, and these programs have few");
    Ok(table)
}

/// The most cells that any function of the rounded misses could match: cells with equal misses
/// have one value. Also the misses with the most printed values, and the number of these values.
fn bound<'a>(cells: impl Iterator<Item = &'a PenaltyCell>) -> (usize, [u32; 2], usize) {
    let mut printed: BTreeMap<[u32; 2], BTreeMap<&str, usize>> = BTreeMap::new();
    for cell in cells {
        let values = printed.entry(cell.thousands).or_default();
        *values.entry(cell.printed).or_default() += 1;
    }
    let most = printed
        .values()
        .map(|values| values.values().max().copied().unwrap_or(0));
    let widest = printed.iter().max_by_key(|(_, values)| values.len());
    let (misses, values) = widest.map_or(([0; 2], 0), |(misses, values)| (*misses, values.len()));
    (most.sum(), misses, values)
}

/// The printed penalties that misses before rounding can give.
const AGREEING: usize = 353;

/// The printed penalties that the rounded misses give.
#[cfg(test)]
const EQUAL: usize = 197;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_seven_printed_penalties_match_within_rounding() {
        let columns = columns().expect("penalties");
        let cells = || columns.iter().flat_map(|column| &column.cells);
        assert_eq!(cells().count(), 360);
        assert_eq!(cells().filter(|cell| cell.agrees).count(), AGREEING);
        let equal = cells().filter(|cell| cell.here == cell.printed);
        assert_eq!(equal.count(), EQUAL);
        // Misses of 3 and 3 thousand were printed as 1.14, 1.23, 1.25, 1.30, and so on.
        assert_eq!(bound(cells()), (303, [3, 3], 9));
        // Averages hardly depend on the programs with few misses.
        for column in &columns {
            let (printed, here) = column.weighted;
            assert!((printed - here).abs() < 0.025, "{}", column.tlb);
        }
    }

    /// A cell by hand: 74 and 24 thousand give 0.32, or 0.33 with the misses before rounding.
    #[test]
    fn a_cell_by_hand() {
        for (printed, agrees) in [("3.12", true), ("3.03", true), ("3.23", false)] {
            let cell = cell("mp3d", printed, 74_000.0, 24_000.0);
            assert_eq!(
                (cell.agrees, cell.here.as_str()),
                (agrees, "3.12"),
                "{printed}"
            );
        }
    }
}
