//! The table of a comparison: the savings and the costs of each policy.

use broadleaf_metrics::{CellResult, Comparison, Recommendation};
use broadleaf_units::PageSize;

use crate::advice::{BASELINE, REFERENCE, added_bytes, added_share, ended, page_bytes};
use crate::cache_figures::cache_figures;
use crate::disk::is_lower_by_eviction;
use crate::estimates::estimates;
use crate::figure::{Figure, count, fitted};
use crate::grid::paragraph;
use crate::matrix::matrix;
use crate::memory_figures::memory_figures;
use crate::next::what_to_type;
use crate::number::{grouped, grouped_signed, percent, ratio, short_signed, size, size_signed};
use crate::recommendation::{Context, machines, of_machine};
use crate::rule::{beside_name, rule};
use crate::run_time::seconds_range;
use crate::{Style, View};

/// The size of a trace's pages, in bytes.
const PAGE: u64 = PageSize::SIZE_4K.bytes();

/// The legend of the marks.
const LEGEND: &str = "* best, ! worst of a column (unmarked where many share it), > chosen";

/// The sentence for a comparison without a policy that can be run.
const NO_ADVICE: &str = "No recommendation: the policies compared here look into the future, and \
                         no kernel can run them. Add policies that can be run, with --policy.";

/// The sentence for a baseline that did not complete.
const NO_BASELINE: &str = "No recommendation: 4k used memory up, and the others are measured \
                           against it. Give more memory, with --memory.";

/// The sentence if no policy completed.
const NONE_LASTED: &str = "No recommendation: every policy compared here that can be run used \
                           memory up. Give more memory, with --memory.";

/// Renders one table for each machine with its advice, or one matrix for several machines, then the
/// rule and the notes.
pub fn comparison_table(comparison: &Comparison, context: &Context<'_>, view: View) -> String {
    let mut out = heading(comparison, view);
    if let Some(matrix) = matrix(comparison, context, view) {
        out.push('\n');
        out.push_str(&matrix);
    } else {
        for machine in machines(comparison) {
            out.push('\n');
            out.push_str(&machine_table(
                machine,
                &of_machine(comparison, machine),
                context.reference(BASELINE, machine),
                context.reference(REFERENCE, machine),
                (context, comparison),
                view,
            ));
        }
    }
    out.push_str(&estimates(&comparison.results, view));
    out.push_str(&answers(comparison, view));
    out.push('\n');
    out.push_str(&rule(comparison, context, view));
    out.push_str(&notes(comparison, view));
    out
}

/// Renders the run times, the page faults and the commands of the recommendations. Machines with
/// equal answers share them.
fn answers(comparison: &Comparison, view: View) -> String {
    let mut out = String::new();
    let mut told: Vec<&Recommendation> = Vec::new();
    let several = comparison.advice.len() > 1;
    for advice in &comparison.advice {
        for sentence in [&advice.run_time, &advice.page_faults]
            .into_iter()
            .flatten()
        {
            let on = match several {
                true => format!("{}: {sentence}", advice.machine),
                false => sentence.clone(),
            };
            out.push('\n');
            out.push_str(&paragraph(&on, Style::Plain, view));
        }
        if advice.commands.is_empty() || told.iter().any(|other| other.commands == advice.commands)
        {
            continue;
        }
        told.push(advice);
        let of = format!(", for {}", advice.policy);
        out.push_str(&what_to_type(&of, &advice.commands, view));
    }
    out
}

/// Renders the notes of a comparison, a paragraph each.
pub(crate) fn notes(comparison: &Comparison, view: View) -> String {
    let notes = comparison.notes.iter();
    let notes = notes.map(|note| paragraph(&format!("Note: {note}"), Style::Faint, view));
    notes.collect()
}

fn heading(comparison: &Comparison, view: View) -> String {
    let trace = &comparison.trace;
    let instructions = match trace.instructions {
        0 => String::new(),
        count => format!(", {} instructions", grouped(count)),
    };
    let text = format!(
        "{} accesses ({} loads, {} stores{instructions}) to {} ({} pages)",
        grouped(trace.accesses),
        grouped(trace.loads),
        grouped(trace.stores),
        size(trace.pages * PAGE),
        grouped(trace.pages),
    );
    let memory = (comparison.memory.as_ref()).map_or(String::new(), |memory| {
        paragraph(&memory.sentence(size), Style::Plain, view)
    });
    format!(
        "{}\n{}{memory}",
        view.paint.apply(Style::Strong, &trace.path),
        paragraph(&text, Style::Plain, view)
    )
}

fn machine_table(
    machine: &str,
    results: &[&CellResult],
    baseline: Option<&CellResult>,
    reference: Option<&CellResult>,
    (context, comparison): (&Context<'_>, &Comparison),
    view: View,
) -> String {
    let memory = comparison.memory.as_ref();
    let advice = baseline.and_then(|baseline| context.advise(machine, results, baseline, memory));
    let chosen = advice.as_ref().map(|advice| advice.policy.as_str());
    // A result that ended before the trace is not compared with others.
    let lasted = |result: &&CellResult| ended(result).is_none();
    let whole: Vec<&CellResult> = results.iter().copied().filter(lasted).collect();
    let mut out = format!(
        "machine {}{}\n",
        view.paint.apply(Style::Strong, machine),
        beside_name(machine, comparison, context)
    );
    if !whole.is_empty() {
        let figures = figures(&whole, baseline.filter(lasted), reference.filter(lasted));
        let (text, mut left_out) = fitted(&whole, figures, chosen, view);
        out.push_str(&text);
        if whole.iter().any(|result| result.caches.is_some()) {
            let (text, too) = fitted(&whole, cache_figures(&whole), chosen, view);
            out.push('\n');
            out.push_str(&text);
            left_out.extend(too);
        }
        if whole.iter().any(|result| result.memory.is_some()) {
            let (text, too) = fitted(&whole, memory_figures(&whole), chosen, view);
            out.push('\n');
            out.push_str(&text);
            left_out.extend(too);
        }
        out.push_str(&paragraph(LEGEND, Style::Faint, view));
        if !left_out.is_empty() {
            let text = format!(
                "No room for: {}. A wider terminal shows them, and so does --format json",
                left_out.join(", ")
            );
            out.push_str(&paragraph(&text, Style::Faint, view));
        }
    }
    for result in results {
        if let Some(accesses) = ended(result) {
            let text = format!(
                "{}: memory was used up after {} accesses",
                result.policy,
                grouped(accesses)
            );
            out.push_str(&paragraph(&text, Style::Worst, view));
        }
    }
    if let Some(advice) = advice {
        out.push('\n');
        out.push_str(&paragraph(&advice.sentence, Style::Strong, view));
    } else if let Some(baseline) = baseline {
        let could = |result: &&&CellResult| (context.can_be_run)(&result.policy);
        let why = if ended(baseline).is_some() {
            NO_BASELINE
        } else if results.iter().any(|result| could(&result)) {
            NONE_LASTED
        } else {
            NO_ADVICE
        };
        out.push('\n');
        out.push_str(&paragraph(why, Style::Plain, view));
    }
    out
}

/// The class of a run time by the table of walk costs.
fn of_table(result: &CellResult) -> Option<&'static str> {
    let run_time = result.run_time.filter(|_| result.policy != BASELINE);
    run_time.map(|run_time| run_time.class.name())
}

fn figures<'a>(
    results: &[&CellResult],
    baseline: Option<&'a CellResult>,
    reference: Option<&'a CellResult>,
) -> Vec<Figure<'a>> {
    fn against<'a>(
        heading: &'static str,
        leave_out_first: u8,
        other: &'a CellResult,
    ) -> Figure<'a> {
        let text = |result: &CellResult, _| ratio(result.walk_cycles, other.walk_cycles);
        Figure {
            heading,
            leave_out_first,
            rank: None,
            text: Box::new(text),
        }
    }
    let mut figures = vec![
        count("L1 misses", 4, |result| result.l1_misses),
        count("L2 misses", 6, |result| result.l2_misses),
    ];
    // Without a third level, or without a hit in it, both counts are equal.
    if (results.iter()).any(|result| result.whole_misses() < result.l2_misses) {
        figures.push(count("L3 misses", 5, CellResult::whole_misses));
    }
    figures.push(count("walk cycles", 0, |result| result.walk_cycles));
    figures.extend(baseline.map(|other| against("of 4k", 0, other)));
    figures.extend(reference.map(|other| against("vs freebsd", 2, other)));
    let seconds = |result: &CellResult| result.run_time?.user_seconds;
    let system = |result: &CellResult| result.run_time?.system_seconds;
    let is_measured = results.iter().any(|result| seconds(result).is_some());
    if is_measured {
        figures.push(Figure {
            heading: "user time",
            leave_out_first: 0,
            rank: None,
            text: Box::new(move |result, _| {
                let by_table = || of_table(result).map(|class| format!("{class} (table)"));
                let seconds = seconds(result).map(|range| seconds_range(&range, 2));
                seconds.or_else(by_table).unwrap_or_default()
            }),
        });
    } else if results.iter().any(|result| result.run_time.is_some()) {
        figures.push(Figure {
            heading: "run time",
            leave_out_first: 1,
            rank: None,
            text: Box::new(|result, _| of_table(result).unwrap_or_default().to_owned()),
        });
    }
    if results.iter().any(|result| system(result).is_some()) {
        figures.push(Figure {
            heading: "system time",
            leave_out_first: 1,
            rank: None,
            text: Box::new(move |result, _| {
                system(result).map_or_else(String::new, |range| seconds_range(&range, 3))
            }),
        });
    }
    // If memory was used up under 4k, its fewer faults are no saving.
    if baseline.is_some() || results.iter().all(|result| result.memory.is_none()) {
        figures.push(Figure {
            heading: "faults saved",
            leave_out_first: 1,
            rank: Some(Box::new(|result| Some(-result.faults_saved))),
            text: Box::new(|result, exact| {
                if exact {
                    grouped_signed(result.faults_saved)
                } else {
                    short_signed(result.faults_saved)
                }
            }),
        });
    }
    figures.push(Figure {
        heading: "resident at end",
        leave_out_first: 7,
        rank: None,
        text: Box::new(|result, _| size(result.resident_pages * page_bytes(result))),
    });
    figures.push(Figure {
        heading: "peak",
        leave_out_first: 3,
        rank: None,
        text: Box::new(|result, _| size(result.peak_resident_pages * page_bytes(result))),
    });
    if let Some(baseline) = baseline {
        figures.push(Figure {
            heading: "added",
            leave_out_first: 0,
            rank: Some(Box::new(|result| {
                let is_saving = !is_lower_by_eviction(result, baseline);
                is_saving.then(|| added_bytes(result, baseline))
            })),
            text: Box::new(|result, _| size_signed(added_bytes(result, baseline))),
        });
        figures.push(Figure {
            heading: "added %",
            leave_out_first: 0,
            rank: None,
            text: Box::new(|result, _| percent(added_share(result, baseline))),
        });
    }
    // Most programs have none of these, and a column of zeroes would only take room.
    for (heading, of) in [
        (
            "zeroed",
            (|result| result.extra_zeroed_pages) as fn(&CellResult) -> u64,
        ),
        ("disk reads", |result| result.extra_disk_read_pages),
    ] {
        if results.iter().any(|result| of(result) > 0) {
            figures.push(count(heading, 2, of));
        }
    }
    let promotions = Figure {
        rank: None,
        ..count("promotions", 5, |result| result.promotions)
    };
    figures.push(promotions);
    figures.push(count("clean, marked dirty", 8, |result| {
        result.false_dirty_pages
    }));
    figures
}

#[cfg(test)]
mod tests;
