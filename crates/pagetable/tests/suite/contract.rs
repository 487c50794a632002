//! Every page table of the catalogue finds the leaves that a plain list holds.

use crate::edits::{Edit, HeardEdit, ListedMappings, SHIFTS, SPACES, edits};
use broadleaf_pagetable::{PAGE_TABLES, PageTable, PageTableChoice, PageTableKind};
use broadleaf_units::{
    AlignedRun, AllowedValues, ColourRegions, Leaf, PageNumber, PageSize, RegionShare, Rights,
    Scattering, SpaceId, SplitMix64,
};
use proptest::prelude::*;

/// A choice of parameters: one of them, or none, has another value than its default.
fn drawn(kind: &'static PageTableKind, random: &mut SplitMix64) -> PageTableChoice {
    let mut choice = PageTableChoice::from(kind);
    let turn = random.next() as usize % (kind.parameters.len() + 1);
    if let Some(parameter) = kind.parameters.get(turn) {
        let number = random.next();
        let text = match parameter.allowed {
            AllowedValues::Words(words) => words[number as usize % words.len()].to_owned(),
            // Few buckets have chains that take long.
            AllowedValues::Numbers(_, most) if most > 1 << 16 => (500 + number % 500).to_string(),
            AllowedValues::Numbers(least, most) => (least + number % 5).min(most).to_string(),
            _ => "true".to_owned(),
        };
        choice.set(parameter.name, &text).expect("a value");
    }
    choice
}

fn same(table: &mut dyn PageTable, listed: &ListedMappings) -> Result<(), TestCaseError> {
    for ((space, first), leaf) in &listed.leaves {
        let (space, last) = (SpaceId(*space), first + leaf.run.pages() - 1);
        for page in [*first, first + leaf.run.pages() / 2, last] {
            let found = table.walk(space, PageNumber(page), &mut |_| {});
            prop_assert_eq!(found, Some(*leaf));
        }
        let after = last + 1;
        let mapped = !listed.overlapping(space.0, after, 1).is_empty();
        let found = table.walk(space, PageNumber(after), &mut |_| {});
        prop_assert_eq!(found.is_some(), mapped);
    }
    Ok(())
}

/// The pages where an edit happened, and those beside it.
fn near(
    table: &mut dyn PageTable,
    listed: &ListedMappings,
    edit: &Edit,
) -> Result<(), TestCaseError> {
    let Edit::Map(space, page, _) = *edit else {
        return Ok(());
    };
    for page in [
        page.saturating_sub(1),
        page,
        page + 1,
        page ^ 15,
        page ^ 512,
    ] {
        let key = listed.overlapping(space, page, 1);
        let leaf = key.first().and_then(|key| listed.leaves.get(key)).copied();
        let found = table.walk(SpaceId(space), PageNumber(page), &mut |_| {});
        prop_assert_eq!(found, leaf, "page {}", page);
    }
    Ok(())
}

/// A table that holds nothing takes what it took at the beginning.
fn empty(choice: &PageTableChoice, table: &dyn PageTable) -> Result<(), TestCaseError> {
    let size = table.size();
    prop_assert_eq!(size.nodes(), 0, "{}", choice);
    prop_assert_eq!(size.bytes(), size.fixed);
    let fresh = PageTableKind::table(choice, PageSize::SIZE_4K);
    prop_assert_eq!(size.fixed, fresh.size().fixed);
    Ok(())
}

/// A table of default parameters, for base pages of 4 KiB.
fn plain(kind: &'static PageTableKind) -> Box<dyn PageTable> {
    PageTableKind::table(&kind.into(), PageSize::SIZE_4K)
}

/// Unmapping everything page by page leaves nothing, as ending the space does.
#[test]
fn what_is_unmapped_takes_no_memory() {
    for kind in PAGE_TABLES {
        let mut table = plain(kind);
        let runs: Vec<AlignedRun> = (0..3000_u64)
            .map(|number| {
                let size = PageSize::from_shift(SHIFTS[(number % 3) as usize]).expect("a size");
                AlignedRun::around(PageNumber(number * 7919 * 512), size)
            })
            .collect();
        for run in &runs {
            table.map(SpaceId(1), Leaf::new(*run, Some(run.first.0)));
        }
        assert!(table.size().nodes() > 0 && table.size().bytes() > table.size().fixed);
        runs.iter().for_each(|run| table.unmap(SpaceId(1), *run));
        empty(&(*kind).into(), table.as_ref()).expect("an empty table");
    }
}

/// Entries hold the configuration of scattered superpages beside pages of other kinds.
#[test]
fn entries_hold_configurations_of_scattered_superpages() {
    let regions = ColourRegions::contiguous(PageSize::SIZE_2M, 8).expect("regions");
    let leaf = |number: u64| {
        let page = PageNumber(number * 512);
        if number.is_multiple_of(4) {
            let run = AlignedRun::around(page, PageSize::SIZE_4K);
            return Leaf::new(run, Some(number * 7));
        }
        let share = RegionShare::of_node(1 + (number % 15) as u8, regions).expect("a share");
        let scattering = Scattering { regions, share };
        Leaf {
            scattering: scattering.pack(),
            ..Leaf::new(
                AlignedRun::around(page, PageSize::SIZE_2M),
                Some(scattering.first_frame(number * 8)),
            )
        }
    };
    for kind in PAGE_TABLES {
        let mut table = plain(kind);
        (0..60).for_each(|number| table.map(SpaceId(0), leaf(number)));
        for number in (0..60).rev() {
            let (first, after) = leaf(number).run.bounds();
            for page in [first, after - 1] {
                let found = table.walk(SpaceId(0), PageNumber(page), &mut |_| {});
                assert_eq!(found, Some(leaf(number)), "{kind:?}");
            }
        }
        (0..60).for_each(|number| table.unmap(SpaceId(0), leaf(number).run));
        empty(&(*kind).into(), table.as_ref()).expect("an empty table");
    }
}

/// A walk reads an entry for each span that is larger than the leaf, and the leaf.
#[test]
fn spans_are_those_of_the_entries_that_walks_read() {
    for kind in PAGE_TABLES {
        for base in [12, 14] {
            let base = PageSize::from_shift(base).expect("a size");
            let spans = (kind.spans)(base);
            assert!(spans.is_sorted() && spans.iter().all(|span| *span > base));
            if spans.is_empty() {
                // A table without levels: each walk reads what it likes.
                continue;
            }
            for shift in SHIFTS.into_iter().filter(|shift| *shift >= base.shift()) {
                let size = PageSize::from_shift(shift).expect("a size");
                let run = AlignedRun::around(PageNumber(0), size);
                let mut table = PageTableKind::table(&(*kind).into(), base);
                table.map(SpaceId(0), Leaf::new(run, None));
                let mut reads = 0;
                table.walk(SpaceId(0), PageNumber(0), &mut |_| reads += 1);
                let above = spans.iter().filter(|span| **span > size).count();
                assert_eq!(reads, above + 1, "{size:?}");
            }
        }
    }
}

/// Other rights change neither the memory of a table that names each page nor what it maps.
#[test]
fn protection_changes_the_entry_in_place() {
    for kind in PAGE_TABLES {
        let mut table = plain(kind);
        let leaf = |page: u64| {
            let run = AlignedRun::around(PageNumber(page), PageSize::SIZE_4K);
            Leaf::new(run, Some(page * 3))
        };
        (0..40).for_each(|page| table.map(SpaceId(0), leaf(page)));
        let before = table.size();
        let rights = Rights {
            write: false,
            ..Rights::READ_WRITE
        };
        let protected = Leaf { rights, ..leaf(7) };
        table.walk(SpaceId(0), PageNumber(7), &mut |_| {});
        table.protect(SpaceId(0), protected);
        let found = table.walk(SpaceId(0), PageNumber(7), &mut |_| {});
        assert_eq!(found, Some(protected), "{kind:?}");
        assert_eq!(table.size().nodes(), before.nodes(), "{kind:?}");
    }
}

proptest! {
    #[test]
    fn walks_find_the_mapped_leaves(edits in edits(), seed in any::<u64>()) {
        let mut random = SplitMix64::new(seed);
        for kind in PAGE_TABLES {
            let choice = drawn(kind, &mut random);
            let mut table = PageTableKind::table(&choice, PageSize::SIZE_4K);
            let mut listed = ListedMappings::default();
            for edit in &edits {
                for heard in listed.apply(*edit) {
                    match heard {
                        HeardEdit::Mapped(space, leaf) => table.map(space, leaf),
                        HeardEdit::Protected(space, leaf) => table.protect(space, leaf),
                        HeardEdit::Unmapped(space, leaf) => table.unmap(space, leaf.run),
                        HeardEdit::Ended(space) => table.end(space),
                    }
                }
                near(table.as_mut(), &listed, edit)?;
            }
            same(table.as_mut(), &listed)?;
            (0..SPACES).for_each(|space| table.end(SpaceId(space)));
            prop_assert_eq!(table.walk(SpaceId(0), PageNumber(0), &mut |_| {}), None);
            empty(&choice, table.as_ref())?;
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    for kind in PAGE_TABLES {
        assert_eq!(PageTableKind::named(kind.described.name), Some(*kind));
        for parameter in kind.parameters {
            let same = |other: &&_| parameter.name == **other;
            let names: Vec<&str> = kind.parameters.iter().map(|one| one.name).collect();
            assert_eq!(names.iter().filter(same).count(), 1, "{kind:?}");
        }
    }
    assert_eq!(PageTableKind::named("a card index"), None);
}

/// Parameters in brackets are read as they are written.
#[test]
fn parameters_follow_the_name_in_brackets() {
    let parsed = |text: &str| {
        PageTableChoice::parse(text)
            .expect("a choice")
            .expect("a table")
    };
    let choice = parsed("clustered( buckets=64, subblocks=8 )");
    assert_eq!(choice.short(), "clustered(buckets=64, subblocks=8)");
    assert_eq!(parsed(&choice.to_string()), choice);
    assert_eq!(parsed("x86-64").short(), "x86-64");
    for (text, reason) in [
        ("hashed(buckets=0)", "buckets is 1 to 16777216"),
        (
            "hashed(size=3)",
            "page table hashed has no parameter \"size\"",
        ),
        ("hashed(buckets=64", "no name with parameters"),
        ("hashed(buckets)", "no name with parameters"),
    ] {
        let error = PageTableChoice::parse(text).expect_err(text).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
