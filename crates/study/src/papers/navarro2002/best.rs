//! Memory in plenty: what superpages of all sizes give at best, and what each size gives alone.

use super::programs::{PROGRAMS, Program};
use super::setting::{BASE, MACHINE, memory, plenty};
use super::web::Web;
use super::{none, percent, times};
use crate::failure::Failure;
use crate::papers::generated::{Generated, Saying, begin, end};
use crate::papers::replay::{Replay, Took, took};
use crate::papers::{Scale, Setting, Table};

/// Base pages, each size by itself, and all.
fn policies(setting: &Setting) -> [String; 5] {
    let navarro = |parameters: &[&str]| setting.policy("navarro", parameters);
    [
        BASE.to_owned(),
        navarro(&["sizes=64k"]),
        navarro(&["sizes=512k"]),
        navarro(&["sizes=4m"]),
        navarro(&[]),
    ]
}

/// What a program took under each of them, and how many accesses it made.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) took: [Took; 5],
    pub(super) accesses: u64,
}

impl Row {
    fn speedup(&self, policy: usize) -> f64 {
        self.took[policy].speedup_over(self.took[0])
    }

    /// The size that is best alone.
    fn best(&self) -> usize {
        let faster = |a: &usize, b: &usize| self.speedup(*a).total_cmp(&self.speedup(*b));
        // Of equal ones the smaller.
        (1..4).rev().max_by(faster).unwrap_or(1)
    }
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Table>, Failure> {
    let scale = setting.scale;
    let mut rows = Vec::new();
    for program in PROGRAMS {
        let program: Program = *program;
        let trace = Generated::new(move || program.say(1, scale));
        rows.push(row(setting, program.name, trace)?);
    }
    rows.push(row(setting, "web", Generated::new(move || web(scale)))?);
    let stands_for = |name: &str| {
        let program = PROGRAMS.iter().find(|program| program.name == name);
        program.map_or("Web", |program| program.stands_for)
    };
    Ok(vec![best_case(&rows, stands_for), sizes(&rows)])
}

/// The same server as elsewhere, in memory that holds all that it is asked for.
fn web(scale: Scale) -> Saying {
    let (server, requests) = match scale {
        Scale::Tiny => (Web::for_memory(4 << 20), 1000),
        Scale::Quick => (Web::for_memory(32 << 20), 10_000),
        Scale::Full => (Web::for_memory(64 << 20), 100_000),
    };
    let mut serving = server.serves();
    let work = (0..requests).flat_map(move |_| serving.request());
    Box::new(
        begin(1, "web")
            .chain(server.starts())
            .chain(work)
            .chain([end()]),
    )
}

pub(super) fn row(setting: &Setting, name: &str, trace: Generated) -> Result<Row, Failure> {
    let policies = policies(setting);
    let replay = Replay {
        watch: setting.watch,
        doing: name,
        machine: MACHINE,
        policies: &policies.each_ref().map(String::as_str),
        limits: plenty(),
        interim: Vec::new(),
    };
    of_outcome(setting, name, &replay.generated(trace)?)
}

/// Replays any trace of `accesses` accesses.
pub(super) fn replay<S: broadleaf_engine::Source>(
    setting: &Setting,
    name: &str,
    trace: &mut S,
    accesses: u64,
) -> Result<Row, Failure>
where
    S::Error: std::fmt::Display,
{
    let policies = policies(setting);
    let replay = Replay {
        watch: setting.watch,
        doing: name,
        machine: MACHINE,
        policies: &policies.each_ref().map(String::as_str),
        limits: broadleaf_engine::Limits {
            files: broadleaf_engine::Files::InMemory,
            ..memory(4 << 30, super::setting::IN_ORDER)
        },
        interim: Vec::new(),
    };
    of_outcome(setting, name, &replay.of(trace, accesses)?)
}

fn of_outcome(
    setting: &Setting,
    name: &str,
    outcome: &broadleaf_engine::Outcome,
) -> Result<Row, Failure> {
    let all: Vec<Took> = (outcome.results.iter())
        .map(|result| took(result, setting))
        .collect();
    let took = all
        .try_into()
        .map_err(|_| Failure::failed("a policy is missing"))?;
    Ok(Row {
        name: name.to_owned(),
        took,
        accesses: outcome.trace.accesses,
    })
}

/// What the slides say of a program.
fn said(name: &str) -> String {
    match name {
        "matrix" => "a miss per 2 accesses".to_owned(),
        "web" => "does poorly".to_owned(),
        _ => none(),
    }
}

fn best_case(rows: &[Row], stands_for: impl Fn(&str) -> &'static str) -> Table {
    let mut table = Table::new(
        "Best case: superpages of all sizes against base pages",
        "512 MB of empty memory; base pages of 8 KiB against navarro with 64 KiB, 512 KiB and 4 MiB.",
        &[
            "program",
            "stands for",
            "slides",
            "accesses per miss",
            "misses spared",
            "speedup (est.)",
        ],
    );
    for row in rows {
        let per_miss = row.accesses as f64 / row.took[0].misses.max(1) as f64;
        table.row([
            row.name.clone(),
            stands_for(&row.name).to_owned(),
            said(&row.name),
            format!("{per_miss:.1}"),
            percent(row.took[4].spares_of(row.took[0])),
            times(row.speedup(4)),
        ]);
    }
    let logs: f64 = rows.iter().map(|row| row.speedup(4).ln()).sum();
    let mean = (logs / rows.len().max(1) as f64).exp();
    table.row([
        "mean".to_owned(),
        "all".to_owned(),
        "about 1.3x".to_owned(),
        none(),
        none(),
        times(mean),
    ]);
    let slowest = rows
        .iter()
        .map(|row| row.speedup(4))
        .fold(f64::MAX, f64::min);
    table
        .direction(mean > 1.1, "superpages are a clear gain over all programs")
        .number(1.3, mean, times)
        .because(
            "the programs are kernels chosen for their TLB misses, without the rest of their programs and without a data cache",
        );
    table
        .direction(slowest > 0.97, "no program is much slower with superpages")
        .words("no more than a little", times(slowest));
    let little = rows
        .iter()
        .filter(|row| row.took[4].spares_of(row.took[0]) > 80.0)
        .min_by(|a, b| a.speedup(4).total_cmp(&b.speedup(4)));
    table
        .direction(
            little.is_some_and(|row| row.speedup(4) < 1.1),
            "large reductions of TLB misses may gain little time",
        )
        .words(
            "little gain",
            little.map_or_else(none, |row| {
                let spared = row.took[4].spares_of(row.took[0]);
                format!(
                    "{} spares {} and gains {}",
                    row.name,
                    percent(spared),
                    times(row.speedup(4))
                )
            }),
        );
    let of = |name: &str| rows.iter().find(|row| row.name == name);
    if let (Some(web), Some(matrix)) = (of("web"), of("matrix")) {
        table
            .direction(
                web.speedup(4) - 1.0 < (mean - 1.0) / 2.0,
                "the web server gains little: its files are small",
            )
            .words("does poorly", times(web.speedup(4)));
        // Half of its accesses fill the arrays, and miss next to nothing.
        let per_miss = matrix.accesses as f64 / 2.0 / matrix.took[0].misses.max(1) as f64;
        table
            .direction(
                (1.5..2.5).contains(&per_miss),
                "matrix transpose, once its arrays are filled, misses once per two accesses",
            )
            .number(2.0, per_miss, |per_miss| format!("{per_miss:.1} accesses"));
    }
    table
}

fn sizes(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "Multiple page sizes: each alone against all",
        "The same runs: speedup over base pages (estimated) with one size of superpages, and with all three; in brackets the misses that are spared.",
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
    let names = ["", "64k", "512k", "4m"];
    for row in rows {
        let cell = |policy: usize| {
            let spared = row.took[policy].spares_of(row.took[0]);
            format!("{} ({spared:.0} %)", times(row.speedup(policy)))
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
            names[row.best()].to_owned(),
        ]);
    }
    for (name, size) in [("sp", 1), ("vpr", 2), ("fft", 3)] {
        if let Some(row) = rows.iter().find(|row| row.name == name) {
            table
                .direction(
                    row.best() == size,
                    format!("{name} does best with {} alone", names[size]),
                )
                .words(names[size], names[row.best()]);
        }
    }
    if let Some(row) = rows.iter().find(|row| row.name == "mcf") {
        let alone = row.speedup(row.best());
        let (all, alone) = (times(row.speedup(4)), times(alone));
        table
            .direction(
                row.speedup(4) > row.speedup(row.best()) * 1.01,
                "mcf wants several sizes",
            )
            .words(
                "several",
                format!("all together {all}, the best alone {alone}"),
            );
    }
    table
}
