//! Figure 5.1: the accesses to blocks, beside their population, dirty pages and lifetime.

use broadleaf_report::number::grouped;

use super::block_uses::BlockUse;
use super::published::{FREQUENT, PRECISION};
use super::runs::ZhuRuns;
use crate::papers::Table;

/// A threshold that predicts frequent accesses to a block.
struct Predictor {
    name: &'static str,
    value: fn(&BlockUse) -> u64,
    thresholds: &'static [u64],
}

const PREDICTORS: [Predictor; 3] = [
    Predictor {
        name: "populated pages",
        value: |one| u64::from(one.populated),
        thresholds: &[64, 128, 256, 461, 509],
    },
    Predictor {
        name: "dirty pages",
        value: |one| u64::from(one.dirty),
        thresholds: &[64, 128, 256, 461, 509],
    },
    Predictor {
        name: "lifetime",
        value: |one| one.lifetime,
        thresholds: &[1_000_000, 10_000_000, 100_000_000, 1_000_000_000],
    },
];

/// The blocks at or above a threshold, and the blocks of frequent accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Prediction {
    all: u64,
    predicted: u64,
    frequent: u64,
    both: u64,
}

impl Prediction {
    fn of(blocks: &[BlockUse], predicts: impl Fn(&BlockUse) -> bool, accesses: u64) -> Self {
        let mut prediction = Self::default();
        for block in blocks {
            let (predicted, frequent) = (predicts(block), block.accesses >= accesses);
            prediction.all += 1;
            prediction.predicted += u64::from(predicted);
            prediction.frequent += u64::from(frequent);
            prediction.both += u64::from(predicted && frequent);
        }
        prediction
    }

    /// The share of the predicted blocks that are accessed frequently, in percent.
    fn precision(&self) -> f64 {
        100.0 * self.both as f64 / self.predicted.max(1) as f64
    }

    /// The share of the frequently accessed blocks that are predicted, in percent.
    fn recall(&self) -> f64 {
        100.0 * self.both as f64 / self.frequent.max(1) as f64
    }

    /// The share of the blocks that the threshold classifies rightly, in percent.
    fn accuracy(&self) -> f64 {
        let wrong = self.predicted + self.frequent - 2 * self.both;
        100.0 * (self.all - wrong) as f64 / self.all.max(1) as f64
    }
}

/// The blocks of all programs.
fn all_blocks(all: &ZhuRuns) -> Vec<BlockUse> {
    let each = all.runs.iter();
    each.flat_map(|run| run.results.blocks.iter().copied())
        .collect()
}

/// Thresholds as predictors of frequent accesses.
pub(super) fn table(all: &ZhuRuns) -> Table {
    let blocks = all_blocks(all);
    let text = format!(
        "The {} blocks of 2 MiB that the programs touched, from their first touch until their \
         memory left. A threshold predicts that a block is accessed frequently: {} times or more, \
         as in the text of section 5.2, or {} times, as in the caption. The thesis gives one \
         number.",
        grouped(blocks.len() as u64),
        grouped(FREQUENT[0]),
        grouped(FREQUENT[1]),
    );
    let columns = [
        "threshold",
        "blocks above",
        "precision: thesis",
        "precision, 50,000",
        "recall",
        "accuracy",
        "precision, 500,000",
        "recall",
        "accuracy",
    ];
    let mut table = Table::new(
        "Figure 5.1: predictors of frequent accesses",
        text,
        &columns,
    );
    let mut best = [0.0_f64; 3];
    for (predictor, best) in PREDICTORS.iter().zip(&mut best) {
        for threshold in predictor.thresholds {
            let predicts = |block: &BlockUse| (predictor.value)(block) >= *threshold;
            let of = |accesses| Prediction::of(&blocks, predicts, accesses);
            let [low, high] = FREQUENT.map(of);
            *best = best.max(low.accuracy());
            let is_published = predictor.name == "populated pages" && *threshold == 64;
            let published = match is_published {
                true => format!("{PRECISION:.1}"),
                false => super::none(),
            };
            let cells = [low, high].into_iter().flat_map(|one| {
                [one.precision(), one.recall(), one.accuracy()].map(|share| format!("{share:.1}"))
            });
            let first = [
                format!("{}: {}", predictor.name, grouped(*threshold)),
                grouped(low.predicted),
                published,
            ];
            table.row(first.into_iter().chain(cells));
        }
    }
    let at_64 = |block: &BlockUse| block.populated >= 64;
    let precision = Prediction::of(&blocks, at_64, FREQUENT[0]).precision();
    let percent = |share: f64| format!("{share:.1} %");
    table
        .direction(
            precision > 66.7,
            "of the blocks with 64 populated pages or more, most are accessed frequently",
        )
        .number(PRECISION, precision, percent)
        .because("traces are shorter, so fewer blocks have 50,000 accesses");
    let [population, _, lifetime] = best;
    table
        .direction(
            lifetime < population,
            "no lifetime classifies blocks as well as a number of populated pages does",
        )
        .words(
            "not as amenable",
            format!("{lifetime:.1} % at best; population {population:.1} %"),
        )
        .because(
            "most blocks of a short trace live until its end, and most of these are accessed \
             frequently",
        );
    let few = blocks.iter().filter(|block| block.populated <= 64).count();
    let middle = (blocks.iter())
        .filter(|block| block.populated > 64 && block.populated < 461)
        .count();
    let share = |count: usize| 100.0 * count as f64 / blocks.len().max(1) as f64;
    table
        .direction(
            share(middle) < 100.0 / 3.0,
            "blocks tend to have few pages or most of their pages",
        )
        .words(
            "either more than 64 pages or few pages (7.2)",
            format!(
                "{:.1} % have 64 pages or fewer, {:.1} % have 461 or more",
                share(few),
                100.0 - share(few) - share(middle)
            ),
        )
        .because("the heaps of small programs fill blocks in part");
    table
}

/// All points of figure 5.1.
pub(super) fn blocks(all: &ZhuRuns) -> Table {
    let columns = [
        "program",
        "accesses",
        "populated pages",
        "dirty pages",
        "lifetime",
    ];
    let text = "Each block of 2 MiB that a program touched: its accesses, the base pages that the \
                program touched and stored to, and the accesses to all memory during its life.";
    let mut table = Table::new("Figure 5.1: the blocks", text, &columns);
    table.only_in_files = true;
    for run in &all.runs {
        for block in &run.results.blocks {
            table.row([
                run.program.name.to_owned(),
                block.accesses.to_string(),
                block.populated.to_string(),
                block.dirty.to_string(),
                block.lifetime.to_string(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_predictions() {
        let block = |accesses, populated| BlockUse {
            accesses,
            populated,
            ..BlockUse::default()
        };
        let blocks = [
            block(9, 100),
            block(5, 70),
            block(1, 80),
            block(7, 3),
            block(0, 1),
        ];
        let prediction = Prediction::of(&blocks, |block| block.populated >= 64, 5);
        let expected = Prediction {
            all: 5,
            predicted: 3,
            frequent: 3,
            both: 2,
        };
        assert_eq!(prediction, expected);
        assert!((prediction.precision() - 66.666).abs() < 0.001);
        assert!((prediction.recall() - 66.666).abs() < 0.001);
        assert!((prediction.accuracy() - 60.0).abs() < 1e-9);
    }
}
