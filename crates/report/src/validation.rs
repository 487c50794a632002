//! Predictions beside measurements, as tables and sentences.

mod curve;

use broadleaf_metrics::{SecondsRange, ValidatedSetting, ValidationReport};

use crate::number::{counted, grouped, percent, short};
use crate::run_time::ratios;
use crate::{Align, Glyphs, Grid, Style, View, command_line, next, paragraph};
use curve::miss_rates;

/// Renders a validation: run times, counts, whole predictions, and what agrees.
pub fn validation_table(report: &ValidationReport, glyphs: Glyphs, view: View) -> String {
    let mut text = String::new();
    let say = |text: &mut String, line: &str| {
        text.push_str(&paragraph(line, Style::Plain, view));
    };
    text.push_str(&run_times(report, view));
    let rounds = report.settings.first().map_or(0, |first| first.runs.len());
    text.push('\n');
    say(
        &mut text,
        &format!(
            "Times are medians of {} in turns, with the tenth and ninetieth percentiles. \
             Predictions share out the measured gain of all huge pages by the walks that a \
             setting avoids on {}; the two ends are measured.",
            counted(rounds as u64, "round"),
            report.machine
        ),
    );
    text.push('\n');
    text.push_str(&counts(report, view));
    text.push('\n');
    say(
        &mut text,
        &format!(
            "Whole predictions, from the description of {} and the recording alone:",
            report.machine
        ),
    );
    text.push('\n');
    text.push_str(&whole(report, view));
    text.push('\n');
    for curve in &report.curves {
        text.push_str(&miss_rates(curve, glyphs, view));
        text.push('\n');
    }
    for line in verdicts(report) {
        say(&mut text, &line);
    }
    for note in &report.notes {
        say(&mut text, &format!("Note: {note}."));
    }
    let record = ["broadleaf", "record", "--measure", "7", "--"].into_iter();
    let program = report.command.iter().map(String::as_str);
    let words: Vec<&str> = record.chain(program).collect();
    text + &next(&command_line(&words))
}

fn seconds(range: &SecondsRange) -> String {
    format!(
        "{:.3} ({:.3} to {:.3}) s",
        range.middle, range.low, range.high
    )
}

fn run_times(report: &ValidationReport, view: View) -> String {
    let mut grid = Grid::new().column("setting", Align::Left);
    for heading in [
        "user time",
        "predicted",
        "saved",
        "predicted",
        "system time",
        "predicted",
    ] {
        grid = grid.column(heading, Align::Right);
    }
    for setting in &report.settings {
        let ValidatedSetting {
            measured,
            predicted,
            ..
        } = setting;
        let [_, saved, _] = measured.saved;
        let of_model = match setting.is_end {
            true => "measured end".to_owned(),
            false => predicted
                .user_seconds
                .map_or_else(String::new, |range| seconds(&range)),
        };
        let predicted_saved = predicted.saved.filter(|_| !setting.is_end);
        let system = predicted.system_seconds;
        grid.row([
            setting.name.clone(),
            seconds(&measured.user_seconds),
            of_model,
            percent(saved),
            predicted_saved.map_or_else(String::new, percent),
            format!("{:.3} s", measured.system_seconds.middle),
            system.map_or_else(String::new, |seconds| format!("{seconds:.3} s")),
        ]);
    }
    grid.render(view)
}

fn counts(report: &ValidationReport, view: View) -> String {
    let mut grid = Grid::new().column("setting", Align::Left);
    for heading in ["page faults", "predicted", "huge pages", "predicted"] {
        grid = grid.column(heading, Align::Right);
    }
    for setting in &report.settings {
        let huge = setting.measured.huge_pages_peak;
        grid.row([
            setting.name.clone(),
            grouped(setting.measured.page_faults),
            grouped(setting.predicted.page_faults),
            huge.map_or_else(String::new, grouped),
            grouped(setting.predicted.huge_pages_peak),
        ]);
    }
    grid.render(view)
}

fn whole(report: &ValidationReport, view: View) -> String {
    let counts_misses = (report.settings.iter()).any(|one| one.measured.tlb_misses.is_some());
    let mut grid = Grid::new()
        .column("setting", Align::Left)
        .column("TLB misses", Align::Right);
    if counts_misses {
        grid = grid.column("counted", Align::Right);
    }
    grid = grid
        .column("walk cycles", Align::Right)
        .column("times as fast as never", Align::Right);
    for setting in &report.settings {
        let whole = &setting.whole;
        let mut row = vec![setting.name.clone(), short(whole.tlb_misses)];
        if counts_misses {
            let counted = setting.measured.tlb_misses;
            row.push(counted.map_or_else(String::new, short));
        }
        row.push(short(whole.walk_cycles));
        row.push(whole.run_time.as_ref().map_or_else(String::new, ratios));
        grid.row(row);
    }
    let mut text = grid.render(view);
    if !counts_misses {
        text.push_str("The processor counts no TLB misses here.\n");
    }
    text
}

/// The sentences on what agrees.
fn verdicts(report: &ValidationReport) -> Vec<String> {
    let order = &report.order;
    let mut lines = vec![match order.compared {
        0 => "Order: no two settings differ by more than their spread, so no order is checked."
            .to_owned(),
        all => format!(
            "Order: the predicted order is the measured one in {} of {} whose times differ by \
             more than their spread.",
            order.agreeing,
            counted(all, "pair")
        ),
    }];
    for [fast, slow] in &order.disagreeing {
        lines.push(format!(
            "  {fast} was faster than {slow}, and was not predicted to be."
        ));
    }
    for setting in &report.settings {
        let (Some(change), Some(saved)) = (setting.change, setting.predicted.saved) else {
            continue;
        };
        let [_, measured, _] = setting.measured.saved;
        let name = &setting.name;
        let verdict = match (change.is_large, change.is_within_a_third) {
            (false, _) => "the measured change is under 5 percent, so it is not checked",
            (true, true) => "within a third of the measured change",
            (true, false) => "not within a third of the measured change",
        };
        lines.push(format!(
            "Change with {name}: {} predicted, {} measured: {verdict}.",
            percent(saved),
            percent(measured)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{
        ChangeCheck, MeasuredSetting, OrderCheck, PredictedSetting, Provenance, RunFigures,
        TraceSummary, WholePrediction,
    };

    fn setting(name: &str, user: f64, saved: f64, is_end: bool) -> ValidatedSetting {
        let range = |middle: f64| SecondsRange {
            low: middle - 0.1,
            middle,
            high: middle + 0.1,
        };
        ValidatedSetting {
            name: name.to_owned(),
            policy: name.to_owned(),
            is_end,
            measured: MeasuredSetting {
                user_seconds: range(user),
                saved: [saved; 3],
                page_faults: 12_345,
                huge_pages_peak: (name != "never").then_some(7),
                ..MeasuredSetting::default()
            },
            predicted: PredictedSetting {
                user_seconds: Some(range(user + 0.05)),
                saved: Some(saved - 0.02),
                page_faults: 12_000,
                ..PredictedSetting::default()
            },
            whole: WholePrediction::default(),
            change: (!is_end).then_some(ChangeCheck {
                is_large: true,
                is_within_a_third: true,
                is_in_range: true,
            }),
            runs: vec![RunFigures::default(); 3],
        }
    }

    #[test]
    fn predictions_are_beside_measurements() {
        let report = ValidationReport {
            schema: String::new(),
            command: vec!["./program".to_owned(), "an argument".to_owned()],
            machine: "skylake".to_owned(),
            trace: TraceSummary::default(),
            settings: vec![
                setting("never", 2.0, 0.0, true),
                setting("pop-256", 1.6, 0.2, false),
                setting("all huge", 1.5, 0.25, true),
            ],
            order: OrderCheck {
                compared: 2,
                agreeing: 1,
                disagreeing: vec![["all huge".to_owned(), "pop-256".to_owned()]],
            },
            curves: vec![],
            notes: vec!["always was not measured: no".to_owned()],
            provenance: Provenance::default(),
        };
        let text = validation_table(&report, Glyphs::Ascii, View::default());
        for line in [
            "never     2.000 (1.900 to 2.100) s              measured end   0.0%",
            "pop-256   1.600 (1.500 to 1.700) s  1.650 (1.550 to 1.750) s  20.0%      18.0%",
            "pop-256        12,345     12,000           7",
            "medians of 3 rounds in turns",
            "the measured one in 1 of 2 pairs",
            "  all huge was faster than pop-256, and was not predicted to be.",
            "Change with pop-256: 18.0% predicted, 20.0% measured: within a third of",
            "Note: always was not measured: no.",
            "The processor counts no TLB misses here.",
            "\nNext: broadleaf record --measure 7 -- ./program 'an argument'\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let mut counted = report.clone();
        counted.settings[0].measured.tlb_misses = Some(1_000_000);
        let text = validation_table(&counted, Glyphs::Ascii, View::default());
        assert!(
            text.contains("counted") && !text.contains("counts no"),
            "{text}"
        );
    }
}
