//! Results and notes, from the counts of a replay.

use crate::cell::Cell;
use crate::curve::Curve;
use crate::team::Team;
use crate::translation::Misses;
use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, TraceSummary, Walks};
use broadleaf_model::Outcome;
use broadleaf_model::shared::{notes, of_memory};
use broadleaf_model::stream::Stream;
use broadleaf_units::PageSize;

/// The outcome of a replay, without results.
pub(crate) fn outcome(stream: &Stream) -> Outcome {
    Outcome {
        trace: TraceSummary {
            pages: stream.touches().pages.total(),
            ..stream.summary.clone()
        },
        notes: notes(stream),
        ..Outcome::default()
    }
}

/// The page faults of the policy of that name; none if no team has the policy.
pub(crate) fn faults_of(policy: &str, teams: &[Team<'_>]) -> u64 {
    let mut cells = teams.iter().flat_map(Team::cells);
    let cell = cells.find(|cell| cell.policy.name() == policy);
    cell.map_or(0, |cell| cell.memory.counters().page_faults)
}

/// The results of each policy of some teams, in their order; `base_faults` are the page faults of
/// the policy `4k`.
pub(crate) fn of_policies(
    teams: &[Team<'_>],
    stream: &Stream,
    base_faults: u64,
) -> Vec<Vec<CellResult>> {
    let results = teams.iter().flat_map(|team| {
        (team.cells().iter().enumerate())
            .map(move |(member, cell)| results(team, member, cell, stream, base_faults))
    });
    results.collect()
}

/// The results of a member of a team, one for each machine; `base_faults` are the page faults of
/// the policy `4k`.
fn results(
    team: &Team<'_>,
    member: usize,
    cell: &Cell<'_>,
    stream: &Stream,
    base_faults: u64,
) -> Vec<CellResult> {
    let of_policy = CellResult {
        policy: cell.policy.name(),
        accesses: stream.summary.accesses,
        curve: team.curve(member).map(Curve::points),
        ..of_memory(
            cell.memory.counters(),
            &cell
                .memory
                .totals(&stream.histories, |block| stream.spaces.backing(block, 0)),
            cell.refusals(),
            stream,
            base_faults,
        )
    };
    let families = team.translations().iter();
    let mut misses: Vec<_> = families
        .flat_map(|family| family.misses_of(member))
        .collect();
    misses.sort_unstable_by_key(|(number, ..)| *number);
    let results = misses
        .iter()
        .map(|(_, machine, misses)| on_machine(&of_policy, machine, misses));
    results.collect()
}

fn on_machine(of_policy: &CellResult, machine: &Machine, misses: &Misses) -> CellResult {
    let found = [
        (PageSize::SIZE_4K, misses.base_walks),
        (PageSize::SIZE_2M, misses.super_walks),
    ];
    let mut walks = Walks::new();
    let mut walk_cycles = 0;
    for (size, count) in found {
        walks.add(size, count);
        // A plan has no machine without these sizes, and a machine no size without a cost.
        walk_cycles += count * machine.costs.of(size).unwrap_or(0);
    }
    CellResult {
        machine: machine.name.clone(),
        l1_misses: misses.second_hits + walks.total(),
        l2_misses: walks.total(),
        walks,
        walk_cycles,
        ..of_policy.clone()
    }
}
