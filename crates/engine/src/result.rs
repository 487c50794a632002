//! From what was counted to results and notes.

use crate::Outcome;
use crate::cell::Cell;
use crate::curve::Curve;
use crate::limited::is_earlier;
use crate::stream::Stream;
use crate::team::Team;
use crate::translation::Misses;
use broadleaf_memory::{Counters, Totals, Touches};
use broadleaf_metrics::{CellResult, TraceSummary, Walks};
use broadleaf_policy::{Refusal, Refusals};
use broadleaf_translation::Machine;
use broadleaf_units::PageSize;

/// What a replay found, without results.
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

/// The page faults of the policy of that name; none where no team has it.
pub(crate) fn faults_of(policy: &str, teams: &[Team<'_>]) -> u64 {
    let mut cells = teams.iter().flat_map(Team::cells);
    let cell = cells.find(|cell| cell.policy.name() == policy);
    cell.map_or(0, |cell| cell.memory.counters().page_faults)
}

/// The results of each policy of some teams, in their order; `base_faults` are the page faults of the policy `4k`.
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

/// The results of a member of a team, one for each machine; `base_faults` are the page faults of the policy `4k`.
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
    team.translations()
        .iter()
        .map(|translation| on_machine(&of_policy, translation.machine, &translation.misses(member)))
        .collect()
}

/// What a memory counted, and what a policy was refused.
pub(crate) fn of_memory(
    counters: &Counters,
    totals: &Totals,
    refusals: &Refusals,
    stream: &Stream,
    base_faults: u64,
) -> CellResult {
    let Touches { pages, blocks } = stream.touches();
    let named = |(reason, count): (Refusal, u64)| (reason.name().to_string(), count);
    CellResult {
        page_faults: counters.page_faults,
        faults_saved: base_faults
            .cast_signed()
            .saturating_sub_unsigned(counters.page_faults),
        promotions: counters.promotions,
        demotions: counters.demotions,
        extra_zeroed_pages: totals.extra_zeroed_pages,
        extra_disk_read_pages: totals.extra_disk_read_pages,
        false_dirty_pages: totals.false_dirty_pages.total(),
        false_dirty_pages_anonymous: totals.false_dirty_pages.anonymous,
        false_dirty_pages_file: totals.false_dirty_pages.file,
        clean_pages_in_superpages: totals.clean_pages_in_superpages.total(),
        clean_pages_in_superpages_anonymous: totals.clean_pages_in_superpages.anonymous,
        clean_pages_in_superpages_file: totals.clean_pages_in_superpages.file,
        touched_pages: pages.total(),
        touched_pages_anonymous: pages.anonymous,
        touched_pages_file: pages.file,
        resident_pages: counters.resident,
        peak_resident_pages: counters.peak_resident,
        regions: blocks.total(),
        regions_anonymous: blocks.anonymous,
        regions_file: blocks.file,
        refusals: refusals.iter().map(named).collect(),
        ..CellResult::default()
    }
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

/// What a reader of the numbers has to know about the trace.
pub(crate) fn notes(stream: &Stream) -> Vec<String> {
    let mut notes = Vec::new();
    let untold: Vec<String> = stream
        .spaces
        .untold()
        .filter(|space| !is_earlier(*space))
        .map(|space| space.0.to_string())
        .collect();
    if !untold.is_empty() {
        let which = match untold.as_slice() {
            _ if !stream.summary.events => "no mapping events".to_string(),
            [one] => format!("no mapping events of address space {one}"),
            many => format!("no mapping events of address spaces {}", many.join(", ")),
        };
        notes.push(format!(
            "{which}: every block is taken for anonymous memory of an object that is large enough"
        ));
    }
    if !stream.kernel_references && stream.summary.accesses > 0 {
        notes.push("memory accesses made by the kernel are not counted".to_string());
    }
    match stream.misplaced {
        0 => {}
        1 => notes.push(
            "1 mapping stands elsewhere modulo 2 MiB than the kernel would have put it".to_string(),
        ),
        count => {
            notes.push(format!(
                "{count} mappings stand elsewhere modulo 2 MiB than the kernel would have put them"
            ));
        }
    }
    notes
}
