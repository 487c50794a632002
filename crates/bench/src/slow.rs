//! The replay of a trace by the oracle. The trace is read as a stream.

use crate::answers::{self, Answers};
use crate::{Failed, MACHINE, walk};
use broadleaf_oracle::{
    Foreknowledge, OracleMachine as Machine, OracleReplay, Pace, PolicySpec, RuledMachine, Survey,
};
use broadleaf_trace::{Grain, Item, TraceError, TraceReader};
use std::io::{self, Read};

/// The oracle's knowledge before a replay.
pub struct OracleSurvey {
    grain: Grain,
    machine: RuledMachine,
    of_future: Foreknowledge,
}

fn read(from: impl Read, mut take: impl FnMut(&Item<'_>)) -> Result<Grain, TraceError> {
    let mut reader = TraceReader::with_options(from, walk::OPTIONS)?;
    while let Some(item) = reader.next_item()? {
        take(&item);
    }
    Ok(reader.header().grain)
}

/// Returns the oracle's policy of that name.
///
/// # Errors
/// Returns an error if the oracle has no such policy.
pub fn policy(name: &str) -> Result<PolicySpec, Failed> {
    let mut all = PolicySpec::ALL.into_iter();
    let found = all.find(|policy| policy.to_string() == name);
    found.ok_or_else(|| format!("the oracle has no policy {name}").into())
}

/// Reads the facts about a trace that the oracle needs. The foresight of `foresight` comes with
/// [`replay_all`].
///
/// # Errors
/// Returns an error if the trace cannot be read.
pub fn survey(from: impl Read) -> Result<OracleSurvey, Failed> {
    let mut machines = Machine::ALL.into_iter();
    let machine = machines.find(|machine| machine.to_string() == MACHINE);
    survey_for(from, machine.ok_or("the oracle has no such machine")?)
}

/// Reads the facts as [`survey`], for another machine or another replacement rule.
///
/// # Errors
/// Returns an error if the trace cannot be read.
pub fn survey_for(
    from: impl Read,
    machine: impl Into<RuledMachine>,
) -> Result<OracleSurvey, Failed> {
    let mut survey = Survey::default();
    let grain = read(from, |item| survey.item(item))?;
    Ok(OracleSurvey {
        grain,
        machine: machine.into(),
        of_future: survey.finish(),
    })
}

/// Replays one policy in one pass, for the comparison with the engine's speed. Runs of equal
/// references are skipped, which only makes the oracle faster.
///
/// # Errors
/// Returns an error if the trace cannot be read.
pub fn replay(
    from: impl Read,
    known: &OracleSurvey,
    policy: PolicySpec,
) -> Result<Answers, Failed> {
    let mut replay = start(known, policy);
    read(from, |item| replay.item(item))?;
    let (counts, _) = replay.finish();
    Ok(Answers::from([answers::of_oracle(policy, &counts)]))
}

fn start(known: &OracleSurvey, policy: PolicySpec) -> OracleReplay {
    OracleReplay::new(
        known.grain,
        policy,
        known.machine,
        Pace::Leap,
        &known.of_future,
    )
}

/// Replays each of these policies, for their answers and not for speed. All policies share one
/// pass, and `foresight` needs another.
///
/// # Errors
/// Returns an error if the trace cannot be read or a policy is unknown.
pub fn replay_all<R: Read>(
    open: impl Fn() -> io::Result<R>,
    policies: &[String],
) -> Result<Answers, Failed> {
    let mut known = survey(open()?)?;
    let mut specs: Vec<PolicySpec> = Vec::new();
    for name in policies {
        specs.push(policy(name)?);
    }
    let foreseen = specs.contains(&PolicySpec::Foresight);
    let asked_for_freebsd = specs.contains(&PolicySpec::FreeBsd);
    if foreseen && !asked_for_freebsd {
        specs.push(PolicySpec::FreeBsd);
    }
    let now = specs.iter().filter(|spec| **spec != PolicySpec::Foresight);
    let mut replays: Vec<_> = now.map(|spec| (*spec, start(&known, *spec))).collect();
    read(open()?, |item| {
        replays.iter_mut().for_each(|(_, replay)| replay.item(item));
    })?;
    let mut found = Answers::new();
    for (spec, replay) in replays {
        let (counts, promoted) = replay.finish();
        if spec == PolicySpec::FreeBsd {
            known.of_future.promoted_by_freebsd = promoted;
        }
        if spec != PolicySpec::FreeBsd || asked_for_freebsd {
            found.extend([answers::of_oracle(spec, &counts)]);
        }
    }
    if foreseen {
        found.extend(replay(open()?, &known, PolicySpec::Foresight)?);
    }
    Ok(found)
}
