//! Unlimited memory: the gain of each superpage size alone.

use super::best::BestRow;
use super::{percent, times};
use crate::papers::Table;

/// A size is the best if its speedup exceeds that of any other size by this factor.
const WINS: f64 = 1.02;
/// Sizes alone, by the number of their policy.
const SIZES: [&str; 4] = ["", "64k", "512k", "4m"];

impl BestRow {
    /// The sizes alone, the fastest first.
    fn fastest(&self) -> [usize; 3] {
        let mut sizes = [1, 2, 3];
        sizes.sort_by(|a, b| self.speedup(*b).total_cmp(&self.speedup(*a)));
        sizes
    }

    /// The best single size, if there is a clear one.
    fn best(&self) -> Option<usize> {
        let [first, second, _] = self.fastest();
        (self.speedup(first) > WINS * self.speedup(second)).then_some(first)
    }
}

pub(super) fn sizes(rows: &[BestRow]) -> Table {
    let mut table = Table::new(
        "Multiple page sizes: each alone against all",
        "The same runs: speedup over base pages (estimated) with one size of superpages, and with \
         all three; in brackets the misses that are spared.",
        &[
            "program",
            "slides: best",
            "64k",
            "512k",
            "4m",
            "all",
            "best here",
        ],
    );
    for row in rows {
        let cell = |policy: usize| {
            format!(
                "{} ({:.0} %)",
                times(row.speedup(policy)),
                row.spared(policy)
            )
        };
        let slides = match row.name.as_str() {
            "sp" => "64k",
            "vpr" => "512k",
            "fft" => "4m",
            "mcf" => "several",
            _ => "-",
        };
        table.row([
            row.name.clone(),
            slides.to_owned(),
            cell(1),
            cell(2),
            cell(3),
            cell(4),
            row.best().map_or("none", |best| SIZES[best]).to_owned(),
        ]);
    }
    size_claims(&mut table, rows);
    table
}

fn size_claims(table: &mut Table, rows: &[BestRow]) {
    for (name, size) in [("sp", 1), ("vpr", 2), ("fft", 3)] {
        let Some(row) = rows.iter().find(|row| row.name == name) else {
            continue;
        };
        let [first, second, _] = row.fastest();
        let of = |size: usize, figure: String| format!("{} {figure}", SIZES[size]);
        let here = [first, second].map(|size| of(size, times(row.speedup(size))));
        let spared = [first, second].map(|size| of(size, percent(row.spared(size))));
        table
            .direction(
                row.best() == Some(size),
                format!(
                    "{name} does best with {} alone: more than {WINS} times as fast as with \
                         any other size",
                    SIZES[size]
                ),
            )
            .words(SIZES[size], here.join(", then "))
            .because(format!(
                "of its misses the two fastest sizes spare: {}",
                spared.join(", ")
            ));
    }
    if let Some(row) = rows.iter().find(|row| row.name == "mcf") {
        let (all, alone) = (row.speedup(4), row.speedup(row.fastest()[0]));
        let here = format!(
            "all together {}, the best alone {}",
            times(all),
            times(alone)
        );
        table
            .direction(
                all > WINS * alone,
                format!(
                    "mcf wants several sizes: all are more than {WINS} times as fast as the \
                         best alone"
                ),
            )
            .words("several", here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_level_with_another_is_not_the_best() {
        let best = |cycles| BestRow::made("sp", cycles, 1).best();
        assert_eq!(best([1000.0, 700.0, 1000.0, 1000.0, 700.0]), Some(1));
        assert_eq!(best([1000.0, 700.0, 690.0, 1000.0, 700.0]), None);
        assert_eq!(best([1000.0; 5]), None);
    }

    #[test]
    fn several_sizes_have_to_beat_the_best_alone() {
        let several = |all| {
            let table = sizes(&[BestRow::made("mcf", [1000.0, 800.0, 700.0, 900.0, all], 1)]);
            table.claims[0].agrees
        };
        assert!(several(680.0) && !several(690.0));
    }
}
