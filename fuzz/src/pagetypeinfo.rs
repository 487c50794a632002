//! The text of `/proc/pagetypeinfo`: a text is refused, or is counts that read back equal. The
//! counts are laid out in a small memory, or refused.

use std::fmt::Write as _;

use broadleaf_memory::frames::{Pagetypeinfo, Start};

use crate::buddyinfo::check_layout;

/// The names of the mobilities, in the order of their counts.
const NAMES: [&str; 3] = ["Movable", "Unmovable", "Reclaimable"];

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Pagetypeinfo::parse(text) {
        Ok(types) => {
            assert_eq!(Pagetypeinfo::parse(&written(&types)).as_ref(), Ok(&types));
            matches_sums(types.clone());
            let free = types.free();
            check_layout(&free, &Start::RecordedByType { types, seed: 1 });
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The counts as Linux writes them, in one zone.
fn written(types: &Pagetypeinfo) -> String {
    let mut text = format!("Pages per block: {}\n", types.pages_per_block);
    for (name, of) in NAMES.iter().zip(&types.of) {
        let _ = write!(text, "Node 0, zone Normal, type {name}");
        for count in &of.free {
            let _ = write!(text, " {count}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "Number of blocks type {}", NAMES.join(" "));
    let blocks = types.of.each_ref().map(|of| of.blocks.to_string());
    let _ = writeln!(text, "Node 0, zone Normal {}", blocks.join(" "));
    text
}

/// Asserts that the counts can be adjusted to other sums.
fn matches_sums(mut types: Pagetypeinfo) {
    types.pages();
    let mut sums = types.free();
    sums.reverse();
    types.matched_to(&sums);
    assert_eq!(types.free(), sums);
}
