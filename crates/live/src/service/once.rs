//! The list of the processes that rules pick, with what would be done to each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use broadleaf_governor::service::{Care, ServiceRules};
use broadleaf_governor::{Linux, ProcessId};
use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, View};

use super::finding::{Fate, PickedProcess, ProcessFinder};
use super::wards::{apart, governor};
use crate::users::user_name;
use broadleaf_study::failure::Failure;

/// Lists the processes that rules pick now.
///
/// # Errors
/// If a rule names no policy.
pub(super) fn list(rules: &ServiceRules, view: View) -> Result<String, Failure> {
    let found = ProcessFinder::new().find(rules, Instant::now());
    if found.is_empty() {
        return Ok("no process falls under a rule\n".to_owned());
    }
    let apart = apart(&found);
    let mut grid = Grid::new()
        .column("process", Align::Right)
        .column("command", Align::Left)
        .column("user", Align::Left)
        .column("rule of line", Align::Right)
        .column("policy", Align::Left)
        .column("superpages now", Align::Right)
        .column("what would be done", Align::Left);
    for found in &found {
        let user = found.uid.map_or_else(String::new, user_name);
        let [policy, now, would] = match &found.fate {
            Fate::Ignored => [String::new(), String::new(), "ignored".to_owned()],
            Fate::Forbidden => {
                let why = "nothing: superpages are forbidden to it".to_owned();
                [String::new(), String::new(), why]
            }
            Fate::Governed(care) => forecast(found, care, &apart)?,
        };
        grid.row([
            found.id.to_string(),
            found.command.clone(),
            user,
            found.line.to_string(),
            policy,
            now,
            would,
        ]);
    }
    Ok(grid.render(view))
}

/// The policy, the bytes in superpages, and what would be done.
fn forecast(
    found: &PickedProcess,
    care: &Care,
    apart: &Arc<BTreeSet<ProcessId>>,
) -> Result<[String; 3], Failure> {
    let mut governor = governor(&Linux::new(), found.id, care, apart, true)?;
    governor.tick();
    let planned = governor.most_planned();
    let policy = care.policy.clone();
    if let Some((_, unseen)) = governor.unseen().find(|(id, _)| *id == found.id) {
        return Ok([policy, String::new(), format!("nothing: {}", unseen.no)]);
    }
    if governor.ward().pages(found.id).is_none() {
        return Ok([policy, String::new(), "nothing: it has ended".to_owned()]);
    }
    let huge = governor.ward().huge_bytes();
    let added = size(planned.added_bytes);
    let would = match planned.promotions {
        0 => "nothing now".to_owned(),
        1 => format!("1 block promoted, {added} added"),
        blocks => format!("{} blocks promoted, {added} added", grouped(blocks)),
    };
    Ok([policy, size(huge), would])
}
