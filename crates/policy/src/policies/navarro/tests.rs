//! Tests of the policy `navarro`.

use crate::policies::testing::{RESERVED, decide, needs};
use crate::{Copies, PageDaemon, Placement, Point, Refusal, Verdict, View};
use broadleaf_units::SizeSet;

#[test]
fn promotes_again_when_all_pages_are_referenced() {
    let piece = View {
        populated: 512,
        referenced: 512,
        pages: 512,
        ..RESERVED
    };
    let again = |view| decide("navarro", Point::UsedAgain, view);
    assert_eq!(again(piece), Verdict::Promote);
    let rarely = View {
        referenced: 511,
        ..piece
    };
    assert_eq!(again(rarely), Verdict::Stay(Refusal::RarelyReferenced));
    let mixed = View { dirty: 3, ..piece };
    assert_eq!(again(mixed), Verdict::Stay(Refusal::MixedDirty));
}

#[test]
fn promotes_full_pieces_of_any_size_that_agree() {
    for pages in [16, 128, 512, 1024] {
        for (populated, dirty, verdict, without) in [
            (
                pages - 1,
                0,
                Verdict::Stay(Refusal::TooFewResident),
                Verdict::Stay(Refusal::TooFewResident),
            ),
            (pages, 0, Verdict::Promote, Verdict::Promote),
            (
                pages,
                1,
                Verdict::Stay(Refusal::MixedDirty),
                Verdict::Promote,
            ),
            (
                pages,
                pages - 1,
                Verdict::Stay(Refusal::MixedDirty),
                Verdict::Promote,
            ),
            (pages, pages, Verdict::Promote, Verdict::Promote),
        ] {
            let view = View {
                populated,
                dirty,
                pages,
                ..RESERVED
            };
            for point in [Point::Fault, Point::FirstStore] {
                assert_eq!(
                    decide("navarro", point, view),
                    verdict,
                    "{populated} {dirty}"
                );
                assert_eq!(decide("navarro(dirty=ignore)", point, view), without);
            }
        }
    }
    let elsewhere = View {
        populated: 512,
        reservation_age: None,
        ..RESERVED
    };
    assert_eq!(
        decide("navarro", Point::Fault, elsewhere),
        Verdict::Stay(Refusal::NoReservation)
    );
}

#[test]
fn breaks_superpages_at_first_stores_and_when_memory_is_short() {
    let superpage = View {
        populated: 512,
        promoted: true,
        ..RESERVED
    };
    let store = Point::StoreToCleanSuperpage;
    assert_eq!(decide("navarro", store, superpage), Verdict::Demote);
    assert_eq!(
        decide("navarro(dirty=ignore)", store, superpage),
        Verdict::Pass
    );
    let read_only = View {
        writable: false,
        ..superpage
    };
    assert_eq!(decide("navarro", store, read_only), Verdict::Pass);
    assert_eq!(decide("navarro", Point::Short, superpage), Verdict::Demote);
    assert_eq!(decide("navarro", Point::Short, RESERVED), Verdict::Pass);
}

#[test]
fn asks_for_every_size_and_for_contiguity() {
    let navarro = needs("navarro");
    assert_eq!(navarro.sizes, SizeSet::All);
    assert_eq!(navarro.placement, Placement::Reserved);
    assert_eq!(navarro.daemon, PageDaemon::ForContiguity);
    assert!(navarro.asked_when_short && navarro.copies == Copies::Never);
    assert_eq!(
        needs("navarro(sizes=64k,daemon=cache)").sizes,
        SizeSet::These(1 << 16)
    );
    assert_eq!(
        needs("navarro(daemon=cache)").daemon,
        PageDaemon::OldestFirst
    );
}

#[test]
fn a_part_of_a_piece_suffices_with_the_option() {
    let with = |populated| View {
        populated,
        dirty: 1,
        pages: 512,
        base_bytes: 8192,
        ..RESERVED
    };
    let half = |populated| decide("navarro(part=50)", Point::Fault, with(populated));
    assert_eq!(half(255), Verdict::Stay(Refusal::TooFewResident));
    assert_eq!(half(256), Verdict::Promote);
    let never = "navarro(part=50,without=promotion)";
    assert_eq!(decide(never, Point::Fault, with(256)), Verdict::Pass);
}

#[test]
fn each_switch_turns_one_mechanism_off() {
    let usual = needs("navarro");
    let mut seen = alloc::vec::Vec::new();
    for switch in &super::SWITCHES[1..] {
        let name = alloc::format!("navarro(without={switch})");
        let needed = needs(&name);
        let full = View {
            populated: 64,
            pages: 64,
            base_bytes: 8192,
            ..RESERVED
        };
        let first = View {
            populated: 1,
            ..full
        };
        let verdicts = [full, first].map(|view| decide(&name, Point::Fault, view));
        assert!(!seen.contains(&(needed, verdicts)), "{switch}");
        seen.push((needed, verdicts));
        let decides = ["promotion", "full-population", "small-superpages"];
        assert!(needed != usual || decides.contains(switch), "{switch}");
    }
    let full = View {
        populated: 512,
        pages: 512,
        base_bytes: 8192,
        ..RESERVED
    };
    let small = "navarro(without=small-superpages)";
    assert_eq!(decide(small, Point::Fault, full), Verdict::Promote);
    assert!(needs(small).every_size);
}

#[test]
fn zeroed_frames_are_favoured_by_base_pages_alone() {
    let of = |name| needs(name).ignores_zeroed;
    assert!(of("navarro(zeroed=100)") && !of("navarro(sizes=none,zeroed=100)"));
    assert!(needs("navarro").scan.is_none());
}
