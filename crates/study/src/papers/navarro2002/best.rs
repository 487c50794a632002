//! Unlimited memory: the best case of superpages of all sizes.

use super::programs::{NavarroProgram, PROGRAMS};
use super::setting::{BASE, MACHINE, memory, plenty};
use super::sizes::sizes;
use super::web::Web;
use super::{none, percent, times};
use crate::failure::Failure;
use crate::papers::generated::{GeneratedTrace, Saying, begin, end};
use crate::papers::replay::{PaperReplay, Took, took};
use crate::papers::{PaperSetting, Scale, Table};

/// Base pages, each size alone, and all sizes.
fn policies(setting: &PaperSetting) -> [String; 5] {
    let navarro = |parameters: &[&str]| setting.policy("navarro", parameters);
    [
        BASE.to_owned(),
        navarro(&["sizes=64k"]),
        navarro(&["sizes=512k"]),
        navarro(&["sizes=4m"]),
        navarro(&[]),
    ]
}

/// The costs of a program under each policy, and its number of accesses.
pub(super) struct BestRow {
    pub(super) name: String,
    pub(super) took: [Took; 5],
    /// The promotions under each policy.
    pub(super) promotions: [u64; 5],
    pub(super) accesses: u64,
}

/// The slides' mean speedup.
const MEAN: f64 = 1.3;
/// A program that takes at most this many times as long is not much slower; chosen.
const SLOWER: f64 = 1.03;
impl BestRow {
    /// The speedup of the program under a policy, over base pages.
    pub(super) fn speedup(&self, policy: usize) -> f64 {
        self.took[policy].speedup_over(self.took[0])
    }

    /// The share of misses that a policy saves, in percent.
    pub(super) fn spared(&self, policy: usize) -> f64 {
        self.took[policy].spares_of(self.took[0])
    }
}

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let scale = setting.scale;
    let mut rows = Vec::new();
    for program in PROGRAMS {
        let program: NavarroProgram = *program;
        let trace = GeneratedTrace::new(move || program.say(1, scale));
        rows.push(row(setting, program.name, trace)?);
    }
    rows.push(row(
        setting,
        "web",
        GeneratedTrace::new(move || web(scale)),
    )?);
    let represents = |name: &str| {
        let program = PROGRAMS.iter().find(|program| program.name == name);
        program.map_or("Web", |program| program.represents)
    };
    Ok(vec![best_case(&rows, represents), sizes(&rows)])
}

/// The server of the other experiments, in memory that holds all requested files.
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

pub(super) fn row(
    setting: &PaperSetting,
    name: &str,
    trace: GeneratedTrace,
) -> Result<BestRow, Failure> {
    let policies = policies(setting);
    let replay = PaperReplay {
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
pub(super) fn replay<S: broadleaf_model::Source>(
    setting: &PaperSetting,
    name: &str,
    trace: &mut S,
    accesses: u64,
) -> Result<BestRow, Failure>
where
    S::Error: std::fmt::Display,
{
    let policies = policies(setting);
    let replay = PaperReplay {
        watch: setting.watch,
        doing: name,
        machine: MACHINE,
        policies: &policies.each_ref().map(String::as_str),
        limits: broadleaf_model::MemoryLimits {
            files: broadleaf_model::Files::InMemory,
            ..memory(4 << 30, super::setting::IN_ORDER)
        },
        interim: Vec::new(),
    };
    of_outcome(setting, name, &replay.of(trace, accesses)?)
}

fn of_outcome(
    setting: &PaperSetting,
    name: &str,
    outcome: &broadleaf_model::Outcome,
) -> Result<BestRow, Failure> {
    let all: Vec<Took> = (outcome.results.iter())
        .map(|result| took(result, setting))
        .collect();
    let took = all
        .try_into()
        .map_err(|_| Failure::failed("a policy is missing"))?;
    let promotions: Vec<u64> = (outcome.results.iter())
        .map(|result| result.promotions)
        .collect();
    let promotions = promotions
        .try_into()
        .map_err(|_| Failure::failed("a policy is missing"))?;
    Ok(BestRow {
        name: name.to_owned(),
        took,
        promotions,
        accesses: outcome.trace.accesses,
    })
}

/// The slides' statement about a program.
fn said(name: &str) -> String {
    match name {
        "matrix" => "a miss per 2 accesses".to_owned(),
        "web" => "does poorly".to_owned(),
        _ => none(),
    }
}

fn best_case(rows: &[BestRow], represents: impl Fn(&str) -> &'static str) -> Table {
    let mut table = Table::new(
        "Best case: superpages of all sizes against base pages",
        "512 MB of empty memory; base pages of 8 KiB against navarro with 64 KiB, 512 KiB and 4 \
         MiB.",
        &[
            "program",
            "represents",
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
            represents(&row.name).to_owned(),
            said(&row.name),
            format!("{per_miss:.1}"),
            percent(row.spared(4)),
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
    best_case_claims(&mut table, rows, mean);
    table
}

/// Adds the claim that superpages slow no program down.
pub(super) fn none_is_slower(table: &mut Table, rows: &[BestRow]) {
    let with = rows.iter().filter(|row| row.promotions[4] > 0).count();
    let slowest = rows.iter().map(|row| row.speedup(4)).reduce(f64::min);
    table
        .direction(
            with == rows.len() && slowest.is_some_and(|slowest| slowest * SLOWER >= 1.0),
            "each program gets superpages, and none takes more than 3 percent longer",
        )
        .words(
            "no more than a little",
            format!(
                "{with} of {} get them, the least speedup is {}",
                rows.len(),
                slowest.map_or_else(none, times)
            ),
        );
}

fn best_case_claims(table: &mut Table, rows: &[BestRow], mean: f64) {
    table
        .direction(
            mean >= MEAN,
            "superpages make programs 1.3 times as fast in the mean, or more",
        )
        .number(MEAN, mean, times)
        .because(
            "the programs are kernels chosen for their TLB misses, without the rest of their \
             programs and without a data cache",
        );
    none_is_slower(table, rows);
    let little = rows
        .iter()
        .filter(|row| row.spared(4) > 80.0)
        .min_by(|a, b| a.speedup(4).total_cmp(&b.speedup(4)));
    table
        .direction(
            little.is_some_and(|row| row.speedup(4) < 1.1),
            "a program may be spared more than 80 percent of its TLB misses, and gain less than 10 \
             percent of time",
        )
        .words(
            "little gain",
            little.map_or_else(none, |row| {
                let (spared, gain) = (percent(row.spared(4)), times(row.speedup(4)));
                format!("{} spares {spared} and gains {gain}", row.name)
            }),
        );
    let of = |name: &str| rows.iter().find(|row| row.name == name);
    if let (Some(web), Some(matrix)) = (of("web"), of("matrix")) {
        table
            .direction(
                web.promotions[4] > 0 && mean > 1.0 && web.speedup(4) - 1.0 < (mean - 1.0) / 2.0,
                "the web server gets superpages, and gains less than half of the mean: its files \
                 are small",
            )
            .words("does poorly", times(web.speedup(4)));
        // Half of its accesses fill the arrays, and hardly miss.
        let per_miss = matrix.accesses as f64 / 2.0 / matrix.took[0].misses.max(1) as f64;
        table
            .direction(
                (1.8..=2.2).contains(&per_miss),
                "matrix transpose with base pages, once its arrays are filled, misses once per two \
                 accesses, to within a tenth",
            )
            .number(2.0, per_miss, |per_miss| format!("{per_miss:.1} accesses"));
    }
}

#[cfg(test)]
impl BestRow {
    /// A program that takes `cycles` and has `promotions` under each policy.
    pub(super) fn made(name: &str, cycles: [f64; 5], promotions: u64) -> Self {
        Self {
            name: name.to_owned(),
            took: cycles.map(|cycles| Took {
                misses: cycles as u64,
                cycles,
            }),
            promotions: [0, promotions, promotions, promotions, promotions],
            accesses: 4000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of claims that agree.
    fn agreeing(rows: &[BestRow]) -> Vec<String> {
        let tables = [best_case(rows, |_| "-"), sizes(rows)];
        let claims = tables.into_iter().flat_map(|table| table.claims);
        claims
            .filter(|claim| claim.agrees)
            .map(|claim| claim.text)
            .collect()
    }

    #[test]
    fn no_claim_about_superpages_agrees_where_nothing_is_promoted() {
        let names = ["sp", "vpr", "fft", "mcf", "web", "matrix"];
        let rows = names.map(|name| BestRow::made(name, [1000.0; 5], 0));
        let agreeing = agreeing(&rows);
        // The claim is about base pages.
        assert_eq!(agreeing.len(), 1, "{agreeing:?}");
        assert!(agreeing[0].starts_with("matrix transpose with base pages"));
    }

    #[test]
    fn claims_hold_the_figures_that_they_name() {
        let faster = [1000.0, 990.0, 990.0, 990.0, 600.0];
        let rows = [
            BestRow::made("mcf", faster, 1),
            BestRow::made("web", [1000.0; 5], 1),
        ];
        let text = "each program gets superpages, and none takes more than 3 percent longer";
        assert!(agreeing(&rows).iter().any(|claim| claim == text));
        for web in [
            BestRow::made("web", [1000.0; 5], 0),
            BestRow::made("web", [1000.0, 1.0, 1.0, 1.0, 1040.0], 1),
        ] {
            let rows = [BestRow::made("mcf", faster, 1), web];
            assert!(agreeing(&rows).iter().all(|claim| claim != text));
        }
    }
}
