//! Assignment of page sizes, compared with the slow model of the oracle after each step: frames,
//! superpages, copies and the cycles of gathers (Talluri 1995, sections 6.2, 6.4 and 6.6).

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Costs, Place, Spec};
use broadleaf_oracle::{AssignedCounts, AssignedMemory, AssignmentRule, Frames, GatherCosts};
use proptest::prelude::*;

/// The pages of a block.
const BLOCK: u64 = 16;
const BLOCKS: u64 = 5;
const FRAMES: u64 = 1024;
/// The KiB of a base page.
const KIB: u64 = 4;
/// The accesses between two rounds of the working set.
const PERIOD: u64 = 1000;

/// A policy, and its rule in the oracle.
fn policies() -> Vec<(String, AssignmentRule)> {
    let share = |share, reserves, gathers| AssignmentRule::Share {
        share,
        reserves,
        gathers,
    };
    let set = |promote, demote| AssignmentRule::WorkingSet { promote, demote };
    let mut policies = vec![
        ("foxtrot".to_owned(), share(100, true, false)),
        ("foxtrot(heap=50)".to_owned(), share(50, true, false)),
        ("foxtrot(gather=yes)".to_owned(), share(100, true, true)),
        (
            "foxtrot(gather=yes,heap=50)".to_owned(),
            share(50, true, true),
        ),
        (
            "foxtrot(gather=yes,reserve=no,heap=75)".to_owned(),
            share(75, false, true),
        ),
        (
            "place(gather=25)".to_owned(),
            AssignmentRule::Repair { share: 25 },
        ),
        (
            "place(gather=100)".to_owned(),
            AssignmentRule::Repair { share: 100 },
        ),
    ];
    for (promote, demote) in [(50, 31), (25, 20), (100, 99)] {
        let parameters = format!("promote={promote},demote={demote},demotes=always");
        policies.push((
            format!("working-set({parameters},scan_period={PERIOD})"),
            set(promote, demote),
        ));
    }
    policies
}

/// A step of a program.
#[derive(Clone, Debug)]
enum SlowStep {
    /// Maps the rest of a block, of which a part was mapped at first.
    Grow(u64),
    /// References to pages: the first, and how many, upwards or downwards.
    Refer(u64, u64, bool),
    /// Discards pages.
    Discard(u64, u64),
    /// The daemon's next turn.
    Round,
}

fn steps() -> impl Strategy<Value = Vec<SlowStep>> {
    let page = 0..BLOCKS * BLOCK;
    let step = prop_oneof![
        1 => (0..BLOCKS).prop_map(SlowStep::Grow),
        8 => (page.clone(), 1_u64..12, any::<bool>())
            .prop_map(|(first, count, up)| SlowStep::Refer(first, count, up)),
        2 => (page, 1_u64..20).prop_map(|(first, count)| SlowStep::Discard(first, count)),
        2 => Just(SlowStep::Round),
    ];
    prop::collection::vec(step, 1..40)
}

fn oracle_costs(costs: &Costs) -> GatherCosts {
    GatherCosts {
        page: costs.find + costs.lock + costs.free + costs.invalidate + costs.shootdown,
        copy: KIB * costs.copy_kib,
        zero: KIB * costs.zero_kib,
        extent: costs.extent,
        promotion: costs.promotion,
    }
}

fn frames_of(world: &TestMemory<'_>) -> Frames {
    let pages = world.system.frames_of_pages();
    pages.map(|(at, frame)| (at.page, frame)).collect()
}

/// Replays steps under a policy, in memory and in the oracle. Returns the counts.
fn compare(
    name: &str,
    rule: AssignmentRule,
    mapped: &[u64],
    steps: &[SlowStep],
) -> Result<AssignedCounts, TestCaseError> {
    let policy = policy(name);
    let spec = Spec {
        swap: 0,
        ..spec(&[0, 4], FRAMES)
    };
    let mut world = TestMemory::new(policy.as_ref(), &spec);
    let mut slow = AssignedMemory::new(rule, BLOCK, oracle_costs(&spec.costs));
    let mut grown: Vec<u64> = mapped.to_vec();
    for (block, count) in (0..).zip(mapped) {
        let pages = block * BLOCK..block * BLOCK + count;
        world.map(SPACE, Backing::Anonymous, pages.clone());
        slow.map(pages);
    }
    let mut time = 0;
    for step in steps {
        match step {
            SlowStep::Grow(block) => {
                let from = &mut grown[*block as usize];
                let pages = block * BLOCK + *from..(block + 1) * BLOCK;
                *from = BLOCK;
                if !pages.is_empty() {
                    world.map(SPACE, Backing::Anonymous, pages.clone());
                    slow.map(pages);
                }
            }
            SlowStep::Refer(first, count, up) => {
                let pages = *first..(first + count).min(BLOCKS * BLOCK);
                let mut pages: Vec<u64> = pages.collect();
                if !up {
                    pages.reverse();
                }
                for page in pages {
                    if page % BLOCK < grown[(page / BLOCK) as usize] {
                        world.touch(SPACE, [page], true);
                        let done = slow.refer(page, &frames_of(&world));
                        prop_assert_eq!(done, Ok(()), "{}: page {}", name, page);
                    }
                }
            }
            SlowStep::Discard(first, count) => {
                let pages = *first..(first + count).min(BLOCKS * BLOCK);
                world.discard(SPACE, pages.clone());
                slow.discard(pages);
            }
            SlowStep::Round => {
                time += PERIOD;
                world.pass(time);
                prop_assert_eq!(slow.round(&frames_of(&world)), Ok(()), "{}", name);
            }
        }
        prop_assert_eq!(slow.frames(), &frames_of(&world), "{}: {:?}", name, step);
        for block in 0..BLOCKS {
            let first = Place {
                space: SPACE,
                page: block * BLOCK,
            };
            let is_superpage = world.system.level_at(first) == 1;
            let expected = slow.superpages().contains(&block);
            prop_assert_eq!(
                is_superpage,
                expected,
                "{}: {:?}, block {}",
                name,
                step,
                block
            );
        }
        let counters = world.counters();
        let counts = AssignedCounts {
            faults: counters.page_faults,
            promotions: counters.promotions,
            demotions: counters.demotions,
            copied: counters.copied,
            repaired: counters.repaired,
            gather_cycles: counters.copy_cycles,
        };
        prop_assert_eq!(slow.counts, counts, "{}: {:?}", name, step);
    }
    Ok(slow.counts)
}

/// The pages of each block that are mapped at first: all, or a few.
fn mapped() -> impl Strategy<Value = Vec<u64>> {
    let count = prop_oneof![2 => Just(BLOCK), 1 => 1..BLOCK];
    prop::collection::vec(count, BLOCKS as usize)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn pages_lie_where_the_slow_model_says(mapped in mapped(), steps in steps()) {
        for (name, rule) in policies() {
            compare(&name, rule, &mapped, &steps)?;
        }
    }
}

/// Each mechanism is used by the steps that the property test makes, so the test fails without it.
#[test]
fn each_mechanism_is_compared() {
    let mapped = [8, BLOCK, BLOCK, BLOCK, BLOCK];
    let steps = [
        SlowStep::Refer(0, 8, false),
        SlowStep::Grow(0),
        SlowStep::Refer(8, 11, false),
        SlowStep::Refer(16, 16, true),
        SlowStep::Round,
        SlowStep::Refer(17, 1, true),
        SlowStep::Round,
        SlowStep::Discard(20, 2),
    ];
    let counts = policies().into_iter().map(|(name, rule)| {
        let counts = compare(&name, rule, &mapped, &steps);
        (name, counts.expect("equal"))
    });
    let counts: Vec<_> = counts.collect();
    let of = |name: &str| {
        let found = counts.iter().find(|(known, _)| known.starts_with(name));
        found.expect("a policy").1
    };
    assert_eq!((of("foxtrot").promotions, of("foxtrot").copied), (1, 0));
    let gathers = of("foxtrot(gather=yes)");
    assert_eq!((gathers.promotions, gathers.copied), (2, BLOCK));
    assert!(gathers.gather_cycles > 0 && gathers.demotions == 1);
    assert_eq!(of("place(gather=100)").repaired, 1);
    let set = of("working-set(promote=50");
    assert_eq!((set.promotions, set.demotions), (2, 1));
}
