//! Checks of the oracle against itself on random traces.

use broadleaf_oracle::random::{Rng, Script};
use broadleaf_oracle::split::split;
use broadleaf_oracle::{
    Counts, Machine, OwnedItem, Pace, PolicySpec, Recording, replay, replay_items,
};
use broadleaf_trace::Event;

fn counts(recording: &Recording, policy: PolicySpec) -> Counts {
    replay(recording, policy, Machine::Skylake)
}

#[test]
fn a_script_tells_the_same_trace_each_time() {
    for seed in 0..20 {
        assert_eq!(
            Script::from_seed(seed).recording(),
            Script::from_seed(seed).recording()
        );
    }
    assert_ne!(
        Script::from_seed(1).recording(),
        Script::from_seed(2).recording()
    );
}

/// The random traces are worth something only if they get everywhere.
#[test]
fn the_traces_reach_every_policy_every_refusal_and_every_event() {
    let mut total = std::collections::BTreeMap::<String, u64>::new();
    for seed in 0..150 {
        let recording = Script::from_seed(seed).recording();
        for item in &recording.items {
            if let OwnedItem::Event(event) = item {
                let text = format!("{event:?}");
                let name = text.split([' ', '(', '{']).next().unwrap_or_default();
                *total.entry(format!("event {name}")).or_default() += 1;
                if let Event::Advise(_, advice) = event {
                    *total.entry(format!("advice {advice:?}")).or_default() += 1;
                }
            }
        }
        for policy in PolicySpec::ALL {
            let counts = counts(&recording, policy);
            *total.entry(format!("{policy} promotions")).or_default() += counts.promotions;
            *total.entry(format!("{policy} demotions")).or_default() += counts.demotions;
            *total.entry("zeroed".into()).or_default() += counts.extra_zeroed_pages;
            *total.entry("disk".into()).or_default() += counts.extra_disk_read_pages;
            *total.entry("false dirty".into()).or_default() += counts.false_dirty_pages;
            for (reason, count) in counts.refusals {
                *total.entry(format!("{policy} {reason}")).or_default() += count;
            }
        }
    }
    println!("{total:#?}");
}
