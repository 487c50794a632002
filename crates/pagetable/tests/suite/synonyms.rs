//! Every synonym table lists the entries that a plain search of all mappings finds.

use crate::edits::{HeardEdit, ListedMappings, edits};
use broadleaf_pagetable::{SYNONYM_TABLES, SynonymKind, SynonymSize, SynonymTable, WalkMeter};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn built(kind: &SynonymKind) -> Box<dyn SynonymTable> {
    (kind.build)(PageSize::SIZE_4K)
}

fn table(name: &str) -> Box<dyn SynonymTable> {
    let name = format!("synonyms-{name}");
    built(SynonymKind::named(&name).expect("a synonym table"))
}

/// The entries that map a frame, by a search of all mappings.
fn searched(mapped: &BTreeMap<(SpaceId, AlignedRun), Leaf>, frame: u64) -> Vec<(SpaceId, Leaf)> {
    let covers = |leaf: &Leaf| {
        leaf.frame
            .is_some_and(|first| (first..first + leaf.run.pages()).contains(&frame))
    };
    let found = mapped.iter().filter(|(_, leaf)| covers(leaf));
    found.map(|((space, _), leaf)| (*space, *leaf)).collect()
}

fn sorted(mut entries: Vec<(SpaceId, Leaf)>) -> Vec<(SpaceId, Leaf)> {
    entries.sort_unstable();
    entries
}

/// An eighth of the usual cases: each looks at all lists of many pages.
fn fewer() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: usual.cases.div_ceil(8),
        ..usual
    }
}

proptest! {
    #![proptest_config(fewer())]
    /// After each map and unmap, the lists of the frames concerned are right.
    #[test]
    fn lists_have_every_entry_of_a_frame(edits in edits(), odd in 0..3_u64) {
        for kind in SYNONYM_TABLES {
            let mut table = built(kind);
            let mut listed = ListedMappings::default();
            let mut mapped = BTreeMap::new();
            for edit in &edits {
                let before = mapped.clone();
                for heard in listed.apply(*edit) {
                    let changes = match heard {
                        HeardEdit::Mapped(space, leaf) => vec![(space, leaf, true)],
                        HeardEdit::Unmapped(space, leaf) => vec![(space, leaf, false)],
                        HeardEdit::Protected(..) => Vec::new(),
                        HeardEdit::Ended(space) => mapped
                            .iter()
                            .filter(|((of, _), _)| *of == space)
                            .map(|(_, leaf)| (space, *leaf, false))
                            .collect(),
                    };
                    for (space, leaf, is_mapped) in changes {
                        // Frames that are not aligned to their page, too.
                        let frame = leaf.frame.map(|frame| frame + odd);
                        let leaf = Leaf::new(leaf.run, frame);
                        if is_mapped {
                            table.map(space, leaf, &mut |_| {});
                            mapped.insert((space, leaf.run), leaf);
                        } else {
                            let old = before.get(&(space, leaf.run)).copied();
                            let old = mapped.remove(&(space, leaf.run)).or(old).expect("a leaf");
                            table.unmap(space, old, &mut |_| {});
                        }
                        let Some(first) = leaf.frame else { continue };
                        let pages = leaf.run.pages();
                        for frame in [first, first + pages / 2, first + pages - 1, first + pages] {
                            let found = sorted(table.aliases(frame, &mut |_| {}));
                            let wanted = sorted(searched(&mapped, frame));
                            prop_assert_eq!(found, wanted, "{:?} frame {}", kind, frame);
                        }
                    }
                }
            }
            for ((space, _), leaf) in mapped {
                table.unmap(space, leaf, &mut |_| {});
            }
            prop_assert_eq!(table.size(), SynonymSize::default(), "{:?}", kind);
        }
    }
}

/// A superpage of 64 KiB, at the same place in each space.
fn superpage() -> Leaf {
    let size = PageSize::from_shift(16).expect("a size");
    Leaf::new(AlignedRun::around(PageNumber(64), size), Some(32))
}

fn base_page(page: u64) -> Leaf {
    let run = AlignedRun::around(PageNumber(page), PageSize::SIZE_4K);
    Leaf::new(run, Some(page - 32))
}

/// The pointers that one map or unmap reads and writes.
fn pointers(change: impl FnOnce(&mut dyn FnMut(u64))) -> u64 {
    let mut pointers = 0;
    change(&mut |address| pointers += u64::from(address < 1 << 62));
    pointers
}

#[test]
fn a_superpage_has_one_pointer_or_one_for_each_base_page() {
    for (name, wanted) in [
        ("pages", 3 * 16),
        ("same-size", 3),
        ("first", 3),
        ("sorted", 3),
    ] {
        let mut table = table(name);
        (0..3).for_each(|space| table.map(SpaceId(space), superpage(), &mut |_| {}));
        assert_eq!(table.size().pointers, wanted, "{name}");
        assert_eq!(table.size().pointer_bytes(), wanted * 8);
    }
    // A list head for each frame, or for the superpage.
    let descriptors = ["pages", "same-size", "first", "sorted"].map(|name| {
        let mut table = table(name);
        table.map(SpaceId(0), superpage(), &mut |_| {});
        table.size().descriptors
    });
    assert_eq!(descriptors, [16, 1, 16, 16]);
}

#[test]
fn sorted_lists_share_their_tails() {
    let mut table = table("sorted");
    let map = |table: &mut dyn SynonymTable, space, leaf| {
        pointers(|count| table.map(SpaceId(space), leaf, &mut |read| count(read.address)))
    };
    // Three frames have two base pages each before a superpage covers all.
    for page in [65, 66, 70] {
        map(table.as_mut(), 1, base_page(page));
        map(table.as_mut(), 2, base_page(page));
    }
    // The first superpage is appended to each list; the second follows the first.
    assert_eq!(map(table.as_mut(), 3, superpage()), 6 + 1);
    assert_eq!(map(table.as_mut(), 4, superpage()), 1 + 1);
    let mut order = table.aliases(33, &mut |_| {}).into_iter();
    assert!(order.clone().map(|(_, leaf)| leaf.run.size).is_sorted());
    assert_eq!(order.next().map(|(space, _)| space), Some(SpaceId(2)));
}

#[test]
fn one_size_for_each_frame_splits_superpages() {
    let mut table = table("same-size");
    table.map(SpaceId(0), superpage(), &mut |_| {});
    table.map(SpaceId(1), superpage(), &mut |_| {});
    assert_eq!(table.size().split, 0);
    table.map(SpaceId(2), base_page(65), &mut |_| {});
    assert_eq!((table.size().split, table.size().pointers), (2, 2 * 16 + 1));
    assert_eq!(table.aliases(33, &mut |_| {}).len(), 3);
    assert_eq!(table.aliases(34, &mut |_| {}).len(), 2);
}

/// Setting the flags of sixteen frames writes two lines of descriptors of 8 bytes.
#[test]
fn flags_are_set_once_for_each_size() {
    let mut table = table("first");
    let mut lines = |space| {
        let mut meter = WalkMeter::new(6);
        table.map(SpaceId(space), superpage(), &mut |read| meter.read(read));
        meter.end()
    };
    assert_eq!([lines(0), lines(1)], [2 + 1, 1 + 1]);
}
