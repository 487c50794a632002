//! The gains of the schemes over the original system (figures 8 to 11), and their order.

use broadleaf_metrics::{MeanInterval, MixResult};

use super::none;
use super::published::PublishedGains;
use super::runs::{ChenRuns, MixedSchemes};
use super::schemes::{COLORED, ORIGINAL, SCATTERS, SUPERPAGES, schemes};
use super::tables::{llc_mpki, tlb_mpki};
use crate::papers::{PaperSetting, Table};

/// A cause of differences from the paper that all figures share.
const OTHER_PROGRAMS: &str = "our programs miss the last level more often than the paper's, and \
                              walks overlap with these misses. Fewer instructions are counted";

/// The cause where shares cost more lines than they protect.
const UNUSED_SHARES: &str = "a need keeps IPC and not hits: half of our programs or more need an \
                             eighth, so shares of many mixes leave a part of the last level \
                             unused";

/// Our gains by scheme, in percent, with one value for each mix.
struct Gains {
    /// The place of each scheme, its name, the paper's average, and our value of each mix.
    schemes: Vec<(usize, &'static str, Option<f64>, Vec<f64>)>,
    mixes: Vec<&'static str>,
}

impl Gains {
    /// The gains of all schemes but the original. `figure` is a figure of a mix under a scheme,
    /// and `gain` compares it with the original's.
    fn of(
        setting: &PaperSetting,
        runs: &ChenRuns,
        figure: fn(&MixedSchemes, usize) -> Option<f64>,
        gain: fn(f64, f64) -> f64,
        published: fn(&PublishedGains) -> f64,
    ) -> Self {
        let each = schemes(setting.scale).enumerate().skip(1);
        let schemes = each.map(|(place, scheme)| {
            let values = runs.mixes.iter().filter_map(|mixed| {
                let original = figure(mixed, ORIGINAL).filter(|figure| *figure > 0.0)?;
                Some(gain(original, figure(mixed, place)?))
            });
            let average = scheme.published.map(published);
            (place, scheme.name, average, values.collect())
        });
        Self {
            schemes: schemes.collect(),
            mixes: runs.mixes.iter().map(|mixed| mixed.mix.name).collect(),
        }
    }

    /// A table with a row for each mix, the mean, its interval and the paper's average.
    fn table(&self, title: &str, text: &str) -> Table {
        let names = self.schemes.iter().map(|(_, name, ..)| *name);
        let columns: Vec<&str> = std::iter::once("mix").chain(names).collect();
        let mut table = Table::new(title, text, &columns);
        let percent = |value: f64| format!("{value:+.2}");
        for (row, mix) in self.mixes.iter().enumerate() {
            let values = self.schemes.iter();
            let values =
                values.map(|(.., values)| values.get(row).copied().map_or_else(none, percent));
            table.row(std::iter::once((*mix).to_owned()).chain(values));
        }
        let intervals = || {
            self.schemes
                .iter()
                .map(|(.., values)| MeanInterval::of(values))
        };
        let means = intervals().map(|one| one.map_or_else(none, |one| percent(one.mean)));
        table.row(std::iter::once("mean".to_owned()).chain(means));
        let widths = intervals().map(|one| {
            let half = one.and_then(|one| one.half_width);
            half.map_or_else(none, |half| format!("+-{half:.2}"))
        });
        table.row(std::iter::once("interval".to_owned()).chain(widths));
        let papers = self.schemes.iter();
        let papers = papers.map(|(_, _, average, _)| average.map_or_else(none, percent));
        table.row(std::iter::once("paper's mean".to_owned()).chain(papers));
        table
    }

    fn mean(&self, place: usize) -> f64 {
        let found = self.schemes.iter().find(|(known, ..)| *known == place);
        let mean = found.and_then(|(.., values)| MeanInterval::of(values));
        mean.map_or(f64::NAN, |mean| mean.mean)
    }

    /// Adds a claim with the paper's averages and ours of some schemes.
    fn claim(&self, table: &mut Table, agrees: bool, text: &str, places: &[usize], reason: &str) {
        let claim = table.direction(agrees, text);
        for place in places {
            let found = self.schemes.iter().find(|(known, ..)| known == place);
            if let Some((_, name, Some(average), _)) = found {
                let written = |value: f64| format!("{name} {value:+.2} %");
                claim.number(*average, self.mean(*place), written);
            }
        }
        claim.because(reason);
    }
}

/// The growth of a figure, in percent.
fn growth(original: f64, now: f64) -> f64 {
    100.0 * (now / original - 1.0)
}

/// The reduction of a figure, in percent.
fn reduction(original: f64, now: f64) -> f64 {
    100.0 * (1.0 - now / original)
}

pub(super) fn throughput(setting: &PaperSetting, runs: &ChenRuns) -> Table {
    let figure = |mixed: &MixedSchemes, scheme: usize| mixed.schemes[scheme].weighted_speedup;
    let gains = Gains::of(setting, runs, figure, growth, |paper| paper.throughput);
    let mut table = gains.table(
        "Figure 8: gain of throughput over the original, in percent",
        "Throughput is the weighted speedup: the sum of each program's IPC in the mix over its IPC \
         alone, with base pages and the whole cache. The paper calls it System_Throughput.",
    );
    let [colored, superpages, scatters] = [COLORED, SUPERPAGES, SCATTERS].map(|at| gains.mean(at));
    gains.claim(
        &mut table,
        scatters > superpages,
        "scattered superpages raise throughput more than superpages do",
        &[SCATTERS, SUPERPAGES],
        OTHER_PROGRAMS,
    );
    gains.claim(
        &mut table,
        superpages > colored && colored > 0.0,
        "superpages raise throughput more than page colouring, which raises it too",
        &[SUPERPAGES, COLORED],
        OTHER_PROGRAMS,
    );
    table
}

pub(super) fn unfairness(setting: &PaperSetting, runs: &ChenRuns) -> Table {
    let figure = |mixed: &MixedSchemes, scheme: usize| mixed.schemes[scheme].unfairness;
    let gains = Gains::of(setting, runs, figure, reduction, |paper| paper.unfairness);
    let mut table = gains.table(
        "Figure 9: reduction of unfairness from the original, in percent",
        "Unfairness is the largest ratio of a program's IPC in the mix to its IPC alone, over the \
         least ratio.",
    );
    let [colored, superpages, scatters] = [COLORED, SUPERPAGES, SCATTERS].map(|at| gains.mean(at));
    gains.claim(
        &mut table,
        scatters > superpages.max(colored) && scatters > 0.0,
        "scattered superpages reduce unfairness most",
        &[COLORED, SUPERPAGES, SCATTERS],
        UNUSED_SHARES,
    );
    table
}

pub(super) fn cache_misses(setting: &PaperSetting, runs: &ChenRuns) -> Table {
    let gains = Gains::of(setting, runs, llc_mpki, reduction, |paper| paper.llc_misses);
    let mut table = gains.table(
        "Figure 10: reduction of last-level misses from the original, in percent",
        "The misses of all four programs, for data, instructions and page walks.",
    );
    let [colored, superpages, scatters] = [COLORED, SUPERPAGES, SCATTERS].map(|at| gains.mean(at));
    gains.claim(
        &mut table,
        colored > superpages && scatters > superpages,
        "page colouring and scattered superpages reduce last-level misses more than superpages",
        &[COLORED, SUPERPAGES, SCATTERS],
        UNUSED_SHARES,
    );
    table
}

pub(super) fn tlb_misses(setting: &PaperSetting, runs: &ChenRuns) -> Table {
    let gains = Gains::of(setting, runs, tlb_mpki, reduction, |paper| paper.tlb_misses);
    let mut table = gains.table(
        "Figure 11: reduction of TLB misses from the original, in percent",
        "TLB misses are page walks.",
    );
    let [colored, superpages, scatters] = [COLORED, SUPERPAGES, SCATTERS].map(|at| gains.mean(at));
    gains.claim(
        &mut table,
        superpages > 50.0 && scatters > 50.0,
        "superpages and scattered superpages spare most TLB misses",
        &[SUPERPAGES, SCATTERS],
        OTHER_PROGRAMS,
    );
    let claim = table.direction(
        colored < superpages.min(scatters),
        "page colouring spares few TLB misses",
    );
    claim
        .number(11.76, colored, |value| format!("{value:+.2} %"))
        .because(
            "base pages of another frame miss the same TLB: the model has no cause for a change",
        );
    table
}

/// The schemes in the order of their mean throughput.
pub(super) fn order(setting: &PaperSetting, runs: &ChenRuns) -> Table {
    let mut table = Table::new(
        "The order of the schemes by mean throughput",
        "Intervals of 95 percent are over mixes. The last column compares a scheme with the scheme \
         above it, mix by mix: the difference of their weighted speedups.",
        &[
            "scheme",
            "weighted speedup",
            "harmonic mean",
            "unfairness",
            "LLC MPKI",
            "TLB MPKI",
            "difference",
        ],
    );
    let values = |place: usize, figure: fn(&MixResult) -> Option<f64>| -> Vec<f64> {
        let each = runs.mixes.iter();
        each.filter_map(|mixed| figure(&mixed.schemes[place]))
            .collect()
    };
    let speedups = |place: usize| values(place, |result| result.weighted_speedup);
    let mean = |values: &[f64]| broadleaf_metrics::mean(values).unwrap_or(f64::NAN);
    let mut places: Vec<(usize, &str)> = (schemes(setting.scale).enumerate())
        .map(|(place, scheme)| (place, scheme.name))
        .collect();
    places.sort_by(|one, other| mean(&speedups(other.0)).total_cmp(&mean(&speedups(one.0))));
    let written = |values: &[f64], signed: bool| {
        MeanInterval::of(values).map_or_else(none, |one| {
            let half = one
                .half_width
                .map_or_else(String::new, |half| format!(" +-{half:.3}"));
            match signed {
                true => format!("{:+.3}{half}", one.mean),
                false => format!("{:.3}{half}", one.mean),
            }
        })
    };
    let mut above: Option<usize> = None;
    for (place, name) in &places {
        let here = speedups(*place);
        let difference = above.replace(*place).map_or_else(none, |above| {
            let pairs = here.iter().zip(speedups(above));
            written(
                &pairs.map(|(one, other)| one - other).collect::<Vec<f64>>(),
                true,
            )
        });
        let per_mix = |figure: fn(&MixedSchemes, usize) -> Option<f64>| {
            let each = runs.mixes.iter();
            let values: Vec<f64> = each.filter_map(|mixed| figure(mixed, *place)).collect();
            format!("{:.2}", mean(&values))
        };
        table.row([
            (*name).to_owned(),
            written(&here, false),
            format!(
                "{:.3}",
                mean(&values(*place, |result| result.harmonic_speedup))
            ),
            format!("{:.2}", mean(&values(*place, |result| result.unfairness))),
            per_mix(llc_mpki),
            per_mix(tlb_mpki),
            difference,
        ]);
    }
    let of_paper: Vec<usize> = (places.iter().map(|(place, _)| *place))
        .filter(|place| *place <= SCATTERS)
        .collect();
    let names: Vec<&str> = places.iter().map(|(_, name)| *name).collect();
    table
        .direction(
            of_paper == [SCATTERS, SUPERPAGES, COLORED, ORIGINAL],
            "by throughput: scattered superpage, superpage, page colouring, original",
        )
        .words("20.51, 15.04, 6.50 and 0 percent", names.join(", "))
        .because(OTHER_PROGRAMS);
    table
}
