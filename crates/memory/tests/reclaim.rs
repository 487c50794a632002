//! Memory is used up only where nothing in it can be taken back.

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, OutOfMemory, Place, Spec, System};
use broadleaf_memory::{AddressSpaces, Backing, Mapping, Pages, Rights};
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::collections::BTreeSet;

const SPACE: SpaceId = SpaceId(0);
/// Pages of a file that are used all the time.
const HOT: u64 = 8;

/// So many frames and no swap: how many pages of anonymous memory fit, while pages of a file are used between any two of them.
fn anonymous_pages_that_fit(frames: u64) -> (u64, u64) {
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let spec = Spec {
        base: PageSize::SIZE_4K,
        sizes: Sizes::new(&[0, 9]).expect("sizes"),
        start: Start::Empty.lay_out(frames, 10).expect("a layout"),
        swap: 0,
        files: Files::OnDisk,
        costs: Costs::default(),
    };
    let mut spaces = AddressSpaces::new(BTreeSet::from([SPACE]));
    spaces.file(FileId(0), HOT << 12);
    let map = |start, pages, backing| Mapping {
        pages: Pages {
            start,
            end: start + pages,
        },
        rights: Rights::READ_WRITE,
        shared: false,
        backing,
    };
    let file = Backing::File {
        file: FileId(0),
        offset: 0,
    };
    let mut system = System::new(policy.as_ref(), &spec, None);
    let anonymous = map(1000, 2 * frames, Backing::Anonymous);
    for mapping in [map(0, HOT, file), anonymous] {
        for change in spaces.map(SPACE, mapping) {
            system.apply(&change);
        }
    }
    let mut reference = |page, store| {
        let at = Place { space: SPACE, page };
        if system.look(at, store).is_some() {
            return Ok(());
        }
        let done = system.reference(&spaces, at, store);
        system.shootdowns().for_each(drop);
        system.check();
        done.map(drop)
    };
    let mut fit = 2 * frames;
    for page in 0..2 * frames {
        if reference(1000 + page, true) == Err(OutOfMemory) {
            fit = page;
            break;
        }
        // Where anonymous memory has every frame, a file's page has none.
        for hot in 0..HOT {
            let _ = reference(hot, false);
        }
    }
    (fit, system.sample().wired)
}

#[test]
fn every_page_of_a_file_leaves_before_memory_is_used_up() {
    for frames in [9, 10, 16, 31, 64, 200] {
        let (fit, wired) = anonymous_pages_that_fit(frames);
        assert_eq!(fit + wired, frames, "{frames} frames");
    }
}
