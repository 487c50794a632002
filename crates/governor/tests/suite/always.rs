//! Invariants under random programs.

use crate::common;
use crate::common::FakeWorld;
use crate::common::deeds::{BLOCKS, Deed, budget, deed, policy, run};
use broadleaf_governor::{Allowance, Budgets};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_superpages_add_stays_within_bytes(
        policy in policy(),
        mib in 0..40_u64,
        deeds in prop::collection::vec(deed(true), 1..60),
    ) {
        let budgets = Budgets { added: Allowance::Bytes(mib << 20), ..Budgets::DEFAULT };
        run(policy, budgets, deeds, |world, _| {
            let most = (mib << 20) + (2 << 20);
            let added = world.fake().added_bytes();
            assert!(added <= most, "{added} of {most}");
        });
    }

    #[test]
    fn what_superpages_add_stays_within_a_budget(
        policy in policy(),
        added in budget(),
        deeds in prop::collection::vec(deed(false), 1..60),
    ) {
        let budgets = Budgets { added, ..Budgets::DEFAULT };
        run(policy, budgets, deeds, |world, _| {
            let (added, rss) = (world.fake().added_bytes(), world.fake().rss_bytes());
            let most = budgets.added.bytes(rss - added.min(rss)) + (2 << 20);
            assert!(added <= most, "{added} of {most}");
            // The frames that no program uses are fewer, and the ward knows all of them.
            let filled = world.fake().filled_bytes();
            let known = world.governor.ward().added_bytes();
            assert!(filled <= most, "{filled} of {most} filled");
            assert!(filled <= known + (2 << 20), "{filled}, and {known} known of");
        });
    }

    #[test]
    fn nothing_is_promoted_while_memory_is_short(
        deeds in prop::collection::vec(deed(true), 1..60),
    ) {
        let budgets = common::UNLIMITED;
        let mut world = FakeWorld::new("greedy", budgets, BLOCKS);
        world.fake().pressure = Some(5000);
        for deed in deeds {
            if let Deed::Program(_, step) = deed {
                world.step(step);
                world.tick();
            }
        }
        assert_eq!(world.collapses(), 0);
    }
}
