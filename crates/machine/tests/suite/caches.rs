//! The caches, the main memory and the cores of descriptions.

use broadleaf_machine::{FarMemory, Machine, MachineError, machine, machine_names};

/// Chen's table 1, typed from the paper: the lines of `chen_table1.csv`.
#[test]
fn the_caches_of_chen_are_those_of_his_table() {
    for (name, cores) in [("chen2014-1core", 1), ("chen2014-4core", 4)] {
        let machine = machine(name).expect("a machine");
        let caches = machine.caches.expect("caches");
        let hierarchy = &caches.hierarchy;
        assert_eq!((hierarchy.cores(), hierarchy.levels()), (cores, 2));
        for instructions in [false, true] {
            let first = hierarchy.cache(0, instructions).expect("a first level");
            assert_eq!((first.bytes, first.ways, first.latency), (128 << 10, 8, 2));
        }
        let second = hierarchy.cache(1, false).expect("a second level");
        assert_eq!(
            (second.bytes, second.ways, second.latency),
            (4 << 20, 16, 14)
        );
        assert_eq!(hierarchy.line_shift(), 6);
        let memory = hierarchy.memory();
        assert_eq!((memory.latency, memory.banks), (130, 64));
        let core = caches.core;
        assert_eq!((core.width, core.window), (4, 128));
    }
}

#[test]
fn machines_without_caches_have_walks_of_fixed_cost() {
    for name in machine_names() {
        let machine = machine(name).expect("a machine");
        let has_caches = machine.caches.is_some();
        assert!(!has_caches || !machine.has_fixed_walk_costs(), "{name}");
    }
}

const TLB: &str = "name = \"small\"\nsummary = \"small\"\n";
const REST: &str = "[[tlb]]\nname = \"tlb\"\nlevel = 1\nentries = 4\nways = 4\n\
                    replacement = \"lru\"\nindex = { 4k = \"none\" }\n\
                    [walk-cycles]\n4k = 30\n";
const CACHE: &str = "[[cache]]\nname = \"L1\"\nlevel = 1\nsize = \"4K\"\nways = 4\nline = 64\n\
                     latency = 2\nreplacement = \"lru\"\n";
const MEMORY: &str = "[main-memory]\nlatency = 100\n";
const CORE: &str = "[core]\nwidth = 4\nwindow = 128\nwalkers = 1\n";

/// A description with these top keys and tables.
fn described(top: &str, tables: &[&str]) -> Result<Machine, MachineError> {
    Machine::from_toml(&[TLB, top, REST, &tables.concat()].concat())
}

#[test]
fn a_small_machine_has_caches() {
    let kind = "caches = \"inclusive\"\n";
    let machine = described(kind, &[CACHE, MEMORY, CORE]).expect("a machine");
    let caches = machine.caches.expect("caches");
    assert_eq!(caches.hierarchy.kind().described.name, "inclusive");
    assert_eq!(caches.hierarchy.walk_level(), 0);
    let seeded = CACHE.replace("\"lru\"", "\"random\"\nseed = 7");
    let machine = described(kind, &[&seeded, MEMORY, CORE]).expect("a machine");
    let caches = machine.caches.expect("caches").hierarchy;
    assert_eq!(caches.caches()[0].replacement.number("seed"), Some(7));
}

#[test]
fn wrong_descriptions_are_refused_with_the_line_and_the_key() {
    let kind = "caches = \"inclusive\"\n";
    let cache = |from: &str, to: &str| CACHE.replace(from, to);
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        (
            "",
            vec![CACHE.into(), MEMORY.into(), CORE.into()],
            "no key caches",
        ),
        (kind, vec![CACHE.into(), CORE.into()], "[main-memory]"),
        (
            kind,
            vec![CACHE.into(), MEMORY.into()],
            "needs a table [core]",
        ),
        (kind, vec![], "no [[cache]] table"),
        (
            "",
            vec![MEMORY.into()],
            "no effect without a [[cache]] table",
        ),
        (
            "caches = \"all\"\n",
            vec![CACHE.into()],
            "no cache is called \"all\"",
        ),
        (
            kind,
            vec![cache("4K", "4X"), MEMORY.into(), CORE.into()],
            "a size is",
        ),
        (
            kind,
            vec![cache("4K", "3K"), MEMORY.into(), CORE.into()],
            "no power of two of sets",
        ),
        (
            kind,
            vec![cache("line = 64", "line = 32"), MEMORY.into(), CORE.into()],
            "a line has",
        ),
        (
            kind,
            vec![cache("lru", "newest"), MEMORY.into(), CORE.into()],
            "(there are lru",
        ),
        (
            kind,
            vec![cache("\"lru\"", "\"lru\"\nbits = 2"), MEMORY.into()],
            "no parameter \"bits\"",
        ),
        (
            kind,
            vec![cache("latency", "wait"), MEMORY.into()],
            "no key is called \"wait\"",
        ),
        (
            kind,
            vec![CACHE.into(), MEMORY.into(), format!("{CORE}count = 2\n")],
            "several cores share the last level",
        ),
        (
            kind,
            vec![CACHE.into(), format!("{MEMORY}banks = 8\n"), CORE.into()],
            "bank-cycles says",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                format!("{MEMORY}bank-cycles = 8\n"),
                CORE.into(),
            ],
            "without banks",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                MEMORY.into(),
                CORE.replace("window = 128", "window = 0"),
            ],
            "the instructions of a window are 1 to",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                MEMORY.into(),
                CORE.into(),
                "[walk-lines]\nbytes = 64\ncycles = 20\n".into(),
            ],
            "leave [walk-lines] out",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                cache("level = 1", "level = 2"),
                MEMORY.into(),
                CORE.into(),
            ],
            "two caches are called",
        ),
        (
            kind,
            vec![
                cache("\"lru\"", "\"lru\"\nprefetch-streams = 8"),
                MEMORY.into(),
                CORE.into(),
            ],
            "both prefetch-streams and prefetch-distance",
        ),
        (
            kind,
            vec![
                cache(
                    "\"lru\"",
                    "\"lru\"\nprefetch-streams = 8\nprefetch-distance = 8",
                ),
                MEMORY.into(),
                CORE.into(),
            ],
            "let the next level prefetch",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                MEMORY.into(),
                format!("{CORE}mispredicted-branch = 0\n"),
            ],
            "the cycles of a mispredicted branch are 1 to",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                MEMORY.into(),
                format!("{CORE}units = {{ loads = 2 }}\n"),
            ],
            "without mispredicted-branch",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                MEMORY.into(),
                format!("{CORE}mispredicted-branch = 9\nunits = {{ load = 2 }}\n"),
            ],
            "no unit is called \"load\"; did you mean loads or",
        ),
        (
            kind,
            vec![
                CACHE.into(),
                MEMORY.into(),
                format!("{CORE}mispredicted-branch = 9\nunits = {{ loads = 0 }}\n"),
            ],
            "1 to 64 units of a kind",
        ),
    ];
    for (top, tables, message) in cases {
        let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
        let error = described(top, &tables).expect_err(message);
        assert!(error.message.contains(message), "{error}");
        assert!(error.line > 2, "{error}");
    }
}

#[test]
fn a_core_that_follows_code_has_units_and_a_measured_memory() {
    let found = machine("zen5-core").expect("a machine");
    assert!(found.follows_code());
    assert!(!machine("chen2014-1core").expect("a machine").follows_code());
    let caches = found.caches.expect("caches");
    assert_eq!(caches.core.units[0], Some(4));
    let prefetch = caches
        .hierarchy
        .cache(1, false)
        .and_then(|cache| cache.prefetch);
    assert_eq!(prefetch.expect("it prefetches").distance, 20);
    for mebibytes in 4..=64_u64 {
        let far = FarMemory {
            last_level_bytes: mebibytes << 20,
            last_level_cycles: 40,
            memory_cycles: 600,
        };
        let measured = caches.with_far_memory(&far);
        let measured = measured.unwrap_or_else(|why| panic!("{mebibytes} MiB: {why}"));
        let last = measured.hierarchy.cache(2, false).expect("a last level");
        assert_eq!((last.bytes, last.latency), (mebibytes << 20, 40));
        assert_eq!(measured.hierarchy.memory().latency, 600);
        assert_eq!(measured.core, caches.core);
        assert_eq!(
            measured.hierarchy.cache(1, false),
            caches.hierarchy.cache(1, false)
        );
    }
}
