//! Fragmented memory: a web server runs first, then the same program several times, under two page daemons.

use super::programs::FFT;
use super::setting::{ANYWHERE, BASE, MACHINE, Small, memory};
use super::times;
use super::web::Web;
use crate::failure::Failure;
use crate::papers::generated::{Generated, Saying, accesses, begin, run as switch};
use crate::papers::replay::{Replay, took};
use crate::papers::{Scale, Setting, Table};
use broadleaf_metrics::CellResult;

/// How often the program runs.
const RUNS: u32 = 4;

pub(super) fn run(setting: &Setting) -> Result<Vec<Table>, Failure> {
    let scale = setting.scale;
    let small = Small::at(scale);
    let fragments = accesses(fragment(scale));
    let one = accesses(FFT.say(2, scale));
    let trace = Generated::new(move || {
        // The server stays, idle, with what it has mapped.
        let programs = (0..RUNS).flat_map(move |number| FFT.say(2 + number, scale));
        Box::new(
            fragment(scale)
                .chain(programs)
                .chain([switch(1), Web::idles()]),
        )
    });
    let [cache, daemon] =
        ["daemon=cache", "daemon=contiguity"].map(|daemon| setting.policy("navarro", &[daemon]));
    let replay = Replay {
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

/// A server until memory is full of its files twice over.
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

fn table(setting: &Setting, small: &Small, at: &[Vec<CellResult>]) -> Table {
    let mut table = Table::new(
        "Sustained benefit: fft in memory that a web server has fragmented",
        format!(
            "{} MB of memory; the server asks for seven times as much in files, then fft runs {RUNS} times, one after the other, while the server idles. \
             Speedups (estimated) are of one run over the same run with base pages; extents of {} are free ones before it. The slides show curves and give no figures.",
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
    let mut last = [1.0; 2];
    let mut had = [0; 2];
    for (number, pair) in at.windows(2).enumerate() {
        let run =
            |policy: usize| took(&pair[1][policy], setting).since(took(&pair[0][policy], setting));
        let base = run(0);
        let mut cells = vec![(number + 1).to_string(), "-".to_owned()];
        for policy in [1, 2] {
            last[policy - 1] = run(policy).speedup_over(base);
            had[policy - 1] = extents(&pair[1][policy], small.extent);
            cells.push(extents(&pair[0][policy], small.extent).to_string());
            cells.push(super::percent(run(policy).spares_of(base)));
            cells.push(times(last[policy - 1]));
        }
        table.row(cells);
    }
    let mut after = vec!["after".to_owned(), "-".to_owned()];
    for free in had {
        after.extend([free.to_string(), "-".to_owned(), "-".to_owned()]);
    }
    table.row(after);
    table
        .direction(
            had[1] > had[0],
            "the daemon restores contiguity that cache alone loses",
        )
        .words(
            "a curve",
            format!(
                "{} extents after the last run, with cache {}",
                had[1], had[0]
            ),
        );
    table
        .direction(
            last[1] > last[0],
            "the benefit is sustained with the daemon",
        )
        .words(
            "a curve",
            format!(
                "{} in the last run, with cache {}",
                times(last[1]),
                times(last[0])
            ),
        );
    table
}
