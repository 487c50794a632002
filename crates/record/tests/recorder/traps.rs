//! Misses that trap are those of a replay in which instructions begin again, to the last one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use broadleaf_record::trap::{Mechanism, TrapCounts, TrapOptions, count};
use broadleaf_tlb::{
    BitField, Design, IndexFunction, Lookup, Organisation, OrganisationChoice, Replacement,
    ReplacementChoice, Role, Structure, Tlb, TlbRequest, Walk,
};
use broadleaf_trace::{Advice, Event, Item, ReadOptions, TraceReader, VisitEnds};
use broadleaf_units::{Asid, PageNumber, PageSize};

use crate::support::{can_record, compiled, folder, options, trace_with};

/// Where a program begins to count: `MARKER` in `traps.h`.
const MARKER: u64 = 0x7_0000_0000;
const STATIC: [&str; 4] = ["trap_random", "trap_strings", "trap_sort", "trap_pairs"];
const DYNAMIC: [&str; 2] = ["trap_lists", "trap_library"];
/// Flags of programs without a library, whose code takes no vector registers.
const ALONE: [&str; 4] = ["-static", "-nostdlib", "-fno-stack-protector", "-mno-sse"];
/// Flags of programs with the library. Functions are found before a program begins: what the linker
/// does at the first call of a function depends on the processor's registers.
const WITH_LIBRARY: [&str; 1] = ["-Wl,-z,now"];
/// One choice of functions in the C library, whatever the processor is.
const PLAIN_LIBRARY: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-ERMS,-FSRM,-SSE4_2,-SSSE3",
);
const ENTRIES: usize = 64;

fn structure(rule: &str, level: usize, entries: usize) -> Structure {
    Structure {
        name: format!("l{level}"),
        level,
        entries,
        ways: entries,
        pages: vec![(PageSize::SIZE_4K, IndexFunction::none())],
        organisation: OrganisationChoice::from(Organisation::set_associative()),
        replacement: ReplacementChoice::from(Replacement::named(rule).expect("a rule")),
        role: Role::default(),
        wired: 0,
        walk_entries: Vec::new(),
    }
}

fn design(structures: Vec<Structure>) -> Design {
    Design::new(structures).expect("a design")
}

fn trapped(command: Vec<OsString>, design: &Design, mechanism: Option<Mechanism>) -> TrapCounts {
    let options = TrapOptions {
        command,
        design: design.clone(),
        size: PageSize::SIZE_4K,
        mechanism,
        begin_at: Some(MARKER),
    };
    let finished = count(&options, &mut |_| {}).expect("a run");
    assert!(finished.status.success(), "{:?}", finished.status);
    finished.counts
}

/// The misses of each level when instructions begin again after a miss, and when they do not.
fn replayed(trace: &[u8], design: &Design, restarts: bool) -> [u64; 2] {
    let options = ReadOptions {
        fetches: false,
        ends: VisitEnds::Instructions,
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::with_options(trace, options).expect("a trace");
    let mut tlb = Tlb::new(design);
    let mut misses = [0; 2];
    let mut instruction = Vec::new();
    let mut heap_end = 0_u64;
    let look_up = |tlb: &mut Tlb, page| {
        let page = PageNumber(page);
        let found = tlb.access(&TlbRequest::load(Asid::ZERO, page));
        if found == Lookup::Miss {
            tlb.load(&Walk::plain(Asid::ZERO, page, PageSize::SIZE_4K));
        }
        (found != Lookup::First, found == Lookup::Miss)
    };
    while let Some(item) = reader.next_item().expect("a whole trace") {
        match item {
            Item::Visits(visits) => {
                for visit in visits.iter().filter(|visit| visit.lookups() > 0) {
                    if visit.instructions > 0 {
                        instruction.clear();
                    }
                    instruction.push(visit.unit);
                    let last = instruction.len() - 1;
                    let mut at = last;
                    while at <= last {
                        let (first, second) = look_up(&mut tlb, instruction[at]);
                        misses[0] += u64::from(first);
                        misses[1] += u64::from(second);
                        at = if first && restarts { 0 } else { at + 1 };
                    }
                }
            }
            Item::Event(Event::Unmap(range)) if range.start.0 == MARKER => {
                tlb = Tlb::new(design);
                misses = [0; 2];
            }
            Item::Event(Event::Unmap(range) | Event::Advise(range, Advice::DontNeed)) => {
                let (first, pages) = (PageNumber(range.start.0 >> 12), range.len >> 12);
                tlb.invalidate_range(Asid::ZERO, first, pages);
            }
            Item::Event(Event::Brk(heap)) => {
                let end = heap.start.0 + heap.len;
                let lost = heap_end.saturating_sub(end) >> 12;
                tlb.invalidate_range(Asid::ZERO, PageNumber(end >> 12), lost);
                heap_end = end;
            }
            Item::Event(_) => {}
        }
    }
    misses
}

/// A compiled program, and its recording.
struct Subject {
    path: PathBuf,
    trace: Vec<u8>,
}

fn subject(name: &str, flags: &[&str], folder: &Path) -> Option<Subject> {
    let path = compiled(name, flags, folder)?;
    let mut what = options(&[&path]);
    what.prepare = |command| {
        command.env(PLAIN_LIBRARY.0, PLAIN_LIBRARY.1);
    };
    let trace = trace_with(&what).expect("a recording").bytes;
    Some(Subject { path, trace })
}

fn subjects(folder: &Path) -> Vec<Subject> {
    if !can_record() {
        return Vec::new();
    }
    let alone = STATIC
        .iter()
        .filter_map(|name| subject(name, &ALONE, folder));
    let dynamic = DYNAMIC
        .iter()
        .filter_map(|name| subject(name, &WITH_LIBRARY, folder));
    alone.chain(dynamic).collect()
}

impl Subject {
    fn command(&self) -> Vec<OsString> {
        let library = format!("{}={}", PLAIN_LIBRARY.0, PLAIN_LIBRARY.1);
        vec!["env".into(), library.into(), self.path.clone().into()]
    }
}

#[test]
fn misses_are_those_of_a_replay_to_the_last_one() {
    let folder = folder();
    for subject in subjects(folder.path()) {
        for rule in ["fifo", "random"] {
            let design = design(vec![structure(rule, 1, ENTRIES)]);
            let [expected, _] = replayed(&subject.trace, &design, true);
            let [plain, _] = replayed(&subject.trace, &design, false);
            for mechanism in [None, Some(Mechanism::Protection)] {
                let counts = trapped(subject.command(), &design, mechanism);
                let name = format!("{} {rule} {mechanism:?}", subject.path.display());
                assert_eq!(counts.first_misses, expected, "{name}");
                assert_eq!(counts.walks, expected, "{name}");
            }
            let most = if rule == "fifo" { 0.001 } else { 0.01 };
            let far = expected.abs_diff(plain) as f64 / plain as f64;
            assert!(
                far <= most,
                "{}: {expected} and {plain}",
                subject.path.display()
            );
        }
    }
}

#[test]
fn two_levels_trap_where_the_first_misses() {
    let folder = folder();
    let design = design(vec![structure("fifo", 1, 16), structure("random", 2, 128)]);
    for subject in subjects(folder.path()) {
        let [first, walks] = replayed(&subject.trace, &design, true);
        let counts = trapped(subject.command(), &design, None);
        let found = [counts.first_misses, counts.walks];
        assert_eq!(found, [first, walks], "{}", subject.path.display());
        assert_eq!(counts.second_hits, first - walks);
    }
}

/// What a program prints, with its exit status. `name` is passed as the program's only argument.
fn native(program: &Path) -> String {
    let output = std::process::Command::new(program).output().expect("a run");
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// What a program prints while its misses trap, and the counts.
fn printed(program: &Path, design: &Design, mechanism: Option<Mechanism>) -> (String, TrapCounts) {
    let file = program.with_extension("printed");
    let line = format!("exec {} > {}", program.display(), file.display());
    let options = TrapOptions {
        command: ["sh", "-c", &line].map(OsString::from).into(),
        design: design.clone(),
        size: PageSize::SIZE_4K,
        mechanism,
        begin_at: None,
    };
    let finished = count(&options, &mut |_| {}).expect("a run");
    assert!(finished.status.success(), "{:?}", finished.status);
    (
        std::fs::read_to_string(&file).expect("a file"),
        finished.counts,
    )
}

#[test]
fn a_program_does_what_it_does_alone() {
    let folder = folder();
    let Some(program) = compiled("trap_calls", &["-pthread", "-O1"], folder.path()) else {
        return;
    };
    let expected = native(&program);
    let design = design(vec![structure("fifo", 1, 16)]);
    for mechanism in [None, Some(Mechanism::Protection)] {
        let (text, counts) = printed(&program, &design, mechanism);
        assert_eq!(text, expected, "{mechanism:?}");
        let of = [
            counts.programs,
            counts.threads,
            counts.processes,
            counts.replaced,
        ];
        assert_eq!(of, [2, 3, 5, 0], "{counts:?}");
        assert!(
            counts.calls > 50 && counts.opened_for_calls < 5,
            "{counts:?}"
        );
    }
}

/// After a miss, the program goes on without a system call that restores its registers. Signals
/// arrive on the way back too.
#[test]
fn signals_at_any_instruction_change_no_register_and_none_is_lost() {
    let folder = folder();
    let Some(program) = compiled("trap_signals", &["-O2", "-mavx"], folder.path()) else {
        return;
    };
    let expected = native(&program);
    assert!(expected.ends_with(" 1\n"), "{expected}");
    let design = design(vec![structure("fifo", 1, 16)]);
    for mechanism in [None, Some(Mechanism::Protection)] {
        let (text, counts) = printed(&program, &design, mechanism);
        assert_eq!(text, expected, "{mechanism:?}");
        assert!(counts.first_misses > 4000, "{counts:?}");
    }
}

#[test]
fn an_instruction_that_needs_more_pages_than_a_set_holds_ends() {
    let folder = folder();
    let Some(program) = compiled("trap_sets", &ALONE, folder.path()) else {
        return;
    };
    let run = |ways: usize| {
        let mut one = structure("fifo", 1, 64);
        one.ways = ways;
        let high = 11 + (64 / ways).ilog2();
        let bits = BitField { high, low: 12 };
        one.pages[0].1 = IndexFunction::new(vec![bits]).expect("an index");
        let options = TrapOptions {
            command: vec![program.clone().into()],
            design: design(vec![one]),
            size: PageSize::SIZE_4K,
            mechanism: None,
            begin_at: None,
        };
        let finished = count(&options, &mut |_| {}).expect("a run");
        assert_eq!(finished.status.code(), Some(7));
        finished.counts
    };
    assert_eq!(
        run(1).steps,
        3,
        "the pages of one move have one set of one way"
    );
    assert_eq!(run(2).steps, 0);
}

#[test]
fn superpages_and_subblocks_open_what_an_entry_covers() {
    let folder = folder();
    let Some(program) = compiled("trap_random", &ALONE, folder.path()) else {
        return;
    };
    let of = |organisation: &'static str, pages: &[u64]| {
        let sizes = pages
            .iter()
            .filter_map(|bytes| PageSize::from_bytes(*bytes));
        let mut one = structure("fifo", 1, ENTRIES);
        one.pages = sizes.map(|size| (size, IndexFunction::none())).collect();
        let organisation = Organisation::named(organisation).expect("an organisation");
        let mut choice = OrganisationChoice::from(organisation);
        if organisation.block_of.is_some() {
            choice.set("block", "64k").expect("a block");
        }
        one.organisation = choice;
        design(vec![one])
    };
    let run = |design: Design, size: PageSize| {
        let command = vec![program.clone().into()];
        let begin_at = Some(MARKER);
        let options = TrapOptions {
            command,
            design,
            size,
            mechanism: None,
            begin_at,
        };
        count(&options, &mut |_| {}).expect("a run").counts
    };
    let base = run(of("set-associative", &[4096]), PageSize::SIZE_4K);
    let large = PageSize::from_bytes(1 << 16).expect("a size");
    let superpages = run(of("set-associative", &[4096, 1 << 16]), large);
    let subblocks = run(of("complete-subblock", &[4096]), PageSize::SIZE_4K);
    // 8 MiB are 128 blocks of 64 KiB: half of them fit 64 entries.
    assert!(
        superpages.walks * 3 < base.walks * 2,
        "{superpages:?} {base:?}"
    );
    assert!(superpages.superpage_walks > 0 && base.superpage_walks == 0);
    assert!(
        subblocks.subblock_misses > 0 && subblocks.walks < base.walks,
        "{subblocks:?}"
    );
}
