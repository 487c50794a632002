//! Heat of this process's own memory, on this machine's kernel.

use super::super::*;
use crate::seen::BLOCK_BYTES;
use crate::{Kernel, Linux};

/// A third of the memory is in use.
#[test]
fn the_hot_third_of_a_live_mapping_is_found() {
    const THIRD: u64 = 8;
    let mut bytes = vec![1_u8; ((3 * THIRD + 1) * BLOCK_BYTES) as usize];
    let first = (bytes.as_ptr() as u64).div_ceil(BLOCK_BYTES);
    let offset = ((first + THIRD) * BLOCK_BYTES - bytes.as_ptr() as u64) as usize;
    let hot_blocks = first + THIRD..first + 2 * THIRD;
    let mut linux = Linux::new();
    let own = linux.process(std::process::id()).unwrap();
    let pages = linux.pages(own).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let hot_bytes = &mut bytes[offset..][..(THIRD * BLOCK_BYTES) as usize];
    let heat = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut at = 1_u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let place = (at >> 33) % (THIRD * BLOCK_BYTES);
                hot_bytes[place as usize] = hot_bytes[place as usize].wrapping_add(1);
            }
        });
        let window = Duration::from_secs(1);
        let heat = HeatMeter::default().measure(&mut linux, own, &pages, window, None);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        heat
    });
    let heat = match heat {
        Ok(heat) if !heat.blocks.is_empty() => heat,
        no => {
            eprintln!("skipped: this kernel shows no blocks: {no:?}");
            return;
        }
    };
    let of_memory = |range: std::ops::Range<u64>| {
        let blocks = heat.blocks.iter();
        let used = blocks.filter(|block| range.contains(&block.block) && block.used > 128);
        used.count() as u64
    };
    let (hot, all) = (of_memory(hot_blocks), of_memory(first..first + 3 * THIRD));
    // Blocks that are measured together may lie in both parts.
    let slack = heat.group + 1;
    assert!(hot + slack >= THIRD, "{hot} of {THIRD} blocks: {heat:?}");
    assert!(
        all - hot <= 2 * slack,
        "{all} blocks, {hot} of them hot: {heat:?}"
    );
    drop(bytes);
}
