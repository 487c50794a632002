//! The table of a comparison: what each policy saves, beside what it costs.

use broadleaf_metrics::{CellResult, Comparison, MemoryAsked, Recommendation};
use broadleaf_units::PageSize;

use crate::advice::{
    Advice, BASELINE, REFERENCE, RULE, RULE_OF_MEMORY, added_bytes, added_share, advise, ended,
    page_bytes,
};
use crate::disk::is_lower_by_eviction;
use crate::figure::{Figure, count, fitted};
use crate::grid::paragraph;
use crate::memory_figures::memory_figures;
use crate::number::{grouped, grouped_signed, percent, ratio, short_signed, size, size_signed};
use crate::{Style, View};

/// Bytes of the pages that a trace is of.
const PAGE: u64 = PageSize::SIZE_4K.bytes();

/// What the marks mean.
const LEGEND: &str = "* best, ! worst of a column (unmarked where many share it), > chosen";

/// What stands in the recommendation's place where there is nothing to choose from.
const NO_ADVICE: &str = "No recommendation: what was compared here looks into the future, and no kernel can run it. \
    Add policies that can be run, with --policy.";

/// The same where what others are measured against is no whole result.
const NO_BASELINE: &str = "No recommendation: 4k used memory up, and the others are measured against it. Give more memory, with --memory.";

/// The same where nobody got to the end.
const NONE_LASTED: &str = "No recommendation: every policy compared here that can be run used memory up. Give more memory, with --memory.";

/// What the table needs to know beside the comparison itself.
pub struct Context<'a> {
    /// The results of [`BASELINE`] and [`REFERENCE`] on each machine, whether they were asked for or not.
    pub references: &'a [CellResult],
    /// Whether a policy could decide for a live program; one that looks into the future could not.
    pub can_be_run: &'a dyn Fn(&str) -> bool,
    /// Machines that are judged by walk cycles alone: their memory is modelled down to the frame only because of
    /// another machine beside them.
    pub by_walks: &'a [String],
}

/// What the tables recommend, for programs: one entry for each machine on which there is something to choose.
pub fn recommendations(comparison: &Comparison, context: &Context<'_>) -> Vec<Recommendation> {
    let on = |machine: &&str| {
        let advice = context.advise(
            machine,
            &of_machine(comparison, machine),
            context.reference(BASELINE, machine)?,
            comparison.memory.as_ref(),
        )?;
        Some(Recommendation {
            machine: (*machine).to_owned(),
            policy: advice.policy,
            sentence: advice.sentence,
        })
    };
    machines(comparison).iter().filter_map(on).collect()
}

impl Context<'_> {
    /// The advice for a machine, which is the same whatever machines are beside it.
    fn advise(
        &self,
        machine: &str,
        results: &[&CellResult],
        baseline: &CellResult,
        memory: Option<&MemoryAsked>,
    ) -> Option<Advice> {
        if !self.is_by_walks(machine) {
            return advise(results, baseline, self.can_be_run, memory);
        }
        let without_memory = |result: &CellResult| CellResult {
            memory: None,
            ..result.clone()
        };
        let results: Vec<CellResult> = results.iter().copied().map(without_memory).collect();
        let results: Vec<&CellResult> = results.iter().collect();
        advise(&results, &without_memory(baseline), self.can_be_run, None)
    }

    fn is_by_walks(&self, machine: &str) -> bool {
        self.by_walks.iter().any(|name| name == machine)
    }

    fn reference(&self, policy: &str, machine: &str) -> Option<&CellResult> {
        self.references
            .iter()
            .find(|other| other.policy == policy && other.machine == machine)
    }
}

/// The machines of a comparison, in its order.
fn machines(comparison: &Comparison) -> Vec<&str> {
    let mut machines: Vec<&str> = Vec::new();
    for result in &comparison.results {
        if !machines.contains(&result.machine.as_str()) {
            machines.push(&result.machine);
        }
    }
    machines
}

fn of_machine<'a>(comparison: &'a Comparison, machine: &str) -> Vec<&'a CellResult> {
    comparison
        .results
        .iter()
        .filter(|result| result.machine == machine)
        .collect()
}

/// One table for each machine, its advice, the rule and the notes.
pub fn comparison_table(comparison: &Comparison, context: &Context<'_>, view: View) -> String {
    let mut out = heading(comparison, view);
    for machine in machines(comparison) {
        out.push('\n');
        out.push_str(&machine_table(
            machine,
            &of_machine(comparison, machine),
            context.reference(BASELINE, machine),
            context.reference(REFERENCE, machine),
            (context, comparison.memory.as_ref()),
            view,
        ));
    }
    out.push('\n');
    let has_memory = (comparison.results.iter()).any(|result| result.memory.is_some());
    let rule = if has_memory { RULE_OF_MEMORY } else { RULE };
    out.push_str(&paragraph(rule, Style::Faint, view));
    if !context.by_walks.is_empty() {
        let on = format!("Rule on {}:", context.by_walks.join(", "));
        let rule = RULE.replacen("Rule:", &on, 1);
        out.push_str(&paragraph(&rule, Style::Faint, view));
    }
    for note in &comparison.notes {
        out.push_str(&paragraph(&format!("Note: {note}"), Style::Faint, view));
    }
    out
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
    (context, memory): (&Context<'_>, Option<&MemoryAsked>),
    view: View,
) -> String {
    let advice = baseline.and_then(|baseline| context.advise(machine, results, baseline, memory));
    let chosen = advice.as_ref().map(|advice| advice.policy.as_str());
    // What ended before the trace did is no result to put beside others.
    let lasted = |result: &&CellResult| ended(result).is_none();
    let whole: Vec<&CellResult> = results.iter().copied().filter(lasted).collect();
    let mut out = format!("machine {}\n", view.paint.apply(Style::Strong, machine));
    if !whole.is_empty() {
        let figures = figures(&whole, baseline.filter(lasted), reference.filter(lasted));
        let (text, mut left_out) = fitted(&whole, figures, chosen, view);
        out.push_str(&text);
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
        count("walk cycles", 0, |result| result.walk_cycles),
    ];
    figures.extend(baseline.map(|other| against("of 4k", 0, other)));
    figures.extend(reference.map(|other| against("of freebsd", 2, other)));
    // Where memory was used up under 4k, what it faulted less is nothing saved.
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
        heading: "resident",
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
            heading: "",
            leave_out_first: 0,
            rank: None,
            text: Box::new(|result, _| percent(added_share(result, baseline))),
        });
    }
    // Most programs are not so: a column of zeroes would only take the others' room.
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
    figures.push(count("false dirty", 8, |result| result.false_dirty_pages));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Paint;
    use broadleaf_metrics::{MemoryResult, MemorySample, Provenance, Tlbmcpi, TraceSummary};

    fn result(policy: &str, walk_cycles: u64, peak: u64) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            machine: "skylake".to_owned(),
            accesses: 1_000_000_000,
            l1_misses: walk_cycles / 10,
            l2_misses: walk_cycles / 35,
            walk_cycles,
            touched_pages: 25_600,
            resident_pages: peak,
            peak_resident_pages: peak,
            ..CellResult::default()
        }
    }

    fn sample() -> Comparison {
        let trace = TraceSummary {
            path: "sort.bl".to_owned(),
            accesses: 1_000_000_000,
            loads: 700_000_000,
            stores: 300_000_000,
            pages: 25_600,
            ..TraceSummary::default()
        };
        let results = vec![
            result("4k", 123_456_789, 25_600),
            result("freebsd", 99_000_000, 25_600),
            result("pop-64", 1_234_567, 26_000),
            result("greedy", 1_000_000, 51_200),
        ];
        Comparison::new(
            trace,
            results,
            vec!["A note.".to_owned()],
            Provenance::default(),
        )
    }

    fn render(width: Option<usize>, paint: Paint) -> String {
        let comparison = sample();
        let context = Context {
            references: &comparison.results[..2],
            can_be_run: &|_| true,
            by_walks: &[],
        };
        comparison_table(&comparison, &context, View { width, paint })
    }

    #[test]
    fn without_a_width_every_digit_is_there_and_marks_say_what_colours_would() {
        let text = render(None, Paint::Plain);
        assert!(!text.contains('\x1b'));
        let row = |name: &str| {
            text.lines()
                .find(|line| line.get(2..).is_some_and(|rest| rest.starts_with(name)))
                .unwrap()
                .to_owned()
        };
        assert!(
            row("4k").contains(" 123,456,789!") && row("4k").contains("x1.00"),
            "{text}"
        );
        assert!(
            row("pop-64").starts_with("> ") && row("pop-64").contains("1,234,567 "),
            "{text}"
        );
        assert!(
            row("greedy").contains(" 1,000,000*") && row("greedy").contains("100 MiB!  100.0%"),
            "{text}"
        );
        assert!(
            text.contains("Choose pop-64") && text.contains("greedy would need"),
            "{text}"
        );
        assert!(
            text.contains(RULE) && text.ends_with("Note: A note.\n"),
            "{text}"
        );
    }

    #[test]
    fn it_fits_the_terminal() {
        for width in [60, 80, 100, 120, 200] {
            let text = render(Some(width), Paint::Plain);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} > {width}\n{text}");
            assert!(
                text.contains("walk cycles") && text.contains("added"),
                "{text}"
            );
            // What there is no room for is named.
            let joined = text.replace('\n', " ");
            for heading in ["resident", "false dirty", "peak", "L2 misses"] {
                assert!(joined.contains(heading), "{heading} at {width}\n{text}");
            }
            assert_eq!(width < 150, joined.contains("No room for: "), "{text}");
        }
    }

    #[test]
    fn every_heading_is_explained() {
        let mut comparison = sample();
        let result = comparison.results.last_mut().unwrap();
        (result.extra_zeroed_pages, result.extra_disk_read_pages) = (1, 1);
        let results: Vec<&CellResult> = comparison.results.iter().collect();
        for figure in figures(&results, Some(results[0]), Some(results[1])) {
            // The share of what is added stands without a heading beside it.
            let is_known = crate::heading_named(figure.heading).is_some();
            assert!(is_known || figure.heading.is_empty(), "{}", figure.heading);
        }
    }

    #[test]
    fn pages_filled_for_nothing_are_shown_where_there_are_any() {
        let show = |comparison: &Comparison| {
            let context = Context {
                references: &comparison.results[..1],
                can_be_run: &|_| true,
                by_walks: &[],
            };
            comparison_table(comparison, &context, View::default())
        };
        let mut comparison = sample();
        let without = show(&comparison);
        assert!(
            !without.contains("disk reads") && !without.contains("zeroed"),
            "{without}"
        );
        comparison.results.last_mut().unwrap().extra_disk_read_pages = 4_321;
        let text = show(&comparison);
        assert!(
            text.contains("disk reads") && text.contains(" 4,321!") && !text.contains("zeroed"),
            "{text}"
        );
        comparison.results.last_mut().unwrap().extra_zeroed_pages = 987;
        let text = show(&comparison);
        assert!(text.contains("zeroed") && text.contains(" 987!"), "{text}");
    }

    #[test]
    fn colour_changes_no_text() {
        let coloured = render(Some(80), Paint::Colour);
        assert!(coloured.contains("\x1b[32m"));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some(start) = rest.find('\x1b') {
            plain.push_str(&rest[..start]);
            rest = &rest[start + rest[start..].find('m').unwrap() + 1..];
        }
        plain.push_str(rest);
        assert_eq!(plain, render(Some(80), Paint::Plain));
    }

    fn limited(mut result: CellResult, out_of_memory_after: Option<u64>) -> CellResult {
        result.memory = Some(MemoryResult {
            base_page_bytes: 16_384,
            fault_cycles: 12_345_678,
            swapped_out_pages: 64,
            at_peak: MemorySample {
                resident_pages: 100,
                superpage_pages: 25,
                ..MemorySample::default()
            },
            out_of_memory_after,
            ..MemoryResult::default()
        });
        result
    }

    #[test]
    fn memory_has_a_table_of_its_own_and_what_ended_no_row() {
        let mut comparison = sample();
        let ends = [None, None, None, Some(1234)];
        let results = comparison.results.into_iter().zip(ends);
        comparison.results = results.map(|(result, end)| limited(result, end)).collect();
        comparison.memory = Some(MemoryAsked {
            bytes: Some(64 << 20),
            start: "empty".to_owned(),
            ..MemoryAsked::default()
        });
        let show = |comparison: &Comparison, view| {
            let context = Context {
                references: &comparison.results[..1],
                can_be_run: &|_| true,
                by_walks: &[],
            };
            comparison_table(comparison, &context, view)
        };
        let text = show(&comparison, View::default());
        for wanted in [
            "\nMemory: 64.0 MiB, empty at first; ",
            "\ngreedy: memory was used up after 1,234 accesses\n",
            "\nChoose pop-64: ",
            "together; of those within",
            " 12,345,678 ",
            " 25.0% ",
            " 1.00 MiB",
        ] {
            assert!(text.contains(wanted), "{wanted} in\n{text}");
        }
        assert!(
            !text.contains("\n  greedy") && !text.contains("swapped in"),
            "{text}"
        );
        // Pages are as large as the machine's are.
        assert!(text.contains(" 400 MiB "), "{text}");
        for width in [60, 80, 120, 200] {
            let text = show(
                &comparison,
                View {
                    width: Some(width),
                    ..View::default()
                },
            );
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} > {width}\n{text}");
        }
        // Nothing is measured against what ended.
        comparison.results[0] = limited(comparison.results[0].clone(), Some(5));
        let text = show(&comparison, View::default());
        assert!(
            text.contains("\n\nNo recommendation: 4k used memory up"),
            "{text}"
        );
        let headings = ["of 4k", "faults saved", "added"];
        assert!(
            !headings
                .iter()
                .any(|heading| text.contains(&format!("  {heading}  "))),
            "{text}"
        );
        comparison
            .results
            .iter_mut()
            .for_each(|result| *result = limited(result.clone(), Some(5)));
        let text = show(&comparison, View::default());
        assert!(!text.contains("walk cycles  "), "{text}");
    }

    #[test]
    fn a_peak_that_is_low_by_eviction_is_not_the_best() {
        let mut comparison = sample();
        let low = limited(result("navarro", 2_000_000, 20_000), None);
        comparison.results = vec![limited(result("4k", 123_456_789, 25_600), None), low];
        let marked = |swapped_in_pages| {
            let mut comparison = comparison.clone();
            if let Some(memory) = &mut comparison.results[1].memory {
                memory.swapped_in_pages = swapped_in_pages;
            }
            let context = Context {
                references: &comparison.results[..1],
                can_be_run: &|_| true,
                by_walks: &[],
            };
            let text = comparison_table(&comparison, &context, View::default());
            text.contains("MiB*  -21.9%")
        };
        assert!(marked(0));
        assert!(!marked(1));
    }

    #[test]
    fn every_heading_of_memory_is_explained() {
        let mut all = limited(result("4k", 1, 1), None);
        let memory = all.memory.as_mut().unwrap();
        (memory.swapped_in_pages, memory.file_pages_read) = (1, 1);
        (memory.file_pages_written, memory.reservations) = (1, 1);
        (memory.copy_cycles, memory.tlbmcpi) = (1, Tlbmcpi::new([0, 0, 1], 1000));
        for figure in memory_figures(&[&all]) {
            assert!(
                crate::heading_named(figure.heading).is_some(),
                "{}",
                figure.heading
            );
        }
    }

    #[test]
    fn a_machine_that_needs_no_frames_is_judged_by_walks() {
        let mut comparison = sample();
        let alone = recommendations(
            &comparison,
            &Context {
                references: &comparison.results[..1],
                can_be_run: &|_| true,
                by_walks: &[],
            },
        );
        let results = comparison.results.into_iter();
        comparison.results = results.map(|result| limited(result, None)).collect();
        let by_walks = ["skylake".to_owned()];
        let context = Context {
            references: &comparison.results[..1],
            can_be_run: &|_| true,
            by_walks: &by_walks,
        };
        let beside = recommendations(&comparison, &context);
        assert_eq!(alone[0].sentence, beside[0].sentence);
        let text = comparison_table(&comparison, &context, View::default());
        assert!(
            text.contains("\nRule on skylake: of the policies"),
            "{text}"
        );
    }

    #[test]
    fn where_nothing_can_be_run_that_is_said() {
        let comparison = sample();
        let context = Context {
            references: &comparison.results[..2],
            can_be_run: &|_| false,
            by_walks: &[],
        };
        let text = comparison_table(&comparison, &context, View::default());
        assert!(text.contains("\n\nNo recommendation: "), "{text}");
        assert!(!text.contains("\n\n\n"), "{text}");
    }

    #[test]
    fn without_a_baseline_there_is_no_advice() {
        let comparison = sample();
        let context = Context {
            references: &[],
            can_be_run: &|_| true,
            by_walks: &[],
        };
        let text = comparison_table(&comparison, &context, View::default());
        assert!(
            !text.contains("Choose") && !text.contains("added  "),
            "{text}"
        );
        assert!(!text.contains("\n\n\n"), "{text}");
    }
}
