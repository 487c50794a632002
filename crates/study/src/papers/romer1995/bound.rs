//! Section 6.1 and appendix B: how many times the cycles of the best choice a policy that waits can
//! take.

use broadleaf_metrics::CellResult;
use broadleaf_trace::synth::SplitMix64;

use super::small::{Stream, one_entry, replay};
use crate::failure::Failure;
use crate::papers::{Scale, Setting, Table};

/// Cycles of a miss, of charging it, and of promoting 8 KiB.
const MISS: f64 = 30.0;
const BOOKKEEPING: f64 = 100.0;
const PROMOTION: f64 = 24_000.0;
/// R: misses that cost as much as the promotion.
const RATIO: f64 = PROMOTION / MISS;

/// The factor that a threshold of `thousandths` thousandths of R never exceeds (appendix B).
fn bound(thousandths: f64) -> f64 {
    let threshold = RATIO * thousandths / 1000.0;
    let stops = 1.0 + BOOKKEEPING / MISS + RATIO / threshold;
    let goes_on = threshold / RATIO + BOOKKEEPING * threshold / PROMOTION + 1.0;
    stops.max(goes_on)
}

/// Misses of pages 0 and 1 by turns: as many as the threshold, at which the adversary stops.
fn adversary(thousandths: f64) -> Stream {
    let charges = (RATIO * thousandths / 1000.0).ceil() as u64;
    Stream::of((0..=charges).map(|time| time % 2).collect())
}

fn random(seed: u64, most: u64) -> Stream {
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
    Stream::of(pages.collect())
}

/// The cycles under a policy over those of the better of promoting at the start and never.
fn factor(stream: &Stream, policy: &str) -> Result<f64, Failure> {
    let outcome = replay(stream, one_entry()?, &[policy, "fixed-4k", "fixed-8k"])?;
    let cycles = |result: &CellResult| {
        let memory = result.memory.as_ref();
        result.walk_cycles
            + memory.map_or(0, |memory| memory.bookkeeping_cycles + memory.copy_cycles)
    };
    let [online, never, large] = [0, 1, 2].map(|at| cycles(&outcome.results[at]) as f64);
    Ok(online / never.min(large + PROMOTION))
}

pub(super) fn table(setting: &Setting) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Section 6.1: times the cycles of the best choice",
        "One candidate of 8 KiB and a TLB of one entry. The adversary refers to both pages by turns and stops when the policy promotes. The bound is that of appendix B: 2 + o/b at a threshold of R, with bookkeeping of o = 100 and misses of b = 30 cycles.",
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
    let mut worst_at = Vec::new();
    for thousandths in [125.0, 500.0, 1000.0, 2000.0, 8000.0] {
        let policy = format!("approx-online(prefetch={thousandths})");
        let mut worst: f64 = 0.0;
        for seed in 0..streams {
            let most = (RATIO * thousandths / 1000.0) as u64 * 4;
            worst = worst.max(factor(&random(seed, most), &policy)?);
        }
        let stopped = factor(&adversary(thousandths), &policy)?;
        let bound = bound(thousandths);
        let figure = |figure: f64| format!("{figure:.2}");
        let head = format!("{:.3}", thousandths / 1000.0);
        table.row([head, figure(bound), figure(worst), figure(stopped)]);
        worst_at.push((thousandths, bound, worst.max(stopped), stopped));
    }
    let times = |factor: f64| format!("{factor:.2} times");
    let at_ratio = worst_at.iter().find(|(at, ..)| *at == 1000.0);
    if let Some((_, bound, worst, stopped)) = at_ratio {
        table
            .direction(
                worst <= bound,
                "a policy that waits for R never takes more than 2 + o/b times the cycles of the best choice",
            )
            .number(*bound, *worst, times);
        table
            .direction(
                *stopped > 0.95 * bound,
                "the adversary comes within 5 percent of that bound",
            )
            .number(*bound, *stopped, times);
        let least = worst_at.iter().all(|(_, _, other, _)| other >= worst);
        table.direction(
            least,
            "a threshold of R has the lowest worst case: lower and higher thresholds are worse",
        );
    }
    let endless = Stream::of((0..100_000).map(|time| time % 2).collect());
    let never = factor(&endless, "approx-online(prefetch=1000000)")?;
    let waits = factor(&endless, "approx-online(prefetch=1000)")?;
    table
        .direction(
            never > bound(1000.0) && waits <= bound(1000.0),
            "on an endless stream, only a policy that promotes keeps to the bound",
        )
        .words(
            "no bound without promotion",
            format!("{never:.1} times without, {waits:.2} with"),
        );
    Ok(table)
}
