//! Use by the bits of page frames.

use super::*;
use crate::heat::idle::{IdleBits, measure_in};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The bits of a kernel.
#[derive(Default)]
struct FakeBits {
    words: RefCell<BTreeMap<u64, u64>>,
    /// Frames that the kernel does not track.
    untracked: BTreeSet<u64>,
    /// Frames that are used between their first mark and the check of it.
    busy: RefCell<BTreeSet<u64>>,
}

impl FakeBits {
    /// Uses frames, as a program does.
    fn reference(&self, frames: impl IntoIterator<Item = u64>) {
        for frame in frames {
            if let Some(word) = self.words.borrow_mut().get_mut(&(frame / 64)) {
                *word &= !(1 << (frame % 64));
            }
        }
    }
}

impl IdleBits for FakeBits {
    fn mark(&self, word: u64, frames: u64) -> io::Result<()> {
        *self.words.borrow_mut().entry(word).or_default() |= frames;
        self.reference(self.untracked.iter().copied());
        let busy = std::mem::take(&mut *self.busy.borrow_mut());
        let (now, later) = busy.into_iter().partition(|frame| frame / 64 == word);
        *self.busy.borrow_mut() = later;
        let now: BTreeSet<u64> = now;
        self.reference(now);
        Ok(())
    }

    fn idle(&self, word: u64) -> io::Result<u64> {
        Ok(self.words.borrow().get(&word).copied().unwrap_or(0))
    }
}

fn hot_by(made: &MadeUp, bits: &FakeBits, used: &[u64]) -> Vec<(u64, u16)> {
    let rest = || {
        bits.reference(used.iter().copied());
        Ok(())
    };
    let found = measure_in(bits, &made.meter(), id(), &memory(), rest).unwrap();
    hot(&found.blocks)
}

#[test]
fn pages_that_are_not_idle_any_more_were_used() {
    let made = MadeUp::new().with_frames(frame);
    // The first frame of the superpage, and three pages of the next block.
    let page = HOT.start * u64::from(PAGES);
    let next = page + u64::from(PAGES);
    let used = [page, next + 1, next + 2, next + 70].map(frame);
    let found = hot_by(&made, &FakeBits::default(), &used);
    assert_eq!(found, [(HOT.start, 512), (HOT.start + 1, 3)]);
}

#[test]
fn pages_that_the_kernel_does_not_track_do_not_count_as_used() {
    let made = MadeUp::new().with_frames(frame);
    let first = frame(FIRST * u64::from(PAGES));
    let bits = FakeBits {
        untracked: (first..first + 100).collect(),
        ..FakeBits::default()
    };
    let found = hot_by(&made, &bits, &[first + 50, first + 200]);
    assert_eq!(found, [(FIRST, 1)]);
}

#[test]
fn pages_in_use_while_they_are_marked_are_tracked() {
    let made = MadeUp::new().with_frames(frame);
    let first = frame(FIRST * u64::from(PAGES));
    let bits = FakeBits {
        busy: RefCell::new([first, first + 70].into()),
        ..FakeBits::default()
    };
    let found = hot_by(&made, &bits, &[first, first + 70]);
    assert_eq!(found, [(FIRST, 2)]);
}

#[test]
fn pages_of_a_large_folio_have_the_bit_of_its_first() {
    let made = MadeUp::new().with_frames(frame);
    // Sixteen pages of the first block are one folio.
    let head = frame(FIRST * u64::from(PAGES) + 32);
    made.write("proc/kpageflags", "");
    let flags = made.proc().join("kpageflags");
    let flags = fs::File::options().write(true).open(flags).unwrap();
    flags.set_len(1 << 20).unwrap();
    for tail in 0..16_u64 {
        let flag: u64 = if tail == 0 { 1 << 15 } else { 1 << 16 };
        flags
            .write_all_at(&flag.to_ne_bytes(), (head + tail) * 8)
            .unwrap();
    }
    let found = hot_by(&made, &FakeBits::default(), &[head]);
    assert_eq!(found, [(FIRST, 16)]);
}
