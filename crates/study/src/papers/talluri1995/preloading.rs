//! Table H-4: misses that preloading saves in partial-subblock TLBs.

use super::misses::PROGRAMS;
use super::speedups::Inputs;
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::Table;

/// The subblock factors.
const FACTORS: [u32; 4] = [2, 4, 8, 16];

/// Half of the unit of Appendix J, a thousand misses.
const HALF: f64 = 500.0;

/// The reduction of misses, in percent.
fn reduction(with: f64, without: f64) -> f64 {
    100.0 * (1.0 - with / without)
}

/// A cell: the printed reduction and ours.
struct ReductionCell {
    program: &'static str,
    factor: u32,
    printed: f64,
    here: f64,
    /// True if misses that round to those of Appendix J give the printed value.
    agrees: bool,
}

fn cells() -> Result<Vec<ReductionCell>, Failure> {
    let inputs = Inputs::read()?;
    let thesis = ThesisTable::named("H-4")?;
    let mut cells = Vec::new();
    for factor in FACTORS {
        let tlb = format!("psb{factor}_fa_b64");
        let wrong = || Failure::failed(format!("Appendix J has no misses of {tlb}"));
        let without = inputs.misses(&tlb).ok_or_else(wrong)?;
        let with = inputs.misses(&format!("{tlb}_pre")).ok_or_else(wrong)?;
        for (program, (without, with)) in PROGRAMS.iter().zip(without.iter().zip(&with)) {
            let printed = thesis.number(program, &format!("s{factor}_preloading"))?;
            let least = reduction(with + HALF, without - HALF) - 0.005;
            let most = reduction(with - HALF, without + HALF) + 0.005;
            cells.push(ReductionCell {
                program,
                factor,
                printed,
                here: reduction(*with, *without),
                agrees: (least..=most).contains(&printed),
            });
        }
    }
    Ok(cells)
}

/// The cells of small counts that rounding does not explain.
const APART: usize = 5;

pub(super) fn table() -> Result<Table, Failure> {
    let cells = cells()?;
    let mut table = Table::new(
        "Table H-4: misses that preloading saves, in percent",
        "Fully associative partial-subblock TLBs of 64 blocks, with the misses of Appendix J. The \
         columns of superpages without preloading have no misses in Appendix J.",
        &["program", "whose", "2", "4", "8", "16"],
    );
    for program in PROGRAMS {
        let of_program = || cells.iter().filter(|cell| cell.program == program);
        for (whose, figure) in [
            ("thesis", (|cell| cell.printed) as fn(&ReductionCell) -> f64),
            ("here", |cell| cell.here),
        ] {
            let figures = of_program().map(|cell| format!("{:.2}", figure(cell)));
            let names = [program, whose].map(str::to_owned);
            table.row(names.into_iter().chain(figures));
        }
    }
    let apart: Vec<String> = (cells.iter().filter(|cell| !cell.agrees))
        .map(|cell| format!("{} {}: {:.2}", cell.program, cell.factor, cell.printed))
        .collect();
    table.text.push_str(&format!(
        " {} cells of programs with few misses differ by more than rounding explains: {}.",
        apart.len(),
        apart.join("; ")
    ));
    let agree = cells.len() - apart.len();
    table.direction(
        agree + APART >= cells.len(),
        format!(
            "{agree} of {} reductions match, for misses that round to those of Appendix J",
            cells.len()
        ),
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_five_cells_match_within_rounding() {
        let cells = cells().expect("cells");
        assert_eq!(cells.len(), 40);
        assert_eq!(cells.iter().filter(|cell| !cell.agrees).count(), APART);
        for cell in &cells {
            let apart = (cell.printed - cell.here).abs();
            assert!(apart < 3.8, "{} {}: {apart}", cell.program, cell.factor);
        }
    }
}
