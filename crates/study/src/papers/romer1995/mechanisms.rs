//! One experiment for each mechanism: the policy with it, and the same policy with the mechanism
//! turned off by a parameter.

use broadleaf_metrics::CellResult;
use broadleaf_trace::synth::SplitMix64;

use super::policies::MACHINE;
use super::small::{SmallStream, alone, replay};
use crate::failure::Failure;
use crate::names;
use crate::papers::Table;

/// A mechanism, and a stream that shows it.
struct RomerMechanism {
    name: &'static str,
    claim: &'static str,
    with: &'static str,
    without: &'static str,
    stream: fn() -> SmallStream,
    /// The figure of which the mechanism leaves at most half.
    measured: &'static str,
    figure: fn(&CellResult) -> u64,
}

fn misses(result: &CellResult) -> u64 {
    result.l2_misses
}

fn copying(result: &CellResult) -> u64 {
    let memory = result.memory.as_ref();
    memory.map_or(0, |memory| memory.copy_cycles)
}

fn all(result: &CellResult) -> u64 {
    let memory = result.memory.as_ref();
    let bookkeeping = memory.map_or(0, |memory| memory.bookkeeping_cycles);
    result.walk_cycles + bookkeeping + copying(result)
}

fn bloat(result: &CellResult) -> u64 {
    result.resident_pages.saturating_sub(result.touched_pages)
}

/// Visits each of `pairs` pairs of pages `turns` times. Isolated pages evict the pair between two
/// turns. Each turn is one prefetch charge.
fn pairs(pairs: u64, turns: u64) -> Vec<u64> {
    let turn = |pair: u64| {
        let evicting = (0..32).map(alone);
        [2 * pair, 2 * pair + 1].into_iter().chain(evicting)
    };
    (0..pairs)
        .flat_map(|pair| (0..turns).flat_map(move |_| turn(pair)))
        .collect()
}

/// A working set of one page more than the TLB has entries. `pairs` pairs of it are always used.
fn one_too_many(pairs: u64) -> Vec<u64> {
    let hot = move || (0..2 * pairs).map(|page| page / 2 * 4096 + page % 2);
    (0..400)
        .flat_map(|_| 0..33 - 2 * pairs)
        .flat_map(|cold| std::iter::once(alone(cold)).chain(hot()))
        .collect()
}

fn at_random(pages: u64, count: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(5);
    (0..count).map(|_| random.below(pages)).collect()
}

const MECHANISMS: [RomerMechanism; 8] = [
    RomerMechanism {
        name: "prefetch charges",
        claim: "prefetch charges find the pages that miss beside others: without them \
                approx-online misses more than twice as often",
        with: "approx-online",
        without: "approx-online(prefetch=1000000)",
        stream: || SmallStream::of(at_random(64, 60_000)),
        measured: "misses",
        figure: misses,
    },
    RomerMechanism {
        name: "capacity charges",
        claim: "capacity charges find pages that never miss and crowd others out: without them \
                online misses more than twice as often",
        with: "online",
        without: "online(capacity=1000000)",
        stream: || SmallStream::of(one_too_many(1)),
        measured: "misses",
        figure: misses,
    },
    RomerMechanism {
        name: "adjusting larger pieces",
        claim: "a promotion takes the prefetch charges of the promoted piece from larger pieces: \
                without that approx-online copies more than twice as much",
        with: "approx-online",
        without: "approx-online(adjust=no)",
        stream: || SmallStream::of(pairs(4, 101)),
        measured: "copying",
        figure: copying,
    },
    RomerMechanism {
        name: "resetting capacity charges",
        claim: "a promotion sets capacity charges to zero: without that online promotes every pair \
                that could have spared the same misses",
        with: "online",
        without: "online(reset=no)",
        stream: || SmallStream::of(one_too_many(2)),
        measured: "copying",
        figure: copying,
    },
    RomerMechanism {
        name: "thresholds",
        claim: "a threshold keeps approx-online from copying what is hardly used: at the first \
                charge it copies more than twice as much",
        with: "approx-online",
        without: "approx-online(prefetch=1)",
        stream: || SmallStream::of(pairs(40, 10)),
        measured: "copying",
        figure: copying,
    },
    RomerMechanism {
        name: "many page sizes",
        claim: "large working sets want large pages: with pages of at most 64 KiB approx-online \
                misses more than twice as often",
        with: "approx-online",
        without: "approx-online(sizes=8k+16k+32k+64k)",
        stream: || SmallStream::of(at_random(1024, 1_200_000)),
        measured: "misses",
        figure: misses,
    },
    RomerMechanism {
        name: "activation limit",
        claim: "an online policy that stays inactive below a limit does not harm a program that \
                hardly misses: without the limit it loses more than twice the cycles",
        with: "approx-online(idle_below=50)",
        without: "approx-online",
        stream: || SmallStream {
            pages: pairs(4, 101),
            instructions: 3000,
        },
        measured: "cycles",
        figure: all,
    },
    RomerMechanism {
        name: "waiting for full pieces",
        claim: "asap adds no memory since it waits for every page of a piece: at half of a piece \
                it adds unused pages",
        with: "asap",
        without: "asap(part=50)",
        stream: || SmallStream::of((0..512).map(|page| 2 * page).collect()),
        measured: "unused pages",
        figure: bloat,
    },
];

/// The figures of two policies on the stream of a mechanism.
fn figures(mechanism: &RomerMechanism, policies: [&str; 2]) -> Result<[u64; 2], Failure> {
    let outcome = replay(&(mechanism.stream)(), names::machine(MACHINE)?, &policies)?;
    Ok([0, 1].map(|at| (mechanism.figure)(&outcome.results[at])))
}

/// Returns true if a mechanism leaves at most half.
const fn shows([with, without]: [u64; 2]) -> bool {
    without > 0 && 2 * with <= without
}

pub(super) fn table() -> Result<Table, Failure> {
    let mut table = Table::new(
        "Mechanisms: each with it and without it",
        "Streams of a few pages. A parameter of the policy turns the mechanism off; the claim is \
         that the mechanism leaves at most half of the figure.",
        &[
            "mechanism",
            "policy",
            "without it",
            "measured",
            "with",
            "without",
        ],
    );
    for mechanism in &MECHANISMS {
        let both = figures(mechanism, [mechanism.with, mechanism.without])?;
        table.row([
            mechanism.name.to_owned(),
            mechanism.with.to_owned(),
            mechanism.without.to_owned(),
            mechanism.measured.to_owned(),
            both[0].to_string(),
            both[1].to_string(),
        ]);
        table.direction(shows(both), mechanism.claim);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each claim holds, and fails where the mechanism is turned off.
    #[test]
    fn claims_need_their_mechanisms() {
        for mechanism in &MECHANISMS {
            let name = mechanism.name;
            let both = figures(mechanism, [mechanism.with, mechanism.without]).expect(name);
            assert!(shows(both), "{name}: {both:?}");
            let off = figures(mechanism, [mechanism.without; 2]).expect(name);
            assert!(!shows(off), "{name}: {off:?}");
        }
    }
}
