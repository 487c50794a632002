//! Section 6.1 and appendix B: the ratio of a waiting policy's cycles to those of the best choice.

use broadleaf_metrics::CellResult;
use broadleaf_trace::synth::SplitMix64;

use super::small::{SmallStream, one_entry, replay};
use crate::failure::Failure;
use crate::papers::{PaperSetting, Scale, Table};

/// The cycles of a miss, of charging a miss, and of promoting 8 KiB.
const MISS: f64 = 30.0;
const BOOKKEEPING: f64 = 100.0;
const PROMOTION: f64 = 24_000.0;
/// R: the number of misses that cost as much as the promotion.
const RATIO: f64 = PROMOTION / MISS;

/// The factor that a threshold of `thousandths` thousandths of R never exceeds (appendix B).
fn bound(thousandths: f64) -> f64 {
    let threshold = RATIO * thousandths / 1000.0;
    let stops = 1.0 + BOOKKEEPING / MISS + RATIO / threshold;
    let goes_on = threshold / RATIO + BOOKKEEPING * threshold / PROMOTION + 1.0;
    stops.max(goes_on)
}

/// Misses of pages 0 and 1 in alternation: as many as the threshold, after which the adversary
/// stops.
fn adversary(thousandths: f64) -> SmallStream {
    let charges = (RATIO * thousandths / 1000.0).ceil() as u64;
    SmallStream::of((0..=charges).map(|time| time % 2).collect())
}

fn random(seed: u64, most: u64) -> SmallStream {
    let mut random = SplitMix64::new(seed);
    let length = 1 + random.below(most);
    let often = 1 + random.below(4);
    let mut page = 0;
    let pages = (0..length).map(|_| {
        page = if random.below(often) == 0 {
            page ^ 1
        } else {
            page
        };
        page
    });
    SmallStream::of(pages.collect())
}

/// The ratio of a policy's cycles to the better of promoting at the start and never promoting.
fn factor(stream: &SmallStream, policy: &str) -> Result<f64, Failure> {
    let outcome = replay(stream, one_entry()?, &[policy, "fixed-4k", "fixed-8k"])?;
    let cycles = |result: &CellResult| {
        let memory = result.memory.as_ref();
        result.walk_cycles
            + memory.map_or(0, |memory| memory.bookkeeping_cycles + memory.copy_cycles)
    };
    let [online, never, large] = [0, 1, 2].map(|at| cycles(&outcome.results[at]) as f64);
    Ok(online / never.min(large + PROMOTION))
}

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Section 6.1: times the cycles of the best choice",
        "One candidate of 8 KiB and a TLB of one entry. The adversary refers to both pages by \
         turns and stops when the policy promotes. The bound is that of appendix B: 2 + o/b at a \
         threshold of R, with bookkeeping of o = 100 and misses of b = 30 cycles.",
        &[
            "threshold (of R)",
            "bound",
            "worst of random streams",
            "adversary",
        ],
    );
    let streams = if setting.scale == Scale::Tiny {
        20
    } else {
        100
    };
    let worst = measured(streams)?;
    for row in &worst {
        let figure = |figure: f64| format!("{figure:.2}");
        table.row([
            format!("{:.3}", row.thousandths / 1000.0),
            figure(bound(row.thousandths)),
            figure(row.random),
            figure(row.adversary),
        ]);
    }
    claims(&mut table, &worst, AT_RATIO)?;
    Ok(table)
}

/// The threshold R, in thousandths of R.
const AT_RATIO: f64 = 1000.0;
const THRESHOLDS: [f64; 5] = [125.0, 500.0, AT_RATIO, 2000.0, 8000.0];

/// The ratio of a threshold's cycles to those of the best choice.
struct WorstCase {
    /// The threshold, in thousandths of R.
    thousandths: f64,
    /// The ratio on the worst of the random streams.
    random: f64,
    /// The ratio against the adversary.
    adversary: f64,
}

impl WorstCase {
    const fn factor(&self) -> f64 {
        self.random.max(self.adversary)
    }
}

/// The worst case of each threshold, over `streams` random streams.
fn measured(streams: u64) -> Result<Vec<WorstCase>, Failure> {
    let of = |thousandths: f64| {
        let policy = waiting(thousandths);
        let most = (RATIO * thousandths / 1000.0) as u64 * 4;
        let mut worst: f64 = 0.0;
        for seed in 0..streams {
            worst = worst.max(factor(&random(seed, most), &policy)?);
        }
        Ok(WorstCase {
            thousandths,
            random: worst,
            adversary: factor(&adversary(thousandths), &policy)?,
        })
    };
    THRESHOLDS.into_iter().map(of).collect()
}

/// The policy that waits for this number of thousandths of R.
fn waiting(thousandths: f64) -> String {
    format!("approx-online(prefetch={thousandths})")
}

/// Adds the claims about the policy that waits for `waits` thousandths of R. The paper makes these
/// claims for R.
fn claims(table: &mut Table, worst: &[WorstCase], waits: f64) -> Result<(), Failure> {
    let bound = bound(AT_RATIO);
    let times = |factor: f64| format!("{factor:.2} times");
    let (own, others): (Vec<_>, Vec<_>) = worst.iter().partition(|case| case.thousandths == waits);
    if let [own] = own[..] {
        table
            .direction(
                own.factor() <= bound,
                "a policy that waits for R never takes more than 2 + o/b times the cycles of the \
                 best choice",
            )
            .number(bound, own.factor(), times);
        table
            .direction(
                (own.adversary / bound - 1.0).abs() < 0.05,
                "the adversary comes within 5 percent of that bound",
            )
            .number(bound, own.adversary, times);
        let least = others.iter().map(|case| case.factor()).reduce(f64::min);
        table
            .direction(
                least.is_some_and(|least| least > own.factor()),
                "a threshold of R has the lowest worst case: lower and higher thresholds are worse",
            )
            .words(
                "the minimum",
                format!(
                    "{} at R, {} or more elsewhere",
                    times(own.factor()),
                    times(least.unwrap_or(0.0))
                ),
            );
    }
    let endless = SmallStream::of((0..100_000).map(|time| time % 2).collect());
    let never = factor(&endless, &waiting(1_000_000.0))?;
    let promotes = factor(&endless, &waiting(waits))?;
    table
        .direction(
            never > bound && promotes <= bound,
            "on an endless stream, only a policy that promotes keeps to the bound",
        )
        .words(
            "no bound without promotion",
            format!("{never:.1} times without, {promotes:.2} with"),
        );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_threshold_breaks_the_claims() {
        let worst = measured(10).expect("replays");
        let agree = |waits| -> Vec<bool> {
            let mut table = Table::default();
            claims(&mut table, &worst, waits).expect("replays");
            table.claims.iter().map(|claim| claim.agrees).collect()
        };
        assert_eq!(agree(AT_RATIO), [true; 4]);
        assert_eq!(agree(2000.0), [false; 4]);
        // Half of R promotes early enough on an endless stream, and too early elsewhere.
        assert_eq!(agree(500.0), [false, false, false, true]);
    }

    #[test]
    fn a_threshold_that_is_level_with_r_breaks_the_claim() {
        let case = |thousandths| WorstCase {
            thousandths,
            random: 5.0,
            adversary: 5.3,
        };
        let mut table = Table::default();
        claims(&mut table, &[case(500.0), case(AT_RATIO)], AT_RATIO).expect("replays");
        let agree: Vec<bool> = table.claims.iter().map(|claim| claim.agrees).collect();
        assert_eq!(agree, [true, true, false, true]);
    }
}
