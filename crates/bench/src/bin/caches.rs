//! Replays recordings by line on machines with caches: processor time for each visit on one core
//! with TLBs and three levels of caches, and for each reference alone and in a mix of four cores.
#![forbid(unsafe_code)]

use broadleaf_accel::run;
use broadleaf_bench::Failed;
use broadleaf_bench::caches::three_levels;
use broadleaf_bench::walk::each_batch;
use broadleaf_machine::{Machine, machine_text};
use broadleaf_metrics::CacheResult;
use broadleaf_model::{Items, MixProgram, MixWork, Plan, run_mix};
use broadleaf_trace::Grain;
use std::fs::File;
use std::ops::ControlFlow;

/// The visits of a recording that are replayed.
const VISITS: u64 = 1 << 23;
/// The visits of each program of a mix.
const MIXED: u64 = 1 << 20;
/// The rounds. The least time counts.
const ROUNDS: usize = 3;
/// The programs of a mix.
const CORES: usize = 4;

fn main() -> Result<(), Failed> {
    let traces: Vec<String> = std::env::args().skip(1).collect();
    if traces.is_empty() {
        return Err("give recordings by line: broadleaf-caches TRACE...".into());
    }
    println!("One core with the TLBs of skylake and three levels of caches:\n");
    for trace in &traces {
        let (items, visits) = first(trace, VISITS)?;
        let plan = plan(three_levels()?)?;
        let each = least(|| {
            let mut items = items.clone();
            timed(|| {
                run(&mut items, &plan, &mut |_| ControlFlow::Continue(()))?;
                Ok(visits)
            })
        })?;
        println!(
            "{trace}: {visits} visits, {each:.1} ns each, {:.1} M/s",
            1e3 / each
        );
    }
    println!("\nAlone on a core of chen2014-4core, and {CORES} together:\n");
    let plan = plan(machine("chen2014-4core")?)?;
    let mut programs = Vec::new();
    for trace in traces.iter().cycle().take(CORES) {
        programs.push(first(trace, MIXED)?.0);
    }
    let mut alone = 0.0;
    for (trace, items) in traces.iter().cycle().zip(&programs) {
        let each = least(|| mixed(&[items], &plan))?;
        println!("- {trace} alone: {each:.1} ns a reference");
        alone += each / CORES as f64;
    }
    let all: Vec<&Items> = programs.iter().collect();
    let together = least(|| mixed(&all, &plan))?;
    let quotient = together / alone;
    println!("- together: {together:.1} ns a reference, {quotient:.2} times the mean alone");
    Ok(())
}

fn machine(name: &str) -> Result<Machine, Failed> {
    let text = machine_text(name)?;
    Ok(Machine::from_toml(text)?)
}

fn plan(machine: Machine) -> Result<Plan, Failed> {
    let policy = broadleaf_policy::parse("4k")?;
    Ok(Plan::new(vec![policy], vec![machine])?.on_threads(1))
}

/// The first visits of a recording, up to a number and the end of a batch, and their number.
fn first(trace: &str, most: u64) -> Result<(Items, u64), Failed> {
    let mut items = Items::new(Grain::Line);
    let mut visits = 0;
    each_batch(File::open(trace)?, |batch| {
        if visits < most {
            visits += batch.len() as u64;
            items.visits(batch.iter().copied());
        }
    })?;
    Ok((items, visits))
}

/// The nanoseconds of a processor for each reference of programs that run together.
fn mixed(programs: &[&Items], plan: &Plan) -> Result<f64, Failed> {
    let mut sources: Vec<Items> = programs.iter().map(|items| (*items).clone()).collect();
    let work = MixWork::default();
    let mut programs: Vec<_> = (sources.iter_mut())
        .map(|source| MixProgram::new(source, work))
        .collect();
    timed(|| {
        let outcome = run_mix(&mut programs, plan, &mut |_| ControlFlow::Continue(()))?;
        let caches = outcome.whole.caches.ok_or("no caches")?;
        Ok(references(&caches))
    })
}

fn references(caches: &CacheResult) -> u64 {
    let first = &caches.levels[0];
    first.hits[0] + first.misses[0]
}

/// The least time of all rounds.
fn least(mut round: impl FnMut() -> Result<f64, Failed>) -> Result<f64, Failed> {
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(round()?);
    }
    Ok(least)
}

/// The nanoseconds of a processor for each of the things that `work` counts.
fn timed(work: impl FnOnce() -> Result<u64, Failed>) -> Result<f64, Failed> {
    let before = processor_nanoseconds()?;
    let count = work()?;
    Ok((processor_nanoseconds()? - before) as f64 / count as f64)
}

/// The nanoseconds that the process had a processor. A busy machine does not change them much.
fn processor_nanoseconds() -> Result<u64, Failed> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let first = text.split_ascii_whitespace().next();
    Ok(first.ok_or("an empty schedstat")?.parse()?)
}
