//! Tables 2-3, 2-4 and 8-2: weights, the sensitivity to the miss penalty, and the headline.

use broadleaf_price::execution::{DEFAULT_PENALTY, weights};

use super::misses::PROGRAMS;
use super::speedups::{Inputs, WEIGHTS_OF_SENSITIVITY};
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::Table;

/// The penalties of the study, in cycles.
const PENALTIES: [u32; 3] = [30, 40, 50];

/// The TLB that speedups are relative to.
const BASE: &str = "sp_fa_b64";

/// Returns true if our value rounds to the printed one; `unit` is that of the last printed digit.
fn equal(printed: f64, here: f64, unit: f64) -> bool {
    (printed - here).abs() <= unit / 2.0 + 1e-9
}

/// Table 2-4.
pub(super) fn ideal_times() -> Result<Table, Failure> {
    let inputs = Inputs::read()?;
    let thesis = ThesisTable::named("2-4")?;
    let mut table = Table::new(
        "Table 2-4: times without TLB misses and weights, by miss penalty",
        "Seconds without misses are the run time of table 2-1 without the misses of its machine. \
         The weight of a program is proportional to the inverse.",
        &[
            "program",
            "whose",
            "s: 30",
            "s: 40",
            "s: 50",
            "weight: 30",
            "weight: 40",
            "weight: 50",
        ],
    );
    let mut agree = 0;
    for (number, program) in PROGRAMS.iter().enumerate() {
        let mut printed = vec![(*program).to_owned(), "thesis".to_owned()];
        let mut here = vec![(*program).to_owned(), "here".to_owned()];
        let measured = inputs.programs.get(number);
        for (name, unit, digits) in [("t_ideal_pP_s", 0.01, 2), ("weight_pP", 0.001, 3)] {
            for penalty in PENALTIES {
                let cell = thesis.number(program, &name.replace('P', &penalty.to_string()))?;
                let penalty = f64::from(penalty);
                let figure = match digits {
                    2 => measured.map(|program| program.ideal_seconds(penalty)),
                    _ => weights(&inputs.programs, penalty).get(number).copied(),
                };
                let figure = figure.unwrap_or(f64::NAN);
                agree += usize::from(equal(cell, figure, unit));
                printed.push(format!("{cell:.digits$}"));
                here.push(format!("{figure:.digits$}"));
            }
        }
        table.row(printed);
        table.row(here);
    }
    let cells = PROGRAMS.len() * 2 * PENALTIES.len();
    table.direction(
        agree == cells,
        format!("{agree} of {cells} times and weights are the printed ones"),
    );
    Ok(table)
}

/// Table 2-3, with the weights of 30 cycles as the thesis has, and with each penalty's own.
pub(super) fn sensitivity() -> Result<Table, Failure> {
    let inputs = Inputs::read()?;
    let thesis = ThesisTable::named("2-3")?;
    let mut heads = vec!["cycles", "whose"];
    heads.extend(&thesis.columns);
    let mut table = Table::new(
        "Table 2-3: normalised speedup by miss penalty",
        "Relative to 64 blocks with pages of 4 KiB. The thesis keeps the weights of 30 cycles for \
         all three penalties; the last row of each penalty has its own weights.",
        &heads,
    );
    let mut agree = 0;
    for penalty in PENALTIES {
        let row = format!("penalty_{penalty}");
        let mut cells = vec![penalty.to_string(), "thesis".to_owned()];
        for tlb in &thesis.columns {
            cells.push(format!("{:.3}", thesis.number(&row, tlb)?));
        }
        table.row(cells);
        let penalty = f64::from(penalty);
        for (whose, weights_of) in [("here", WEIGHTS_OF_SENSITIVITY), ("own weights", penalty)] {
            let mut cells = vec![penalty.to_string(), whose.to_owned()];
            for tlb in &thesis.columns {
                let speedup = weighted_speedup(&inputs, tlb, penalty, weights_of)?;
                if whose == "here" {
                    agree += usize::from(equal(thesis.number(&row, tlb)?, speedup, 0.001));
                }
                cells.push(format!("{speedup:.3}"));
            }
            table.row(cells);
        }
    }
    let cells = PENALTIES.len() * thesis.columns.len();
    table.direction(
        agree == cells,
        format!("{agree} of {cells} speedups with the weights of 30 cycles are the printed ones"),
    );
    Ok(table)
}

/// Table 8-2: TLBs of equal area.
pub(super) fn headline() -> Result<Table, Failure> {
    let inputs = Inputs::read()?;
    let thesis = ThesisTable::named("8-2")?;
    let mut table = Table::new(
        "Table 8-2: normalised speedup of TLBs in the area of 64 single-page-size blocks",
        "The names of TLBs begin with the kind and its reach: 32 KiB, or subblocks. The number of \
         blocks follows b; pre means that the handler preloads.",
        &["TLB", "thesis", "here"],
    );
    let mut agree = 0;
    for tlb in &thesis.columns {
        let printed = thesis.number("normalized_speedup", tlb)?;
        let here = weighted_speedup(&inputs, tlb, DEFAULT_PENALTY, DEFAULT_PENALTY)?;
        agree += usize::from(equal(printed, here, 0.01));
        table.row([
            (*tlb).to_owned(),
            format!("{printed:.2}"),
            format!("{here:.3}"),
        ]);
    }
    table.direction(
        agree == thesis.columns.len(),
        format!(
            "{agree} of {} speedups are the printed ones",
            thesis.columns.len()
        ),
    );
    Ok(table)
}

fn weighted_speedup(
    inputs: &Inputs,
    tlb: &str,
    penalty: f64,
    weights_of: f64,
) -> Result<f64, Failure> {
    let figures = inputs.speedups(BASE, tlb, penalty, weights_of);
    let figures =
        figures.ok_or_else(|| Failure::failed(format!("Appendix J has no misses of {tlb}")))?;
    Ok(figures.weighted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_agrees() {
        for table in [ideal_times(), sensitivity(), headline()] {
            let table = table.expect("a table");
            for claim in &table.claims {
                assert!(claim.agrees, "{}: {}", table.title, claim.text);
            }
        }
    }
}
