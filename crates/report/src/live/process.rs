//! The report on one process: the populations of its blocks, the effect of policies, and a page
//! map.

use broadleaf_metrics::{LiveReport, PolicyForecast, ProcessReport};

use super::{PageMap, Shades, bars::bars, ending, heat_map, paragraph, share, total};
use crate::next::answer_text;
use crate::number::{grouped, size};
use crate::printable;
use crate::{Align, Cell, Grid, Style, View, live_answer};

/// The number of lines of a page map.
const LINES: usize = 8;
/// The width of a page map if the output is no terminal.
const WIDTH: usize = 100;

/// Renders the processes of a report, each with its page map. Processes that could not be read and
/// the notes follow, and then the commands to type now.
pub fn process_table(report: &LiveReport, maps: &[PageMap], shades: Shades, view: View) -> String {
    let mut out = String::new();
    for (at, process) in report.processes.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&one(process, maps.get(at), shades, view));
    }
    let ending = ending(report, view);
    if !ending.is_empty() && !out.is_empty() {
        out.push('\n');
    }
    out + &ending + &answer_text(&live_answer(report, &[]), view)
}

fn one(process: &ProcessReport, map: Option<&PageMap>, shades: Shades, view: View) -> String {
    let mut out = paragraph(&head(process), Style::Strong, view);
    if total(process.blocks) == 0 {
        out.push_str(&paragraph(
            "No aligned block of 2 MiB that holds pages lies wholly in one mapping: \
            there is nothing to promote.",
            Style::Plain,
            view,
        ));
        return out;
    }
    out.push('\n');
    out.push_str(&bars(process, shades, view));
    if !process.policies.is_empty() {
        out.push('\n');
        out.push_str(&policies(process, view));
    }
    out.push_str(&picture(map, shades, view));
    if let Some(heat) = &process.heat {
        out.push('\n');
        out.push_str(&super::heat::heat(heat, view));
        let used = map.and_then(|map| heat_map(heat, map));
        if used.is_some() {
            out.push_str(&paragraph("Pages used, by block:", Style::Plain, view));
        }
        out.push_str(picture(used.as_ref(), shades, view).trim_start_matches('\n'));
    }
    out
}

/// Returns a page map after an empty line. Returns no text if there is none.
fn picture(map: Option<&PageMap>, shades: Shades, view: View) -> String {
    let lines = map.map(|map| map.lines(view.width.unwrap_or(WIDTH), LINES, shades));
    let Some([lines @ .., legend]) = lines.as_deref() else {
        return String::new();
    };
    let mut out = "\n".to_owned();
    for line in lines {
        out.push_str(&painted(line, view));
    }
    out + &paragraph(legend, Style::Faint, view)
}

fn head(process: &ProcessReport) -> String {
    format!(
        "{} ({}): {} resident, {} of it in superpages ({})",
        printable(&process.command),
        process.pid,
        size(process.rss_bytes),
        share(process.huge_bytes, process.rss_bytes),
        size(process.huge_bytes),
    )
}

fn policies(process: &ProcessReport, view: View) -> String {
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("would promote", Align::Right)
        .column("memory added", Align::Right)
        .column("of resident", Align::Right)
        .column("in superpages then", Align::Right)
        .column("blocks that stay", Align::Left);
    for forecast in &process.policies {
        grid.row([
            Cell::from(forecast.policy.clone()),
            grouped(forecast.would_promote).into(),
            size(forecast.added_bytes).into(),
            share(forecast.added_bytes, process.rss_bytes).into(),
            share(forecast.covered_bytes, process.rss_bytes).into(),
            refusals(forecast).into(),
        ]);
    }
    grid.render(view)
}

/// Returns the reasons for which blocks stay as they are, the most frequent first.
fn refusals(forecast: &PolicyForecast) -> String {
    let mut reasons: Vec<(&String, &u64)> = forecast.refusals.iter().collect();
    reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let each = reasons
        .iter()
        .map(|(name, count)| format!("{} {name}", grouped(**count)));
    each.collect::<Vec<_>>().join(", ")
}

/// Returns a line of a page map, with its superpages in colour.
fn painted(line: &str, view: View) -> String {
    let Some((label, cells)) = line.split_once('|') else {
        return format!("{line}\n");
    };
    let cells: Vec<char> = cells.chars().collect();
    let is_huge = |cell: &char| *cell == PageMap::SUPERPAGE;
    let mut out = format!("{}|", view.paint.apply(Style::Faint, label));
    for alike in cells.chunk_by(|one, other| is_huge(one) == is_huge(other)) {
        let text: String = alike.iter().collect();
        let style = if is_huge(&alike[0]) {
            Style::Best
        } else {
            Style::Plain
        };
        out.push_str(&view.paint.apply(style, &text));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::super::MappedBlocks;
    use super::super::testing::{process, report};
    use super::*;
    use crate::Paint;

    fn picture() -> PageMap {
        PageMap {
            mappings: vec![MappedBlocks {
                name: "[heap]".to_owned(),
                blocks: vec![(1, None), (2, Some(512)), (3, Some(60))],
            }],
        }
    }

    #[test]
    fn a_process_is_a_head_a_histogram_policies_and_a_picture() {
        let text = process_table(
            &report(vec![process(41, 300)]),
            &[picture()],
            Shades::Ascii,
            View::default(),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "redis-server (41): 8.00 MiB resident, 25.0% of it in superpages (2.00 MiB)"
        );
        assert!(
            lines[2].starts_with("pages resident  anonymous #  files -  blocks"),
            "{text}"
        );
        assert!(text.contains("\npop-256  "), "{text}");
        assert!(
            text.contains("200 too_few_resident, 3 file_backed"),
            "{text}"
        );
        assert!(
            text.contains("\n0x000000200000 [heap]           |H#.|\n"),
            "{text}"
        );
        assert!(
            text.contains("\nNot looked at: 9 init: not yours\nNote: a note\n\nNo policy would"),
            "{text}"
        );
    }

    #[test]
    fn superpages_are_painted_and_colour_alone_carries_no_information() {
        let view = View {
            width: Some(80),
            paint: Paint::Colour,
        };
        let text = process_table(
            &report(vec![process(41, 300)]),
            &[picture()],
            Shades::Ascii,
            view,
        );
        assert!(text.contains("|\x1b[32mH\x1b[0m#.|"), "{text}");
    }

    #[test]
    fn a_process_without_blocks_says_so() {
        let mut empty = process(1, 0);
        empty.blocks = Default::default();
        empty.policies.clear();
        let text = process_table(&report(vec![empty]), &[], Shades::Ascii, View::default());
        assert!(text.contains("nothing to promote"), "{text}");
    }
}
