//! The values that a probe determined.

use crate::grid::{Align, Grid, paragraph};
use crate::number::grouped;
use crate::paint::Style;
use crate::{View, command_line, next};
use broadleaf_metrics::{Probed, ProbedFigure, ProbedSpan, ProbedValue};

/// Renders the values of a probe with their confidence, the open values, and the cost of loads by
/// span.
pub fn probe_table(probed: &Probed, view: View) -> String {
    let cpu = probed
        .cpu
        .map_or_else(String::new, |cpu| format!(", CPU {cpu}"));
    let clock = probed.cycles_per_nanosecond;
    let clock = clock.map_or_else(String::new, |clock| format!(", {clock:.2} GHz"));
    let head = format!("{}{cpu}{clock}", probed.processor);
    let mut out = paragraph(&head, Style::Plain, view);
    out += &paragraph(&method(probed), Style::Plain, view);
    out.push('\n');
    let mut grid = Grid::new()
        .column("value", Align::Left)
        .column("", Align::Right)
        .wrapped_column("unit", UNIT_WIDTH)
        .column("confidence", Align::Right);
    for value in &probed.values {
        if let (Some(figure), Some(confidence)) = (&value.value, value.confidence) {
            grid.row([
                value.name.clone(),
                shown(figure),
                value.unit.clone(),
                format!("{confidence:.2}"),
            ]);
        }
    }
    out += &grid.render(view);
    if !probed.undetermined.is_empty() {
        out.push('\n');
        out += &open_values(&probed.values).render(view);
    }
    if !probed.spans.is_empty() {
        out.push('\n');
        out += &spans(&probed.spans).render(view);
    }
    if !probed.chosen.is_empty() {
        out.push('\n');
        let chosen = format!(
            "The machine file has these by choice and not by measurement: {}.",
            probed.chosen.join(", ")
        );
        out += &paragraph(&chosen, Style::Plain, view);
    }
    if let Some(file) = &probed.machine_file {
        out.push('\n');
        let is_native = file.ends_with("/broadleaf/machine.toml");
        let machine = if is_native { "native" } else { file };
        let compare = command_line(&["broadleaf", "compare", "TRACE", "--machine", machine]);
        let next = format!("Wrote {file}. Next: {compare}");
        out += &paragraph(&next, Style::Plain, view);
    } else if let Some(model) = probed.processor.strip_prefix("model of ") {
        out += &next(&format!("broadleaf compare TRACE --machine {model}"));
    }
    out
}

/// The width of the units at least.
const UNIT_WIDTH: usize = 12;

/// The way in which chases were judged, and the entry that a page of 2 MiB takes in the TLB.
fn method(probed: &Probed) -> String {
    let judged = match probed.method.as_str() {
        "counter" => "Chases are judged by the processor's counter of TLB misses and by time.",
        "model" => "Chases are judged by the misses of a modelled TLB.",
        _ => "The processor counts no TLB misses here, so chases are judged by time.",
    };
    let huge = match probed.huge_page_enters_as.as_deref() {
        Some("4k") => {
            " A page of 2 MiB enters the TLB as pages of 4 KiB: the host of this guest maps small \
             pages."
        }
        _ => "",
    };
    format!("{judged}{huge}")
}

fn shown(figure: &ProbedFigure) -> String {
    match figure {
        ProbedFigure::Count(count) => grouped(*count),
        ProbedFigure::Number(number) => format!("{number:.1}"),
        ProbedFigure::Words(words) => words.clone(),
    }
}

fn open_values(values: &[ProbedValue]) -> Grid {
    let mut grid = Grid::new()
        .column("not determined", Align::Left)
        .wrapped_column("reason", UNIT_WIDTH);
    for value in values.iter().filter(|value| value.value.is_none()) {
        grid.row([value.name.clone(), value.note.clone()]);
    }
    grid
}

fn spans(spans: &[ProbedSpan]) -> Grid {
    let mut grid = Grid::new()
        .column("a line of each 4 KiB of", Align::Left)
        .column("pages", Align::Left)
        .column("dependent", Align::Right)
        .column("independent", Align::Right);
    for span in spans {
        grid.row([
            format!("{} MiB", grouped(span.mib)),
            span.page_size.clone(),
            format!("{:.1} cycles", span.dependent_cycles),
            format!("{:.1} cycles", span.independent_cycles),
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{PROBE_SCHEMA, Provenance};

    fn value(name: &str, value: Option<ProbedFigure>, note: &str) -> ProbedValue {
        ProbedValue {
            name: name.to_owned(),
            confidence: value.is_some().then_some(0.8),
            value,
            unit: "entries".to_owned(),
            note: note.to_owned(),
        }
    }

    #[test]
    fn open_values_have_a_reason_and_choices_are_named() {
        let probed = Probed {
            schema: PROBE_SCHEMA.to_owned(),
            processor: "a processor".to_owned(),
            cpu: Some(1),
            method: "time".to_owned(),
            cycles_per_nanosecond: Some(4.2),
            seconds: 1.0,
            huge_page_enters_as: Some("4k".to_owned()),
            values: vec![
                value("L1 4k entries", Some(ProbedFigure::Count(1536)), ""),
                value("L2 4k ways", None, "too noisy"),
            ],
            spans: vec![ProbedSpan {
                mib: 16,
                page_size: "2m".to_owned(),
                dependent_cycles: 40.0,
                independent_cycles: 1.5,
            }],
            undetermined: vec!["L2 4k ways".to_owned()],
            chosen: vec!["walk-cycles 2m".to_owned()],
            machine_file: Some("m.toml".to_owned()),
            provenance: Provenance {
                version: String::new(),
                commit: String::new(),
                config_hash: String::new(),
                host: String::new(),
            },
        };
        let text = probe_table(&probed, View::default());
        for part in [
            "a processor, CPU 1, 4.20 GHz",
            "judged by time",
            "enters the TLB as pages of 4 KiB",
            "L1 4k entries  1,536  entries        0.80",
            "L2 4k ways      too noisy",
            "16 MiB                   2m     40.0 cycles   1.5 cycles",
            "by choice and not by measurement: walk-cycles 2m.",
            "Wrote m.toml. Next: broadleaf compare TRACE --machine m.toml",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
