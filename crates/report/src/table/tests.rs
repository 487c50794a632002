//! The tables of sample comparisons.

mod measured;

use super::*;
use crate::Paint;
use crate::recommendations;
use broadleaf_metrics::{
    MemoryAsked, MemoryResult, MemorySample, Provenance, TlbResult, Tlbmcpi, TraceSummary,
};

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
        row("greedy").contains(" 1,000,000*") && row("greedy").contains("100 MiB!   100.0%"),
        "{text}"
    );
    assert!(
        text.contains("Choose pop-64") && text.contains("greedy would need"),
        "{text}"
    );
    assert!(
        text.contains(
            "\nRule: fewest walk cycles, 10% more memory at most (broadleaf explain rule)\n"
        ) && text.ends_with("Note: A note.\n"),
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
        // Headings without room are named.
        let joined = text.replace('\n', " ");
        for heading in [
            "resident at end",
            "clean, marked dirty",
            "peak",
            "L2 misses",
        ] {
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
        let is_known = crate::heading_named(figure.heading).is_some();
        assert!(is_known, "{}", figure.heading);
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
fn memory_has_a_table_of_its_own_and_an_ended_result_no_row() {
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
        "cycles of walks and faults, 10% more",
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
    // Pages are as large as those of the machine.
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
    // No policy is compared with a result that ended.
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
        text.contains("MiB*   -21.9%")
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
        text.contains("\nRule: fewest walk cycles, 10% more"),
        "{text}"
    );
}

#[test]
fn a_comparison_without_a_policy_that_can_be_run_says_so() {
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

#[test]
fn misses_of_a_third_level_have_a_column() {
    let mut comparison = sample();
    let shown = |comparison: &Comparison| {
        let results: Vec<&CellResult> = comparison.results.iter().collect();
        let figures = figures(&results, None, None);
        let mut third = figures
            .iter()
            .filter(|figure| figure.heading == "L3 misses");
        let last = *results.last().expect("a result");
        third.next().map(|figure| (figure.text)(last, true))
    };
    assert_eq!(shown(&comparison), None);
    let result = comparison.results.last_mut().expect("a result");
    let l3_misses = 17;
    assert!(l3_misses < result.l2_misses);
    result.tlb = Some(TlbResult {
        l3_misses,
        ..TlbResult::default()
    });
    assert_eq!(shown(&comparison).as_deref(), Some("17"));
}
