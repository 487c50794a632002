//! Free extents in the numbers of `/proc/pagetypeinfo`.

use crate::frames::grouped::check;
use broadleaf_memory::frames::{Mobility, Pagetypeinfo, PagetypeinfoError, Start, StartError};

/// The file of a machine with 16 GiB.
const TEXT: &str = "\
Page block order: 9
Pages per block:  512

Free pages count per migrate type at order       0      1      2      3      4      5      6      7      8      9     10 
Node    0, zone      DMA, type    Unmovable      0      0      0      0      0      0      0      0      1      0      0 
Node    0, zone      DMA, type      Movable      0      0      0      0      0      0      0      0      0      1      3 
Node    0, zone      DMA, type  Reclaimable      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone      DMA, type   HighAtomic      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type    Unmovable      0   1149   1543   1192    812    641    436    316    109      0      0 
Node    0, zone   Normal, type      Movable      0      1      0      0  13251  12725   6873   3557   1213    462    216 
Node    0, zone   Normal, type  Reclaimable   3472   1786    562    815    468    212     54      8      1      1      0 

Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic      Isolate 
Node 0, zone      DMA            1            7            0            0            0 
Node 0, zone   Normal          341         6971          240            0            0 
";

const UNMOVABLE: [u64; 11] = [0, 1149, 1543, 1192, 812, 641, 436, 316, 110, 0, 0];
const MOVABLE: [u64; 11] = [0, 1, 0, 0, 13251, 12725, 6873, 3557, 1213, 463, 219];
const RECLAIMABLE: [u64; 11] = [3472, 1786, 562, 815, 468, 212, 54, 8, 1, 1, 0];

#[test]
fn a_recording_comes_out_type_by_type() {
    let types = Pagetypeinfo::parse(TEXT).expect("two zones");
    assert_eq!(types.of[Mobility::Unmovable as usize].blocks, 342);
    assert_eq!(types.pages(), 7560 * 512);
    for seed in [1, 2, 3] {
        // A machine with pages of 1 GiB merges further, and must not here.
        for most_order in [10, 18] {
            let types = types.clone();
            let start = Start::RecordedByType { types, seed };
            let layout = start.lay_out(7552 * 512, most_order).expect("it fits");
            check(&layout);
            for (mobility, wanted) in [
                (Mobility::Unmovable, UNMOVABLE),
                (Mobility::Movable, MOVABLE),
                (Mobility::Reclaimable, RECLAIMABLE),
            ] {
                let orders = 0..=10;
                let found: Vec<u64> = orders
                    .map(|order| layout.buddy.free_extents_of(order, mobility))
                    .collect();
                assert_eq!(found, wanted, "{mobility:?}");
            }
            let pieces = layout.occupied.iter();
            assert!(pieces.into_iter().all(|piece| {
                piece.movable == (layout.buddy.mobility_of(piece.first.0) == Mobility::Movable)
            }));
        }
    }
}

#[test]
fn a_pool_that_is_too_small_is_refused() {
    let types = Pagetypeinfo::parse(TEXT).expect("two zones");
    let start = Start::RecordedByType { types, seed: 1 };
    let refused = start.lay_out(1 << 20, 10).map(|_| ());
    let Err(StartError::Regions { needed, .. }) = refused else {
        panic!("{refused:?}");
    };
    start.lay_out(needed, 10).expect("what is needed suffices");
}

#[test]
fn sums_are_those_of_buddyinfo() {
    let mut types = Pagetypeinfo::parse(TEXT).expect("two zones");
    let mut free = types.free();
    free[4] += 5;
    free[1] -= 3;
    types.matched_to(&free);
    assert_eq!(types.free(), free);
    // There was one movable extent of that order; two are missing of the others.
    assert_eq!(types.of[Mobility::Movable as usize].free[1], 0);
    assert_eq!(types.of[Mobility::Unmovable as usize].free[1], 1147);
    assert_eq!(types.of[Mobility::Movable as usize].free[4], 13256);
}

#[test]
fn wrong_texts_are_refused_with_their_lines() {
    let refused = |text: &str| Pagetypeinfo::parse(text).expect_err("it is wrong");
    assert_eq!(refused(""), PagetypeinfoError::Empty);
    assert_eq!(refused("Page block order: 9\n"), PagetypeinfoError::Empty);
    let text = "Node 0, zone DMA, type Movable 1 x\n";
    assert_eq!(refused(text).to_string(), "line 1: \"x\" is not a number");
    let text = "Node 0, zone DMA, type Odd 1\n";
    let said = "line 1: \"Odd\" is no migrate type that is known";
    assert_eq!(refused(text).to_string(), said);
    let text = format!("Node 0, zone DMA, type Movable{}\n", " 1".repeat(32));
    let orders = PagetypeinfoError::Orders {
        line: 1,
        orders: 32,
    };
    assert_eq!(refused(&text), orders);
    let capped = "Node 0, zone DMA, type Movable >100000 1\n";
    let capped = Pagetypeinfo::parse(capped).expect("a number");
    assert_eq!(capped.free(), [100_000, 1]);
}

#[test]
fn the_size_of_memory_is_that_of_all_pageblocks() {
    let other = TEXT.replace("per block:  512", "per block:  1024");
    let pages = |text: &str| Pagetypeinfo::parse(text).expect("two zones").pages();
    assert_eq!(pages(&other), 2 * pages(TEXT));
    let (without, _) = TEXT.split_once("Number of blocks").expect("a line");
    assert_eq!(pages(without), 0);
}
