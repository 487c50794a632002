//! The memory of this machine that the model takes.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Place, Spec};

const BLOCKS: u64 = 3000;

/// A system whose books are not checked after each page: that takes time in proportion to all that
/// there is.
fn touched(name: &str, orders: &[u8], pages: u64) -> u64 {
    let policy = policy(name);
    let spec = Spec {
        swap: 1 << 40,
        ..spec(orders, BLOCKS * 1024)
    };
    let mut world = TestMemory::new(policy.as_ref(), &spec);
    world.map(SPACE, Backing::Anonymous, 0..BLOCKS * 512);
    let before = world.system.bytes() as u64;
    for block in 0..BLOCKS {
        for page in block * 512..block * 512 + pages {
            let at = Place { space: SPACE, page };
            let done = world.system.reference(&world.spaces, at, true);
            done.expect("there is memory enough");
        }
    }
    world.system.check();
    world.system.bytes() as u64 - before
}

#[test]
fn a_block_of_one_touched_page_takes_a_kib_at_most() {
    for name in ["4k", "freebsd", "navarro", "linux", "thp-always", "greedy"] {
        let each = touched(name, &[0, 9], 1) / BLOCKS;
        assert!((300..=1024).contains(&each), "{name}: {each} bytes");
    }
    let each = touched("navarro", &[0, 9, 18], 1) / BLOCKS;
    assert!(each <= 1500, "with pages of 1 GiB: {each} bytes");
}

#[test]
fn a_page_of_a_full_block_takes_little_more_than_its_entries() {
    let each = touched("4k", &[0, 9], 512) / (BLOCKS * 512);
    assert!(each <= 40, "{each} bytes");
}
