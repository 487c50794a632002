//! Each rule against a slow one that was written from the rule's text.

use crate::cases;
use broadleaf_machine::machine;
use broadleaf_oracle::random::Rng;
use broadleaf_oracle::{AgedTlb, FoundIn, OracleMachine, PageSizeKind, RuleSpec, RuledMachine};
use broadleaf_tlb::{Design, Lookup, REPLACEMENTS, ReplacementChoice, Structure, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize, SpaceId};
use std::collections::BTreeSet;

/// The rule in each structure whose ways can have it, and LRU elsewhere.
fn ruled(machine_name: &str, choice: &ReplacementChoice) -> Design {
    let design = machine(machine_name).expect("a machine").design;
    let mut structures: Vec<Structure> = design.structures().to_vec();
    for structure in &mut structures {
        if (choice.entry().refuses)(structure.ways).is_none() {
            structure.replacement = choice.clone();
        }
    }
    Design::new(structures).expect("a design")
}

/// Pages that fall into few sets of each structure.
fn page(rng: &mut Rng) -> u64 {
    let stride = rng.pick(&[1, 16, 129, 16 * 512, 128 * 512, 1 << 14, 1 << 14]);
    0x20_0000 + rng.below(18) * stride + rng.pick(&[0, 0, 0, 1, 511])
}

#[test]
fn every_rule_hits_and_misses_as_the_slow_one() {
    for rule in REPLACEMENTS {
        let mut seen = [0_u64; 3];
        for seed in 0..cases(1000) {
            let mut rng = Rng::new(seed);
            let mut choice = ReplacementChoice::from(*rule);
            if let Some(parameter) = rule.parameters.first() {
                let (least, most) = parameter.range().expect("a number");
                let value = least + rng.below(most - least);
                let value = value.to_string();
                choice
                    .set(parameter.name, &value)
                    .expect("a value in range");
            }
            let value = choice.values().first().and_then(|value| value.number());
            let spec = RuleSpec::named(rule.described.name, value);
            let spec = spec.unwrap_or_else(|| panic!("the oracle does not know {choice}"));
            let of = OracleMachine::ALL[seed as usize % OracleMachine::ALL.len()];
            compare(&choice, of, spec, &mut rng, &mut seen);
        }
        assert!(
            seen.iter().all(|&count| count > cases(25_000)),
            "{rule:?}: {seen:?}"
        );
    }
}

fn compare(
    choice: &ReplacementChoice,
    of: OracleMachine,
    rule: RuleSpec,
    rng: &mut Rng,
    seen: &mut [u64; 3],
) {
    let mut ours = Tlb::new(&ruled(&of.to_string(), choice));
    let mut slow = AgedTlb::new(RuledMachine { machine: of, rule });
    let mut promoted = BTreeSet::new();
    for step in 0..700 {
        let number = rng.pick(&[0, 0, 0, 1]);
        let tag = Asid::new(number).expect("a small tag");
        let space = SpaceId(number as u32);
        let page = page(rng);
        let key = (number, page / 512);
        match rng.below(80) {
            0 => {
                promoted.insert(key);
            }
            // A demotion.
            1 if promoted.remove(&key) => {
                ours.invalidate(tag, PageNumber(page), PageSize::SIZE_2M);
                slow.remove_superpage(space, key.1);
            }
            // A range is unmapped or protected.
            2 => {
                let range = page..page + rng.pick(&[1, 40, 512, 5000]);
                ours.invalidate_range(tag, PageNumber(page), range.end - page);
                slow.remove_pages(space, &range);
                for block in page / 512..=(range.end - 1) / 512 {
                    slow.remove_superpage(space, block);
                    promoted.remove(&(number, block));
                }
            }
            _ => {
                let (size, leaf) = match promoted.contains(&key) {
                    true => (PageSize::SIZE_2M, PageSizeKind::Super),
                    false => (PageSize::SIZE_4K, PageSizeKind::Base),
                };
                // OPT may learn anything: equal next uses occur, and past ones.
                let (near, later) = (rng.below(16), step + rng.below(64));
                let next_use = rng.pick(&[near, step, later, u64::MAX]);
                ours.foresee(next_use);
                slow.foresee(next_use);
                let found = ours.lookup(tag, PageNumber(page));
                if found == Lookup::Miss {
                    ours.load(&Walk::plain(tag, PageNumber(page), size));
                }
                let wanted = match slow.lookup(space, page, leaf) {
                    FoundIn::FirstLevel => Lookup::First,
                    FoundIn::SecondLevel => Lookup::Second,
                    FoundIn::Walk => Lookup::Miss,
                };
                assert_eq!(found, wanted, "{choice}, {of}, step {step}");
                seen[crate::oracle::place_of(wanted)] += 1;
            }
        }
    }
}
