//! The critical miss penalties of preloading: tables I4-3 and I5-3.

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
         so a printed value is possible if misses that round to the printed thousands give it.",
        &[
            "table",
            "TLB",
            "possible",
            "weighted: thesis",
            "weighted: here",
            "programs whose value is not possible",
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
    let claim = format!(
        "{agree} of {count} are possible with the rounded misses of Appendix J; {equal} are equal"
    );
    table
        .direction(agree >= AGREEING, claim)
        .because("Appendix J rounds misses to thousands, and these programs have few");
    Ok(table)
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
    fn all_but_seven_printed_penalties_are_possible() {
        let columns = columns().expect("penalties");
        let cells = || columns.iter().flat_map(|column| &column.cells);
        assert_eq!(cells().count(), 360);
        assert_eq!(cells().filter(|cell| cell.agrees).count(), AGREEING);
        let equal = cells().filter(|cell| cell.here == cell.printed);
        assert_eq!(equal.count(), EQUAL);
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
