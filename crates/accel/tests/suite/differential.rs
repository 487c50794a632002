//! The engine against the oracle, on random traces: every count and every refusal of every policy
//! has to be equal, on each of the machines that are built in.
//!
//! `BROADLEAF_CASES` sets the number of traces (default: 1,000). A differing trace is cut down to
//! the necessary steps and visits, and printed with its seed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use broadleaf_accel::{reduce, run};
use broadleaf_metrics::CellResult;
use broadleaf_model::{Items, MemoryLimits, Plan, Source, SourcePart, SourcePiece};
use broadleaf_oracle::random::{Rng, Script, shrink, thin};
use broadleaf_oracle::split::split;
use broadleaf_oracle::{
    OracleCounts as Counts, OracleMachine as Machine, OwnedItem, PolicySpec, Recording, alone,
};
use broadleaf_trace::reduced::{ReducedPartReader, ReducedReader};
use broadleaf_trace::{
    Encoder, Header, Options, PartItem, PartReader, Recoder, TraceReader, Visit,
};
use broadleaf_units::PageSize;

/// The names of counts, and of refusals with `refused:` before them, with their numbers; zeroes
/// left out.
type CountsByName = BTreeMap<String, i64>;

fn cases(of_thousand: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_CASES");
    let all: u64 = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1000);
    (all * of_thousand).div_ceil(1000)
}

/// The nineteen policies, and a few whose numbers random traces pass more often.
fn policies(rng: &mut Rng) -> Vec<PolicySpec> {
    let mut policies = PolicySpec::ALL.to_vec();
    policies.push(PolicySpec::Life(1 + rng.below(2000)));
    policies.push(PolicySpec::Pop(2 + rng.below(510)));
    policies.push(PolicySpec::Dirty(1 + rng.below(20)));
    policies.push(PolicySpec::Advice {
        anonymous: 1 + rng.below(20),
        file: 1 + rng.below(40),
        file_dirty: 1 + rng.below(20),
    });
    policies
}

/// The machine that a seed's traces are replayed on: each of those that are built in has its turn.
fn machine_of(seed: u64) -> Machine {
    Machine::ALL[(seed % Machine::ALL.len() as u64) as usize]
}

fn engine(recording: &Recording, policies: &[PolicySpec], machine: Machine) -> Vec<CountsByName> {
    replayed(recording, policies, machine, |plan| plan)
}

/// The model's counts under a changed plan.
fn replayed(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    // Cut and shared out as the trace's length has it: results depend on neither.
    in_parts(
        recording,
        policies,
        machine,
        1 + recording.items.len() % 7,
        more,
    )
}

/// The model's counts of a trace that is cut into parts of `part` items.
fn in_parts(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
    part: usize,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let length = recording.items.len();
    let mut items = Items::new(recording.grain).in_parts_of(part);
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => items.visits(visits.iter().copied()),
            OwnedItem::Event(event) => items.event(event.clone()),
        };
    }
    of_source(&mut items, length, policies, machine, more)
}

/// The model's counts of a source with a trace of `items` items.
fn of_source<S: Source<Error: std::fmt::Debug>>(
    source: &mut S,
    length: usize,
    policies: &[PolicySpec],
    machine: Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let parse =
        |policy: &PolicySpec| broadleaf_policy::parse(&policy.to_string()).expect("a policy");
    let named: Vec<_> = policies.iter().map(parse).collect();
    let names: Vec<String> = named.iter().map(|policy| policy.name()).collect();
    let machine_name = machine.to_string();
    let machine = broadleaf_machine::machine(&machine_name).expect("a machine");
    let plan = Plan::new(named, vec![machine]).expect("a plan");
    // Half of them decode a trace anew where a policy needs to know the future.
    let kept = if length.is_multiple_of(2) { 0 } else { 1 << 20 };
    let plan = more(plan.on_threads(1 + length % 3).keeping_decoded(kept));
    let outcome = run(source, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let trace = &outcome.trace;
    (outcome.results.iter().zip(names))
        .map(|(result, name)| {
            assert_eq!((&result.policy, &result.machine), (&name, &machine_name));
            assert_eq!(
                (trace.accesses, trace.pages),
                (result.accesses, result.touched_pages)
            );
            let mut figures = figures_of_engine(result, trace.loads, trace.stores);
            for point in result
                .curve
                .iter()
                .flatten()
                .filter(|point| point.misses > 0)
            {
                let name = format!("{} {}x{}", point.page_size, point.sets, point.ways);
                figures.insert(name, point.misses as i64);
            }
            figures
        })
        .collect()
}

fn figures(list: &[(&str, i64)], refusals: impl Iterator<Item = (String, u64)>) -> CountsByName {
    let refusals = refusals.map(|(reason, count)| (format!("refused: {reason}"), count as i64));
    let counts = list.iter().map(|&(name, count)| (name.to_string(), count));
    counts
        .chain(refusals)
        .filter(|&(_, count)| count != 0)
        .collect()
}

fn figures_of_engine(result: &CellResult, loads: u64, stores: u64) -> CountsByName {
    assert_eq!(result.walks.total(), result.l2_misses);
    figures(
        &[
            ("accesses", result.accesses as i64),
            ("loads", loads as i64),
            ("stores", stores as i64),
            ("l1_misses", result.l1_misses as i64),
            ("l2_misses", result.l2_misses as i64),
            ("walks_4k", result.walks.of(PageSize::SIZE_4K) as i64),
            ("walks_2m", result.walks.of(PageSize::SIZE_2M) as i64),
            ("walk_cycles", result.walk_cycles as i64),
            ("page_faults", result.page_faults as i64),
            ("faults_saved", result.faults_saved),
            ("promotions", result.promotions as i64),
            ("demotions", result.demotions as i64),
            ("extra_zeroed_pages", result.extra_zeroed_pages as i64),
            ("extra_disk_read_pages", result.extra_disk_read_pages as i64),
            ("false_dirty_pages", result.false_dirty_pages as i64),
            (
                "false_dirty_pages_anonymous",
                result.false_dirty_pages_anonymous as i64,
            ),
            (
                "false_dirty_pages_file",
                result.false_dirty_pages_file as i64,
            ),
            (
                "clean_pages_in_superpages",
                result.clean_pages_in_superpages as i64,
            ),
            (
                "clean_pages_in_superpages_anonymous",
                result.clean_pages_in_superpages_anonymous as i64,
            ),
            (
                "clean_pages_in_superpages_file",
                result.clean_pages_in_superpages_file as i64,
            ),
            ("touched_pages", result.touched_pages as i64),
            (
                "touched_pages_anonymous",
                result.touched_pages_anonymous as i64,
            ),
            ("touched_pages_file", result.touched_pages_file as i64),
            ("resident_pages", result.resident_pages as i64),
            ("peak_resident_pages", result.peak_resident_pages as i64),
            ("regions", result.regions as i64),
            ("regions_anonymous", result.regions_anonymous as i64),
            ("regions_file", result.regions_file as i64),
        ],
        result
            .refusals
            .iter()
            .map(|(reason, &count)| (reason.clone(), count)),
    )
}

fn oracle(recording: &Recording, policies: &[PolicySpec], machine: Machine) -> Vec<CountsByName> {
    let counts = |policy| broadleaf_oracle::replay(recording, policy, machine);
    let base = counts(PolicySpec::FourK);
    let result = |&policy| {
        if policy == PolicySpec::FourK {
            base.clone()
        } else {
            counts(policy)
        }
    };
    policies
        .iter()
        .map(|policy| figures_of_oracle(result(policy), base.page_faults))
        .collect()
}

fn figures_of_oracle(counts: Counts, faults_of_4k: u64) -> CountsByName {
    figures(
        &[
            ("accesses", counts.accesses as i64),
            ("loads", counts.loads as i64),
            ("stores", counts.stores as i64),
            ("l1_misses", counts.l1_misses as i64),
            ("l2_misses", counts.l2_misses as i64),
            ("walks_4k", counts.walks_4k as i64),
            ("walks_2m", counts.walks_2m as i64),
            ("walk_cycles", counts.walk_cycles as i64),
            ("page_faults", counts.page_faults as i64),
            (
                "faults_saved",
                faults_of_4k as i64 - counts.page_faults as i64,
            ),
            ("promotions", counts.promotions as i64),
            ("demotions", counts.demotions as i64),
            ("extra_zeroed_pages", counts.extra_zeroed_pages as i64),
            ("extra_disk_read_pages", counts.extra_disk_read_pages as i64),
            ("false_dirty_pages", counts.false_dirty_pages as i64),
            (
                "false_dirty_pages_anonymous",
                counts.false_dirty_pages_anonymous as i64,
            ),
            (
                "false_dirty_pages_file",
                counts.false_dirty_pages_file as i64,
            ),
            (
                "clean_pages_in_superpages",
                counts.clean_pages_in_superpages as i64,
            ),
            (
                "clean_pages_in_superpages_anonymous",
                counts.clean_pages_in_superpages_anonymous as i64,
            ),
            (
                "clean_pages_in_superpages_file",
                counts.clean_pages_in_superpages_file as i64,
            ),
            ("touched_pages", counts.touched_pages as i64),
            (
                "touched_pages_anonymous",
                counts.touched_pages_anonymous as i64,
            ),
            ("touched_pages_file", counts.touched_pages_file as i64),
            ("resident_pages", counts.resident_pages as i64),
            ("peak_resident_pages", counts.peak_resident_pages as i64),
            ("regions", counts.regions as i64),
            ("regions_anonymous", counts.regions_anonymous as i64),
            ("regions_file", counts.regions_file as i64),
        ],
        counts
            .refusals
            .into_iter()
            .map(|(reason, count)| (reason.to_string(), count)),
    )
}

/// The differences between two results, as readable lines.
fn differences(left: &CountsByName, right: &CountsByName) -> String {
    let mut text = String::new();
    let names: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let (l, r) = (left.get(name).unwrap_or(&0), right.get(name).unwrap_or(&0));
        if l != r {
            let _ = writeln!(text, "    {name}: {l} against {r}");
        }
    }
    text
}

/// A trace in lines; visits of one kind to units at equal distances are one line.
fn print(recording: &Recording) -> String {
    let mut text = format!("{:?} grain\n", recording.grain);
    for item in &recording.items {
        match item {
            OwnedItem::Event(event) => {
                let _ = writeln!(text, "  {event:x?}");
            }
            OwnedItem::Visits(visits) => {
                let mut rest = visits.as_slice();
                while let [first, ..] = rest {
                    let distance = rest
                        .get(1)
                        .map_or(0, |second| second.unit.wrapping_sub(first.unit));
                    let follows = |pair: &[Visit]| {
                        pair[1]
                            == Visit {
                                unit: pair[0].unit.wrapping_add(distance),
                                ..pair[0]
                            }
                    };
                    let run = 1 + rest.windows(2).take_while(|pair| follows(pair)).count();
                    let _ = writeln!(
                        text,
                        "  {run} times from {:#x} by {distance:#x}: {:?} lead, {} loads ({} \
                         first), {} stores, fetch {}",
                        first.unit,
                        first.lead,
                        first.loads,
                        first.loads_before_store,
                        first.stores,
                        first.fetch
                    );
                    rest = &rest[run..];
                }
            }
        }
    }
    text
}

/// Tries the seeds on as many threads as there are cores.
fn for_each_seed(count: u64, check: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        break;
                    }
                    check(seed);
                }
            });
        }
    });
}

/// Stops with the smallest trace in which `left` and `right` still differ for `policy`.
fn report(
    seed: u64,
    script: &Script,
    policy: PolicySpec,
    pair: impl Fn(&Recording) -> (CountsByName, CountsByName),
) -> ! {
    let differs = |recording: &Recording| {
        let (left, right) = pair(recording);
        left != right
    };
    let small = thin(&shrink(script, differs).recording(), differs);
    let (left, right) = pair(&small);
    panic!(
        "seed {seed}, {policy} on {}:\n{}{}",
        machine_of(seed),
        differences(&left, &right),
        print(&small)
    );
}

#[test]
fn every_count_equals_the_oracles() {
    for_each_seed(cases(1000), |seed| {
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        let both = engine(&recording, &policies, machine)
            .into_iter()
            .zip(oracle(&recording, &policies, machine));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                let one = [policy];
                report(seed, &script, policy, |recording| {
                    (
                        engine(recording, &one, machine).remove(0),
                        oracle(recording, &one, machine).remove(0),
                    )
                });
            }
        }
    });
}

/// The figures of the model alone: memory down to the frame that never runs short, and walks
/// through page tables.
fn in_ample_memory(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    let limited = |plan: Plan| plan.limited_to(MemoryLimits::none()).expect("a memory");
    let walked = |plan: Plan| limited(plan).walking_tables();
    replayed(recording, policies, machine, walked)
}

#[test]
fn memory_that_does_not_run_short_changes_no_count() {
    for_each_seed(cases(300), |seed| {
        let seed = seed + 5_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = alone(script.recording());
        let both = engine(&recording, &policies, machine)
            .into_iter()
            .zip(in_ample_memory(&recording, &policies, machine));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                let one = [policy];
                report(seed, &script, policy, |recording| {
                    let recording = alone(recording.clone());
                    (
                        engine(&recording, &one, machine).remove(0),
                        in_ample_memory(&recording, &one, machine).remove(0),
                    )
                });
            }
        }
    });
}

#[test]
fn visits_may_be_cut_anywhere() {
    for_each_seed(cases(250), |seed| {
        let seed = seed + 1_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let cut = |recording: &Recording| split(recording, &mut Rng::new(seed));
        let recording = script.recording();
        let both = engine(&cut(&recording), &policies, machine)
            .into_iter()
            .zip(engine(&recording, &policies, machine));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        engine(&cut(recording), &[policy], machine).remove(0),
                        engine(recording, &[policy], machine).remove(0),
                    )
                });
            }
        }
    });
}

#[test]
fn policies_do_not_disturb_each_other() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 2_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        for (index, (together, &policy)) in engine(&recording, &policies, machine)
            .iter()
            .zip(&policies)
            .enumerate()
        {
            if *together != engine(&recording, &[policy], machine).remove(0) {
                report(seed, &script, policy, |recording| {
                    (
                        engine(recording, &policies, machine).remove(index),
                        engine(recording, &[policy], machine).remove(0),
                    )
                });
            }
        }
    });
}

#[test]
fn curves_do_not_depend_on_where_visits_are_cut() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 3_000_000;
        let script = Script::from_seed(seed);
        let mut rng = Rng::new(seed);
        let policies = [
            PolicySpec::FreeBsd,
            PolicySpec::Life(1 + rng.below(200)),
            PolicySpec::Life(1 + rng.below(2000)),
            PolicySpec::Pop(2 + rng.below(10)),
        ];
        let machine = machine_of(seed);
        let cut = |recording: &Recording| split(recording, &mut Rng::new(seed));
        let curves = |recording: &Recording, policies: &[PolicySpec]| {
            replayed(recording, policies, machine, Plan::with_curves)
        };
        let recording = script.recording();
        let both = curves(&cut(&recording), &policies)
            .into_iter()
            .zip(curves(&recording, &policies));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        curves(&cut(recording), &[policy]).remove(0),
                        curves(recording, &[policy]).remove(0),
                    )
                });
            }
        }
    });
}

/// The sieve depends on the machine, and curves do not. Some machines allow no deferred lookup and
/// skip only repeats of the newest page. There the curves see every visit that does not repeat it.
/// Reservations fall due at all times, those of visits among them.
#[test]
fn curves_do_not_depend_on_the_machine() {
    for_each_seed(cases(400), |seed| {
        let seed = seed + 7_000_000;
        let recording = Script::from_seed(seed).recording();
        let mut rng = Rng::new(seed);
        let policies = [
            PolicySpec::Life(1 + rng.below(20)),
            PolicySpec::Life(1 + rng.below(200)),
            PolicySpec::Pop(2 + rng.below(10)),
        ];
        let curves = |machine| {
            let mut all = replayed(&recording, &policies, machine, Plan::with_curves);
            for figures in &mut all {
                figures.retain(|name, _| name.starts_with("4096 ") || name.starts_with("2097152 "));
                assert!(!figures.is_empty(), "no curve");
            }
            all
        };
        let right = curves(Machine::ALL[0]);
        for machine in Machine::ALL {
            assert_eq!(curves(machine), right, "seed {seed}, {machine}");
        }
    });
}

#[test]
fn a_curve_changes_no_other_count() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 4_000_000;
        let recording = Script::from_seed(seed).recording();
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let without = engine(&recording, &policies, machine);
        let with = replayed(&recording, &policies, machine, Plan::with_curves);
        for (without, mut with) in without.into_iter().zip(with) {
            with.retain(|name, _| without.contains_key(name));
            assert_eq!(with, without, "seed {seed}");
        }
    });
}

/// Visits with much locality: two places that share sets of the larger page's structure, and now
/// and then another.
fn near(count: usize) -> Vec<Visit> {
    use broadleaf_trace::synth::SplitMix64;
    let mut random = SplitMix64::new(7);
    let visit = |random: &mut SplitMix64| {
        let block = match random.below(40) {
            0 => random.below(64),
            _ => random.below(2),
        };
        Visit {
            unit: (block << 9) + random.below(12) * 16,
            loads: 1,
            stores: u32::from(random.below(9) == 0),
            loads_before_store: 1,
            ..Visit::default()
        }
    };
    (0..count).map(|_| visit(&mut random)).collect()
}

/// Visits in items of 1024.
fn recording_of(visits: &[&[Visit]]) -> Recording {
    Recording {
        grain: broadleaf_trace::Grain::Page,
        items: (visits.iter())
            .flat_map(|visits| visits.chunks(1024))
            .map(|visits| OwnedItem::Visits(visits.to_vec()))
            .collect(),
    }
}

/// Long enough that the sieve sees that most of one part gets through it, and little of another.
#[test]
fn long_traces_with_and_without_locality() {
    use broadleaf_trace::synth::updates;
    let near = near(150_000);
    let spread: Vec<Visit> = updates(0, 1 << 15, 150_000, 3).collect();
    let recording = recording_of(&[&near, &spread, &near, &spread, &near]);
    let policies = [
        PolicySpec::FreeBsd,
        PolicySpec::Pop(64),
        PolicySpec::Life(100_000),
        // Groups that differ in a few entries, and one that never promotes.
        PolicySpec::Dirty(64),
        PolicySpec::Pop(300),
        PolicySpec::Dirty(300),
        PolicySpec::Foresight,
        PolicySpec::FourK,
    ];
    for machine in [Machine::ALL[0], Machine::ALL[3]] {
        let right = oracle(&recording, &policies, machine);
        for parts in [0, 1, 200] {
            let left = match parts {
                0 => of_recoded(&recording, &policies, machine, |plan| plan),
                parts => in_parts(&recording, &policies, machine, parts, |plan| plan),
            };
            for ((left, right), policy) in left.iter().zip(&right).zip(&policies) {
                assert_eq!(differences(left, right), "", "{policy} on {machine}");
            }
        }
    }
}

/// The sieve looks away for 15 steps of 2^16 visits, and then again at what it knew nothing of.
#[test]
fn what_comes_after_a_long_stretch_without_locality() {
    use broadleaf_trace::synth::updates;
    let near = near(100 << 10);
    for steps in [15, 16] {
        let spread: Vec<Visit> = updates(0, 1 << 12, steps << 16, 3).collect();
        let recording = recording_of(&[&spread, &near]);
        let policies = [PolicySpec::Pop(64)];
        let right = oracle(&recording, &policies, Machine::ALL[0]);
        let whole = recording.items.len();
        let left = in_parts(&recording, &policies, Machine::ALL[0], whole, |plan| {
            plan.on_threads(1)
        });
        assert_eq!(differences(&left[0], &right[0]), "", "{steps} steps");
    }
}

/// If many visits are kept, pieces are cut and lists are reused.
#[test]
fn curves_do_not_depend_on_how_much_is_kept_at_a_time() {
    use broadleaf_trace::synth::updates;
    let near = near(20_000);
    let spread: Vec<Visit> = updates(0, 1 << 13, 60_000, 3).collect();
    let recording = recording_of(&[&near, &spread, &near]);
    let policies = [PolicySpec::Life(30_000), PolicySpec::Pop(64)];
    for policies in [&policies[..], &policies[1..]] {
        let curves = |part: usize, threads: usize| {
            in_parts(&recording, policies, Machine::ALL[0], part, |plan| {
                plan.with_curves().on_threads(threads)
            })
        };
        let right = curves(1, 1);
        for (part, threads) in [(1000, 1), (1000, 2), (30, 3)] {
            assert_eq!(curves(part, threads), right, "{part}, {threads} threads");
        }
    }
}

/// The model's counts of a trace that was written and recoded, so that its parts name repeats.
fn of_recoded(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let header = Header {
        options: Options {
            instruction_counts: true,
            events: true,
            children: true,
            ..Options::default()
        },
        ..Header::new(recording.grain)
    };
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => {
                // This model does not count fetches.
                let data: Vec<Visit> = (visits.iter().copied())
                    .filter(|visit| !visit.fetch)
                    .collect();
                encoder.visits(&data).expect("visits");
            }
            OwnedItem::Event(event) => encoder.event(event).expect("an event"),
        }
    }
    let bytes = recoded(&encoder.finish().expect("a trace"));
    let mut source = RecodedBytes::new(&bytes, false);
    of_source(&mut source, recording.items.len(), policies, machine, more)
}

/// A trace in version 2.
pub(crate) fn recoded(bytes: &[u8]) -> Vec<u8> {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let header = reader.header().clone();
    let mut writer = Recoder::writer(Vec::new(), &header).expect("a head");
    let mut recoder = Recoder::new(&header, 1).expect("a level");
    while let Some(part) = reader.next_part().expect("a part") {
        let recoded = recoder.recode(part).expect("a whole part");
        for chunk in recoded.chunks {
            writer.write(chunk).expect("a chunk");
        }
        reader.close(recoded.closed.expect("a part"));
    }
    writer.finish().expect("an end")
}

/// A recoded trace in memory.
pub(crate) struct RecodedBytes<'a> {
    bytes: &'a [u8],
    reader: TraceReader<&'a [u8]>,
    /// Fetches are visits of their own.
    fetches: bool,
}

impl<'a> RecodedBytes<'a> {
    /// A source that begins at the start of the trace.
    pub(crate) fn new(bytes: &'a [u8], fetches: bool) -> Self {
        Self {
            bytes,
            reader: TraceReader::new(bytes).expect("a trace"),
            fetches,
        }
    }
}

pub(crate) struct RecodedPart(PartReader);

impl SourcePart for RecodedPart {
    type Error = String;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, String> {
        let item = self.0.next_part_item().map_err(|error| error.to_string())?;
        assert!(!matches!(item, Some(PartItem::Visits(_))), "not recoded");
        Ok(item.map(SourcePiece::from))
    }
}

impl Source for RecodedBytes<'_> {
    type Error = String;
    type Part = RecodedPart;

    fn grain(&self) -> broadleaf_trace::Grain {
        self.reader.header().grain
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.reader = TraceReader::new(self.bytes).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<RecodedPart>, String> {
        let part = self.reader.next_part().map_err(|error| error.to_string())?;
        Ok(part.map(|part| {
            let mut reader = PartReader::new(self.grain(), self.fetches);
            reader.begin(part);
            RecodedPart(reader)
        }))
    }

    fn close(&mut self, RecodedPart(mut reader): RecodedPart) -> Result<ControlFlow<()>, String> {
        self.reader.close(reader.close().expect("a part"));
        Ok(ControlFlow::Continue(()))
    }
}

/// Curves and all.
#[test]
fn a_recoded_trace_gives_the_counts_of_the_trace() {
    for_each_seed(cases(300), |seed| {
        let seed = seed + 6_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        let more = |plan: Plan| match seed % 3 {
            0 => plan.with_curves(),
            _ => plan,
        };
        let both = of_recoded(&recording, &policies, machine, more)
            .into_iter()
            .zip(replayed(&recording, &policies, machine, more));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        of_recoded(recording, &[policy], machine, more).remove(0),
                        replayed(recording, &[policy], machine, more).remove(0),
                    )
                });
            }
        }
    });
}

/// The model's counts of the reduced form of a trace, written and read again.
fn of_reduced(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    use broadleaf_trace::reduced::{ReducedHeader, ReducedWriter};
    let length = recording.items.len();
    let mut items = Items::new(recording.grain).in_parts_of(1 + length % 5);
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => items.visits(visits.iter().copied()),
            OwnedItem::Event(event) => items.event(event.clone()),
        };
    }
    let machine = broadleaf_machine::machine(&machine.to_string()).expect("a machine");
    let header = ReducedHeader::default();
    let mut writer = ReducedWriter::new(Vec::new(), &header).expect("a head");
    let mut each = |piece: SourcePiece<'_>| {
        match piece {
            SourcePiece::Reduced(visits, sums) => writer.visits(visits, &sums).expect("visits"),
            SourcePiece::Event(event) => writer.event(event).expect("an event"),
            SourcePiece::Visits(_) | SourcePiece::Phrased(_) => unreachable!("it is reduced"),
        }
        ControlFlow::Continue(())
    };
    let mut go_on = |_| ControlFlow::Continue(());
    let machines = [machine];
    reduce(&mut items, &machines, 1 + length % 3, &mut each, &mut go_on).expect("a trace");
    let (bytes, _) = writer.finish().expect("an end");
    let named = policies
        .iter()
        .map(|policy| broadleaf_policy::parse(&policy.to_string()).expect("a policy"));
    let plan = Plan::new(named.collect(), machines.into()).expect("a plan");
    let mut source = ReducedBytes(bytes, 0);
    let outcome = run(&mut source, &plan, &mut go_on).expect("a replay");
    let (loads, stores) = (outcome.trace.loads, outcome.trace.stores);
    (outcome.results.iter())
        .map(|result| figures_of_engine(result, loads, stores))
        .collect()
}

/// A reduced trace in memory, and how many of its parts were handed out.
struct ReducedBytes(Vec<u8>, usize);

struct Pieces(ReducedPartReader);

impl SourcePart for Pieces {
    type Error = String;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, String> {
        let item = self.0.next_item().map_err(|error| error.to_string())?;
        Ok(item.map(SourcePiece::from))
    }
}

impl Source for ReducedBytes {
    type Error = String;
    type Part = Pieces;

    fn grain(&self) -> broadleaf_trace::Grain {
        broadleaf_trace::Grain::Page
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.1 = 0;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<Pieces>, String> {
        let text = |error: broadleaf_trace::TraceError| error.to_string();
        let mut reader = ReducedReader::new(self.0.as_slice()).map_err(text)?;
        for _ in 0..self.1 {
            reader.next_part().map_err(text)?;
        }
        self.1 += 1;
        let Some(part) = reader.next_part().map_err(text)? else {
            return Ok(None);
        };
        let mut pieces = ReducedPartReader::new();
        pieces.begin(part);
        Ok(Some(Pieces(pieces)))
    }

    fn close(&mut self, _: Pieces) -> Result<ControlFlow<()>, String> {
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn a_reduced_trace_gives_the_counts_of_the_trace() {
    for_each_seed(cases(300), |seed| {
        let seed = seed + 5_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        let both = of_reduced(&recording, &policies, machine)
            .into_iter()
            .zip(engine(&recording, &policies, machine));
        for ((left, right), &policy) in both.zip(&policies) {
            if left != right {
                report(seed, &script, policy, |recording| {
                    (
                        of_reduced(recording, &[policy], machine).remove(0),
                        engine(recording, &[policy], machine).remove(0),
                    )
                });
            }
        }
    });
}

#[test]
fn machines_do_not_disturb_each_other() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 6_000_000;
        let recording = Script::from_seed(seed).recording();
        let policies = policies(&mut Rng::new(seed));
        let together = replayed_on(&recording, &policies, &Machine::ALL);
        for (at, &machine) in Machine::ALL.iter().enumerate() {
            let alone = engine(&recording, &policies, machine);
            let of_machine = together.iter().skip(at).step_by(Machine::ALL.len());
            for ((left, right), policy) in of_machine.zip(&alone).zip(&policies) {
                assert_eq!(
                    differences(left, right),
                    "",
                    "seed {seed}, {policy} on {machine}"
                );
            }
        }
    });
}

/// The model's counts on several machines in one replay: policy by policy, the machines inside.
fn replayed_on(
    recording: &Recording,
    policies: &[PolicySpec],
    machines: &[Machine],
) -> Vec<CountsByName> {
    let mut items = Items::new(recording.grain);
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => items.visits(visits.iter().copied()),
            OwnedItem::Event(event) => items.event(event.clone()),
        };
    }
    let policies = policies
        .iter()
        .map(|policy| broadleaf_policy::parse(&policy.to_string()).expect("a policy"));
    let machines = machines
        .iter()
        .map(|machine| broadleaf_machine::machine(&machine.to_string()).expect("a machine"));
    let plan = Plan::new(policies.collect(), machines.collect()).expect("a plan");
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let (loads, stores) = (outcome.trace.loads, outcome.trace.stores);
    (outcome.results.iter())
        .map(|result| figures_of_engine(result, loads, stores))
        .collect()
}
