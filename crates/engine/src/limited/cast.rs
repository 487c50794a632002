//! The cells of a replay.

use super::cell::Cell;
use super::choices::{Choices, cycles, few_of};
use super::follow::{self, Follower};
use super::limits::Limits;
use crate::Plan;
use crate::run::Foresight;
use crate::stream::Stream;
use broadleaf_memory::system::Foreseen;
use broadleaf_policy::{Cycles, Foresight as Known};

/// The cells of a replay.
pub(super) struct Cast<'a> {
    /// One for each policy and machine of the plan, policies in the order asked and machines inside; then those that nobody asked for.
    pub(super) cells: Vec<Cell<'a>>,
    /// The last ones are for others, who chose in another way: for which.
    stand_ins: Vec<usize>,
}

impl<'a> Cast<'a> {
    /// Of all that a plan asks for, and of the policy to which faults are compared.
    ///
    /// # Errors
    /// Where memory cannot be as the limits say.
    pub(super) fn new(
        plan: &'a Plan,
        limits: &Limits,
        foresight: &'a Foresight,
        choices: &'a Choices,
    ) -> Result<Self, String> {
        let (mut cells, mut stand_ins) = (Vec::new(), Vec::new());
        let mut others = Vec::new();
        for (policy, machine) in plan.pairs() {
            let known = policy.needs().foresight;
            let spec = limits.spec_on(machine, policy, plan.layouts())?;
            let foreseen = match known {
                Known::None => None,
                Known::Of(name) => foresight.get(name).map(Foreseen::Blocks),
                Known::Cheapest(_) => {
                    let choices = choices.of(policy, machine);
                    for other in choices.iter().skip(1) {
                        let foreseen = Some(Foreseen::Schedule(other));
                        others.push(Cell::new(policy, machine, &spec, foreseen));
                        stand_ins.push(cells.len());
                    }
                    choices.first().map(Foreseen::Schedule)
                }
            };
            cells.push(Cell::new(policy, machine, &spec, foreseen));
        }
        let baseline = plan.baseline();
        if (plan.policies().iter()).all(|policy| policy.name() != baseline.name()) {
            for machine in plan.machines() {
                let spec = limits.spec_on(machine, baseline, plan.layouts())?;
                cells.push(Cell::new(baseline, machine, &spec, None));
            }
        }
        cells.extend(others);
        if plan
            .policies()
            .iter()
            .any(|policy| few_of(policy.as_ref()).is_some())
        {
            cells = cells.into_iter().map(Cell::logging).collect();
        }
        Ok(Self { cells, stand_ins })
    }

    /// The cells of the followers, and of the policy to which faults are compared.
    ///
    /// # Errors
    /// If memory cannot be set up within the limits.
    pub(super) fn following(
        followers: &'a [Follower<'a>],
        plan: &'a Plan,
        limits: &Limits,
    ) -> Result<Self, String> {
        let mut cells = follow::cells(followers, plan, limits)?;
        for machine in plan.machines() {
            let spec = limits.spec_on(machine, plan.baseline(), plan.layouts())?;
            cells.push(Cell::new(plan.baseline(), machine, &spec, None));
        }
        Ok(Self::of(cells))
    }

    /// Of cells that nobody is to stand in for.
    pub(super) const fn of(cells: Vec<Cell<'a>>) -> Self {
        Self {
            cells,
            stand_ins: Vec::new(),
        }
    }

    /// All accesses so far were made, for all of them.
    pub(super) fn pass(&mut self, stream: &Stream) {
        self.cells.iter_mut().for_each(|cell| cell.pass(stream));
    }

    /// For each pair of the plan the cell that did best.
    pub(super) fn best(&self, plan: &Plan) -> Vec<usize> {
        let first = self.cells.len() - self.stand_ins.len();
        let mut best: Vec<usize> = (0..plan.pairs().count()).collect();
        for (number, asked) in (first..).zip(&self.stand_ins) {
            let which = few_of(self.cells[number].policy).unwrap_or(Cycles::All);
            let [other, so_far] = [number, best[*asked]].map(|at| cycles(&self.cells[at], which));
            if other < so_far {
                best[*asked] = number;
            }
        }
        best
    }

    /// As which of those that chose for a pair a cell does: 0 is the one that was asked for.
    pub(super) fn stands_in(&self, pair: usize, cell: usize) -> usize {
        let first = self.cells.len() - self.stand_ins.len();
        let before = cell
            .checked_sub(first)
            .map(|others| &self.stand_ins[..others]);
        before.map_or(0, |before| {
            1 + before.iter().filter(|asked| **asked == pair).count()
        })
    }
}
