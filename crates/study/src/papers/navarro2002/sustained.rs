//! Fragmented memory: a web server runs first, then one program runs several times, under two page
//! daemons.

use super::programs::FFT;
use super::setting::{ANYWHERE, BASE, MACHINE, Small, memory};
use super::times;
use super::web::Web;
use crate::failure::Failure;
use crate::papers::generated::{GeneratedTrace, Saying, accesses, begin, run as switch};
use crate::papers::replay::{PaperReplay, took};
use crate::papers::{PaperSetting, Scale, Table};
use broadleaf_metrics::CellResult;

/// The number of runs of the program.
const RUNS: u32 = 4;

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let scale = setting.scale;
    let small = Small::at(scale);
    let fragments = accesses(fragment(scale));
    let one = accesses(FFT.say(2, scale));
    let trace = GeneratedTrace::new(move || {
        // The server stays idle, with all its mappings.
        let programs = (0..RUNS).flat_map(move |number| FFT.say(2 + number, scale));
        Box::new(
            fragment(scale)
                .chain(programs)
                .chain([switch(1), Web::idles()]),
        )
    });
    let [cache, daemon] =
        ["daemon=cache", "daemon=contiguity"].map(|daemon| setting.policy("navarro", &[daemon]));
    let replay = PaperReplay {
        watch: setting.watch,
        doing: "sustained",
        machine: MACHINE,
        policies: &[BASE, &cache, &daemon],
        limits: memory(small.memory, ANYWHERE),
        interim: (0..=u64::from(RUNS))
            .map(|number| fragments + number * one)
            .collect(),
    };
    let outcome = replay.generated(trace)?;
    Ok(vec![table(setting, &small, &outcome.interim)])
}

/// A server that runs until its files have filled memory twice.
fn fragment(scale: Scale) -> Saying {
    let small = Small::at(scale);
    let server = Web::for_memory(small.memory);
    let mut serving = server.serves();
    let requests = small.memory / (8 << 10);
    let work = (0..requests).flat_map(move |_| serving.request());
    Box::new(begin(1, "web").chain(server.starts()).chain(work))
}

fn extents(result: &CellResult, bytes: u64) -> u64 {
    let Some(memory) = &result.memory else {
        return 0;
    };
    let order = (bytes / memory.base_page_bytes).ilog2() as u8;
    let free = memory.free_contiguity.range(order..);
    free.map(|(larger, count)| count << (larger - order)).sum()
}

fn table(setting: &PaperSetting, small: &Small, at: &[Vec<CellResult>]) -> Table {
    let mut table = Table::new(
        "Sustained benefit: fft in memory that a web server has fragmented",
        format!(
            "{} MB of memory; the server asks for seven times as much in files, then fft runs \
             {RUNS} times, one after the other, while the server idles. \
             Speedups (estimated) are of one run over the same run with base pages; extents of {} \
             are free ones before it. The slides show curves and give no figures.",
            small.memory >> 20,
            small.extent_name
        ),
        &[
            "run",
            "slides",
            "cache: extents",
            "cache: misses spared",
            "cache: speedup",
            "daemon: extents",
            "daemon: misses spared",
            "daemon: speedup",
        ],
    );
    let mut speedups = [const { Vec::new() }; 2];
    let mut had = [0; 2];
    for (number, pair) in at.windows(2).enumerate() {
        let run =
            |policy: usize| took(&pair[1][policy], setting).since(took(&pair[0][policy], setting));
        let base = run(0);
        let mut cells = vec![(number + 1).to_string(), "-".to_owned()];
        for policy in [1, 2] {
            let speedup = run(policy).speedup_over(base);
            speedups[policy - 1].push(speedup);
            had[policy - 1] = extents(&pair[1][policy], small.extent);
            cells.push(extents(&pair[0][policy], small.extent).to_string());
            cells.push(super::percent(run(policy).spares_of(base)));
            cells.push(times(speedup));
        }
        table.row(cells);
    }
    let mut after = vec!["after".to_owned(), "-".to_owned()];
    for free in had {
        after.extend([free.to_string(), "-".to_owned(), "-".to_owned()]);
    }
    table.row(after);
    claims(&mut table, had, &speedups);
    table
}

/// The least speedup that is a benefit; chosen.
const BENEFIT: f64 = 1.1;
/// The largest ratio of speedups that counts as equal; chosen.
const LEVEL: f64 = 1.02;

/// Adds the claims. Free extents after the last run, and the speedups of all runs, are given for
/// cache, then for the daemon.
fn claims(table: &mut Table, extents: [u64; 2], speedups: &[Vec<f64>; 2]) {
    table
        .direction(
            extents[1] > 2 * extents[0],
            "the daemon restores contiguity: it leaves more than twice as many extents free as \
             cache alone",
        )
        .words(
            "a curve",
            format!(
                "{} extents after the last run, with cache {}",
                extents[1], extents[0]
            ),
        );
    let [cache, daemon] = [0, 1].map(|policy| speedups[policy].last().copied().unwrap_or(1.0));
    let first = speedups[1].first().copied().unwrap_or(1.0);
    table
        .direction(
            daemon > BENEFIT && daemon * LEVEL > first && daemon > LEVEL * cache,
            format!(
                "the benefit is sustained with the daemon: the last run is more than {BENEFIT} \
                 times as fast, level with the first or faster, and more than {LEVEL} times as \
                 fast as with cache"
            ),
        )
        .words(
            "a curve",
            format!(
                "{} in the last run, {} in the first, with cache {}",
                times(daemon),
                times(first),
                times(cache)
            ),
        );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguity_and_speed_have_to_differ() {
        let agree = |extents, speedups: [[f64; 2]; 2]| {
            let mut table = Table::default();
            claims(&mut table, extents, &speedups.map(Vec::from));
            [0, 1].map(|claim: usize| table.claims[claim].agrees)
        };
        assert_eq!(agree([1, 32], [[1.1, 1.2], [1.2, 1.4]]), [true, true]);
        // Nothing is promoted.
        assert_eq!(agree([1, 32], [[1.0; 2]; 2]), [true, false]);
        // Cache is as good.
        assert_eq!(agree([16, 32], [[1.2, 1.4], [1.2, 1.4]]), [false, false]);
        // The benefit is lost from run to run.
        assert_eq!(agree([0, 0], [[1.1, 1.1], [1.4, 1.2]]), [false, false]);
    }
}
