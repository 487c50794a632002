//! A superpage that only the estimate promoted again.

use super::*;

const AT: Duration = Duration::from_secs(1);

#[test]
fn a_superpage_that_only_the_estimate_made_again_stays_whole() {
    let before = BlockSeen {
        present: 100,
        ..BlockSeen::empty(7)
    };
    let whole = BlockSeen {
        present: 512,
        ..BlockSeen::empty(7)
    };
    let whole_superpage = Superpage {
        before,
        is_whole: true,
        is_inherited: false,
    };
    let mut process = EstimatedProcess::default();
    process.recorded.0.insert(7, whole_superpage);
    process.made.0.insert(7, whole_superpage);
    let superpage = BlockSeen::superpage(7);
    assert_eq!(process.block(&superpage, AT), superpage);
    // The program breaks the superpage in both runs, and keeps all pages. The recorded run
    // leaves the block so.
    assert_eq!(process.block(&whole, AT), whole);
    assert_eq!(process.block(&whole, AT), whole);
    process.made.0.insert(7, whole_superpage);
    assert_eq!(process.block(&whole, AT), superpage);
    assert_eq!(process.block(&whole, AT), superpage);
}
