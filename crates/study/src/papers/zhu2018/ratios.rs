//! Figures 6.1 to 6.3: TLB misses and walk cycles, relative to FreeBSD.

use broadleaf_metrics::{CellResult, mean};

use super::none;
use super::policies::{GREEDY, POP_64, compared};
use super::runs::ZhuRuns;
use crate::papers::Table;

/// The ratio of a figure of a policy to that of FreeBSD, of each program that has one.
pub(super) fn ratios(all: &ZhuRuns, policy: &str, figure: fn(&CellResult) -> u64) -> Vec<f64> {
    let each = all.runs.iter();
    each.filter_map(|run| run.to_freebsd(policy, figure))
        .collect()
}

/// The mean over the programs of the ratios to FreeBSD.
pub(super) fn mean_ratio(
    all: &ZhuRuns,
    policy: &str,
    figure: fn(&CellResult) -> u64,
) -> Option<f64> {
    mean(&ratios(all, policy, figure))
}

/// A table with a row for each program and a column for each policy.
pub(super) fn by_policy(
    all: &ZhuRuns,
    title: &str,
    text: &str,
    value: impl Fn(&super::runs::ZhuRun, &str) -> Option<f64>,
    places: usize,
) -> Table {
    let names = compared().map(|one| one.policy);
    let columns: Vec<&str> = ["program", "thesis's"].into_iter().chain(names).collect();
    let mut table = Table::new(title, text, &columns);
    let written = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.places$}"));
    for run in &all.runs {
        let first = [run.program.name, run.program.represents].map(str::to_owned);
        let values = compared().map(|one| written(value(run, one.policy)));
        table.row(first.into_iter().chain(values));
    }
    let means = compared().map(|one| {
        let each = all.runs.iter();
        let values: Vec<f64> = each.filter_map(|run| value(run, one.policy)).collect();
        written(mean(&values))
    });
    let first = ["mean".to_owned(), none()];
    table.row(first.into_iter().chain(means));
    table
}

fn figure(all: &ZhuRuns, title: &str, figure: fn(&CellResult) -> u64) -> Table {
    let text = "Each figure is divided by that of the policy freebsd. The thesis draws bars \
                without numbers; its means are in table 6.5.";
    by_policy(
        all,
        title,
        text,
        |run, policy| run.to_freebsd(policy, figure),
        3,
    )
}

/// The number of programs in which one policy has at most the figure of another.
fn at_most(all: &ZhuRuns, one: &str, other: &str, figure: fn(&CellResult) -> u64) -> usize {
    let pairs = all.runs.iter().filter(|run| {
        matches!((run.figure(one, figure), run.figure(other, figure)),
            (Some(one), Some(other)) if one <= other)
    });
    pairs.count()
}

pub(super) fn dtlb_misses(all: &ZhuRuns) -> Table {
    let misses = |cell: &CellResult| cell.l1_misses;
    let title = "Figure 6.1: DTLB misses, relative to FreeBSD";
    let mut table = figure(all, title, misses);
    let mean = |policy| mean_ratio(all, policy, misses).unwrap_or(f64::NAN);
    let [foresight, greedy] = ["foresight", GREEDY].map(mean);
    table
        .direction(
            greedy < foresight && foresight <= 1.0,
            "greedy spares more DTLB misses than foresight, so part-filled reservations matter",
        )
        .number(0.92, foresight, |value| format!("foresight x{value:.2}"))
        .number(0.53, greedy, |value| format!("greedy x{value:.2}"))
        .because("other programs");
    let [pop, dirty] = [POP_64, "dirty-64"].map(mean);
    let kept = |value: f64| (1.0 - value) / (1.0 - greedy);
    table
        .direction(
            kept(pop) > 0.5 && kept(dirty) > 0.5,
            "pop-64 and dirty-64 spare DTLB misses almost as greedy does",
        )
        .words(
            "competitive",
            format!("pop-64 x{pop:.2}, dirty-64 x{dirty:.2}, greedy x{greedy:.2}"),
        )
        .because("blocks fill slowly, so the thresholds are met late in a short trace");
    let programs = all.runs.len();
    let best = at_most(all, GREEDY, POP_64, misses);
    table
        .direction(
            2 * best > programs && best < programs,
            "greedy usually has fewest DTLB misses, but not in each program: the DTLB for 2 MiB \
             has half the entries",
        )
        .words(
            "usually; it thrashes in canneal",
            format!("at most those of pop-64 in {best} of {programs} programs"),
        )
        .because("in each program here, superpages reach further in the DTLB than base pages do");
    table
}

pub(super) fn stlb_misses(all: &ZhuRuns) -> Table {
    let misses = |cell: &CellResult| cell.l2_misses;
    let title = "Figure 6.2: STLB misses, relative to FreeBSD";
    let mut table = figure(all, title, misses);
    let of = |policy, figure| mean_ratio(all, policy, figure).unwrap_or(f64::NAN);
    let dtlb = |cell: &CellResult| cell.l1_misses;
    let pairs = ["foresight", GREEDY].map(|policy| (of(policy, misses), of(policy, dtlb)));
    let [(foresight, _), (greedy, _)] = pairs;
    table
        .direction(
            pairs.iter().all(|(stlb, dtlb)| stlb < dtlb),
            "foresight and greedy spare a larger share of STLB misses than of DTLB misses",
        )
        .number(0.65, foresight, |value| format!("foresight x{value:.2}"))
        .number(0.15, greedy, |value| format!("greedy x{value:.2}"))
        .because("other programs");
    table
}

pub(super) fn walk_cycles(all: &ZhuRuns) -> Table {
    let title = "Figure 6.3: walk cycles, relative to FreeBSD";
    figure(all, title, |cell| cell.walk_cycles)
}
