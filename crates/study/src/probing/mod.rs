//! Probing: the data TLBs of this machine, measured by pointer chases.
//!
//! `broadleaf-probe` analyses, the governor's chases measure, and this module asks and writes down.

mod costs;
mod description;
mod file;
mod hardware;
mod pages;
mod values;

use std::path::Path;
use std::time::Instant;

use broadleaf_governor::{ChaseTimer, pin};
use broadleaf_machine::Machine;
use broadleaf_metrics::{PROBE_SCHEMA, Probed, ProbedFigure, ProbedValue};
use broadleaf_probe::{CalibrationError, Modelled, STEPS, analyse, calibrate};
use broadleaf_units::PageSize;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::failure::Failure;
use crate::machines::machine;
use crate::native::fingerprint;
use crate::provenance::provenance;
use crate::watch::{Task, Watch, Work};
use description::{Described, describe};
pub use file::probe_to_file;
use hardware::HardwareChases;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRequest<'a> {
    /// The processor that runs the chases. `None`: the last one that this process may run on.
    pub cpu: Option<usize>,
    /// True for fewer trials, and no long spans.
    pub quick: bool,
    /// The configuration, for the provenance.
    pub configuration: &'a str,
}

/// A probe, and the machine file that follows from it.
#[derive(Debug)]
pub struct ProbeOutcome {
    /// The result.
    pub probed: Probed,
    /// The text of the machine file, or the reason why there is none.
    pub machine: Result<String, String>,
}

/// The trials of a probe.
#[derive(Clone, Copy)]
struct Effort {
    samples: usize,
    groups: usize,
    orders: usize,
}

/// The efforts of a full probe and of a quick one.
const FULL: Effort = Effort {
    samples: 5,
    groups: 5,
    orders: 4,
};
const QUICK: Effort = Effort {
    samples: 5,
    groups: 3,
    orders: 4,
};
/// The base pages that a TLB holds whose capacity is open.
const USUAL_REACH: usize = 2048;
/// The steps besides those of the analyses of both page sizes: calibrations, costs and spans.
const OTHER_STEPS: u64 = 8;

/// Measures the data TLBs of this machine.
///
/// # Errors
/// [`Failure::Wrong`] if this process may not run on the processor. [`Failure::Failed`] if no
/// chases can be run, or if their times are too noisy.
pub fn probe(request: &ProbeRequest<'_>, watch: &dyn Watch) -> Result<ProbeOutcome, Failure> {
    let cpu = chosen_cpu(request.cpu)?;
    let task = watch.begin("probing", Work::Runs(2 * STEPS + OTHER_STEPS));
    let (sender, steps) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        // The chases have a thread of their own, which stays on the processor.
        let measuring = scope.spawn(move || {
            let mut step = || {
                // The receiver is gone if the command ends early.
                let _ = sender.send(());
            };
            match pin(cpu) {
                true => measure(request, cpu, &mut step),
                false => Err(Failure::failed(format!("CPU {cpu}: cannot run on it"))),
            }
        });
        show(task.as_ref(), &steps);
        measuring
            .join()
            .unwrap_or_else(|_| Err(Failure::failed("the measuring thread failed")))
    })
}

/// Shows each step until the measurement ends.
fn show(task: &dyn Task, steps: &std::sync::mpsc::Receiver<()>) {
    let mut done = 0;
    while steps.recv().is_ok() {
        done += 1;
        task.set(0, done);
    }
}

/// The processor to measure.
fn chosen_cpu(wanted: Option<usize>) -> Result<usize, Failure> {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    match wanted {
        Some(cpu) if cpu < CpuSet::MAX_CPU && allowed.is_set(cpu) => Ok(cpu),
        Some(cpu) => Err(Failure::wrong(format!(
            "--cpu {cpu}: this process may not run there: give one of /proc/self/status, \
             Cpus_allowed_list"
        ))),
        // The first processor serves most interrupts.
        None => Ok(cpus.next_back().unwrap_or(0)),
    }
}

fn measure(
    request: &ProbeRequest<'_>,
    cpu: usize,
    step: &mut dyn FnMut(),
) -> Result<ProbeOutcome, Failure> {
    let began = Instant::now();
    let effort = if request.quick { QUICK } else { FULL };
    let cannot = |error| Failure::failed(format!("chases need memory of their own: {error}"));
    let seed = std::process::id().into();
    let mut timer = ChaseTimer::new(seed).map_err(cannot)?;
    step();
    let mut chases = HardwareChases::new(&mut timer, PageSize::SIZE_4K, effort.samples);
    let calibration = calibrate(&mut chases).map_err(unjudged)?;
    let base = pages::base_pages(&mut chases, calibration, effort, step);
    let mut values = values::of_analysis(&base, "4k");
    step();
    values.extend(costs::walks(&mut chases, "4k", calibration, Some(&base)));
    values.extend(costs::far_walks(&mut chases, calibration));
    let clock = chases.clock();
    step();
    let second = base.second.as_ref().and_then(|level| level.capacity.value);
    let reach = second.or(base.first.capacity.value).unwrap_or(USUAL_REACH);
    let enters_as = costs::huge_entry(&mut timer, calibration);
    let huge = pages::huge_pages(&mut timer, calibration, effort, enters_as, reach, step);
    values.extend(huge.values);
    step();
    values.extend(pages::giant_pages(&mut timer, calibration, effort.samples));
    values.push(pages::walk_caches());
    step();
    values.extend(costs::faults());
    step();
    let spans = costs::spans(&mut timer, effort.samples, request.quick);
    let undetermined = open_values(&values);
    let open: Vec<String> = values
        .iter()
        .filter(|value| value.value.is_none())
        .map(|value| format!("{}: {}", value.name, value.note))
        .collect();
    let processor = fingerprint(cpu);
    let breaks_huge = enters_as.is_some_and(|(size, _)| size == "4k");
    let walks = ["walk 4k", "walk 2m", pages::SHORTER].map(|name| number(&values, name));
    let file = describe(&Described {
        fingerprint: &processor,
        base: &base,
        huge: huge.analysis.as_ref(),
        breaks_huge,
        walks: match walks {
            [base, _, shorter] if breaks_huge => [base, shorter_walk(base, shorter)],
            [base, huge, _] => [base, huge],
        },
        loads: &spans,
        open: &open,
    });
    let probed = Probed {
        schema: PROBE_SCHEMA.to_owned(),
        processor,
        cpu: Some(cpu),
        method: match calibration.counted {
            Some(_) => "counter".to_owned(),
            None => "time".to_owned(),
        },
        cycles_per_nanosecond: Some((clock * 1000.0).round() / 1000.0),
        seconds: began.elapsed().as_secs_f64(),
        huge_page_enters_as: enters_as.map(|(size, _)| size.to_owned()),
        values,
        spans,
        undetermined,
        chosen: file
            .as_ref()
            .map_or_else(Vec::new, |file| file.chosen.clone()),
        machine_file: None,
        provenance: provenance(request.configuration),
    };
    let machine = file.ok_or_else(|| {
        "the first level for 4 KiB pages is not determined, so there is no machine file: try again \
         on a quieter machine"
            .to_owned()
    });
    let machine = machine.and_then(|file| match Machine::from_toml(&file.text) {
        Ok(_) => Ok(file.text),
        Err(error) => Err(format!("the machine file contradicts itself: {error}")),
    });
    Ok(ProbeOutcome { probed, machine })
}

fn unjudged(error: CalibrationError) -> Failure {
    Failure::failed(format!("{error}: try again on a quieter machine"))
}

fn open_values(values: &[ProbedValue]) -> Vec<String> {
    let open = values.iter().filter(|value| value.value.is_none());
    open.map(|value| value.name.clone()).collect()
}

/// The cycles of a walk to a page of 2 MiB that enters the TLB in pieces, with their confidence.
/// `part` is what such a walk takes of one to a base page, in percent.
fn shorter_walk(base: Option<(f64, f64)>, part: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let ((base, of_base), (part, of_part)) = base.zip(part)?;
    Some((base * part / 100.0, of_base.min(of_part)))
}

/// A number and its confidence.
fn number(values: &[ProbedValue], name: &str) -> Option<(f64, f64)> {
    let found = values.iter().find(|value| value.name == name)?;
    match found.value {
        Some(ProbedFigure::Number(number)) => Some((number, found.confidence?)),
        _ => None,
    }
}

/// Runs the chases of the probe on a modelled machine, whose misses are counted.
///
/// # Errors
/// Those of [`machine`].
pub fn probe_model(name: &str, configuration: &str) -> Result<Probed, Failure> {
    let began = Instant::now();
    let machine = machine(name)?;
    let mut values = Vec::new();
    for size in machine.design.sizes() {
        if let Some(mut modelled) = Modelled::of_machine(&machine, *size) {
            let found = analyse(&mut modelled, &mut || ());
            values.extend(values::of_analysis(&found, &size.short_name().to_string()));
        }
    }
    Ok(Probed {
        schema: PROBE_SCHEMA.to_owned(),
        processor: format!("model of {}", machine.name),
        cpu: None,
        method: "model".to_owned(),
        cycles_per_nanosecond: None,
        seconds: began.elapsed().as_secs_f64(),
        huge_page_enters_as: None,
        undetermined: open_values(&values),
        values,
        spans: Vec::new(),
        chosen: Vec::new(),
        machine_file: None,
        provenance: provenance(configuration),
    })
}

/// The machine file of the user, which `--machine native` reads. Its folder is made if there is
/// none.
///
/// # Errors
/// [`Failure::Wrong`] if no home folder is known. [`Failure::Failed`] if the folder cannot be made.
fn file_of_user() -> Result<std::path::PathBuf, Failure> {
    let file = crate::native::file_of_user().ok_or_else(|| {
        Failure::wrong(
            "no folder for the machine file is known: set HOME or XDG_CONFIG_HOME to an absolute \
             path, or give -o FILE",
        )
    })?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::failed(format!(
            "{}: cannot make the folder: {}",
            crate::output::shown(folder),
            crate::failure::reason(&error)
        ))
    })?;
    Ok(file)
}
