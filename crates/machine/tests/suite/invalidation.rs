//! Removals of translations: the removed entries and the remaining ones.

use broadleaf_machine::machine;
use broadleaf_tlb::{Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

fn tag(number: usize) -> Asid {
    Asid::new(number).unwrap()
}

/// A TLB with base pages 0 to 99 and block 1 of two spaces.
fn filled() -> Tlb {
    let mut tlb = Tlb::new(&machine("skylake").unwrap().design);
    for space in 0..2 {
        for page in 0..30 {
            tlb.load(&Walk::plain(
                tag(space),
                PageNumber(page),
                PageSize::SIZE_4K,
            ));
        }
        tlb.load(&Walk::plain(tag(space), PageNumber(512), PageSize::SIZE_2M));
    }
    tlb
}

fn present(tlb: &Tlb, space: usize, page: u64) -> bool {
    tlb.clone().lookup(tag(space), PageNumber(page)) != Lookup::Miss
}

#[test]
fn one_size_of_one_space() {
    let mut tlb = filled();
    tlb.invalidate(tag(0), PageNumber(600), PageSize::SIZE_4K);
    assert!(present(&tlb, 0, 600), "the superpage is of another size");
    tlb.invalidate(tag(0), PageNumber(600), PageSize::SIZE_2M);
    assert!(!present(&tlb, 0, 600) && present(&tlb, 1, 600));
    tlb.check();
}

#[test]
fn ranges_small_and_large() {
    // Small ranges go page by page, large ones entry by entry: both have to do the same.
    for pages in [5, 5 + (1 << 20)] {
        for start in [10, 508, 600, 1023, 1024] {
            let mut tlb = filled();
            tlb.invalidate_range(tag(1), PageNumber(start), pages);
            tlb.check();
            let range = start..start + pages;
            for page in 0..30 {
                assert_eq!(
                    present(&tlb, 1, page),
                    !range.contains(&page),
                    "{page} of {range:?}"
                );
                assert!(present(&tlb, 0, page));
            }
            let meets = start < 1024 && start + pages > 512;
            assert_eq!(present(&tlb, 1, 777), !meets, "{range:?}");
            assert!(present(&tlb, 0, 777));
        }
    }
    let mut tlb = filled();
    tlb.invalidate_range(tag(1), PageNumber(0), 0);
    assert!(present(&tlb, 1, 0));
}

#[test]
fn ranges_do_not_wrap() {
    const LOWER_END: u64 = 1 << 44;
    const UPPER_START: u64 = (1 << 52) - (1 << 44);
    let remove = |start: u64, pages: u64| {
        let mut tlb = filled();
        for page in [LOWER_END - 1, UPPER_START, UPPER_START + 7, (1 << 52) - 1] {
            tlb.load(&Walk::plain(tag(1), PageNumber(page), PageSize::SIZE_4K));
        }
        tlb.invalidate_range(tag(1), PageNumber(start), pages);
        tlb.check();
        move |page| present(&tlb, 1, page)
    };
    // 2^57 bytes and two pages: all of the lower half, and the bytes after it are not canonical.
    for pages in [LOWER_END, 2 * LOWER_END + 2, UPPER_START] {
        let left = remove(0, pages);
        assert!(!left(0) && !left(29) && !left(777) && !left(LOWER_END - 1));
        assert!(left(UPPER_START) && left((1 << 52) - 1), "{pages}");
    }
    let left = remove(20, UPPER_START - 20 + 1);
    assert!(left(19) && !left(20) && !left(LOWER_END - 1));
    assert!(!left(UPPER_START) && left(UPPER_START + 7));
    let left = remove(UPPER_START + 1, u64::MAX);
    assert!(left(0) && left(777) && left(UPPER_START));
    assert!(!left(UPPER_START + 7) && !left((1 << 52) - 1));
    // Pages that nothing translates look like others in the bits that an entry keeps.
    for (start, pages) in [(2 * LOWER_END, 8), (2 * LOWER_END, 1 << 20), (1 << 52, 8)] {
        let left = remove(start, pages);
        assert!((0..30).all(left), "{start:#x}");
    }
}

#[test]
fn a_whole_space() {
    let mut tlb = filled();
    let before = tlb.occupied();
    tlb.invalidate_space(tag(1));
    assert_eq!(tlb.occupied() * 2, before);
    assert!(present(&tlb, 0, 0) && !present(&tlb, 1, 0));
    tlb.check();
}

#[test]
fn pages_that_can_be_told_apart() {
    for page in [0, 1, (1 << 44) - 1, (1 << 52) - 1, (1 << 52) - (1 << 44)] {
        assert!(Tlb::can_translate(PageNumber(page)), "{page:#x}");
    }
    for page in [
        1 << 44,
        1 << 51,
        (1 << 52) - (1 << 44) - 1,
        1 << 52,
        u64::MAX,
    ] {
        assert!(!Tlb::can_translate(PageNumber(page)), "{page:#x}");
    }
}
