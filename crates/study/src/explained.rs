//! The planner's choice of accelerators, for people.

use broadleaf_accel::explain;
use broadleaf_model::Plan;
use broadleaf_report::{Align, Grid, View};

use crate::source::Trace;

/// An accelerator, and whether a replay uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedAccelerator {
    /// Its name.
    pub name: &'static str,
    /// The accelerator's work, as a phrase.
    pub does: &'static str,
    /// The conditions of its counts, as a phrase.
    pub relies_on: &'static str,
    /// The reason why the replay does not use it. `None` if the replay uses it.
    pub why_not: Option<String>,
}

/// The plan of one replay of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedReplay {
    /// The subject of the replay, as a line. `None` if the comparison has no other replay.
    pub heading: Option<String>,
    /// All accelerators.
    pub accelerators: Vec<PlannedAccelerator>,
}

/// Shows the plan of a replay.
pub type ShowPlan<'a> = &'a dyn Fn(&PlannedReplay);

/// The heading of the plan for the policies of a comparison beside `other`, which has a replay of
/// its own.
pub(crate) fn heading_beside(other: &str) -> String {
    format!("replay of all policies but {other}:")
}

/// The heading of the plan for a policy that has a replay of its own.
pub(crate) fn heading_of(policy: &str) -> String {
    format!("replay of {policy}:")
}

/// The accelerators of a plan for an open trace.
pub(crate) fn explained(plan: &Plan, trace: &Trace) -> Vec<PlannedAccelerator> {
    let choices = explain(plan).into_iter();
    let planned = choices.map(|choice| {
        let mut why_not = choice.why_not.map(|why| why.to_string());
        if choice.accelerator.name == broadleaf_accel::REDUCED_FORM
            && why_not.is_none()
            && !trace.is_reduced()
        {
            let why = "no reduced form of this trace is known for these machines; one that is \
                       larger than the trace is not kept";
            why_not = Some(why.to_owned());
        }
        PlannedAccelerator {
            name: choice.accelerator.name,
            does: choice.accelerator.does,
            relies_on: choice.accelerator.relies_on,
            why_not,
        }
    });
    planned.collect()
}

/// The plan of a replay as a table, below its heading.
pub fn plan_table(planned: &PlannedReplay, view: View) -> String {
    let mut grid = Grid::new()
        .column("accelerator", Align::Left)
        .column("used", Align::Left)
        .column("what it does, or why it is not used", Align::Left);
    for planned in &planned.accelerators {
        let (used, text) = match &planned.why_not {
            None => (
                "yes",
                format!("{}; relies on {}", planned.does, planned.relies_on),
            ),
            Some(why) => ("no", why.clone()),
        };
        grid.row([planned.name.to_owned(), used.to_owned(), text]);
    }
    let heading = planned.heading.as_ref();
    heading.map_or_else(String::new, |line| format!("{line}\n")) + &grid.render(view)
}
