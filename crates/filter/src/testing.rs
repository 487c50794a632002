//! Designs for tests: the TLBs of the built-in machines with pages of 4 KiB and 2 MiB.

use broadleaf_tlb::{Design, IndexFunction, Organisation, Replacement, Role, Structure};
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
        organisation: Organisation::set_associative().into(),
        replacement: Replacement::lru(),
        role: Role::default(),
        wired: 0,
        walk_entries: Vec::new(),
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

/// The TLB of the machine `skylake-1g`.
fn skylake_1g() -> Design {
    let [small, large] = SIZES;
    let giant = PageSize::from_shift(30).expect("a size");
    let second = [(small, "va[18:12] ^ va[25:19]"), (large, "va[27:21]")];
    let structures = vec![
        structure(1, 32, 4, &[(large, "va[24:22]")]),
        structure(1, 64, 4, &[(small, "va[15:12]")]),
        structure(1, 4, 4, &[(giant, "none")]),
        structure(2, 1536, 12, &second),
        structure(2, 16, 4, &[(giant, "va[31:30]")]),
    ];
    Design::new(structures).expect("a design")
}

/// The TLB of the machine `neoverse-n1`.
fn neoverse_n1() -> Design {
    let size = |shift| PageSize::from_shift(shift).expect("a size");
    let sizes = [12, 14, 16, 21].map(size);
    let second = ["va[19:12]", "va[21:14]", "va[23:16]", "va[28:21]"];
    let first: Vec<_> = sizes.iter().map(|size| (*size, "none")).collect();
    let second: Vec<_> = sizes.into_iter().zip(second).collect();
    let structures = vec![structure(1, 48, 48, &first), structure(2, 1280, 5, &second)];
    Design::new(structures).expect("a design")
}

/// The names of designs with pages of 4 KiB and 2 MiB alone.
pub(crate) const TWO_SIZES: [&str; 4] = [
    "skylake",
    "skylake-va23",
    "skylake-unified-64",
    "skylake-unified-96",
];

/// The TLB of the machine of that name.
pub(crate) fn design(name: &str) -> Design {
    match name {
        "skylake" => skylake(),
        "skylake-va23" => skylake_va23(),
        "skylake-unified-64" => unified(4),
        "skylake-unified-96" => unified(6),
        "skylake-1g" => skylake_1g(),
        "neoverse-n1" => neoverse_n1(),
        other => panic!("no design {other}"),
    }
}
