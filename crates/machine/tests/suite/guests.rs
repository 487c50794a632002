//! Machines of guests, whose superpages enter the TLB in pieces, and measured loads.

use broadleaf_machine::Machine;
use broadleaf_units::PageSize;

fn size(name: &str) -> PageSize {
    PageSize::from_short_name(name).expect("a size")
}

/// A guest's machine with more keys before its TLB, and more tables at its end.
fn guest(keys: &str, tables: &str) -> String {
    format!(
        "name = \"guest\"\nsummary = \"\"\n{keys}\n[[tlb]]\nname = \"tlb\"\nlevel = 1\nentries = 4\n\
         ways = 4\nreplacement = \"lru\"\nindex = {{ 64k = \"none\" }}\n[walk-cycles]\n64k = 30\n\
         2m = 20\n4k = 1\n{tables}"
    )
}

fn refused(text: &str) -> (usize, String) {
    let error = Machine::from_toml(text).expect_err("a refusal");
    (error.line, error.message)
}

#[test]
fn fractured_pages_are_pages_of_the_machine() {
    let read = Machine::from_toml(&guest("fractured = [\"2m\"]", "")).expect("a machine");
    assert_eq!(read.design.sizes(), [size("64k")]);
    assert_eq!(read.page_sizes(), [size("64k"), size("2m")]);
    assert!(read.fractures(size("2m")) && !read.fractures(size("64k")));
    let note = read.unused_costs().expect("a note");
    assert!(note.contains("for 4k, which"), "{note}");
    for (keys, reason) in [
        (
            "fractured = [\"64k\"]",
            "pages of 64k are not fractured: a TLB holds them whole",
        ),
        ("fractured = [\"2m\", \"2m\"]", "2m is given twice"),
        (
            "fractured = [\"4k\"]",
            "no TLB holds a piece of a page of 4k",
        ),
        (
            "fractured = [\"1g\"]",
            "walks that find a 1g page have no cost in [walk-cycles]",
        ),
        (
            "fractured = [\"2x\"]",
            "\"2x\" is not a page size of 4k or more; write 4k, 2m, 1g",
        ),
    ] {
        assert_eq!(refused(&guest(keys, "")), (3, reason.to_owned()));
    }
    let shared = guest("fractured = [\"2m\"]", "").replace(
        "index",
        "organisation = \"coalesced\"\nblock = \"256k\"\nindex",
    );
    assert!(refused(&shared).1.contains("cannot have fractured pages"));
}

#[test]
fn loads_lie_on_lines_between_the_spans() {
    let row = |span: &str, page: &str, dependent: &str| {
        format!(
            "[[load-cycles]]\nspan = \"{span}\"\npage = \"{page}\"\ndependent = {dependent}\n\
             independent = 2.5\n"
        )
    };
    let rows = [
        row("4M", "4k", "20.0"),
        row("64M", "4k", "100.0"),
        row("1G", "2m", "7.5"),
    ];
    let read = Machine::from_toml(&guest("", &rows.concat())).expect("a machine");
    let dependent = |page, mib: u64| read.loads.of(size(page), mib << 20).map(|of| of.dependent);
    let found = [1, 4, 16, 64, 4096].map(|mib| dependent("4k", mib));
    assert_eq!(found, [20.0, 20.0, 60.0, 100.0, 100.0].map(Some));
    assert_eq!(dependent("2m", 16), Some(7.5));
    assert_eq!(dependent("1g", 16), None);
    assert_eq!(
        read.loads.of(size("4k"), 0).map(|of| of.independent),
        Some(2.5)
    );
    let wrong = |row: String| refused(&guest("", &row)).1;
    assert!(wrong(row("4Q", "4k", "20.0")).starts_with("a span is a number of bytes"));
    assert!(wrong(row("0", "4k", "20.0")).starts_with("a span is a number of bytes"));
    assert!(wrong(row("4M", "3k", "20.0")).contains("is not a page size"));
    for cycles in ["-1.0", "nan", "inf", "1e9"] {
        assert_eq!(
            wrong(row("4M", "4k", cycles)),
            "a load takes 0 to 100000 cycles"
        );
    }
    let twice = [row("4M", "4k", "20.0"), row("4096K", "4k", "21.0")].concat();
    assert_eq!(wrong(twice), "loads over 4096K of 4k pages are given twice");
}
