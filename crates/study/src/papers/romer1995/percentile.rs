//! Section 7.2: the thresholds, from the charges of pieces that OFFLINE does not promote.

use super::rows::whose;
use super::runs::ProgramRun;
use crate::papers::Table;

/// Misses that cost as much as copying a KiB.
const RATIO_OF_KIB: f64 = 100.0;
/// The paper's thresholds: of prefetch charges and of capacity charges.
const PUBLISHED: [f64; 2] = [0.125, 0.625];

/// The part of R below which 99 percent of the charges lie, of prefetch and capacity charges.
fn quantiles(charges: &mut [[f64; 2]]) -> [f64; 2] {
    let mut at = |kind: usize| {
        charges.sort_by(|one, other| one[kind].total_cmp(&other[kind]));
        let last = (charges.len() * 99).div_ceil(100).saturating_sub(1);
        charges.get(last).map_or(0.0, |charge| charge[kind])
    };
    [at(0), at(1)]
}

/// The charges of a run's pieces that OFFLINE leaves as they are, as parts of R.
fn charges(run: &ProgramRun) -> Vec<[f64; 2]> {
    let left = run.left.iter();
    left.map(|left| {
        let ratio = RATIO_OF_KIB * left.size.bytes() as f64 / 1024.0;
        [left.prefetch, left.capacity].map(|charge| charge as f64 / ratio)
    })
    .collect()
}

pub(super) fn table(runs: &[ProgramRun]) -> Table {
    let mut table = Table::new(
        "Section 7.2: thresholds by the 99 percent rule",
        "99 percent of the pieces that OFFLINE does not promote have fewer charges than this, in \
         parts of R.",
        &[
            "program",
            "whose",
            "pieces",
            "prefetch charges",
            "capacity charges",
        ],
    );
    let published = PUBLISHED.map(|part| format!("{part:.3}"));
    table.row(
        whose("all", "paper")
            .into_iter()
            .chain(["-".to_owned()])
            .chain(published),
    );
    let mut all = Vec::new();
    for run in runs.iter().filter(|run| !run.left.is_empty()) {
        let mut own = charges(run);
        let cells = quantiles(&mut own).map(|part| format!("{part:.3}"));
        let count = own.len().to_string();
        table.row(
            whose(run.program, run.whose())
                .into_iter()
                .chain([count])
                .chain(cells),
        );
        all.append(&mut own);
    }
    let count = all.len();
    let here = quantiles(&mut all);
    let cells = here.map(|part| format!("{part:.3}"));
    table.row(
        whose("all", "here")
            .into_iter()
            .chain([count.to_string()])
            .chain(cells),
    );
    for ((kind, paper), here) in ["prefetch", "capacity"]
        .into_iter()
        .zip(PUBLISHED)
        .zip(here)
    {
        table
            .direction(
                here <= paper && count > 0,
                format!(
                    "99 percent of the pieces that offline leaves have fewer than {paper} R \
                         {kind} charges"
                ),
            )
            .number(paper, here, |part| format!("{part:.3} R"))
            .because(
                "in short programs such as spice and gcc, offline leaves pieces whose charges \
                      come close to R; the paper's five programs run longer",
            );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::quantiles;

    #[test]
    fn of_a_hundred_the_ninety_ninth() {
        let mut charges: Vec<[f64; 2]> = (1..=100)
            .map(|at| [f64::from(at), f64::from(101 - at) * 2.0])
            .collect();
        assert_eq!(quantiles(&mut charges), [99.0, 198.0]);
        assert_eq!(quantiles(&mut []), [0.0, 0.0]);
    }
}
