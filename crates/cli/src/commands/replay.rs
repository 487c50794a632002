//! `replay`: a governor's journal, gone through again.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use broadleaf_governor::journal::{
    Estimate, Header, JournalError, Ticks, Unreplayable, Verified, read, under, verify,
};
use broadleaf_governor::{Budgets, Tally, can_decide};
use broadleaf_metrics::{REPLAY_SCHEMA, Replayed, ReplayedPolicy};
use broadleaf_policy::Policy;
use broadleaf_report::{View, replay_table};

use crate::args::{Replay, TableOrJson};
use broadleaf_study::failure::Failure;
use broadleaf_study::names;
use broadleaf_study::output::{json, shown};
use broadleaf_study::provenance::provenance;

pub(crate) fn run(options: &Replay, view: View) -> Result<(), Failure> {
    options.result.refuse([&*options.journal])?;
    let asked = asked(&options.policy)?;
    let mut out = options.result.create()?;
    let view = options.result.view(view);
    let replayed = replayed(options, asked)?;
    let text = match options.format {
        TableOrJson::Table => replay_table(&replayed, view),
        TableOrJson::Json => json(&replayed)?,
    };
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    match replayed.difference {
        None => Ok(()),
        Some(difference) => Err(Failure::Failed(format!(
            "{}: a decision differs from the recorded one: {difference}",
            replayed.journal
        ))),
    }
}

/// The policies of these names, each of which can decide on live processes.
fn asked(names: &[String]) -> Result<Vec<Box<dyn Policy>>, Failure> {
    let mut asked: Vec<Box<dyn Policy>> = Vec::new();
    for name in names.iter().flat_map(|names| names::apart(names)) {
        let policy = names::policy(name)?;
        can_decide(policy.as_ref()).map_err(Failure::wrong)?;
        // The same policy twice would be the same result twice.
        if asked.iter().all(|other| other.name() != policy.name()) {
            asked.push(policy);
        }
    }
    Ok(asked)
}

/// Opens the journal, from its beginning.
fn open(path: &Path) -> Result<(Header, Ticks<BufReader<File>>), Failure> {
    let name = shown(path);
    let file = File::open(path).map_err(|error| Failure::reading(&name, &error))?;
    read(BufReader::new(file)).map_err(|error| damaged(path, error))
}

fn damaged(path: &Path, error: JournalError) -> Failure {
    let name = shown(path);
    match error {
        JournalError::Io(error) => Failure::reading(&name, &error),
        error => Failure::Wrong(format!("{name}: {error}")),
    }
}

fn unreplayable(path: &Path, error: Unreplayable) -> Failure {
    match error {
        Unreplayable::Journal(error) => damaged(path, error),
        error => Failure::Wrong(format!("{}: {error}", shown(path))),
    }
}

fn replayed(options: &Replay, asked: Vec<Box<dyn Policy>>) -> Result<Replayed, Failure> {
    let path = &options.journal;
    let failed = |error| unreplayable(path, error);
    let (header, mut ticks) = open(path)?;
    let verified = verify(&header, ticks.by_ref()).map_err(failed)?;
    // What lies behind a difference is read to its end all the same, for what is damaged there.
    let mut behind = 0;
    let mut end = verified.time;
    for tick in ticks.by_ref() {
        end = tick.map_err(|error| damaged(path, error))?.seen.at;
        behind += 1;
    }
    let torn_bytes = ticks.torn_bytes();
    if torn_bytes > 0 {
        say!(
            "{}: its last tick is incomplete, and {torn_bytes} bytes are left out",
            shown(path)
        );
    }
    let mut policies = vec![recorded(&header, &verified)];
    for (policy, budgets) in plans(options, asked, &header)? {
        let (header, ticks) = open(path)?;
        let estimate = under(policy, budgets, &header, verified.reach, ticks).map_err(failed)?;
        policies.push(estimated(&estimate));
    }
    Ok(Replayed {
        schema: REPLAY_SCHEMA.to_owned(),
        journal: path.display().to_string(),
        version: header.version,
        command: header.command,
        started: header.started,
        dry_run: header.dry,
        ticks: verified.ticks + behind,
        elapsed_seconds: end.as_secs_f64(),
        torn_bytes,
        reproduced: verified.difference.is_none(),
        difference: verified.difference.map(|difference| difference.to_string()),
        policies,
        provenance: provenance(&format!("{options:?}")),
    })
}

/// A policy to estimate, and what it might have done.
type Wanted = (Box<dyn Policy>, Budgets);

/// What is to be estimated: the policies that were asked for, with each budget.
fn plans(
    options: &Replay,
    mut asked: Vec<Box<dyn Policy>>,
    header: &Header,
) -> Result<Vec<Wanted>, Failure> {
    if asked.is_empty() && !options.max_added.is_empty() {
        asked.push(broadleaf_policy::parse(&header.policy).map_err(Failure::wrong)?);
    } else if asked.is_empty() {
        asked = broadleaf_policy::examples().map_err(Failure::failed)?;
        asked.retain(|policy| can_decide(policy.as_ref()).is_ok());
        asked.retain(|policy| header.dry || policy.name() != header.policy);
    }
    let mut budgets = vec![header.budgets];
    if !options.max_added.is_empty() {
        let each = options.max_added.iter();
        budgets = each
            .map(|added| Budgets {
                added: *added,
                ..header.budgets
            })
            .collect();
    }
    let mut plans = Vec::new();
    for policy in asked {
        for budgets in &budgets {
            // Its name makes it again.
            let policy = broadleaf_policy::parse(&policy.name()).map_err(Failure::failed)?;
            plans.push((policy, *budgets));
        }
    }
    Ok(plans)
}

fn recorded(header: &Header, verified: &Verified) -> ReplayedPolicy {
    ReplayedPolicy {
        policy: header.policy.clone(),
        max_added: header.budgets.added.to_string(),
        added_bytes: verified.added_bytes,
        huge_bytes: verified.huge_bytes,
        ..of_tally(&verified.tally)
    }
}

fn estimated(estimate: &Estimate) -> ReplayedPolicy {
    ReplayedPolicy {
        policy: estimate.policy.clone(),
        max_added: estimate.budgets.added.to_string(),
        estimated: true,
        added_bytes: estimate.added_bytes,
        huge_bytes: estimate.huge_bytes,
        ..of_tally(&estimate.tally)
    }
}

fn of_tally(tally: &Tally) -> ReplayedPolicy {
    let refusals = tally.refusals.iter();
    ReplayedPolicy {
        promotions: tally.promotions,
        demotions: tally.demotions,
        broken_by_programs: tally.broken_by_programs,
        given_back: tally.given_back,
        refusals: refusals
            .map(|(reason, blocks)| (reason.name().to_owned(), blocks))
            .collect(),
        added_bytes_peak: tally.added_bytes_peak,
        returned_bytes: tally.returned_bytes,
        huge_bytes_peak: tally.huge_bytes_peak,
        ..ReplayedPolicy::default()
    }
}
