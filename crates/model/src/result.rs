//! Results from the counts of worlds.

use super::choices::{Choices, few_of};
use super::follow::Follower;
use super::limits::MemoryLimits;
use super::mmu::{Mmu, TlbTotals};
use super::replay::Replayed;
use super::world::World;
use super::worlds::Worlds;
use crate::foresight::ForeseenPromotions;
use crate::listener::StepListener;
use crate::rule_notes::rule_notes;
use crate::shared::{notes, of_memory};
use crate::stream::Stream;
use crate::{NoteAbout, Outcome, Plan, ReplayNote};
use broadleaf_charges::ChargeCounters;
use broadleaf_memory::system::{Place, Sample};
use broadleaf_metrics::{CellResult, MemoryResult, MemorySample, Tlbmcpi, TraceSummary, Walks};
use broadleaf_policy::{Cycles, NOMINAL_RATE};
use std::collections::BTreeMap;

/// The outcome of a replay; `best` is the index of each pair's world in the plan.
pub(super) fn outcome(
    replayed: Replayed<'_>,
    best: &[usize],
    choices: &Choices,
    plan: &Plan,
) -> Outcome {
    let Replayed {
        worlds,
        stream,
        mut interim,
    } = replayed;
    let told = (plan.pairs().enumerate()).filter_map(|(pair, (policy, machine))| {
        choices.choice(policy, machine, worlds.stands_in(pair, best[pair]))
    });
    let asked = |all: Vec<CellResult>| -> Vec<CellResult> {
        best.iter().map(|number| all[*number].clone()).collect()
    };
    let mut notes = notes(&stream);
    notes.extend(idle_daemons(
        best.iter().map(|number| worlds.run(*number).0),
        &stream,
        plan,
    ));
    let rules = rule_notes(&worlds, best, plan);
    let cores = idle_cores(&worlds, best);
    notes.extend(ReplayNote::of_plan([rules, cores].concat()));
    let results = results(&worlds, &stream, plan);
    interim.resize(plan.interim().len(), results.clone());
    let interim = interim.into_iter().map(&asked).collect();
    let results = asked(results);
    Outcome {
        reduced: None,
        foreseen: ForeseenPromotions::new(),
        trace: TraceSummary {
            pages: stream.touches().pages.total(),
            ..stream.summary.clone()
        },
        results,
        interim,
        notes,
        choices: told.collect(),
        frames: frames(&worlds, best, plan),
        counters: best
            .iter()
            .map(|number| counters(worlds.run(*number).0))
            .collect(),
    }
}

/// The counters that a world's policy has at the end.
fn counters(world: &World<'_>) -> ChargeCounters {
    let charged = world.charged.as_ref();
    charged.map_or_else(ChargeCounters::default, |charged| charged.counters())
}

/// A note for each machine of several cores: which of them ran.
fn idle_cores(worlds: &Worlds<'_>, best: &[usize]) -> Vec<String> {
    let mut notes = Vec::new();
    for (world, mmu) in best.iter().map(|number| worlds.run(*number)) {
        let all = mmu.cores();
        if all == 1 {
            continue;
        }
        let ran = world.cores_of(mmu).iter().flatten().count();
        let note = match ran {
            1 if world.cores() == 1 => format!(
                "policy {} on {}: one of the {all} cores runs all threads, as the policy or the \
                 replacement rule reckons with one TLB",
                world.policy.name(),
                mmu.machine.name
            ),
            1 => format!("{}: one of its {all} cores ran", mmu.machine.name),
            ran => format!(
                "{}: threads ran on {ran} of its {all} cores, in the recorded order; the cycles are \
                 those of the core that took longest, as if no thread waited for another one",
                mmu.machine.name
            ),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// A note for each policy whose daemon had no turn. There is one world for each result.
fn idle_daemons<'c, 'a: 'c>(
    worlds: impl Iterator<Item = &'c World<'a>>,
    stream: &Stream,
    plan: &Plan,
) -> Vec<ReplayNote> {
    let rate = plan.limits().map_or(NOMINAL_RATE, |limits| limits.rate);
    let accesses = grouped(stream.summary.accesses);
    let mut notes: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, world) in worlds.enumerate() {
        let idle = world.ended.is_none() && world.system.counters().daemon_turns == 0;
        if !idle || world.policy.needs().scan.is_none() {
            continue;
        }
        let (policy, period) = (world.policy.name(), world.system.scan_period());
        let seconds = period as f64 / rate as f64;
        let note = format!(
            "policy {policy}: its daemon did not run: the trace of {accesses} accesses is shorter \
             than the daemon's period of {} accesses. That is {seconds} s at {} accesses per \
             second; --rate sets the program's rate",
            grouped(period),
            grouped(rate)
        );
        match notes.iter_mut().find(|(text, _)| *text == note) {
            Some((_, places)) => places.push(place),
            None => notes.push((note, vec![place])),
        }
    }
    let notes = notes.into_iter().map(|(text, places)| ReplayNote {
        about: NoteAbout::Results(places),
        text,
    });
    notes.collect()
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// The frame of each resident page, of each world that was asked for; nothing where the plan does
/// not want them.
fn frames(worlds: &Worlds<'_>, best: &[usize], plan: &Plan) -> Vec<Vec<(Place, u64)>> {
    let asked = best.iter().filter(|_| plan.wants_frames());
    let of = |number: &usize| worlds.run(*number).0.system.frames_of_pages().collect();
    asked.map(of).collect()
}

/// Puts in the results of policies that followed another one, where that took fewer cycles, and the
/// listeners to those runs. There is one listener, if any, for each pair of the plan.
pub(super) fn follow(
    outcome: &mut Outcome,
    listeners: &mut [Option<Box<dyn StepListener>>],
    mut replayed: Replayed<'_>,
    followers: &[Follower<'_>],
    plan: &Plan,
) {
    let last = results(&replayed.worlds, &replayed.stream, plan);
    let pairs: Vec<_> = plan.pairs().collect();
    for (world, follower) in followers.iter().enumerate() {
        let Some(which) = few_of(pairs[follower.pair].0) else {
            continue;
        };
        let before = cycles_of(&outcome.results[follower.pair], which);
        let after = cycles_of(&last[world], which);
        let better = match (before, after) {
            (Some(before), Some(after)) => after < before,
            (before, after) => before.is_none() && after.is_some(),
        };
        if !better {
            continue;
        }
        outcome.results[follower.pair] = last[world].clone();
        listeners[follower.pair] = replayed.worlds.take_listener(world, &replayed.stream);
        for (number, interim) in outcome.interim.iter_mut().enumerate() {
            let found = replayed.interim.get(number).unwrap_or(&last);
            interim[follower.pair] = found[world].clone();
        }
        let (policy, machine) = pairs[follower.pair];
        outcome.notes.extend(ReplayNote::of_plan(vec![format!(
            "{} on {} makes the promotions of {}, which take fewer cycles than its own choice",
            policy.name(),
            machine.name,
            follower.other.name()
        )]));
    }
}

/// Compares each policy's cycles with those of the first policy with foresight on the same machine.
/// A note names the policies for which that policy is no bound.
pub(super) fn compare_with_offline(outcome: &mut Outcome, plan: &Plan, limits: &MemoryLimits) {
    let pairs: Vec<_> = plan.pairs().collect();
    let with_foresight = (pairs.iter()).find_map(|(policy, _)| Some((policy, few_of(*policy)?)));
    let Some((offline, which)) = with_foresight else {
        return;
    };
    let name = offline.name();
    let mut below = Vec::new();
    for (pair, (policy, machine)) in pairs.iter().enumerate() {
        let same = |result: &&CellResult| result.policy == name && result.machine == machine.name;
        let least = (outcome.results.iter().find(same)).and_then(|result| cycles_of(result, which));
        let own = cycles_of(&outcome.results[pair], which);
        let (Some(least), Some(own)) = (least.filter(|least| *least > 0), own) else {
            continue;
        };
        let times = own as f64 / least as f64;
        if own < least {
            below.push(format!(
                "{} on {} ({times:.2})",
                policy.name(),
                machine.name
            ));
        }
        if let Some(memory) = &mut outcome.results[pair].memory {
            memory.times_offline = Some(times);
        }
    }
    if !below.is_empty() {
        outcome.notes.extend(ReplayNote::of_plan(vec![format!(
            "{name} is no bound here: fewer cycles are taken by {}",
            below.join(", ")
        )]));
    }
    if limits.memory < MemoryLimits::none().memory {
        outcome.notes.extend(ReplayNote::of_plan(vec![format!(
            "memory is limited: {name} is a bound for the policies compared here, and for no others"
        )]));
    }
}

/// The cycles of a result that a policy with foresight minimizes; `None` if memory was used up.
fn cycles_of(result: &CellResult, which: Cycles) -> Option<u64> {
    let memory = result.memory.as_ref()?;
    let others = match which {
        Cycles::All => memory.fault_cycles + memory.daemon_cycles,
        Cycles::Tlb => memory.promotion_cycles,
    };
    let known = memory.out_of_memory_after.is_none();
    known.then(|| result.walk_cycles + memory.bookkeeping_cycles + others)
}

/// The result of each run, if the trace ends here.
pub(super) fn results(worlds: &Worlds<'_>, stream: &Stream, plan: &Plan) -> Vec<CellResult> {
    let baseline = plan.baseline().name();
    // Pages of another size fault at other times: each machine has a baseline of its own.
    let base_faults = |of: &Mmu<'_>| {
        let all = (0..worlds.runs()).map(|number| worlds.run(number));
        let mut same = all.filter(|(world, mmu)| {
            world.policy.name() == baseline && mmu.machine.name == of.machine.name
        });
        same.next()
            .map_or(0, |(world, _)| world.system.counters().page_faults)
    };
    (0..worlds.runs())
        .map(|number| worlds.run(number))
        .map(|run| result(run, stream, base_faults(run.1)))
        .collect()
}

fn result((world, mmu): (&World<'_>, &Mmu<'_>), stream: &Stream, base_faults: u64) -> CellResult {
    let counters = world.system.counters();
    let totals = world.totals(&stream.spaces);
    let cores = world.cores_of(mmu);
    let lookups = TlbTotals::of(cores.iter().copied().flatten());
    let mut walks = Walks::new();
    let mut page_sizes = BTreeMap::new();
    for (level, count) in lookups.walks.iter().enumerate() {
        let size = world.system.size(level);
        walks.add(mmu.walked_as[level], *count);
        page_sizes.insert(size.bytes(), totals.mappings[level]);
    }
    let ended = world.ended.map(|time| stream.since_begun(time));
    let accesses = ended.unwrap_or(stream.summary.accesses);
    let instructions = match ended {
        Some(_) => world.instructions,
        None => stream.summary.instructions,
    };
    let walk_cycles = mmu.walk_cycles();
    let bookkeeping_cycles = world.charged.as_ref().map_or(0, |charged| charged.cycles);
    let colours = world.policy.needs().colours;
    let scatters = colours.filter(|rule| rule.scatters);
    let parts = [walk_cycles, bookkeeping_cycles, counters.copy_cycles];
    let last = Sample {
        time: world.ended.unwrap_or(stream.now()),
        ..world.system.sample()
    };
    let earlier = world
        .samples
        .iter()
        .filter(|sample| sample.time < last.time);
    CellResult {
        policy: world.policy.name(),
        machine: mmu.machine.name.clone(),
        accesses,
        l1_misses: lookups.second_hits + lookups.third_hits + walks.total(),
        l2_misses: lookups.third_hits + walks.total(),
        tlb: mmu.tlb_result(&lookups),
        caches: mmu.cached.as_ref().map(|cached| cached.result(&cores)),
        walks,
        walk_cycles,
        curve: world.curve_of(mmu),
        memory: Some(MemoryResult {
            base_page_bytes: world.system.size(0).bytes(),
            page_sizes,
            write_faults: counters.write_faults,
            peak_superpage_pages: counters.peak_in_superpages,
            swapped_out_pages: counters.swapped_out,
            swapped_in_pages: counters.swapped_in,
            file_pages_read: counters.file_reads,
            read_around_pages: counters.read_around,
            file_pages_written: counters.file_writes,
            unsaved_file_pages: totals.unsaved_file_pages,
            cache_hits: counters.cache_hits,
            reservations: counters.reservations,
            reservations_broken: counters.reservations_broken,
            extents_refused: counters.extents_refused,
            kernel_l1_misses: stream.kernel().map(|_| lookups.kernel.first_misses),
            kernel_walks: stream.kernel().map(|_| lookups.kernel.walks),
            part_filled_superpages_broken: (stream.spaces.follows_kernel())
                .then_some(counters.part_filled_broken),
            other_colour_pages: colours.map(|_| counters.other_colours),
            foreign_colour_pages: colours.map(|_| counters.foreign_colours),
            scattered_superpages: scatters.map(|_| counters.scattered_superpages),
            frames_beside_scattered: scatters.map(|_| totals.beside_scattered),
            copied_bytes: counters.copied * world.system.size(0).bytes(),
            migrated_pages: counters.migrated,
            zeroed_pages: counters.zeroed,
            zeroed_ahead_pages: counters.zeroed_ahead,
            fault_cycles: counters.fault_cycles,
            worst_fault_cycles: counters.worst_fault_cycles,
            daemon_cycles: counters.daemon_cycles,
            promotion_cycles: counters.promotion_cycles,
            copy_cycles: counters.copy_cycles,
            bookkeeping_cycles,
            tlbmcpi: Tlbmcpi::new(parts, instructions),
            times_offline: None,
            free_contiguity: by_order(&last.extents),
            in_swap_pages: totals.in_swap,
            out_of_memory_after: ended,
            at_peak: sample_of(&world.peak, stream),
            over_time: earlier
                .chain([&last])
                .map(|sample| sample_of(sample, stream))
                .collect(),
        }),
        ..of_memory(
            &counters.common(),
            &totals.common,
            world.system.refusals(),
            stream,
            base_faults,
        )
    }
}

fn by_order(extents: &[u64]) -> BTreeMap<u8, u64> {
    (0..).zip(extents.iter().copied()).collect()
}

fn sample_of(sample: &Sample, stream: &Stream) -> MemorySample {
    MemorySample {
        time: stream.since_begun(sample.time),
        resident_pages: sample.resident,
        bloat_pages: sample.bloat,
        superpage_pages: sample.in_superpages,
        free_frames: sample.free,
        mapped_frames: sample.mapped,
        occupied_frames: sample.occupied,
        reserved_frames: sample.reserved,
        wired_frames: sample.wired,
        file_cache_frames: sample.file_cache,
        free_contiguity: by_order(&sample.possible),
        page_faults: sample.counters.page_faults,
        promotions: sample.counters.promotions,
        reservations_broken: sample.counters.reservations_broken,
        swapped_out_pages: sample.counters.swapped_out,
        swapped_in_pages: sample.counters.swapped_in,
        file_pages_read: sample.counters.file_reads,
        file_pages_written: sample.counters.file_writes,
        fault_cycles: sample.counters.fault_cycles,
    }
}
