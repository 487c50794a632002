//! Tables 2, 4, 5 and 6: misses, what sparing them is worth, and the pages at the end.

use super::none;
use super::published::{POLICIES, Published};
use super::rows::{all_of, grouped, kernel, most, whose};
use super::runs::Run;
use crate::papers::{Setting, Table};

fn hundreds(misses: u64) -> String {
    ((misses + 50) / 100).to_string()
}

fn one(figure: f64) -> String {
    format!("{figure:.1}")
}

/// Which part of the time is misses with pages of a size, in percent.
fn share(setting: &Setting, run: &Run, policy: &str) -> Option<f64> {
    let cycles = run.under(policy)?.cycles();
    Some(100.0 * cycles as f64 / run.time(setting, policy)?.max(1.0))
}

pub(super) fn baseline(setting: &Setting, runs: &[Run]) -> Table {
    let mut table = Table::new(
        "Table 2: the programs, with base pages alone",
        "The paper's were measured on an Alpha with pages of 8 KB, at up to 37 cycles a miss; ours are of pages of 4 KiB as in its table 4, and of 8 KiB.",
        &[
            "program",
            "whose",
            "accesses (millions)",
            "misses at 4k (hundreds)",
            "misses at 8k (hundreds)",
            "time in misses at 4k (%)",
            "time in misses at 8k (%)",
        ],
    );
    for (name, published, runs) in grouped(runs) {
        if let Some(published) = published {
            let figures = [
                none(),
                published.misses[0].to_string(),
                published.measured_misses.to_string(),
                none(),
                one(published.tlb_percent),
            ];
            table.row(whose(name, "paper").into_iter().chain(figures));
        }
        for run in runs {
            let misses = |policy| {
                run.under(policy)
                    .map_or_else(none, |under| hundreds(under.misses))
            };
            let time = |policy| share(setting, run, policy).map_or_else(none, one);
            let figures = [
                one(run.accesses as f64 / 1e6),
                misses("4k"),
                misses("8k"),
                time("4k"),
                time("8k"),
            ];
            table.row(whose(name, run.whose()).into_iter().chain(figures));
        }
    }
    let (suffers, text) = most(runs, |run| Some(share(setting, run, "4k")? >= 5.0));
    table.direction(
        suffers,
        format!("most programs spend 5 percent of their time in misses at 4 KiB, or more: {text}"),
    );
    table
}

/// A row of each program and policy, of what the paper prints and what is measured.
fn by_policy(
    table: &mut Table,
    runs: &[Run],
    printed: impl Fn(&Published, usize) -> String,
    measured: impl Fn(&Run, &str) -> Option<String>,
    from: usize,
) {
    for (name, published, runs) in grouped(runs) {
        if let Some(published) = published {
            let cells = (from..POLICIES.len()).map(|column| printed(published, column));
            table.row(whose(name, "paper").into_iter().chain(cells));
        }
        for run in runs {
            let cells = POLICIES[from..]
                .iter()
                .map(|policy| measured(run, policy).unwrap_or_else(none));
            table.row(whose(name, run.whose()).into_iter().chain(cells));
        }
    }
}

/// The heads of such a table.
fn heads(from: usize) -> Vec<&'static str> {
    ["program", "whose"]
        .into_iter()
        .chain(POLICIES.into_iter().skip(from))
        .collect()
}

pub(super) fn misses(runs: &[Run]) -> Table {
    let mut table = Table::new(
        "Table 4: TLB misses in hundreds",
        "Sizes stand for pages of one size throughout.",
        &heads(0),
    );
    by_policy(
        &mut table,
        runs,
        |published, column| published.misses[column].to_string(),
        |run, policy| Some(hundreds(run.under(policy)?.misses)),
        0,
    );
    let left = |run: &Run, policy: &str, limit: f64| Some(run.misses_left(policy)? < limit);
    let (agrees, text) = most(runs, |run| left(run, "approx-online", 50.0));
    table.direction(
        agrees,
        format!("approx-online spares more than half of the misses of many programs: {text}"),
    );
    let fragmented = ["coral", "fpga", "cecil", "spice"];
    table.direction(
        all_of(runs, &fragmented, |run| {
            Some(run.misses_left("asap")? > 2.0 * run.misses_left("approx-online")?)
        }),
        "asap does poorly for coral, fpga, cecil and spice, whose memory is never filled: it leaves more than twice the misses of approx-online",
    );
    table.direction(
        all_of(runs, &["coral", "fpga"], |run| {
            let (large, small) = (run.misses_left("64k")?, run.misses_left("asap-4-64")?);
            Some(large.min(small) > 3.0 * run.misses_left("approx-online")?)
        }),
        "pages of at most 64 KiB leave most misses of coral and fpga: 64k and asap-4-64 more than three times those of approx-online",
    );
    table.direction(
        all_of(runs, &["nasa7-5", "nasa7-4", "compress"], |run| {
            let asap = run.under("asap")?.misses;
            Some(asap < run.under("online")?.misses && asap < run.under("approx-online")?.misses)
        }),
        "online and approx-online miss more often than asap where memory is dense (compress, nasa7): they wait",
    );
    table
}

pub(super) fn improvement(setting: &Setting, runs: &[Run]) -> Table {
    let mut table = Table::new(
        "Table 5: improvement of execution time over 4 KiB, in percent (estimated)",
        format!(
            "Here everything else takes {} cycles for each access, in the paper what was measured on the Alpha. The paper's row of spice is ten times too small (see the next table).",
            setting.cycles_per_access
        ),
        &heads(1),
    );
    by_policy(
        &mut table,
        runs,
        |published, column| one(published.improvement[column - 1]),
        |run, policy| run.improvement(setting, policy).map(one),
        1,
    );
    let gains = |run: &Run| run.improvement(setting, "approx-online");
    let (agrees, text) = most(runs, |run| Some(gains(run)? > 0.0));
    table.direction(
        agrees,
        format!("approx-online is faster than 4 KiB: {text}"),
    );
    table.direction(
        kernel(runs, "gcc")
            .and_then(gains)
            .is_some_and(|gain| gain < 0.0),
        "gcc, which hardly misses, loses by it",
    );
    let best = runs.iter().filter_map(gains).fold(f64::MIN, f64::max);
    table.direction(
        best > 30.0,
        format!(
            "at best approx-online spares a large part of the time: {best:.1} percent (paper: 47.8)"
        ),
    );
    let (agrees, text) = most(runs, |run| {
        Some(run.improvement(setting, "online")? <= gains(run)?)
    });
    table.direction(
        agrees,
        format!("online is behind approx-online, as its bookkeeping is dear: {text}"),
    );
    table
}

pub(super) fn page_sizes(runs: &[Run]) -> Table {
    let names = [
        "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m", "8m",
    ];
    let heads: Vec<&str> = ["program", "whose"]
        .into_iter()
        .chain(names)
        .chain(["total (4k pages)"])
        .collect();
    let mut table = Table::new(
        "Table 6: pages of each size at the end, under approx-online",
        "The total is what the frames of memory count, in base pages.",
        &heads,
    );
    let mut equal = true;
    let mut used = 0;
    for (name, published, runs) in grouped(runs) {
        if let Some(published) = published {
            let cells = published.pages.iter().chain([&published.total]);
            table.row(
                whose(name, "paper")
                    .into_iter()
                    .chain(cells.map(u64::to_string)),
            );
        }
        for run in runs {
            let Some(measured) = run.under("approx-online") else {
                continue;
            };
            let sizes = (12..24).map(|shift| {
                let pages = measured.pages.get(&(1 << shift));
                pages.copied().unwrap_or(0)
            });
            let sum: u64 = (measured.pages.iter())
                .map(|(bytes, pages)| (bytes >> 12) * pages)
                .sum();
            equal &= sum == measured.resident_pages;
            used = used.max(sizes.clone().filter(|pages| *pages > 0).count());
            let cells = sizes
                .chain([measured.resident_pages])
                .map(|pages| pages.to_string());
            table.row(whose(name, run.whose()).into_iter().chain(cells));
        }
    }
    table.direction(
        equal,
        "sizes times pages come to the total, for every program",
    );
    table.direction(
        used >= 5,
        format!("a wide range of sizes is used: {used} by one program"),
    );
    table
}
