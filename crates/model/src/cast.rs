//! The cells of a replay.

use super::cell::Cell;
use super::choices::{Choices, cycles, few_of};
use super::filter::SharedFilter;
use super::follow::{self, Follower};
use super::limits::MemoryLimits;
use super::mmu::Mmu;
use crate::Plan;
use crate::foresight::Foresight;
use crate::stream::Stream;
use broadleaf_machine::Machine;
use broadleaf_memory::system::Foreseen;
use broadleaf_policy::{Cycles, Foresight as Known};

/// The cells of a replay.
pub(super) struct Cast<'a> {
    pub(super) cells: Vec<Cell<'a>>,
    /// The runs of the plan, policy by policy in the order of the request, and each policy on all
    /// machines. Runs that the request does not name follow.
    runs: Vec<Run>,
    /// The last runs replace runs of the plan with another choice: the numbers of the replaced
    /// runs.
    stand_ins: Vec<usize>,
}

/// A policy on a machine: the number of the cell, and of the machine that observes the cell.
#[derive(Clone, Copy, Debug)]
struct Run {
    cell: usize,
    machine: usize,
}

/// Cells and runs under construction.
#[derive(Default)]
struct Runs<'a> {
    cells: Vec<Cell<'a>>,
    runs: Vec<Run>,
}

impl<'a> Runs<'a> {
    /// Adds a cell for one machine.
    fn push(&mut self, cell: Cell<'a>) {
        let cell_number = self.cells.len();
        self.cells.push(cell);
        self.runs.push(Run {
            cell: cell_number,
            machine: 0,
        });
    }

    /// Lets a machine observe one of the cells from `first` on. Returns false if none of them has
    /// memory as the machine needs it.
    fn observe(&mut self, first: usize, machine: &'a Machine) -> bool {
        let cells = self.cells.iter_mut().enumerate().skip(first);
        let run = cells
            .filter_map(|(cell, found)| {
                let machine = found.observe(machine)?;
                Some(Run { cell, machine })
            })
            .next();
        self.runs.extend(run);
        run.is_some()
    }
}

impl<'a> Cast<'a> {
    /// The cells of a plan, and of the policy to which faults are compared.
    ///
    /// # Errors
    /// If memory cannot be set up within the limits.
    pub(super) fn new(
        plan: &'a Plan,
        limits: &MemoryLimits,
        foresight: &'a Foresight,
        choices: &'a Choices,
    ) -> Result<Self, String> {
        let (mut runs, mut stand_ins) = (Runs::default(), Vec::new());
        let mut others = Vec::new();
        // The policy of the last cells, and the first of them.
        let mut of_policy: Option<(String, usize)> = None;
        for (policy, machine) in plan.pairs() {
            let name = policy.name();
            if of_policy.as_ref().is_none_or(|(known, _)| *known != name) {
                of_policy = Some((name, runs.cells.len()));
            }
            let first = of_policy.as_ref().map_or(0, |(_, first)| *first);
            let known = policy.needs().foresight;
            // The choices of such a policy depend on the machine.
            let chooses = matches!(known, Known::Cheapest(_));
            if !chooses && runs.observe(first, machine) {
                continue;
            }
            let spec = limits.spec_on(machine, policy, plan.layouts())?;
            let foreseen = match known {
                Known::None => None,
                Known::Of(name) => foresight.get(name).map(Foreseen::Blocks),
                Known::Cheapest(_) => {
                    let choices = choices.of(policy, machine);
                    for other in choices.iter().skip(1) {
                        let foreseen = Some(Foreseen::Schedule(other));
                        others.push(Cell::new(policy, machine, &spec, foreseen));
                        stand_ins.push(runs.runs.len());
                    }
                    choices.first().map(Foreseen::Schedule)
                }
            };
            runs.push(Cell::new(policy, machine, &spec, foreseen));
        }
        let baseline = plan.baseline();
        if (plan.policies().iter()).all(|policy| policy.name() != baseline.name()) {
            add_baseline(&mut runs, plan, limits)?;
        }
        others.into_iter().for_each(|cell| runs.push(cell));
        let Runs { mut cells, runs } = runs;
        if plan
            .policies()
            .iter()
            .any(|policy| few_of(policy.as_ref()).is_some())
        {
            cells = cells.into_iter().map(Cell::logging).collect();
        }
        if plan.walks_tables() {
            cells = cells.into_iter().map(Cell::walking_tables).collect();
        }
        Ok(Self {
            cells,
            runs,
            stand_ins,
        })
    }

    /// The cells of the followers, and of the policy to which faults are compared.
    ///
    /// # Errors
    /// If memory cannot be set up within the limits.
    pub(super) fn following(
        followers: &'a [Follower<'a>],
        plan: &'a Plan,
        limits: &MemoryLimits,
    ) -> Result<Self, String> {
        let mut runs = Runs::default();
        for cell in follow::cells(followers, plan, limits)? {
            runs.push(cell);
        }
        add_baseline(&mut runs, plan, limits)?;
        let Runs { mut cells, runs } = runs;
        if plan.walks_tables() {
            cells = cells.into_iter().map(Cell::walking_tables).collect();
        }
        Ok(Self {
            cells,
            runs,
            stand_ins: Vec::new(),
        })
    }

    /// Cells with one machine each, and no runs that replace others.
    pub(super) fn of(cells: Vec<Cell<'a>>) -> Self {
        let runs = (0..cells.len()).map(|cell| Run { cell, machine: 0 });
        Self {
            runs: runs.collect(),
            cells,
            stand_ins: Vec::new(),
        }
    }

    /// The number of runs.
    pub(super) const fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The cell of a run, and the machine that observes the cell.
    pub(super) fn run(&self, number: usize) -> (&Cell<'a>, &Mmu<'a>) {
        let run = self.runs[number];
        let cell = &self.cells[run.cell];
        (cell, cell.mmu(run.machine))
    }

    /// Lets each cell use the shared filter if the filter covers the cell. Returns false if none
    /// does.
    pub(super) fn filter(&mut self, shared: &SharedFilter) -> bool {
        let cells = self.cells.iter_mut();
        let using = cells.filter_map(|cell| cell.filter_with(shared).ok());
        using.count() > 0
    }

    /// All accesses so far were made, for all of them.
    pub(super) fn pass(&mut self, stream: &Stream) {
        self.cells.iter_mut().for_each(|cell| cell.pass(stream));
    }

    /// The number of the run that did best, for each pair of the plan.
    pub(super) fn best(&self, plan: &Plan) -> Vec<usize> {
        let first = self.runs.len() - self.stand_ins.len();
        let mut best: Vec<usize> = (0..plan.pairs().count()).collect();
        for (number, asked) in (first..).zip(&self.stand_ins) {
            let which = few_of(self.run(number).0.policy).unwrap_or(Cycles::All);
            let [other, so_far] = [number, best[*asked]].map(|at| cycles(self.run(at), which));
            if other < so_far {
                best[*asked] = number;
            }
        }
        best
    }

    /// The number of the choice that a run makes for a pair. A requested run has number 0.
    pub(super) fn stands_in(&self, pair: usize, run: usize) -> usize {
        let first = self.runs.len() - self.stand_ins.len();
        let before = run
            .checked_sub(first)
            .map(|others| &self.stand_ins[..others]);
        before.map_or(0, |before| {
            1 + before.iter().filter(|asked| **asked == pair).count()
        })
    }
}

/// Adds the policy to which faults are compared, on each machine.
fn add_baseline<'a>(
    runs: &mut Runs<'a>,
    plan: &'a Plan,
    limits: &MemoryLimits,
) -> Result<(), String> {
    let first = runs.cells.len();
    for machine in plan.machines() {
        if !runs.observe(first, machine) {
            let spec = limits.spec_on(machine, plan.baseline(), plan.layouts())?;
            runs.push(Cell::new(plan.baseline(), machine, &spec, None));
        }
    }
    Ok(())
}
