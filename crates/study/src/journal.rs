//! `replay`: makes the decisions of a governor's journal again, and estimates other policies.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use broadleaf_governor::journal::{
    Estimate, Header, JournalError, Ticks, Unreplayable, Verified, read, under, verify,
};
use broadleaf_governor::{Allowance, Budgets, Tally, can_decide};
use broadleaf_metrics::{REPLAY_SCHEMA, Replayed, ReplayedPolicy};
use broadleaf_policy::Policy;

use crate::failure::Failure;
use crate::names;
use crate::output::shown;
use crate::provenance::provenance;

/// A journal to replay.
pub struct ReplayRequest<'a> {
    /// The journal, a file.
    pub journal: &'a Path,
    /// The policies to estimate, as [`asked_policies`] returns them. If there are none, the
    /// policies that are ready to use are estimated, or the recorded one if `max_added` is not
    /// empty.
    pub policies: Vec<Box<dyn Policy>>,
    /// The limits on memory to estimate each policy with. If there are none, that of the journal.
    pub max_added: &'a [Allowance],
    /// The text whose hash the record holds as the hash of the configuration.
    pub configuration: &'a str,
}

/// The policies of these names, each once. A name may hold several, separated by commas.
///
/// # Errors
/// If a policy is unknown or cannot decide on live processes.
pub fn asked_policies(names: &[String]) -> Result<Vec<Box<dyn Policy>>, Failure> {
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

/// Opens the journal at its beginning.
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

/// Makes each decision of a journal again, and estimates what other policies would have achieved.
///
/// # Errors
/// If the journal cannot be read or is damaged, or names no policy.
pub fn replay(request: ReplayRequest<'_>) -> Result<Replayed, Failure> {
    let path = request.journal;
    let failed = |error| unreplayable(path, error);
    let (header, mut ticks) = open(path)?;
    let verified = verify(&header, ticks.by_ref()).map_err(failed)?;
    // The journal is read to its end even after a difference, to find damage.
    let mut later_ticks = 0;
    let mut end = verified.time;
    for tick in ticks.by_ref() {
        end = tick.map_err(|error| damaged(path, error))?.seen.at;
        later_ticks += 1;
    }
    let torn_bytes = ticks.torn_bytes();
    if torn_bytes > 0 {
        log::warn!(
            "{}: its last tick is incomplete, and {torn_bytes} bytes are left out",
            shown(path)
        );
    }
    let mut policies = vec![recorded(&header, &verified)];
    let configuration = request.configuration;
    for (policy, budgets) in plans(request.policies, request.max_added, &header)? {
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
        ticks: verified.ticks + later_ticks,
        elapsed_seconds: end.as_secs_f64(),
        torn_bytes,
        reproduced: verified.difference.is_none(),
        difference: verified.difference.map(|difference| difference.to_string()),
        policies,
        provenance: provenance(configuration),
    })
}

/// A policy to estimate, with its limits.
type PlannedEstimate = (Box<dyn Policy>, Budgets);

/// The estimates to make: each policy with each limit on memory.
fn plans(
    mut asked: Vec<Box<dyn Policy>>,
    max_added: &[Allowance],
    header: &Header,
) -> Result<Vec<PlannedEstimate>, Failure> {
    if asked.is_empty() && !max_added.is_empty() {
        asked.push(broadleaf_policy::parse(&header.policy).map_err(Failure::wrong)?);
    } else if asked.is_empty() {
        asked = broadleaf_policy::examples().map_err(Failure::failed)?;
        asked.retain(|policy| can_decide(policy.as_ref()).is_ok());
        asked.retain(|policy| header.dry || policy.name() != header.policy);
    }
    let mut budgets = vec![header.budgets];
    if !max_added.is_empty() {
        let each = max_added.iter();
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
            // A policy has no copy, but its name makes it again.
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
