//! The effects of thresholds, of batching, of the reset of capacity charges and of the activation
//! limit.

use super::figures::cycles;
use super::none;
use super::programs::PROGRAMS;
use super::rows::{kernel, whose};
use super::runs::{ProgramRun, replay};
use crate::failure::Failure;
use crate::papers::generated::GeneratedTrace;
use crate::papers::{PaperSetting, Scale, Table};

/// The kernels, of those whose runs are short.
const KERNELS: [&str; 4] = ["compress", "nasa7-5", "nasa7-4", "gcc"];

/// Policies: pairs of the name in the table and the policy's name.
const POLICIES: [(&str, &str); 11] = [
    ("4k", "4k"),
    ("0.031 R", "approx-online(prefetch=31)"),
    ("0.125 R", "approx-online"),
    ("0.250 R", "approx-online(prefetch=250)"),
    ("0.500 R", "approx-online(prefetch=500)"),
    ("1.000 R", "approx-online(prefetch=1000)"),
    ("batched", "approx-online(deferral=1600)"),
    ("limit", "approx-online(idle_below=300)"),
    ("online", "online"),
    ("no reset", "online(reset=no)"),
    ("no capacity", "online(capacity=1000000)"),
];

fn runs(setting: &PaperSetting) -> Result<Vec<ProgramRun>, Failure> {
    // The full programs take hours under as many policies.
    let scale = match setting.scale {
        Scale::Tiny => Scale::Tiny,
        Scale::Quick | Scale::Full => Scale::Quick,
    };
    let names: Vec<&str> = POLICIES.iter().map(|(_, policy)| *policy).collect();
    let programs = PROGRAMS
        .into_iter()
        .filter(|program| KERNELS.contains(&program.name));
    let runs = programs.map(|program| {
        let trace = GeneratedTrace::new(move || program.say(scale));
        let outcome = replay(setting, program.name, &names).generated(trace)?;
        ProgramRun::under_these(program.name, &POLICIES, &outcome)
    });
    runs.collect()
}

/// TLBMCPI without bookkeeping.
fn bare(run: &ProgramRun, policy: &str) -> Option<f64> {
    let under = run.under(policy)?;
    Some(run.per_instruction(under.walking + under.copying))
}

/// The effect of capacity charges and their reset on a program: TLBMCPI without bookkeeping.
struct ThresholdEffect {
    program: &'static str,
    online: f64,
    no_reset: f64,
    no_capacity: f64,
}

impl ThresholdEffect {
    fn of(run: &ProgramRun) -> Option<Self> {
        Some(Self {
            program: run.program,
            online: bare(run, "online")?,
            no_reset: bare(run, "no reset")?,
            no_capacity: bare(run, "no capacity")?,
        })
    }

    /// Returns true if capacity charges change the result, with resets or without.
    fn needs_capacity(&self) -> bool {
        self.online != self.no_capacity || self.no_reset != self.no_capacity
    }

    /// The part by which the result without resets differs.
    fn apart(&self) -> f64 {
        (self.no_reset / self.online.max(f64::MIN_POSITIVE) - 1.0).abs()
    }
}

/// Adds the claim on the reset of capacity charges. Programs in which these charges change nothing
/// show nothing about it.
fn reset_claim(table: &mut Table, effects: &[ThresholdEffect]) {
    let shown: Vec<&ThresholdEffect> = effects
        .iter()
        .filter(|effect| effect.needs_capacity())
        .collect();
    let most = shown.iter().map(|effect| effect.apart()).reduce(f64::max);
    let each: Vec<String> = shown
        .iter()
        .map(|effect| format!("{} {:.1} percent", effect.program, 100.0 * effect.apart()))
        .collect();
    let claim = table.direction(
        most.is_some_and(|most| most < 0.1),
        "where capacity charges change results, their reset changes these by less than a tenth",
    );
    if most.is_some() {
        claim
            .words("relatively insensitive", each.join(", "))
            .because(LASTING);
    } else {
        claim
            .words("relatively insensitive", "no figure")
            .not_shown_because(
                "capacity charges change no result of these programs, so their reset cannot either",
            );
    }
}

/// The reason why charges that are not reset change results.
const LASTING: &str = "charges that stay promote pieces that spare nothing more, and the programs \
                       are too short to win that back";

/// The largest part by which one figure differs from another, over all runs.
fn most_apart(runs: &[ProgramRun], of: impl Fn(&ProgramRun) -> Option<[f64; 2]>) -> f64 {
    let apart = runs.iter().filter_map(of);
    apart
        .map(|[one, other]| (one / other.max(f64::MIN_POSITIVE) - 1.0).abs())
        .fold(0.0, f64::max)
}

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let runs = runs(setting)?;
    let mut heads = vec!["program", "whose"];
    heads.extend(POLICIES.iter().map(|(name, _)| *name));
    let mut table = Table::new(
        "Sensitivity: TLBMCPI over thresholds, batching, reset and activation limit",
        "Thresholds are those of approx-online. Batched: pieces above 64 KiB are charged after \
         1,600 misses at a time. Limit: inactive below 0.3 walk cycles for each instruction. The \
         others are online, as it is, without resetting capacity charges, and without capacity \
         charges.",
        &heads,
    );
    for run in &runs {
        let cells = POLICIES
            .iter()
            .map(|(name, _)| run.tlbmcpi(name).map_or_else(none, cycles));
        table.row(whose(run.program, run.whose()).into_iter().chain(cells));
    }
    let part = |part: f64| format!("{:.1} percent", 100.0 * part);
    let better = runs
        .iter()
        .filter(|run| run.tlbmcpi("0.125 R") < run.tlbmcpi("1.000 R"));
    let (better, of) = (better.count(), runs.len());
    table
        .direction(
            2 * better > of,
            "waiting for R is too long: a threshold of 0.125 R costs less for most programs",
        )
        .words(
            "most candidates stay far below R, or exceed it by far",
            format!(
                "{better} of {of} \
            programs"
            ),
        )
        .because(
            "programs that touch each piece once or twice never win a promotion back, however \
                  early it comes",
        );
    let apart = most_apart(&runs, |run| {
        let misses = |policy| Some(run.under(policy)?.misses as f64);
        Some([misses("batched")?, misses("0.125 R")?])
    });
    table
        .direction(
            apart > 0.0 && apart < 0.1,
            "putting the charges of large pieces off changes misses, but by less than a tenth",
        )
        .words("large superpages are promoted only rarely", part(apart))
        .because(
            "small programs promote few large pieces, so that each promotion that comes late \
                  weighs much",
        );
    let effects: Vec<ThresholdEffect> = runs.iter().filter_map(ThresholdEffect::of).collect();
    reset_claim(&mut table, &effects);
    let gcc = kernel(&runs, "gcc");
    let [with, base, other] = ["limit", "4k", "0.125 R"]
        .map(|policy| gcc.and_then(|run| run.tlbmcpi(policy)).unwrap_or(0.0));
    table
        .direction(
            with <= 1.05 * base && other > 1.05 * base,
            "gcc, which hardly misses, is left alone by a policy that is inactive below a limit, \
             and loses by one that is not",
        )
        .words(
            "straightforward to modify",
            format!(
                "{} with, {} without, {} at 4 KiB",
                cycles(with),
                cycles(other),
                cycles(base)
            ),
        );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reset_shows_only_where_capacity_charges_count() {
        let agrees = |effects: &[[f64; 3]]| {
            let effects: Vec<ThresholdEffect> = effects
                .iter()
                .map(|[online, no_reset, no_capacity]| ThresholdEffect {
                    program: "gcc",
                    online: *online,
                    no_reset: *no_reset,
                    no_capacity: *no_capacity,
                })
                .collect();
            let mut table = Table::default();
            reset_claim(&mut table, &effects);
            table.claims[0].agrees
        };
        assert!(agrees(&[[0.100, 0.109, 0.150], [0.1, 0.1, 0.1]]));
        assert!(!agrees(&[[0.100, 0.111, 0.150]]));
        assert!(!agrees(&[[0.100, 0.111, 0.100]]));
        assert!(!agrees(&[[0.100, 0.109, 0.150], [0.1, 0.2, 0.3]]));
        // Nothing is shown, and nothing is counted.
        assert!(!agrees(&[[0.100, 0.100, 0.100]]));
        assert!(!agrees(&[]));
    }
}
