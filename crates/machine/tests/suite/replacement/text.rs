//! The keys of replacement rules in a machine's description.

use super::one_set;
use broadleaf_tlb::{REPLACEMENTS, ReplacementChoice, StructureParameter, StructureValue};

/// The rule of the only structure.
fn choice(rule: &str, ways: usize, keys: &str) -> ReplacementChoice {
    let machine = one_set(rule, ways, keys).expect("a machine");
    machine.design.structures()[0].replacement.clone()
}

#[test]
fn parameters_are_keys_with_defaults() {
    assert_eq!(choice("random", 4, "").to_string(), "random(seed=1)");
    assert_eq!(
        choice("random", 4, "seed = 77").to_string(),
        "random(seed=77)"
    );
    assert_eq!(choice("srrip", 4, "").to_string(), "srrip(bits=2)");
    assert_eq!(choice("srrip", 4, "bits = 3").to_string(), "srrip(bits=3)");
    assert_eq!(choice("lru", 4, "").to_string(), "lru");
    assert_ne!(
        choice("random", 4, "seed = 1"),
        choice("random", 4, "seed = 2")
    );
}

#[test]
fn errors_name_the_line_the_key_and_the_reason() {
    for (rule, ways, keys, line, key, message) in [
        (
            "tree-plru",
            12,
            "",
            8,
            "replacement",
            "tree-plru needs a power of two of ways, not 12",
        ),
        (
            "mru3-plru",
            8,
            "",
            8,
            "replacement",
            "3 times a power of two of ways, not 8",
        ),
        (
            "lru3-plru",
            9,
            "",
            8,
            "replacement",
            "3 times a power of two of ways, not 9",
        ),
        (
            "lru",
            4,
            "seed = 3",
            9,
            "seed",
            "replacement lru has no parameter \"seed\"",
        ),
        (
            "random",
            4,
            "bits = 3",
            9,
            "bits",
            "replacement random has no parameter \"bits\"",
        ),
        ("random", 4, "sead = 3", 9, "sead", "did you mean seed?"),
        ("srrip", 4, "bits = 9", 9, "bits", "bits is 1 to 8"),
        ("srrip", 4, "bits = 0", 9, "bits", "bits is 1 to 8"),
        ("srrip", 4, "bits = -1", 9, "bits", "bits is a whole number"),
        (
            "random",
            4,
            "seed = \"3\"",
            9,
            "seed",
            "seed is a whole number",
        ),
        (
            "random",
            4,
            "seed = \"dice\"",
            9,
            "seed",
            "seed is a whole number",
        ),
        (
            "alphabetical",
            4,
            "",
            8,
            "replacement",
            "no replacement is called \"alphabetical\"",
        ),
    ] {
        let error = one_set(rule, ways, keys).expect_err(keys);
        assert_eq!((error.line, error.key.as_str()), (line, key), "{error}");
        assert!(error.message.contains(message), "{error}");
    }
}

#[test]
fn every_rule_can_be_named() {
    for rule in REPLACEMENTS {
        let name = rule.described.name;
        let ways = (1..=64).find(|ways| (rule.refuses)(*ways).is_none());
        let least = |key: &StructureParameter| key.range().expect("a number").0;
        let keys = rule.parameters.iter();
        let keys: Vec<String> = keys
            .map(|key| format!("{} = {}", key.name, least(key)))
            .collect();
        let choice = choice(name, ways.expect("some ways"), &keys.join("\n"));
        assert_eq!(choice.entry(), *rule);
        let wanted = rule.parameters.iter();
        let wanted: Vec<StructureValue> = wanted
            .map(|key| StructureValue::Number(least(key)))
            .collect();
        assert_eq!(choice.values(), wanted);
    }
}
