//! The bits of entries, by the table of Talluri 1995, section 2.2.

use broadleaf_price::{ENTRY_KINDS, EntryKind, EntryReach, FieldWidths};

#[test]
fn the_bits_are_those_of_the_thesis() {
    let single = EntryKind::single_page_size().talluri(EntryReach::PAGE);
    assert_eq!((single.data, single.tag(), single.status), (45, 65, 1));
    for order in 1..=4 {
        let blocks = 1 << order;
        let superpage = EntryKind::superpage().talluri(EntryReach::superpage(order));
        assert_eq!((superpage.data, superpage.tag()), (46, 65 + order));
        let complete = EntryKind::complete_subblock().talluri(EntryReach::block(order));
        assert_eq!(
            (complete.data, complete.tag(), complete.word()),
            (46 * blocks, 65 - order, 46)
        );
        let partial = EntryKind::partial_subblock().talluri(EntryReach::block(order));
        assert_eq!((partial.data, partial.tag()), (46, 64 - order + blocks));
    }
}

/// SZ has log2(number of sizes) bits, rounded up: none for one size.
#[test]
fn the_size_field_grows_with_the_number_of_sizes() {
    let bits = |sizes| {
        let reach = EntryReach { order: 9, sizes };
        EntryKind::superpage().talluri(reach).data - 45
    };
    assert_eq!([1, 2, 3, 4, 12].map(bits), [0, 1, 2, 2, 4]);
}

#[test]
fn larger_base_pages_have_shorter_numbers() {
    let widths = FieldWidths::with_page_offset(14);
    let bits = (EntryKind::single_page_size().bits)(&widths, EntryReach::PAGE);
    assert_eq!((bits.data, bits.tag()), (34 + 9, 12 + 50 + 1));
}

/// Each kind has a name of its own, texts, and bits for any reach.
#[test]
fn every_kind_of_the_catalogue_is_described() {
    for (number, kind) in ENTRY_KINDS.iter().enumerate() {
        let described = kind.described;
        assert!(EntryKind::named(described.name) == Some(kind));
        for text in [described.summary, described.explanation, described.source] {
            assert!(
                !text.is_empty() && !text.contains("  "),
                "{}",
                described.name
            );
        }
        let before = &ENTRY_KINDS[..number];
        assert!(
            before
                .iter()
                .all(|other| other.described.name != described.name)
        );
        for order in 0..=6 {
            let bits = kind.talluri(EntryReach { order, sizes: 2 });
            assert!(bits.data > 0 && bits.tag() > 0 && bits.word() * bits.words == bits.data);
        }
    }
}
