//! Advice by allocation site: as a table, as folded stacks, and as a flame graph.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use broadleaf_metrics::{AdvisedFrame, AdvisedSite, RangeAdvice};

use crate::grid::paragraph;
use crate::number::{grouped_signed, percent, size};
use crate::printable;
use crate::{Align, Grid, Style, View};

/// The width to which places in the source may shrink.
const NARROWEST: usize = 24;

/// The sentence for a trace without sites.
pub const NO_SITES: &str = "the trace has no allocation sites: record the program with --sites";

/// A line of the source, with the sums over all call stacks that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceLine {
    text: String,
    allocator: String,
    gained: i64,
    walk_cycles: u64,
    superpage_bytes: u64,
    allocated_bytes: u64,
}

/// Renders the best `most` lines of the program's source. Returns no text if the trace has no
/// sites.
pub(super) fn site_table(advice: &RangeAdvice, most: usize, view: View) -> String {
    let lines = source_lines(&advice.sites);
    if lines.is_empty() {
        return String::new();
    }
    let all = advice
        .replayed()
        .map_or(0, |(without, _)| without.walk_cycles);
    let mut grid = Grid::new()
        .column("gained", Align::Right)
        .column("of 4k", Align::Right)
        .column("superpages", Align::Right)
        .column("allocated", Align::Right)
        .column("by", Align::Left)
        .wrapped_column("made in", NARROWEST);
    for line in lines.iter().take(most) {
        grid.row([
            grouped_signed(line.gained),
            percent(line.walk_cycles as f64 / all as f64),
            size(line.superpage_bytes),
            size(line.allocated_bytes),
            printable(&line.allocator),
            printable(&line.text),
        ]);
    }
    let mut out = paragraph("Where in the program's source:", Style::Strong, view);
    out.push_str(&grid.render(view));
    if lines.len() > most {
        let text = format!(
            "The best {most} of {} lines. --top {} shows all.",
            lines.len(),
            lines.len()
        );
        out.push_str(&paragraph(&text, Style::Faint, view));
    }
    out.push('\n');
    out
}

/// Returns the line that gains most, and the number of the other lines that gain.
pub(super) fn best_place(sites: &[AdvisedSite]) -> Option<(String, u64)> {
    let mut places = gaining_places(sites).into_iter();
    let (best, _) = places.next()?;
    Some((best, places.len() as u64))
}

/// Returns the lines that gain with their allocators, and the cycles that they gain, the best
/// first.
pub(super) fn gaining_places(sites: &[AdvisedSite]) -> Vec<(String, String)> {
    let place = |line: &SourceLine| {
        let (text, allocator) = (printable(&line.text), printable(&line.allocator));
        let text = format!("{text}, made by {allocator}");
        (text, grouped_signed(line.gained))
    };
    source_lines(sites).iter().map(place).collect()
}

/// The function, file and line that a site names.
type NamedPlace<'a> = (&'a str, &'a str, u32);

/// Returns the lines that gain, the best first.
fn source_lines(sites: &[AdvisedSite]) -> Vec<SourceLine> {
    let shared = places_of_several_callers(sites);
    let mut lines: BTreeMap<(String, &str), SourceLine> = BTreeMap::new();
    for site in sites {
        let text = described(site, shared.contains(&named_place(site)));
        let line = (lines.entry((text.clone(), &site.allocator))).or_insert_with(|| SourceLine {
            text,
            allocator: site.allocator.clone(),
            gained: 0,
            walk_cycles: 0,
            superpage_bytes: 0,
            allocated_bytes: 0,
        });
        line.gained = line.gained.saturating_add(site.cycles_gained);
        line.walk_cycles = line.walk_cycles.saturating_add(site.walk_cycles_spared);
        line.superpage_bytes = line.superpage_bytes.saturating_add(site.superpage_bytes);
        line.allocated_bytes = line.allocated_bytes.saturating_add(site.allocated_bytes);
    }
    let mut lines: Vec<SourceLine> = lines.into_values().collect();
    lines.retain(|line| line.gained > 0);
    lines.sort_by_key(|line| Reverse(line.gained));
    lines
}

fn named_place(site: &AdvisedSite) -> NamedPlace<'_> {
    (&site.function, &site.file, site.line)
}

/// The places at which a function allocates for several callers.
fn places_of_several_callers(sites: &[AdvisedSite]) -> BTreeSet<NamedPlace<'_>> {
    let mut callers: BTreeMap<NamedPlace<'_>, &Option<AdvisedFrame>> = BTreeMap::new();
    let mut several = BTreeSet::new();
    for site in sites {
        let caller = callers
            .entry(named_place(site))
            .or_insert(&site.called_from);
        if **caller != site.called_from {
            several.insert(named_place(site));
        }
    }
    several
}

/// A site in words: function, file and line, as far as they are known, and the caller on request.
fn described(site: &AdvisedSite, with_caller: bool) -> String {
    let text = in_words(&site.function, site.place());
    match site.called_from.as_ref().filter(|_| with_caller) {
        Some(caller) => format!(
            "{text}, called from {}",
            in_words(&caller.function, caller.place())
        ),
        None => text,
    }
}

fn in_words(function: &str, place: String) -> String {
    match (function, place.as_str()) {
        ("", "") => "unknown".to_owned(),
        ("", _) => place,
        (function, "") => function.to_owned(),
        (function, place) => format!("{function} ({place})"),
    }
}

/// Returns folded stacks: a line for each site that gains, with the frames from the outermost to
/// the allocator, and the cycles gained. `flamegraph.pl`, inferno and speedscope read such lines.
pub fn folded(advice: &RangeAdvice) -> String {
    let mut out = String::new();
    for site in advice.sites.iter().filter(|site| site.cycles_gained > 0) {
        let frames = site.frames.iter().rev().map(frame_of);
        let frames = frames.map(|(name, place)| match place.as_str() {
            "" => name,
            place => format!("{name} ({place})"),
        });
        let mut stack: Vec<String> = frames.collect();
        stack.push(folded_name(&site.allocator));
        out.push_str(&format!("{} {}\n", stack.join(";"), site.cycles_gained));
    }
    out
}

/// Returns the name of a frame, and the name of its source file with the line, if the line is
/// known.
pub(super) fn frame_of(frame: &AdvisedFrame) -> (String, String) {
    let file = frame.file.rsplit('/').next().unwrap_or_default();
    let name = match frame.function.as_str() {
        "" => file,
        name => name,
    };
    let place = match frame.line {
        0 => String::new(),
        line => format!("{file}:{line}"),
    };
    (folded_name(name), folded_name(&place))
}

/// A name for a folded stack, in which a semicolon ends a frame and a line ends a stack.
pub(super) fn folded_name(name: &str) -> String {
    printable(name).replace(';', ":")
}

/// Draws the folded stacks as a flame graph.
///
/// # Errors
/// Returns a sentence if no site gains, or the reason for which the picture cannot be drawn.
pub fn flame_graph(advice: &RangeAdvice) -> Result<String, String> {
    let stacks = folded(advice);
    if stacks.is_empty() {
        return Err("no allocation site gains by superpages, so there is no picture".to_owned());
    }
    let mut options = inferno::flamegraph::Options::default();
    options.title = format!("Where superpages pay in {}", printable(&advice.trace.path));
    options.count_name = "cycles gained".to_owned();
    options.hash = true; // one picture for one trace
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut options, stacks.lines(), &mut svg)
        .map_err(|error| error.to_string())?;
    String::from_utf8(svg).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap};
    use super::*;

    fn site(function: &str, line: u32, gained: i64) -> AdvisedSite {
        let frame = |function: &str, file: &str, line| AdvisedFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        };
        AdvisedSite {
            allocator: "malloc".to_owned(),
            function: function.to_owned(),
            file: "/a/x.c".to_owned(),
            line,
            frames: vec![
                frame(function, "/a/x.c", line),
                frame("", "/lib/a;b.so", 0),
                frame("main", "/a/x.c", 3),
            ],
            allocated_bytes: 3 << 20,
            superpage_bytes: 2 << 20,
            walk_cycles_spared: 30_000,
            cycles_gained: gained,
            ..AdvisedSite::default()
        }
    }

    fn with_sites(sites: Vec<AdvisedSite>) -> RangeAdvice {
        RangeAdvice {
            sites,
            ..advice(vec![heap()])
        }
    }

    #[test]
    fn stacks_of_one_line_are_one_row_and_losses_have_none() {
        let advice = with_sites(vec![
            site("hot", 7, 60),
            site("cold", 9, 90),
            site("hot", 7, 50),
        ]);
        let text = site_table(&advice, 20, View::default());
        let rows: Vec<Vec<&str>> = (text.lines())
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .collect()
            })
            .collect();
        assert_eq!(
            rows[3],
            [
                "110",
                "100.0%",
                "4.00 MiB",
                "6.00 MiB",
                "malloc",
                "hot (/a/x.c:7)"
            ]
        );
        assert_eq!(rows[4][0], "90");
        let loses = with_sites(vec![site("hot", 7, -1)]);
        assert_eq!(site_table(&loses, 20, View::default()), "");
        assert_eq!(site_table(&with_sites(Vec::new()), 20, View::default()), "");
    }

    #[test]
    fn a_folded_stack_begins_at_the_outermost_frame() {
        let advice = with_sites(vec![site("hot", 7, 60), site("cold", 9, 0)]);
        assert_eq!(
            folded(&advice),
            "main (x.c:3);a:b.so;hot (x.c:7);malloc 60\n"
        );
        let svg = flame_graph(&advice).unwrap();
        assert!(svg.contains("<svg") && svg.contains("hot (x.c:7)"), "{svg}");
        assert_eq!(flame_graph(&advice), Ok(svg));
        assert!(flame_graph(&with_sites(Vec::new())).is_err());
    }

    #[test]
    fn callers_are_named_if_a_function_allocates_for_several() {
        let called = |line, gained| AdvisedSite {
            called_from: Some(AdvisedFrame {
                function: "main".to_owned(),
                file: "/a/x.c".to_owned(),
                line,
            }),
            ..site("xmalloc", 7, gained)
        };
        let texts = |sites: &[AdvisedSite]| -> Vec<String> {
            let lines = source_lines(sites).into_iter();
            lines.map(|line| line.text).collect()
        };
        let one = [called(20, 1), called(20, 2)];
        assert_eq!(texts(&one), ["xmalloc (/a/x.c:7)"]);
        assert_eq!(
            texts(&[called(20, 1), called(21, 2)]),
            [
                "xmalloc (/a/x.c:7), called from main (/a/x.c:21)",
                "xmalloc (/a/x.c:7), called from main (/a/x.c:20)"
            ]
        );
        let unknown = AdvisedSite {
            cycles_gained: 1,
            ..AdvisedSite::default()
        };
        assert_eq!(texts(&[unknown]), ["unknown"]);
    }
}
