//! The recorder of whole systems. The recording of a guest needs one: `BROADLEAF_GUEST` names the
//! folder that `workloads/guest/build.py` made. `tests/hard/whole-system` builds one and runs more.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use broadleaf_record::system::GuestMachine;
use broadleaf_record::valgrind::{Engine, Options, record};
use broadleaf_trace::{
    Event, FaultStep, GuestLeaf, Item, KernelEvent, SystemEvent, TraceReader, Visit,
};
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
    ("0f1f8400a31eadb0", "events -1 0"),
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
        files: Vec::new(),
        keeps_console: false,
    })
}

/// The leaves that a trace has reported so far. It checks that each page comes before its use.
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

/// The lines that the guest's command writes, for each of Zhu's events.
const THIRTEEN: [&str; 13] = [
    "RV_CREATE 0x600000200000",
    "RV_BREAK 0x600000400000",
    "RV_FREE 0x600000600000",
    "VM_PROMOTE 0x600000800000",
    "VM_DEMOTE 0x600000a00000",
    "VM_MAPPING 0x600000c00000",
    "VM_UNMAP 0x600000001000 0x3000",
    "VM_PROTECT 0x600000002000 0x4000 5",
    "VM_PAGEOUT 0x600000003000 0x5000",
    "INVLPG 0x600000004123",
    "INVLTLB",
    "INVLTLB_G",
    "INVPCID 0x600000005000 0 0",
];

/// The event of a line, in this space.
fn event_of(line: &str, space: SpaceId) -> KernelEvent {
    let mut words = line.split(' ');
    let name = words.next().expect("a name");
    let action = KernelEvent::NAMES.iter().position(|of| *of == name);
    let mut number = || {
        let word = words.next().unwrap_or("0");
        let hex = word
            .strip_prefix("0x")
            .map(|hex| u64::from_str_radix(hex, 16));
        hex.unwrap_or_else(|| word.parse()).expect("a number")
    };
    let arguments = [number(), number(), number()];
    let action = action.expect("an event") as u64;
    KernelEvent::of_numbers(space, action, arguments).expect("a possible event")
}

/// A module of the guest emits all thirteen events by stores to its page. Its probes emit those of
/// a huge page that the command uses.
#[test]
fn a_module_of_the_guest_emits_the_thirteen_events() {
    let Some(machine) = guest(1) else {
        return;
    };
    let symbols = std::fs::read_to_string(machine.folder.join("symbols")).unwrap_or_default();
    if !symbols.contains("\nkernel-events") {
        eprintln!("skipped: the guest was built without --events");
        return;
    }
    let lines = THIRTEEN.join("\\n");
    let script = format!(
        "printf '{lines}\\n' >/proc/broadleaf-events; dd if=/dev/zero of=/dev/null bs=8M count=1; \
         awk 'BEGIN {{ s = \"x\"; for (i = 0; i < 22; i++) s = s s; s = \"\" }}'"
    );
    let options = Options {
        engine: Engine::QemuSystem,
        guest: Some(machine),
        ..options(&["sh", "-c", &script])
    };
    let finished = record(&options, Vec::new(), &mut |_| {}).expect("the recording works");
    let report = finished.guest.expect("it is a guest's");
    assert_eq!(report.status, Some(0));
    let check = report.check.expect("it was asked for");
    assert_eq!((check.different, report.untranslated), (0, 0), "{check:?}");
    assert_eq!(report.kernel_faults, Some(report.faults));
    assert_eq!(report.kernel_huge_pages, Some(report.huge_pages));
    let counts = report.events.expect("a page was announced");
    assert_eq!((counts.invalid, counts.homeless), (0, 0), "{counts:?}");

    let mut reader = TraceReader::new(&finished.output[..]).expect("it is a trace");
    assert_eq!(reader.version(), 5);
    let mut found: Vec<KernelEvent> = Vec::new();
    while let Some(item) = reader.next_item().expect("it can be read") {
        if let Item::Event(Event::Kernel(event)) = item {
            found.push(*event);
        }
    }
    assert_eq!(found.len() as u64, counts.recorded);
    let first = event_of(THIRTEEN[0], SpaceId(0)).action;
    let at = found.iter().position(|event| event.action == first);
    let space = found[at.expect("the first event")].space;
    assert_ne!(space, SystemEvent::KERNEL);
    let mut of_space = found.iter().filter(|event| event.space == space);
    for line in THIRTEEN {
        let expected = event_of(line, space);
        assert!(
            of_space.any(|event| *event == expected),
            "{line}: {found:?}"
        );
    }
    // What Linux itself does: a huge page that a fault made, and memory that is unmapped.
    let of = |name: &str| found.iter().filter(|event| event.name() == name).count();
    assert!(
        of("VM_PROMOTE") as u64 > report.huge_pages.min(1),
        "{found:?}"
    );
    assert!(
        of("VM_UNMAP") > 5 && of("VM_PROTECT") > 3 && of("INVLPG") > 5,
        "{found:?}"
    );
}
