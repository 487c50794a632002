//! Machines of tests, whose TLBs have so few sets that entries are soon replaced.

use broadleaf_machine::Machine;
use broadleaf_trace::synth::SplitMix64;

/// The first level of all machines here: four sets of base pages, and two of superpages.
pub(crate) const FIRST_LEVEL: &str = r#"
    summary = "a test"
    explanation = "a test"
    source = "a test"
    [walk-cycles]
    4k = 35
    2m = 21
    [[tlb]]
    name = "large"
    level = 1
    entries = 8
    ways = 4
    replacement = "lru"
    index = { 2m = "va[21]" }
    [[tlb]]
    name = "base"
    level = 1
    entries = 16
    ways = 4
    replacement = "lru"
    index = { 4k = "va[13:12]" }
"#;

/// A machine with these structures of the second level: for each its ways, its sets, and its index
/// functions.
fn small_machine(second: &[(usize, usize, String)]) -> Machine {
    let mut text = format!("name = \"small\"\n{FIRST_LEVEL}");
    for (number, (ways, sets, index)) in second.iter().enumerate() {
        let entries = ways * sets;
        text += &format!(
            r#"
            [[tlb]]
            name = "second-{number}"
            level = 2
            entries = {entries}
            ways = {ways}
            replacement = "lru"
            index = {{ {index} }}
            "#
        );
    }
    Machine::from_toml(&text).unwrap()
}

/// A machine with one second level of two sets for both page sizes.
pub(crate) fn machine_of_ways(ways: usize) -> Machine {
    let index = r#"4k = "va[12] ^ va[14]", 2m = "va[22]""#;
    small_machine(&[(ways, 2, index.to_owned())])
}

/// A machine whose TLBs can be apart.
pub(crate) fn machine_apart(sets: usize) -> Machine {
    let index = match sets {
        2 => r#"4k = "va[12] ^ va[14]", 2m = "va[22]""#,
        _ => r#"4k = "va[13:12]", 2m = "va[23:22]""#,
    };
    small_machine(&[(12, sets, index.to_owned())])
}

/// A machine with no second level, with one for base pages or superpages or both, or with two.
/// Its TLBs cannot be apart.
pub(crate) fn random_machine(random: &mut SplitMix64) -> Machine {
    let base = ["va[12]", "va[13]", "va[12] ^ va[14]", "va[14]"];
    let base = format!("4k = \"{}\"", base[random.below(4) as usize]);
    let large = ["va[21]", "va[22]", "va[21] ^ va[23]"];
    let large = format!("2m = \"{}\"", large[random.below(3) as usize]);
    let ways = [1, 2, 3, 4, 7, 11, 17, 20][random.below(8) as usize];
    match random.below(5) {
        0 => small_machine(&[]),
        1 => small_machine(&[(ways, 2, base)]),
        2 => small_machine(&[(ways, 2, large)]),
        3 => small_machine(&[(ways, 2, base), (1 + random.below(6) as usize, 2, large)]),
        _ => small_machine(&[(ways, 2, format!("{base}, {large}"))]),
    }
}
