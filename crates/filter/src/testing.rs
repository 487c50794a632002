//! Designs for tests: the TLBs of the built-in machines with pages of 4 KiB and 2 MiB.

use broadleaf_tlb::{Design, IndexFunction, Organisation, Replacement, Structure};
use broadleaf_units::PageSize;

const SIZES: [PageSize; 2] = [PageSize::SIZE_4K, PageSize::SIZE_2M];

fn structure(level: usize, entries: usize, ways: usize, pages: &[(PageSize, &str)]) -> Structure {
    let index = |text: &str| IndexFunction::parse(text).expect("an index");
    Structure {
        name: format!("level {level}"),
        level,
        entries,
        ways,
        pages: (pages.iter())
            .map(|(size, text)| (*size, index(text)))
            .collect(),
        organisation: Organisation::set_associative(),
        replacement: Replacement::lru(),
    }
}

fn skylake_with(large: &str) -> Design {
    let [small_size, large_size] = SIZES;
    let second = [
        (small_size, "va[18:12] ^ va[25:19]"),
        (large_size, "va[27:21]"),
    ];
    let structures = vec![
        structure(1, 32, 4, &[(large_size, large)]),
        structure(1, 64, 4, &[(small_size, "va[15:12]")]),
        structure(2, 1536, 12, &second),
    ];
    Design::new(structures).expect("a design")
}

fn unified(ways: usize) -> Design {
    let [small, large] = SIZES;
    let first = [(small, "va[15:12]"), (large, "va[24:21]")];
    let second = [(small, "va[18:12] ^ va[25:19]"), (large, "va[27:21]")];
    let structures = vec![
        structure(1, 16 * ways, ways, &first),
        structure(2, 1536, 12, &second),
    ];
    Design::new(structures).expect("a design")
}

/// The TLB of the machine `skylake`.
pub(crate) fn skylake() -> Design {
    skylake_with("va[24:22]")
}

/// The TLB of the machine `skylake-va23`.
pub(crate) fn skylake_va23() -> Design {
    skylake_with("va[23:21]")
}

/// All designs, by name.
pub(crate) fn designs() -> [(&'static str, Design); 4] {
    [
        ("skylake", skylake()),
        ("skylake-va23", skylake_va23()),
        ("unified of 4 ways", unified(4)),
        ("unified of 6 ways", unified(6)),
    ]
}
