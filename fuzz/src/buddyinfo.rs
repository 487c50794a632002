//! The text of `/proc/buddyinfo`: a text is refused, or is a list of zones that reads back equal.
//! Its counts are laid out in a small memory, or refused.

use std::fmt::Write as _;

use broadleaf_memory::frames::{Buddyinfo, Start, room_for};

/// The size in frames of the memory that the counts are laid out in.
const FRAMES: u64 = 1 << 12;
/// The greatest order of the memory.
const MOST_ORDER: u8 = 10;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Buddyinfo::parse(text) {
        Ok(recorded) => {
            assert_eq!(
                Buddyinfo::parse(&written(&recorded)).as_ref(),
                Ok(&recorded)
            );
            for zone in &recorded.zones {
                let free = recorded.free(Some(zone.node), Some(&zone.name));
                assert!(free.is_ok_and(|free| free.len() >= zone.free.len()));
            }
            let free = recorded.free(None, None).expect("a zone");
            room_for(&free, MOST_ORDER);
            let start = Start::Recorded {
                free: free.clone(),
                movable: 0.5,
                seed: 1,
            };
            check_layout(&free, &start);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The zones as Linux writes them.
fn written(recorded: &Buddyinfo) -> String {
    let mut text = String::new();
    for zone in &recorded.zones {
        let _ = write!(text, "Node {}, zone {}", zone.node, zone.name);
        for count in &zone.free {
            let _ = write!(text, " {count}");
        }
        text.push('\n');
    }
    text
}

/// Lays a start out in a small memory, and asserts that the memory has the free frames of `free`,
/// the numbers of free extents by order.
pub(crate) fn check_layout(free: &[u64], start: &Start) {
    let extents = free.iter().zip(0..);
    let frames: u128 = extents
        .map(|(count, order)| u128::from(*count) << order)
        .sum();
    if let Ok(layout) = start.lay_out(FRAMES, MOST_ORDER) {
        assert_eq!(u128::from(layout.buddy.free_frames()), frames);
    }
}
