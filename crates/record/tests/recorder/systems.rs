//! The recorder of whole systems. The recording of a guest needs one: `BROADLEAF_GUEST` names the
//! folder that `workloads/guest/build.py` made. `tests/hard/whole-system` builds one and runs more.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use broadleaf_record::system::GuestMachine;
use broadleaf_record::valgrind::{Engine, Options, record};
use broadleaf_trace::{Event, FaultStep, GuestLeaf, Item, SystemEvent, TraceReader, Visit};
use broadleaf_units::SpaceId;

use crate::support::{compiled, folder, has, options};

/// Code of instructions, and the change that each makes.
const CODE: &[(&str, &str)] = &[
    ("0f22d8", "cr3 0 0"),        // mov %rax,%cr3
    ("410f22dc", "cr3 12 0"),     // mov %r12,%cr3
    ("0f22e7", "cr4 7 0"),        // mov %rdi,%cr4
    ("0f22c0", "nothing 0 0"),    // mov %rax,%cr0
    ("440f22c0", "nothing -1 0"), // mov %rax,%cr8
    ("0f013f", "page 7 0"),       // invlpg (%rdi)
    ("0f017810", "page 0 16"),    // invlpg 0x10(%rax)
    ("410f013c24", "page 12 0"),  // invlpg (%r12)
    ("410f017d00", "page 13 0"),  // invlpg 0(%r13)
    ("0f01bf00f0ffff", "page 7 -4096"),
    ("0f013d10000000", "page -1 0"),   // invlpg 0x10(%rip)
    ("0f013c47", "page -1 0"),         // invlpg (%rdi,%rax,2)
    ("0f01f8", "nothing -1 0"),        // swapgs
    ("0f0117", "nothing -1 0"),        // lgdt (%rdi)
    ("660f38820e", "spaces -1 0"),     // invpcid (%rsi),%rcx
    ("66450f388204d8", "spaces -1 0"), // invpcid (%r8,%rbx,8),%r8
    ("660f38810e", "nothing -1 0"),    // invvpid (%rsi),%rcx
    ("0f38820e", "nothing -1 0"),      // not without its prefix
    ("0f1f8400a11eadb0", "begin -1 0"),
    ("0f1f8400a21eadb0", "end -1 0"),
    ("0f1f840000000000", "nothing -1 0"), // nopl 0(%rax,%rax,1)
    ("0f", "nothing -1 0"),
    ("0f01", "nothing -1 0"),
    ("", "nothing -1 0"),
];

#[test]
fn instructions_that_change_translations_are_decoded() {
    let place = folder();
    let Some(program) = compiled("decode", &["-fno-builtin"], place.path()) else {
        return;
    };
    let output = Command::new(program)
        .args(CODE.iter().map(|(code, _)| code))
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("it is text");
    for (line, (code, expected)) in text.lines().zip(CODE) {
        assert_eq!(line, *expected, "{code}");
    }
    assert_eq!(text.lines().count(), CODE.len());
}

/// The guest to record, with all translations checked. Prints the reason if there is none.
fn guest(processors: u32) -> Option<GuestMachine> {
    let Some(folder) = std::env::var_os("BROADLEAF_GUEST").map(PathBuf::from) else {
        eprintln!("skipped: BROADLEAF_GUEST names no guest that workloads/guest/build.py made");
        return None;
    };
    has("qemu-system-x86_64").then_some(GuestMachine {
        folder,
        qemu: std::env::var_os("BROADLEAF_QEMU_SYSTEM").map(PathBuf::from),
        memory: 1 << 30,
        processors,
        check: true,
    })
}

/// The leaves that a trace has told so far. It checks that each page is told before its use.
#[derive(Default)]
struct ToldLeaves {
    running: SpaceId,
    leaves: BTreeMap<(SpaceId, u64), GuestLeaf>,
    kernel: u64,
    programs: u64,
    faults: u64,
    untold: u64,
}

impl ToldLeaves {
    fn space_of(&self, page: u64) -> SpaceId {
        match page >> 51 {
            0 => self.running,
            _ => SystemEvent::KERNEL,
        }
    }

    fn event(&mut self, event: &SystemEvent) {
        match event {
            SystemEvent::Space(space) => self.running = *space,
            SystemEvent::Leaf(leaf) => {
                let page = leaf.start.0 >> 12;
                self.leaves.insert((self.space_of(page), page), *leaf);
            }
            SystemEvent::PageFault(FaultStep::Handled) => self.faults += 1,
            _ => {}
        }
    }

    fn visit(&mut self, visit: &Visit) {
        if visit.lookups() == 0 {
            return;
        }
        let space = self.space_of(visit.unit);
        match space {
            SystemEvent::KERNEL => self.kernel += visit.accesses(),
            _ => self.programs += visit.accesses(),
        }
        let large = (self.leaves).get(&(space, visit.unit & !511));
        let is_large = large.is_some_and(|leaf| leaf.shift > 12);
        let is_told = is_large || self.leaves.contains_key(&(space, visit.unit));
        self.untold += u64::from(!is_told);
    }
}

fn records_a_guest(processors: u32) {
    let Some(machine) = guest(processors) else {
        return;
    };
    let words = ["dd", "if=/dev/zero", "of=/dev/null", "bs=8M", "count=1"];
    let options = Options {
        engine: Engine::QemuSystem,
        guest: Some(machine),
        ..options(&words)
    };
    let finished = record(&options, Vec::new(), &mut |_| {}).expect("the recording works");
    let report = finished.guest.expect("it is a guest's");
    assert_eq!(report.status, Some(0));
    let check = report.check.expect("it was asked for");
    assert!(check.compared > 1_000_000, "{check:?}");
    assert_eq!((check.different, report.untranslated), (0, 0), "{check:?}");
    assert_eq!(report.kernel_faults, Some(report.faults));
    assert_eq!(report.kernel_huge_pages, Some(report.huge_pages));

    let mut reader = TraceReader::new(&finished.output[..]).expect("it is a trace");
    assert!(reader.header().options.system);
    let mut told = ToldLeaves::default();
    while let Some(item) = reader.next_item().expect("it can be read") {
        match item {
            Item::Visits(visits) => visits.iter().for_each(|visit| told.visit(visit)),
            Item::Event(Event::System(event)) => told.event(event),
            Item::Event(_) => {}
        }
    }
    assert_eq!(told.untold, 0, "each page is told before its first use");
    assert_eq!(told.faults, report.faults);
    assert!(told.kernel > told.programs && told.programs > 1000);
}

#[test]
fn a_guest_is_recorded_as_it_translates() {
    records_a_guest(1);
}

#[test]
fn a_guest_of_two_processors_is_recorded() {
    records_a_guest(2);
}
