//! Tables 2-1 and 2-2: what follows from the run times and the misses of the measured programs.

use broadleaf_price::execution::{CYCLE, DEFAULT_PENALTY, weights};

use super::misses::PROGRAMS;
use super::speedups::Inputs;
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::Table;

/// A derived figure: the table, the column, the head and the digits of the thesis.
struct DerivedFigure {
    table: &'static str,
    column: &'static str,
    head: &'static str,
    digits: usize,
}

const FIGURES: [DerivedFigure; 5] = [
    DerivedFigure {
        table: "2-1",
        column: "pct_user_time_in_tlb_miss",
        head: "% of user time in misses",
        digits: 0,
    },
    DerivedFigure {
        table: "2-2",
        column: "tlb_time_s",
        head: "s in misses",
        digits: 2,
    },
    DerivedFigure {
        table: "2-2",
        column: "t_ideal_s",
        head: "s without misses",
        digits: 2,
    },
    DerivedFigure {
        table: "2-2",
        column: "weight",
        head: "weight",
        digits: 3,
    },
    DerivedFigure {
        table: "2-2",
        column: "max_speedup",
        head: "largest speedup",
        digits: 2,
    },
];

/// The cells of table 2-2 that do not follow from its own misses: pthor, 2.80 s for 2.58.
const MISPRINTED: usize = 1;

/// A program's figures, in the order of `FIGURES`: the printed ones, and ours.
type DerivedRow = (&'static str, [f64; 5], [f64; 5]);

/// The derived figures of each program.
fn rows() -> Result<Vec<DerivedRow>, Failure> {
    let inputs = Inputs::read()?;
    let weights = weights(&inputs.programs, DEFAULT_PENALTY);
    let user = ThesisTable::named("2-1")?;
    let mut rows = Vec::new();
    for ((program, measured), weight) in PROGRAMS.iter().zip(&inputs.programs).zip(weights) {
        let in_misses = measured.misses * DEFAULT_PENALTY * CYCLE;
        let ideal = measured.ideal_seconds(DEFAULT_PENALTY);
        let here = [
            100.0 * in_misses / user.number(program, "user_time_s")?,
            in_misses,
            ideal,
            weight,
            measured.seconds / ideal,
        ];
        let mut printed = [0.0; 5];
        for (printed, figure) in printed.iter_mut().zip(&FIGURES) {
            *printed = ThesisTable::named(figure.table)?.number(program, figure.column)?;
        }
        rows.push((*program, printed, here));
    }
    Ok(rows)
}

/// True if our figure rounds to the printed one.
fn agrees(printed: f64, here: f64, digits: usize) -> bool {
    (printed - here).abs() <= 0.5 / 10_f64.powi(digits as i32) + 1e-9
}

pub(super) fn table() -> Result<Table, Failure> {
    let heads = FIGURES.iter().map(|figure| figure.head);
    let heads: Vec<&str> = ["program", "whose"].into_iter().chain(heads).collect();
    let mut table = Table::new(
        "Tables 2-1 and 2-2: what follows from run times and misses",
        "The thesis measured run times and misses on its machine; the other figures follow from \
         them and from 40 cycles of 25 ns a miss. One cell is a misprint: 2.80 s of pthor, whose \
         2,580 thousand misses take 2.58 s.",
        &heads,
    );
    let (mut agree, mut count) = (0, 0);
    for (program, printed, here) in rows()? {
        for (whose, figures) in [("thesis", &printed), ("here", &here)] {
            let cells = figures.iter().zip(&FIGURES);
            let cells = cells.map(|(figure, of)| format!("{figure:.*}", of.digits));
            let names = [program, whose].map(str::to_owned);
            table.row(names.into_iter().chain(cells));
        }
        for ((printed, here), figure) in printed.iter().zip(&here).zip(&FIGURES) {
            count += 1;
            agree += usize::from(agrees(*printed, *here, figure.digits));
        }
    }
    table.direction(
        agree + MISPRINTED == count,
        format!("{agree} of {count} figures are the printed ones; {MISPRINTED} is a misprint"),
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_misprint_follow() {
        let mut apart = Vec::new();
        for (program, printed, here) in rows().expect("rows") {
            for ((printed, here), figure) in printed.iter().zip(here).zip(&FIGURES) {
                if !agrees(*printed, here, figure.digits) {
                    apart.push((program, figure.column, *printed));
                }
            }
        }
        assert_eq!(apart, [("pthor", "tlb_time_s", 2.80)]);
    }
}
