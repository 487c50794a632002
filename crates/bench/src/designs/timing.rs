//! The times of model and oracle: each design on the lookups of a program, and each replacement
//! rule in a whole replay.

use super::stream::Stream;
use super::{TimedDesign, catalogue};
use crate::rounds::{Contestant, race};
use crate::{Failed, MACHINE, ONE, answers, replay, slow};
use broadleaf_machine::Machine;
use broadleaf_oracle::{OracleMachine, RuleSpec, RuledMachine};
use broadleaf_tlb::{Design, REPLACEMENTS, Replacement, ReplacementChoice, RuleNeed};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;

/// The number of times that the model replays a stream in a round. One replay takes too little
/// time.
const REPEATS: u32 = 10;

/// Times every design on the lookups of a trace. `tell` receives an object for each.
///
/// # Errors
/// Returns an error if the trace cannot be read, or the model and the oracle count differently.
pub fn designs(
    (name, path): (&str, &Path),
    (skipped, lookups): (u64, usize),
    rounds: usize,
    mut tell: impl FnMut(Value),
) -> Result<(), Failed> {
    let stream = Stream::read(File::open(path)?, skipped, lookups)?;
    if stream.steps().is_empty() {
        return Err(format!("{name}: the trace has no more than {skipped} visits").into());
    }
    for design in catalogue::all()? {
        let seconds = race(rounds, &mut contestants(name, &design, &stream)?)?;
        let [model, oracle] = [
            median(&seconds[0]) / f64::from(REPEATS),
            median(&seconds[1]),
        ];
        tell(json!({
            "trace": name,
            "design": design.name,
            "lookups": stream.steps().len(),
            "model": model,
            "oracle": oracle,
        }));
    }
    Ok(())
}

/// The model and the oracle. Their first answers are compared, and each later one with the first.
fn contestants<'a>(
    name: &str,
    design: &'a TimedDesign,
    stream: &'a Stream,
) -> Result<[Contestant<'a>; 2], Failed> {
    let right = design.by_oracle(stream);
    let found = design.by_model(stream);
    if found != right {
        let what = format!("{name}, {}: the model counts {found:?}", design.name);
        return Err(format!("{what}, and the oracle {right:?}").into());
    }
    let agree = move |found| {
        let is_right = found == right;
        is_right
            .then_some(())
            .ok_or_else(|| Failed::from("two rounds count differently"))
    };
    let model = Contestant {
        name: "model",
        run: Box::new(move || (0..REPEATS).try_for_each(|_| agree(design.by_model(stream)))),
    };
    let oracle = Contestant {
        name: "oracle",
        run: Box::new(move || agree(design.by_oracle(stream))),
    };
    Ok([model, oracle])
}

/// Times a replay of a trace under one policy with each replacement rule in every structure whose
/// ways can have it. `tell` receives an object for each.
///
/// # Errors
/// Returns an error if the trace cannot be read, or the engine and the oracle count differently.
pub fn rules(
    (name, path): (&str, &Path),
    rounds: usize,
    mut tell: impl FnMut(Value),
) -> Result<(), Failed> {
    let policies = [ONE.to_owned()];
    let policy = slow::policy(ONE)?;
    for rule in REPLACEMENTS {
        // OPT needs one more pass, in which the model and the oracle find the next uses.
        if rule.needs.contains(&RuleNeed::Future) {
            continue;
        }
        let (machine, spec) = ruled(rule)?;
        let plan = replay::plan_on(&policies, machine)?;
        let known = slow::survey_for(File::open(path)?, spec)?;
        let right = slow::replay(File::open(path)?, &known, policy)?;
        let mut contestants = [
            Contestant {
                name: "model",
                run: Box::new(|| {
                    let found = replay::replay(|| File::open(path), &plan)?;
                    answers::agree(name, &policies, &found, &right)
                }),
            },
            Contestant {
                name: "oracle",
                run: Box::new(|| {
                    let found = slow::replay(File::open(path)?, &known, policy)?;
                    answers::agree(name, &policies, &found, &right)
                }),
            },
        ];
        let seconds = race(rounds, &mut contestants)?;
        tell(json!({
            "trace": name,
            "rule": rule.described.name,
            "model": median(&seconds[0]),
            "oracle": median(&seconds[1]),
        }));
    }
    Ok(())
}

/// The machine of the benchmarks with a rule in each structure whose ways can have it, and LRU
/// elsewhere: the engine's and the oracle's.
fn ruled(rule: &'static Replacement) -> Result<(Machine, RuledMachine), Failed> {
    let mut machine = broadleaf_machine::machine(MACHINE)?;
    let mut structures = machine.design.structures().to_vec();
    for structure in &mut structures {
        if (rule.refuses)(structure.ways).is_none() {
            structure.replacement = ReplacementChoice::from(rule);
        }
    }
    machine.design = Design::new(structures)?;
    let choice = ReplacementChoice::from(rule);
    let value = choice.values().first().and_then(|value| value.number());
    let rule = RuleSpec::named(rule.described.name, value);
    let rule = rule.ok_or_else(|| format!("the oracle does not know {choice}"))?;
    let mut machines = OracleMachine::ALL.into_iter();
    let of_oracle = machines.find(|of| of.to_string() == MACHINE);
    let of_oracle = of_oracle.ok_or("the oracle has no such machine")?;
    Ok((
        machine,
        RuledMachine {
            machine: of_oracle,
            rule,
        },
    ))
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
