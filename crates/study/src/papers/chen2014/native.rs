//! The programs on this processor: huge pages measured (figure 2), and the model's order of their
//! speeds.

use std::num::NonZero;

use broadleaf_machine::Machine;
use broadleaf_metrics::{percentiles, rank_correlation};
use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_report::{BASELINE, change_sentence};
use broadleaf_trace::{EndRun, MeasuredEnds};

use super::none;
use super::own_machine::own_machine;
use super::programs::PROGRAMS;
use super::published::REAL_GAIN;
use super::schemes::original_machine;
use crate::failure::{Failure, reason};
use crate::mix::{MixRun, MixRunning, MixedPart, run_all};
use crate::papers::programs::RecordedProgram;
use crate::papers::recorded::{RecordedDetail, open, recorded, silently_in};
use crate::papers::{PaperSetting, Table};

/// The rounds of each measurement.
const ROUNDS: NonZero<u32> = NonZero::new(15).expect("fifteen is not zero");

/// A median change of run time below this share is not compared.
const CLEAR: f64 = 0.05;

/// A program, measured and predicted.
struct SingleProgram {
    program: &'static RecordedProgram,
    instructions: u64,
    measured: MeasuredEnds,
    /// The estimated cycles with base pages and with superpages.
    cycles: [f64; 2],
}

impl SingleProgram {
    /// The median user time with base pages, in nanoseconds for each recorded instruction.
    fn nanoseconds(&self) -> f64 {
        let rounds = self.measured.rounds.iter();
        let times: Vec<f64> = rounds.map(|[base, _]| base.user_micros as f64).collect();
        let [_, middle, _] = percentiles(&times).unwrap_or_default();
        1000.0 * middle / self.instructions.max(1) as f64
    }

    /// The saved share of the user time: tenth percentile, median and ninetieth percentile.
    fn gains(&self) -> [f64; 3] {
        let user = |run: &EndRun| run.user_micros.max(1) as f64;
        let rounds = self.measured.rounds.iter();
        let gains: Vec<f64> = rounds
            .map(|[base, huge]| 1.0 - user(huge) / user(base))
            .collect();
        percentiles(&gains).unwrap_or_default()
    }

    /// Returns true if the tenth and the ninetieth percentile of the measured change have one sign.
    fn has_one_sign(&self) -> bool {
        let [low, _, high] = self.gains();
        low * high > 0.0
    }

    /// The predicted share of cycles that superpages save.
    fn predicted_gain(&self) -> f64 {
        1.0 - self.cycles[1] / self.cycles[0]
    }
}

/// Figure 2, and single programs against their prediction.
pub(super) fn tables(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let own = own_machine()?;
    if let Some((_, words)) = &own {
        log::info!("predictions are for {words}");
    }
    let machine = match &own {
        Some((machine, _)) => machine.clone(),
        None => original_machine()?,
    };
    let programs = measured(setting, &machine)?;
    let words = own.as_ref().map(|(_, words)| words.as_str());
    Ok(vec![gains(&programs), order(&programs, words)])
}

/// Measures each program, and replays its recording whole with base pages and with superpages.
fn measured(setting: &PaperSetting, machine: &Machine) -> Result<Vec<SingleProgram>, Failure> {
    let work = Scratch::new(Purpose::Work)
        .map_err(|error| Failure::Failed(format!("a folder for programs: {}", reason(&error))))?;
    let mut programs = Vec::new();
    let mut runs = Vec::new();
    for program in &PROGRAMS {
        if program.lacks().is_some() {
            continue;
        }
        let command = program.command(setting.scale, work.path())?;
        let amount = program.work_at(setting.scale);
        let name = format!("chen2014-{}-{amount}", program.name);
        let detail = RecordedDetail::Lines;
        let path = recorded(setting, detail, &name, command.clone(), work.path())?;
        let (trace, _) = open(&path)?;
        log::info!("measuring {} ...", program.name);
        programs.push(SingleProgram {
            program,
            instructions: trace.totals().map_or(0, |totals| totals.instructions),
            measured: (setting.measure)(&silently_in(work.path(), command), ROUNDS)?,
            cycles: [0.0; 2],
        });
        let part = MixedPart {
            path,
            work: broadleaf_model::MixWork::default(),
        };
        for policy in [BASELINE, "fixed-2m"] {
            runs.push(MixRun::new(machine, policy, std::slice::from_ref(&part)));
        }
    }
    let running = MixRunning {
        limits: None,
        max_accesses: None,
        threads: None,
        watch: setting.watch,
    };
    let outcomes = run_all(&runs, &running)?;
    for (program, outcomes) in programs.iter_mut().zip(outcomes.chunks(2)) {
        for (cycles, outcome) in program.cycles.iter_mut().zip(outcomes) {
            let counted = outcome.programs.first().and_then(|one| one.cycles);
            *cycles = counted.unwrap_or(0) as f64;
        }
    }
    Ok(programs)
}

fn gains(programs: &[SingleProgram]) -> Table {
    let mut table = Table::new(
        "Figure 2: the gain of 2 MiB pages on a real machine",
        format!(
            "Each program ran {ROUNDS} times with base pages and with huge pages, in turns, on \
             this processor. The gain is the share of its user time that huge pages save. The \
             paper's machine is a Xeon with 64 + 512 entries for 4 KiB and 32 for 2 MiB."
        ),
        &["program", "paper", "base pages, s", "gain, %", "p10 to p90"],
    );
    for one in programs {
        let [low, middle, high] = one.gains().map(|gain| 100.0 * gain);
        table.row([
            one.program.name.to_owned(),
            one.program.represents.to_owned(),
            format!("{:.2}", one.nanoseconds() * one.instructions as f64 * 1e-9),
            format!("{middle:+.1}"),
            format!("{low:+.1} to {high:+.1}"),
        ]);
    }
    let medians: Vec<f64> = programs.iter().map(|one| 100.0 * one.gains()[1]).collect();
    let average = broadleaf_metrics::mean(&medians).unwrap_or(f64::NAN);
    let most = medians.iter().copied().fold(f64::NAN, f64::max);
    let written = |name: &'static str| move |value: f64| format!("{name} {value:.2} %");
    table
        .direction(average > 0.0, "2 MiB pages make programs faster on average")
        .number(REAL_GAIN[0], average, written("mean"))
        .number(REAL_GAIN[1], most, written("most"))
        .because(
            "other programs and another processor; where a host maps 4 KiB pages, a guest's huge \
             pages spare fewer misses",
        );
    table
}

/// The table of orders. `own` says which machine was modelled; `None` for the paper's.
fn order(programs: &[SingleProgram], own: Option<&str>) -> Table {
    let modelled = own.map_or_else(
        || {
            "Cycles are the interval model's estimate on one core of the paper's machine, which is \
             not this processor: the catalogue has no core for it."
                .to_owned()
        },
        |words| format!("Cycles are an estimate for {words}. It follows dependences and branches."),
    );
    let mut table = Table::new(
        "Single programs: measured speed against the model",
        format!(
            "Time is the user time with base pages, for each recorded instruction. {modelled} The \
             order of the programs is compared, and the sign of the change by huge pages."
        ),
        &[
            "program",
            "ns each",
            "cycles each",
            "measured change",
            "predicted change",
        ],
    );
    let cycles = |one: &SingleProgram| one.cycles[0] / one.instructions.max(1) as f64;
    for one in programs {
        table.row([
            one.program.name.to_owned(),
            format!("{:.3}", one.nanoseconds()),
            format!("{:.3}", cycles(one)),
            change_sentence(one.gains()),
            format!("{:+.1} %", -100.0 * one.predicted_gain()),
        ]);
    }
    let pairs: Vec<(f64, f64)> = programs
        .iter()
        .map(|one| (one.nanoseconds(), cycles(one)))
        .collect();
    let correlation = rank_correlation(&pairs);
    table
        .direction(
            correlation.is_some_and(|correlation| correlation > 0.8),
            "the model predicts the order of the programs (rank correlation above 0.8)",
        )
        .words(
            "no figure: our own check",
            correlation.map_or_else(none, |correlation| format!("{correlation:.2}")),
        )
        .because(match own {
            Some(_) => {
                "prefetchers, predictors and the rules of the last level are not published, and \
                 others may use this computer meanwhile"
            }
            None => {
                "the model's machine is the paper's, which follows no dependences and branches and \
                 prefetches nothing"
            }
        });
    signs(&mut table, programs);
    table
}

/// The signs of predicted changes, for the programs whose median change is above the limit.
fn signs(table: &mut Table, programs: &[SingleProgram]) {
    let above = programs.iter().filter(|one| one.gains()[1].abs() > CLEAR);
    let above: Vec<&SingleProgram> = above.collect();
    if above.is_empty() {
        return;
    }
    let is_right = |one: &&&SingleProgram| one.gains()[1] * one.predicted_gain() > 0.0;
    let right = above.iter().filter(is_right).count();
    let shown = above.iter().filter(|one| one.has_one_sign()).count();
    table
        .direction(
            right == above.len(),
            "the predicted change by 2 MiB pages has the sign of each measured change above 5 \
             percent",
        )
        .words(
            "no figure: our own check",
            format!(
                "{right} of {} programs; the rounds of {shown} of them have one sign (tenth to \
                 ninetieth percentile)",
                above.len()
            ),
        )
        .because("medians near the limit vary from run to run, where others use this computer");
}
