//! Cells of a sweep: one policy on one machine in one memory, over one trace.

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_accel::covers_all;
use broadleaf_machine::{Machine, is_grid};

use super::conditions::MemoryCondition;
use super::experiment::Experiment;
use crate::cache::build;
use crate::compare::needs_fetches;
use crate::failure::Failure;
use crate::{in_file, names};

/// A cell.
#[derive(Clone, Debug)]
pub struct SweepCell {
    /// The hash of all that the cell's result depends on: the trace, the configuration, the build.
    pub key: String,
    /// The policy as the file writes it.
    pub asked: String,
    /// The policy's name in results.
    pub policy: String,
    /// The machine.
    pub machine: Machine,
    /// The place of the memory among the trace's conditions.
    pub(super) condition: usize,
    pub(super) class: CellClass,
}

/// The kinds of replays that cells share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CellClass {
    /// Without frames.
    Quick,
    /// Memory is modelled down to the frame.
    Frames,
    /// All machines of a grid look at one memory, so they are replayed together.
    Grid,
}

/// Cells that one replay answers.
#[derive(Clone, Debug)]
pub(super) struct SweepReplay {
    pub(super) condition: usize,
    pub(super) class: CellClass,
    pub(super) policies: Vec<String>,
    pub(super) machines: Vec<Machine>,
}

/// A machine with its policies.
type MachinePolicies<'a> = (&'a Machine, Vec<&'a str>);

/// The cells of one trace, with its conditions of memory.
#[derive(Clone, Debug)]
pub struct TraceCells {
    /// The cells, in the order of results.
    pub cells: Vec<SweepCell>,
    /// The conditions of memory; `None` is memory without frames.
    pub conditions: Vec<Option<MemoryCondition>>,
    pub(super) max_accesses: Option<u64>,
    grid: Vec<Machine>,
}

impl Experiment {
    /// The cells of a trace by its name in results and the hash of its bytes.
    ///
    /// # Errors
    /// If a file that memory begins from cannot be read.
    pub fn cells_of(&self, trace: &str, hash: &str) -> Result<TraceCells, Failure> {
        let axes = self.axes_of(trace);
        let grid: Vec<Machine> = (axes.machines.iter())
            .filter(|machine| is_grid(&machine.name))
            .cloned()
            .collect();
        let mut cells = Vec::new();
        let mut known = BTreeSet::new();
        for (condition, memory) in axes.memory.iter().enumerate() {
            let mut state = String::new();
            if let Some(memory) = memory {
                state = format!("{:?}", memory.request);
                for file in &memory.files {
                    let text = in_file::read(file)?;
                    state.push_str(blake3::hash(text.as_bytes()).to_hex().as_str());
                }
            }
            for asked in &axes.policies {
                let policy = names::policy(asked)?;
                let name = policy.name();
                let policies = [policy];
                for machine in &axes.machines {
                    let beside = match is_grid(&machine.name) {
                        true => format!("{grid:?}"),
                        false => String::new(),
                    };
                    let class = match (memory, is_grid(&machine.name)) {
                        (_, true) => CellClass::Grid,
                        (Some(_), false) => CellClass::Frames,
                        _ => match covers_all(&policies, std::slice::from_ref(machine)) {
                            Ok(()) if !self.restart => CellClass::Quick,
                            _ => CellClass::Frames,
                        },
                    };
                    let text = format!(
                        "{}\n{hash}\n{name}\n{machine:?}\n{beside}\n{state}\n{} {:?}",
                        build(),
                        self.restart,
                        axes.max_accesses
                    );
                    let key = blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
                    // Two spellings of a policy are one cell.
                    if known.insert(key.clone()) {
                        cells.push(SweepCell {
                            key,
                            asked: asked.clone(),
                            policy: name.clone(),
                            machine: machine.clone(),
                            condition,
                            class,
                        });
                    }
                }
            }
        }
        Ok(TraceCells {
            cells,
            conditions: axes.memory,
            max_accesses: axes.max_accesses,
            grid,
        })
    }
}

impl TraceCells {
    /// The replays that answer the cells whose keys `wanted` has. The result of a cell does not
    /// depend on the others of its replay.
    pub(super) fn replays(&self, wanted: &BTreeSet<String>) -> Vec<SweepReplay> {
        // The policies of each machine, by condition and class.
        let mut by_machine: BTreeMap<(usize, CellClass), Vec<MachinePolicies<'_>>> =
            BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| wanted.contains(&cell.key)) {
            let machines = by_machine.entry((cell.condition, cell.class)).or_default();
            let known = machines
                .iter_mut()
                .find(|(machine, _)| machine.name == cell.machine.name);
            match known {
                Some((_, policies)) => policies.push(&cell.asked),
                None => machines.push((&cell.machine, vec![&cell.asked])),
            }
        }
        let mut replays: Vec<SweepReplay> = Vec::new();
        for ((condition, class), machines) in by_machine {
            if class == CellClass::Grid {
                let mut policies: Vec<String> = Vec::new();
                for asked in machines.iter().flat_map(|(_, policies)| policies) {
                    if !policies.iter().any(|known| known == asked) {
                        policies.push((*asked).to_owned());
                    }
                }
                let machines = self.grid.clone();
                replays.push(SweepReplay {
                    condition,
                    class,
                    policies,
                    machines,
                });
                continue;
            }
            let first = replays.len();
            for (machine, policies) in machines {
                // Memory holds code where a machine of the replay fetches, for all of its machines.
                let fetches = |machines: &[Machine]| needs_fetches(None, machines);
                let fits = |replay: &&mut SweepReplay| {
                    replay.policies == policies
                        && fetches(&replay.machines) == fetches(std::slice::from_ref(machine))
                };
                match replays[first..].iter_mut().find(fits) {
                    Some(replay) => replay.machines.push(machine.clone()),
                    None => replays.push(SweepReplay {
                        condition,
                        class,
                        policies: policies.into_iter().map(str::to_owned).collect(),
                        machines: vec![machine.clone()],
                    }),
                }
            }
        }
        replays
    }
}
