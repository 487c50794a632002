use super::*;

fn names(grid: &str) -> Vec<String> {
    let machines = machines_of_grid(grid).expect("a grid");
    machines.into_iter().map(|machine| machine.name).collect()
}

#[test]
fn a_grid_has_a_machine_for_each_combination() {
    assert_eq!(
        names("superpage:entries=32..128,sizes=4k+64k|4k+16k"),
        [
            "superpage:entries=32,sizes=4k+64k",
            "superpage:entries=32,sizes=4k+16k",
            "superpage:entries=64,sizes=4k+64k",
            "superpage:entries=64,sizes=4k+16k",
            "superpage:entries=128,sizes=4k+64k",
            "superpage:entries=128,sizes=4k+16k",
        ]
    );
    assert_eq!(names("single:entries=60..64:2").len(), 3);
    assert!(is_grid("single:entries=60..64:2") && !is_grid("skylake") && !is_grid("a:b"));
}

#[test]
fn the_name_of_a_machine_is_its_grid() {
    let grid = "partial-subblock:entries=57,block=64k,sizes=4k+64k,preload=true";
    let machines = machines_of_grid(grid).expect("a grid");
    assert_eq!(machines[0].name, grid);
    let again = machines_of_grid(&machines[0].name).expect("a grid");
    assert_eq!(again, machines);
    let structure = &machines[0].design.structures()[0];
    assert_eq!((structure.entries, structure.ways), (57, 57));
    assert!(structure.organisation.flag("preload"));
}

#[test]
fn a_refusal_names_the_machine_once() {
    let refused = |grid: &str| machines_of_grid(grid).expect_err(grid).to_string();
    let (one, many) = (
        "partial-subblock:entries=64,block=1m",
        "partial-subblock:entries=32..64,block=1m",
    );
    assert_eq!(refused(one).matches(one).count(), 1);
    assert!(refused(many).contains("partial-subblock:entries=32,block=1m: 256 subblocks"));
}

#[test]
fn indices_are_those_of_the_thesis() {
    let index = |grid: &str, size| {
        let machines = machines_of_grid(grid).expect("a grid");
        let structure = &machines[0].design.structures()[0];
        structure.index(size).expect("an index").to_string()
    };
    let large = PageSize::from_short_name("32k").expect("a size");
    // Talluri 1995, section 3.2: eight sets, pages of 32 KiB.
    let of = |by: &str| format!("superpage:entries=8,ways=1,sizes=4k+32k,index={by}");
    assert_eq!(index(&of("base"), PageSize::SIZE_4K), "va[14:12]");
    assert_eq!(index(&of("base"), large), "va[14:12]");
    assert_eq!(index(&of("superpage"), PageSize::SIZE_4K), "va[17:15]");
    assert_eq!(index(&of("exact"), PageSize::SIZE_4K), "va[14:12]");
    assert_eq!(index(&of("exact"), large), "va[17:15]");
}

#[test]
fn pages_of_a_block_have_one_set() {
    let indices = |grid: &str| -> Vec<String> {
        let machines = machines_of_grid(grid).expect("a grid");
        let structure = &machines[0].design.structures()[0];
        let indices = structure.pages.iter();
        indices.map(|(_, index)| index.to_string()).collect()
    };
    let grid = "complete-subblock:entries=64,ways=16,sizes=4k+16k,block=64k";
    assert_eq!(indices(grid), ["va[17:16]", "va[17:16]"]);
    // Each size has blocks of 16 pages.
    let own = format!("{grid},superpages=own-blocks");
    assert_eq!(indices(&own), ["va[17:16]", "va[19:18]"]);
}

#[test]
fn the_name_of_a_grid_is_no_name_in_a_file() {
    let text = "name = \"single:x\"\nsummary = \"\"\n[[tlb]]\nname = \"tlb\"\nlevel = 1\n\
                entries = 4\nways = 4\nreplacement = \"lru\"\nindex = { 4k = \"none\" }\n\
                [walk-cycles]\n4k = 1\n";
    let error = Machine::from_toml(text).expect_err("a colon");
    assert_eq!((error.line, error.key.as_str()), (1, "name"));
    assert!(error.message.contains("no ':'"), "{error}");
    let named = text.replace("single:x", "single");
    assert!(Machine::from_toml(&named).is_ok());
}

#[test]
fn what_is_wrong_is_said() {
    for (grid, words) in [
        ("single:entries", "not a key with a value"),
        ("single:ways=4", "a grid needs entries=N"),
        ("single:entries=64,entries=32", "given twice"),
        ("single:entries=64..32", "is empty"),
        ("single:entries=33..64", "means powers of two"),
        ("single:entries=1..9:0", "never ends"),
        ("single:entries=1..99999:1", "more than 4096"),
        ("single:entries=1..99:1,miss=1..99:1", "at most 4096"),
        ("single:entries=64,sizes=4k+64k", "has one size"),
        ("single:entries=64,ways=5", "no power of two of sets"),
        ("superpage:entries=64,sizes=4q", "not a page size"),
        ("superpage:entries=64,colour=red", "colour"),
        ("partial-subblock:entries=64,sizes=4k", "size of its block"),
        ("partial-subblock:entries=64,block=128k", "32 subblocks"),
        ("partial-subblock:entries=64,block=60k", "power of two"),
        ("single:entries=64,miss=x", "miss: \"x\" is not a number"),
        ("single:entries=64,miss=-1", "miss: \"-1\" is not a number"),
        ("single:entrys=64", "did you mean entries?"),
        ("single:entries=64,replacement=lur", "did you mean lru?"),
        ("superpage:entries=64,ways=3", "64 entries in 3 ways"),
        ("complete-subblock:entries=64,block=3", "not \"3\""),
        ("single:entries=64,level=2", "a grid has no key \"level\""),
        ("single:entries=64,name=x", "a grid has no key \"name\""),
        ("single:entries=64,serves=x", "a grid has no key \"serves\""),
        ("single:entries=64,a b=x", "a grid has no key \"a b\""),
        (
            "single:entries=64,replacement=a\u{7f}",
            "no replacement is called",
        ),
        (
            "complete-subblock:entries=64,block=16k,index=exact",
            "index=exact: a complete-subblock TLB has no choice of the index",
        ),
        (
            "partial-subblock:entries=64,sizes=4k+16k,block=16k,index=base",
            "index=base: a partial-subblock TLB has no choice of the index",
        ),
        ("superpage:entries=64,block=16k", "no parameter \"block\""),
        (
            "superpage:entries=64,ways=4,sizes=4k+64k,index=base,replicate=false",
            "bits inside",
        ),
    ] {
        let error = machines_of_grid(grid).expect_err(grid).to_string();
        assert!(error.starts_with(grid) && error.contains(words), "{error}");
    }
}

#[test]
fn walk_caches_are_a_key() {
    let grid = "single:entries=64,table=x86-64,walk-caches=none|2m:32x8+1g:4";
    let machines = machines_of_grid(grid).expect("a grid");
    let shapes = |machine: &Machine| -> Vec<(String, usize, usize)> {
        let caches = machine.walk_caches.iter();
        caches
            .map(|one| (one.span.short_name().to_string(), one.entries, one.ways))
            .collect()
    };
    assert_eq!(shapes(&machines[0]), []);
    let both = [("2m".to_owned(), 32, 8), ("1g".to_owned(), 4, 4)];
    assert_eq!(shapes(&machines[1]), both);
    let again = machines_of_grid(&machines[1].name).expect("a grid");
    assert_eq!(again[0], machines[1]);
    for (caches, reason) in [
        ("2m", "is no walk cache"),
        ("2m:many", "is no walk cache"),
        ("2m:32x0", "no power of two of sets"),
        ("2m:4+2m:4", "duplicate key"),
        ("64k:4", "and none 64k"),
    ] {
        let grid = format!("single:entries=64,table=x86-64,walk-caches={caches}");
        let error = machines_of_grid(&grid).expect_err(caches);
        assert!(error.reason.contains(reason), "{error}");
    }
    let hashed = machines_of_grid("single:entries=64,table=hashed,walk-caches=2m:4");
    let error = hashed.expect_err("a table without nodes");
    assert!(error.reason.contains("has no entries above"), "{error}");
}
