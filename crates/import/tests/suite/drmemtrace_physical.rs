//! Physical addresses of drmemtrace, written here from the documented layout of DynamoRIO's option
//! `-use_physical`: marker 15 has a physical address, marker 17 the virtual address that it belongs
//! to, marker 16 a virtual address without one, and marker 18 the page size.

use std::fs;

use broadleaf_import::{ImportError, ImportOptions};
use broadleaf_trace::{Event, GuestLeaf, SystemEvent};
use broadleaf_units::SpaceId;

use crate::common::{
    Imported, OwnedItem, PAGES, import_bytes, import_source, named, through_a_trace,
};
use crate::drmemtrace::{Pen, import, one};

const PHYSICAL: ImportOptions = ImportOptions {
    physical: true,
    ..PAGES
};

impl Pen {
    fn placed(self, virt: u64, physical: u64) -> Self {
        self.marker(15, physical).marker(17, virt)
    }

    fn without_place(self, virt: u64) -> Self {
        self.marker(16, virt)
    }
}

fn import_physical(bytes: &[u8]) -> Result<Imported, ImportError> {
    import_bytes(named("drmemtrace"), bytes, PHYSICAL)
}

/// The virtual and the physical address, and the logarithm of the page size, of each leaf.
fn leaves(imported: &Imported) -> Vec<(u64, u64, u8)> {
    let leaf = |event: Event| match event {
        Event::System(SystemEvent::Leaf(GuestLeaf {
            start,
            physical,
            shift,
            user,
            ..
        })) => {
            assert!(user);
            Some((start.0, physical, shift))
        }
        _ => None,
    };
    imported.events().into_iter().filter_map(leaf).collect()
}

fn left_out(imported: &Imported, words: &str) -> u64 {
    let mut left = imported.left_out.iter();
    left.find(|left| left.what.contains(words))
        .map_or(0, |left| left.count)
}

/// The number of pages whose physical address the trace lacks. They are kept, so no note says that
/// they were left out.
fn without_place(imported: &Imported) -> u64 {
    assert_eq!(left_out(imported, "pages"), 0);
    let mut taken = imported.taken.iter();
    taken
        .find(|taken| taken.how.starts_with("pages without a physical address"))
        .map_or(0, |taken| taken.count)
}

/// Two pages, of which one moves, one that has no address, and one that no marker names.
fn moving() -> Vec<u8> {
    Pen::head(7, 7, 1)
        .placed(0x7fff_1000, 0x12_3000)
        .without_place(0x7fab_cdef_1000)
        .fetch(0x40_1000)
        .load(0x7fff_1010)
        .load(0x7fab_cdef_1ff8)
        .time(2)
        .placed(0x7fff_1000, 0x12_3000)
        .load(0x7fff_1018)
        .time(3)
        .placed(0x7fff_1000, 0x99_9000)
        .store(0x7fff_1020)
        .store(0x7fff_2000)
        .end(7)
}

#[test]
fn markers_become_leaves_before_the_references() {
    let imported = import_physical(&moving()).expect("a trace");
    assert!(imported.header.options.system);
    let (load, store) = (
        |unit, instructions| one(unit, 0, instructions),
        |unit| one(unit, 1, 0),
    );
    assert_eq!(
        imported.visits(),
        [
            load(0x7fff1, 1),
            load(0x7_fabc_def1, 0),
            load(0x7fff1, 0),
            store(0x7fff1),
            store(0x7fff2)
        ]
    );
    // The lower 28 bits mark a missing address. Two reports of a place make one leaf.
    assert_eq!(
        leaves(&imported),
        [
            (0x7fff_1000, 0x12_3000, 12),
            (0x7fab_cdef_1000, 0xdef_1000, 12),
            (0x7fff_1000, 0x99_9000, 12),
            (0x7fff_2000, 0xfff_2000, 12)
        ]
    );
    let at = |wanted: &dyn Fn(&OwnedItem) -> bool| imported.items.iter().position(wanted);
    let is_new = |item: &OwnedItem| {
        matches!(item, OwnedItem::Event(Event::System(SystemEvent::Leaf(leaf)))
            if leaf.physical == 0x99_9000)
    };
    let is_store = |item: &OwnedItem| matches!(item, OwnedItem::Visit(visit) if visit.stores == 1);
    assert!(at(&is_new) < at(&is_store));
    assert_eq!(without_place(&imported), 2);
    assert_eq!(left_out(&imported, "--physical"), 0);
    // A reader names the kernel's space first.
    let mut again = through_a_trace(&imported);
    assert_eq!(
        again.remove(0),
        OwnedItem::Event(Event::SpaceSwitch(SpaceId(0)))
    );
    assert_eq!(again, imported.items);
}

#[test]
fn without_the_option_physical_addresses_are_counted_and_change_nothing() {
    let imported = import(&moving()).expect("a trace");
    assert!(!imported.header.options.system && leaves(&imported).is_empty());
    assert_eq!(left_out(&imported, "--physical"), 3);
    let accesses = |imported: &Imported| imported.counts.accesses();
    let physical = import_physical(&moving()).expect("a trace");
    assert_eq!(accesses(&imported), accesses(&physical));
}

#[test]
fn every_page_of_a_reference_has_a_leaf() {
    let bytes = Pen::head(7, 7, 1)
        .placed(0x1000, 0x5000)
        .record(0, 9000, 0x1ff0)
        .end(7);
    let imported = import_physical(&bytes).expect("a trace");
    let pages: Vec<u64> = leaves(&imported).iter().map(|leaf| leaf.0).collect();
    assert_eq!(pages, [0x1000, 0x2000, 0x3000, 0x4000]);
    assert_eq!(without_place(&imported), 3);
}

#[test]
fn a_frame_that_is_known_stays_when_another_thread_cannot_tell_it() {
    let bytes = Pen::head(7, 7, 1)
        .placed(0x1000, 0x5000)
        .load(0x1000)
        .without_place(0x1000)
        .without_place(0x2000)
        .load(0x1000)
        .without_place(0x2000)
        .load(0x2000)
        .end(7);
    let imported = import_physical(&bytes).expect("a trace");
    assert_eq!(
        leaves(&imported),
        [(0x1000, 0x5000, 12), (0x2000, 0x2000, 12)]
    );
    assert_eq!(without_place(&imported), 1);
}

#[test]
fn pages_of_the_kernel_have_no_leaves() {
    let bytes = Pen::head(7, 7, 1)
        .placed(0x1000, 0x5000)
        .load(0x1000)
        .marker(27, 1)
        .placed(0x1000, 0x9000)
        .load(0xffff_8000_0000_1000)
        .marker(28, 1)
        .load(0x1008)
        .end(7);
    let imported = import_physical(&bytes).expect("a trace");
    assert_eq!(leaves(&imported), [(0x1000, 0x5000, 12)]);
}

#[test]
fn a_trace_whose_addresses_were_not_to_be_had_says_so() {
    let of = |pen: Pen| import_physical(&pen.load(0x1000).end(7)).map(|_| ());
    let refused = of(Pen::head(7, 7, 1).without_place(0x1000)).expect_err("no address");
    assert!(refused.to_string().contains("record as root"), "{refused}");
    let refused = of(Pen::head(7, 7, 1)).expect_err("no marker");
    assert!(refused.to_string().contains("-use_physical"), "{refused}");
}

#[test]
fn each_process_has_its_own_leaves_beside_the_kernels_space() {
    let folder = tempfile::tempdir().expect("a folder");
    for (process, physical) in [(1, 0x5000), (2, 0x6000)] {
        let bytes = Pen::head(process, process, process)
            .placed(0x1000, physical)
            .load(0x1000)
            .end(process);
        let name = format!("drmemtrace.app.{process}.1.trace");
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    let source = broadleaf_import::ImportSource::open(folder.path(), "x").expect("a folder");
    let entry = named("drmemtrace").import.as_ref().expect("an importer");
    let imported = import_source(entry, source, PHYSICAL).expect("a trace");
    let spaces = imported
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::System(SystemEvent::Space(space)) => Some(space),
            _ => None,
        });
    assert_eq!(spaces.collect::<Vec<_>>(), [SpaceId(1), SpaceId(2)]);
    assert_eq!(
        leaves(&imported),
        [(0x1000, 0x5000, 12), (0x1000, 0x6000, 12)]
    );
}

#[test]
fn pages_of_two_mebibytes_are_leaves_of_their_size() {
    let bytes = Pen::default()
        .record(25, 0, 7)
        .record(22, 8, 7)
        .record(24, 8, 7)
        .marker(18, 0x20_0000)
        .time(1)
        .placed(0x7fff_1234, 0x4020_0000)
        .load(0x7fff_0000)
        .end(7);
    let imported = import_physical(&bytes).expect("a trace");
    assert_eq!(leaves(&imported), [(0x7fe0_0000, 0x4020_0000, 21)]);
    assert_eq!(without_place(&imported), 0);
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let sized = |bytes| {
        let head = Pen::head(7, 7, 1).marker(18, bytes);
        head.placed(0x1000, 0x2000).load(0x1000).end(7)
    };
    for (bytes, words) in [
        (
            sized(0x3000),
            "record 10 (at byte 108): a trace with physical addresses has pages",
        ),
        (sized(0x20_0000), "different page sizes"),
        (
            Pen::default().record(25, 0, 7).marker(18, 0x3000).time(1).0,
            "x: record 2 (at byte 12): a trace with physical addresses has pages",
        ),
        (
            Pen::head(7, 7, 1).load(0x1000).end(7),
            "has no physical addresses: record with `drrun",
        ),
    ] {
        let error = import_physical(&bytes).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}
