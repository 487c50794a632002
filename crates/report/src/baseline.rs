//! A program with base pages, under a policy and with huge pages, compared.

use crate::next::answer_text;
use crate::number::{counted, grouped, percent, size};
use crate::{Align, Grid, Style, View, paragraph};
use broadleaf_metrics::{BaselineReport, PageAnswer, RunFigures, percentiles};

/// A figure of a run: its heading, its value, and its text.
type RunFigure = (
    &'static str,
    fn(&RunFigures) -> Option<f64>,
    fn(f64) -> String,
);

const FIGURES: [RunFigure; 8] = [
    ("user time", |run| Some(run.user_seconds), seconds),
    ("system time", |run| Some(run.system_seconds), seconds),
    ("elapsed", |run| Some(run.elapsed_seconds), seconds),
    (
        "page faults",
        |run| Some(run.page_faults as f64),
        |value| grouped(value as u64),
    ),
    (
        "most memory",
        |run| Some(run.rss_bytes_peak as f64),
        |value| size(value as u64),
    ),
    (
        "in huge pages",
        |run| run.huge_bytes_peak.map(|bytes| bytes as f64),
        |value| size(value as u64),
    ),
    (
        "TLB misses",
        |run| run.tlb_misses.map(|count| count as f64),
        |value| grouped(value as u64),
    ),
    (
        "cycles",
        |run| run.cycles.map(|count| count as f64),
        |value| grouped(value as u64),
    ),
];

fn seconds(value: f64) -> String {
    format!("{value:.3} s")
}

/// Fewer rounds have no spread, and decide nothing.
pub(crate) const FEW_ROUNDS: usize = 3;

/// A shorter processor time, in seconds, is a few ticks of the kernel's clock.
const SHORT: f64 = 0.1;
/// Kernels count times in steps of some milliseconds, so shorter times are a few samples.
const LITTLE: f64 = 0.02;

/// The least share of the memory in huge pages at the end with huge pages. Below, a note warns.
const REACHED: f64 = 0.5;

/// Renders a table of medians, one row for each way to run the program, the changes of user, system
/// and processor time against base pages, and the answer.
pub fn baseline_table(report: &BaselineReport, answer: &PageAnswer, view: View) -> String {
    let ways = ways(report);
    let is_known = |figure: &&RunFigure| {
        let mut runs = ways.iter().flat_map(|(_, runs)| runs.iter());
        runs.any(|run| (figure.1)(run).is_some())
    };
    let known: Vec<&RunFigure> = FIGURES.iter().filter(is_known).collect();
    let mut grid = Grid::new().column("", Align::Left);
    for (heading, ..) in &known {
        grid = grid.column(heading, Align::Right);
    }
    for (name, runs) in ways {
        let figures = known.iter().map(|(_, of, written)| {
            let values: Option<Vec<f64>> = runs.iter().map(of).collect();
            let middle = values.and_then(|values| percentiles(&values));
            middle.map_or(String::new(), |[_, middle, _]| written(middle))
        });
        grid.row([name.to_owned()].into_iter().chain(figures));
    }
    let mut text = grid.render(view);
    let rounds = counted(report.base_pages.len() as u64, "round");
    let heading = format!(
        "Medians of {rounds}, in turns, after one round that was dropped. Changes against \
         4 KiB pages, as the median of the rounds and the tenth to the ninetieth percentile:"
    );
    text.push('\n');
    text.push_str(&paragraph(&heading, Style::Plain, view));
    for BaselineChange {
        kind,
        way,
        sentence,
    } in baseline_changes(report)
    {
        let line = format!("  {kind} time, {way}: {sentence}");
        text.push_str(&paragraph(&line, Style::Plain, view));
    }
    for note in notes(report) {
        text.push_str(&paragraph(&note, Style::Plain, view));
    }
    text + &answer_text(answer, view)
}

/// The ways to run the program, each with its runs. Base pages are first.
fn ways(report: &BaselineReport) -> [(&str, &Vec<RunFigures>); 4] {
    [
        ("4 KiB pages", &report.base_pages),
        ("as the system is set", &report.without),
        (&*report.policy, &report.with),
        ("all huge pages", &report.huge_pages),
    ]
}

/// The change of a time against base pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineChange {
    /// The kind of time: `user`, `system`, or `processor`, which is all time of processors, with
    /// that of the governor.
    pub kind: &'static str,
    /// The way to run the program.
    pub way: String,
    /// The change: its median, and the tenth to the ninetieth percentile.
    pub sentence: String,
}

/// The changes of user, system and processor time against base pages.
pub fn baseline_changes(report: &BaselineReport) -> Vec<BaselineChange> {
    let times = [
        ("user", user as fn(&RunFigures) -> f64),
        ("system", |run| run.system_seconds),
        ("processor", processor),
    ];
    let mut changes = Vec::new();
    for (kind, of) in times {
        for (way, runs) in &ways(report)[1..] {
            if let Some(sentence) = change(&report.base_pages, runs, of) {
                changes.push(BaselineChange {
                    kind,
                    way: (*way).to_owned(),
                    sentence,
                });
            }
        }
    }
    changes
}

const fn user(run: &RunFigures) -> f64 {
    run.user_seconds
}

/// All time of processors in a run: user and system time, and the time of the governor.
fn processor(run: &RunFigures) -> f64 {
    run.user_seconds + run.system_seconds + run.governor_cpu_seconds.unwrap_or(0.0)
}

/// Describes the change from the runs `base` to the runs `other` of the same rounds. Returns `None`
/// if there are no runs, or the time is zero.
fn change(base: &[RunFigures], other: &[RunFigures], of: fn(&RunFigures) -> f64) -> Option<String> {
    let saved = saved(base, other, of)?;
    let is_little = |runs| median_of(runs, of) < LITTLE;
    Some(match is_little(base) && is_little(other) {
        true => format!("under {LITTLE} s, too little to compare"),
        false => change_sentence(saved),
    })
}

/// Returns the saved share of a time, from the runs `base` to the runs `other` of the same rounds:
/// the tenth percentile, the median and the ninetieth percentile. Returns `None` if there are no
/// runs, or the time is zero.
fn saved(
    base: &[RunFigures],
    other: &[RunFigures],
    of: fn(&RunFigures) -> f64,
) -> Option<[f64; 3]> {
    let saved: Vec<f64> = (base.iter().zip(other))
        .filter(|(base, _)| of(base) > 0.0)
        .map(|(base, other)| 1.0 - of(other) / of(base))
        .collect();
    percentiles(&saved)
}

/// Returns the saved share of the processor time, that of the governor included, as [`saved`] does.
pub(crate) fn saved_processor_time(base: &[RunFigures], other: &[RunFigures]) -> Option<[f64; 3]> {
    saved(base, other, processor)
}

/// Describes a saved share of a time: its tenth percentile, median and ninetieth percentile. An
/// interval that contains 0 is no difference.
pub fn change_sentence([low, middle, high]: [f64; 3]) -> String {
    if low <= 0.0 && high >= 0.0 {
        return format!(
            "no difference that this machine can show (between {} and {})",
            less_or_more(low),
            less_or_more(high)
        );
    }
    if middle < 0.0 {
        return format!(
            "{} more ({} to {})",
            percent(-middle),
            percent(-high),
            percent(-low)
        );
    }
    format!(
        "{} less ({} to {})",
        percent(middle),
        percent(low),
        percent(high)
    )
}

/// A saved share of a time in words: `2.0% less`, `1.0% more`.
pub(crate) fn less_or_more(share: f64) -> String {
    let way = if share < 0.0 { "more" } else { "less" };
    format!("{} {way}", percent(share.abs()))
}

/// Returns true if the runs with base pages are too short for their times to mean something.
pub(crate) fn is_short(report: &BaselineReport) -> bool {
    median_of(&report.base_pages, processor) < SHORT
}

/// Returns the median of a figure; 0 without runs.
pub(crate) fn median_of(runs: &[RunFigures], of: fn(&RunFigures) -> f64) -> f64 {
    let values: Vec<f64> = runs.iter().map(of).collect();
    percentiles(&values).map_or(0.0, |[_, middle, _]| middle)
}

fn notes(report: &BaselineReport) -> Vec<String> {
    let mut notes = Vec::new();
    let median = |values: Vec<f64>| percentiles(&values).map(|[_, middle, _]| middle);
    let of_governor = |of: fn(&RunFigures) -> Option<f64>| {
        let values: Vec<f64> = report.with.iter().filter_map(of).collect();
        median(values)
    };
    let whole = of_governor(|run| run.governor_cpu_seconds);
    if let (Some(whole), Some(acting)) = (whole, of_governor(|run| run.acting_cpu_seconds)) {
        notes.push(format!(
            "The governor of {} took {whole:.3} s of a processor, which is in the processor time \
             alone. The kernel made and broke superpages in {acting:.3} s of it.",
            report.policy
        ));
    }
    if is_short(report) {
        notes.push(format!(
            "Runs of {:.3} s of processor time are too short: the kernel counts times in steps of \
             some milliseconds. Measure a second or more.",
            median_of(&report.base_pages, processor)
        ));
    }
    let shares = report
        .huge_pages
        .iter()
        .filter_map(|run| Some(run.huge_bytes_peak? as f64 / run.rss_bytes_peak.max(1) as f64));
    if let Some(share) = median(shares.collect()).filter(|share| *share < REACHED) {
        notes.push(format!(
            "Huge pages reached only {} of the program's memory. Blocks of 2 MiB that one mapping \
             does not cover cannot become huge pages. Memory that the program frees at once is gone \
             before the governor sees it.",
            percent(share)
        ));
    }
    let mut runs = report.base_pages.iter();
    if runs.all(|run| run.tlb_misses.is_none()) {
        notes.push("The processor counts no TLB misses here.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::Provenance;

    #[test]
    fn an_interval_with_zero_is_no_difference() {
        let no = "no difference that this machine can show (between 1.0% more and 2.0% less)";
        assert_eq!(change_sentence([-0.01, 0.005, 0.02]), no);
        assert_eq!(
            change_sentence([0.1, 0.2, 0.3]),
            "20.0% less (10.0% to 30.0%)"
        );
        assert_eq!(
            change_sentence([-0.3, -0.2, -0.1]),
            "20.0% more (10.0% to 30.0%)"
        );
    }

    #[test]
    fn a_few_samples_of_the_kernel_s_clock_are_not_compared() {
        let runs = |system_seconds| {
            vec![RunFigures {
                system_seconds,
                ..RunFigures::default()
            }]
        };
        let said = |base, other| change(&runs(base), &runs(other), |run| run.system_seconds);
        let little = said(0.008, 0.0).expect("a sentence");
        assert_eq!(little, "under 0.02 s, too little to compare");
        assert!(said(0.1, 0.0).is_some_and(|said| said.starts_with("100.0% less")));
        assert!(said(0.008, 0.1).is_some_and(|said| said.contains("% more")));
    }

    #[test]
    fn all_ways_have_a_row_and_their_changes_a_line() {
        let runs = |user: [f64; 2], huge| {
            let run = |user_seconds| RunFigures {
                user_seconds,
                system_seconds: 0.5,
                rss_bytes_peak: 100 << 20,
                huge_bytes_peak: huge,
                ..RunFigures::default()
            };
            user.map(run).to_vec()
        };
        // The governor takes more time than the program saves.
        let mut governed = runs([1.8, 3.6], Some(90 << 20));
        for run in &mut governed {
            run.governor_cpu_seconds = Some(0.48);
            run.acting_cpu_seconds = Some(0.3);
        }
        let report = BaselineReport {
            schema: String::new(),
            command: vec![],
            policy: "pop-256".to_owned(),
            base_pages: runs([2.0, 4.0], None),
            without: runs([2.0, 4.0], None),
            with: governed,
            huge_pages: runs([1.5, 3.0], Some(10 << 20)),
            provenance: Provenance::default(),
        };
        let answer = crate::baseline_answer(&report, &[], &[]);
        let text = baseline_table(&report, &answer, View::default());
        for line in [
            "4 KiB pages             3.000 s      0.500 s",
            "all huge pages          2.250 s",
            "  user time, as the system is set: no difference that this machine can show (between",
            "  user time, pop-256: 10.0% less (10.0% to 10.0%)",
            "  user time, all huge pages: 25.0% less (25.0% to 25.0%)",
            "  processor time, pop-256: ",
            "which is in the processor time alone",
            "Huge pages reached only 10.0% of the program's memory",
            "counts no TLB misses here",
            "2 rounds decide nothing.",
            "    broadleaf run --baseline 7 --policy pop-256",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(!text.contains("cycles"), "{text}");
        let mut lines = text.lines();
        let whole = lines.find(|line| line.contains("processor time, pop-256"));
        assert!(whole.expect("a line").contains("% more ("), "{text}");
    }
}
