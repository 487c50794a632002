//! A trace taken through the oracle, as it is read: no part of it is kept.

use crate::answers::{self, Answers};
use crate::{Failed, MACHINE, walk};
use broadleaf_oracle::{
    Foreknowledge, OracleMachine as Machine, OracleReplay, Pace, PolicySpec, Survey,
};
use broadleaf_trace::{Grain, Item, TraceError, TraceReader};
use std::io::{self, Read};

/// What the oracle has to know before a replay.
pub struct Known {
    grain: Grain,
    machine: Machine,
    of_future: Foreknowledge,
}

fn read(from: impl Read, mut take: impl FnMut(&Item<'_>)) -> Result<Grain, TraceError> {
    let mut reader = TraceReader::with_options(from, walk::OPTIONS)?;
    while let Some(item) = reader.next_item()? {
        take(&item);
    }
    Ok(reader.header().grain)
}

/// The oracle's policy of that name.
///
/// # Errors
/// Where it has none.
pub fn policy(name: &str) -> Result<PolicySpec, Failed> {
    let mut all = PolicySpec::ALL.into_iter();
    let found = all.find(|policy| policy.to_string() == name);
    found.ok_or_else(|| format!("the oracle has no policy {name}").into())
}

/// Reads a trace for what has to be known of it beforehand; what `foresight` foresees comes with [`replay_all`].
///
/// # Errors
/// Where the trace cannot be read.
pub fn survey(from: impl Read) -> Result<Known, Failed> {
    let mut machines = Machine::ALL.into_iter();
    let machine = machines.find(|machine| machine.to_string() == MACHINE);
    let mut survey = Survey::default();
    let grain = read(from, |item| survey.item(item))?;
    Ok(Known {
        grain,
        machine: machine.ok_or("the oracle has no such machine")?,
        of_future: survey.finish(),
    })
}

/// One policy in one pass: what the engine's speed is compared with. Runs of equal references are leapt over, which only makes the oracle quicker.
///
/// # Errors
/// Where the trace cannot be read.
pub fn replay(from: impl Read, known: &Known, policy: PolicySpec) -> Result<Answers, Failed> {
    let mut replay = start(known, policy);
    read(from, |item| replay.item(item))?;
    let (counts, _) = replay.finish();
    Ok(Answers::from([answers::of_oracle(policy, &counts)]))
}

fn start(known: &Known, policy: PolicySpec) -> OracleReplay {
    OracleReplay::new(
        known.grain,
        policy,
        known.machine,
        Pace::Leap,
        &known.of_future,
    )
}

/// Each of these policies, for their answers and not for speed: one pass for all, and one more where one of them is `foresight`.
///
/// # Errors
/// Where the trace cannot be read, or there is no such policy.
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
