//! The list of the processes that rules pick, with what would be done to each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use broadleaf_governor::service::{Care, ServiceRules};
use broadleaf_governor::{Linux, ProcessId, weighs_use};
use broadleaf_metrics::{PickedAction, PickedForecast, PickedReport};
use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, View};

use super::finding::{Fate, PickedProcess, ProcessFinder};
use super::wards::{apart, governor};
use crate::users::user_name;
use broadleaf_study::failure::Failure;

/// The reason why there is no forecast for a policy that weighs use.
const UNMEASURED: &str = "the policy waits for a measurement of use, which --dry-run makes";

/// The processes that rules pick now.
///
/// # Errors
/// If a rule names no policy.
pub(super) fn picked(rules: &ServiceRules) -> Result<Vec<PickedReport>, Failure> {
    let found = ProcessFinder::new().find(rules, Instant::now());
    let apart = apart(&found);
    found.iter().map(|found| reported(found, &apart)).collect()
}

/// One process, with what would be done to it.
fn reported(
    found: &PickedProcess,
    apart: &Arc<BTreeSet<ProcessId>>,
) -> Result<PickedReport, Failure> {
    let mut report = PickedReport {
        pid: found.id.pid,
        command: found.command.clone(),
        uid: found.uid,
        user: found.uid.map(user_name),
        rule_line: found.line as u64,
        action: PickedAction::Ignore,
        policy: None,
        forecast: None,
        reason: None,
    };
    match &found.fate {
        Fate::Ignored => {}
        Fate::Forbidden => report.action = PickedAction::Forbidden,
        Fate::Governed(care) => {
            report.action = PickedAction::Govern;
            report.policy = Some(care.policy.clone());
            match forecast(found, care, apart)? {
                Ok(forecast) => report.forecast = Some(forecast),
                Err(reason) => report.reason = Some(reason),
            }
        }
    }
    Ok(report)
}

/// What would be done to a governed process, or the reason why its memory was not read.
fn forecast(
    found: &PickedProcess,
    care: &Care,
    apart: &Arc<BTreeSet<ProcessId>>,
) -> Result<Result<PickedForecast, String>, Failure> {
    let mut governor = governor(&Linux::new(), found.id, care, apart, true)?;
    governor.tick();
    let planned = governor.most_planned();
    if let Some((_, unseen)) = governor.unseen().find(|(id, _)| *id == found.id) {
        return Ok(Err(unseen.no.to_string()));
    }
    if governor.ward().pages(found.id).is_none() {
        return Ok(Err("it has ended".to_owned()));
    }
    if weighs_use(governor.ward().policy()) {
        return Ok(Err(UNMEASURED.to_owned()));
    }
    Ok(Ok(PickedForecast {
        huge_bytes: governor.ward().huge_bytes(),
        would_promote: planned.promotions,
        added_bytes: planned.added_bytes,
    }))
}

/// Renders the list as a table.
pub(super) fn table(processes: &[PickedReport], view: View) -> String {
    if processes.is_empty() {
        return "no process falls under a rule\n".to_owned();
    }
    let mut grid = Grid::new()
        .column("process", Align::Right)
        .column("command", Align::Left)
        .column("user", Align::Left)
        .column("rule of line", Align::Right)
        .column("policy", Align::Left)
        .column("superpages now", Align::Right)
        .column("what would be done", Align::Left);
    for process in processes {
        let now = process.forecast.map(|forecast| size(forecast.huge_bytes));
        grid.row([
            process.pid.to_string(),
            process.command.clone(),
            process.user.clone().unwrap_or_default(),
            process.rule_line.to_string(),
            process.policy.clone().unwrap_or_default(),
            now.unwrap_or_default(),
            would_be_done(process),
        ]);
    }
    grid.render(view)
}

fn would_be_done(process: &PickedReport) -> String {
    match (process.action, process.forecast, &process.reason) {
        (PickedAction::Ignore, ..) => "ignored".to_owned(),
        (PickedAction::Forbidden, ..) => "nothing: superpages are forbidden to it".to_owned(),
        (PickedAction::Govern, Some(forecast), _) => {
            let added = size(forecast.added_bytes);
            match forecast.would_promote {
                0 => "nothing now".to_owned(),
                1 => format!("1 block promoted, {added} added"),
                blocks => format!("{} blocks promoted, {added} added", grouped(blocks)),
            }
        }
        (PickedAction::Govern, None, Some(reason)) => format!("nothing: {reason}"),
        (PickedAction::Govern, None, None) => "nothing".to_owned(),
    }
}
