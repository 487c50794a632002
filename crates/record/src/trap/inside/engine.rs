//! The engine's state, which all threads of the program share, and the lock around it.

#![allow(unsafe_code, reason = "state that signal handlers share")]

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU32, Ordering};

use broadleaf_units::AlignedRun;

use super::arch::call;
use super::layout::PAGE;
use super::signals::Handlers;
use super::space::Space;
use crate::trap::counts::SharedCounts;
use crate::trap::pages::TrapTlb;

/// Everything that the engine knows about the program.
pub(super) struct Engine {
    pub(super) space: Space,
    pub(super) tlb: TrapTlb,
    pub(super) handlers: Handlers,
    pub(super) shared: &'static SharedCounts,
    /// The heap of `brk`: its first byte and its end.
    pub(super) heap: Range<u64>,
    /// The path of the program, which `/proc/self/exe` would name.
    pub(super) program: Vec<u8>,
    /// The threads that run, beside the one that waits in the engine.
    pub(super) other_threads: u64,
    /// The address at whose unmapping the counts begin.
    pub(super) begin_at: Option<u64>,
    /// How often one instruction may miss in a row before all pages are opened for it.
    pub(super) most_repeats: usize,
}

impl Engine {
    /// Handles a trap at an address that counts: a miss of the first level.
    pub(super) fn miss(&mut self, address: u64, is_store: bool) {
        let space = &self.space;
        let is_mapped = |run: AlignedRun| {
            let (first, after) = run.bounds();
            let range = first * PAGE..after * PAGE;
            let parts = space.regions.within(&range);
            let is_whole = parts
                .iter()
                .map(|(part, _)| part.end - part.start)
                .sum::<u64>()
                == range.end - range.start;
            is_whole
                && parts
                    .windows(2)
                    .all(|pair| pair[0].1.protection == pair[1].1.protection)
        };
        let counts = |page: u64| {
            let region = space.regions.at(page * PAGE);
            region.is_some_and(|of| of.counts() && of.protection != libc::PROT_NONE)
        };
        let tlb = &mut self.tlb;
        let work = tlb.refer(address / PAGE, is_store, &is_mapped, &counts);
        let closed = space.close(&work.close);
        let done = closed.and(space.open(&work.open));
        self.note(done);
        self.show();
    }

    /// Closes pages that are open.
    pub(super) fn close(&mut self, pages: &[u64]) {
        let closed = self.space.close(pages);
        self.note(closed);
    }

    /// Drops the translations of a range that is about to be unmapped.
    pub(super) fn forget(&mut self, range: &Range<u64>, is_unmapped: bool) {
        let after = range.end.div_ceil(PAGE);
        let closed = self.tlb.forget(range.start / PAGE, after, is_unmapped);
        self.close(&closed);
    }

    /// Counts from zero with an empty TLB.
    pub(super) fn begin(&mut self) {
        self.close(&self.tlb.open());
        self.tlb.begin();
    }

    /// Opens every page.
    pub(super) fn open_all(&mut self) {
        let opened = self.space.open_all();
        self.note(opened);
    }

    /// Closes every page that the first level does not hold, after [`Engine::open_all`].
    pub(super) fn close_all(&mut self) {
        let closed = self.space.close_all();
        self.note(closed);
        let opened = self.space.open(&self.tlb.open());
        self.note(opened);
    }

    /// Notes a failure: the counts are worthless from then on.
    pub(super) fn note(&mut self, result: Result<(), i32>) {
        if let Err(error) = result {
            self.tlb.counts.failed = error as u64;
            self.show();
        }
    }

    /// Shows the counts to the parent.
    pub(super) fn show(&self) {
        self.shared.show(&self.tlb.counts);
    }
}

struct Shared(UnsafeCell<Option<Engine>>);

// SAFETY: only the holder of `LOCK` reaches the cell.
unsafe impl Sync for Shared {}

static ENGINE: Shared = Shared(UnsafeCell::new(None));
static LOCK: AtomicU32 = AtomicU32::new(FREE);

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// The engine, while its lock is held.
pub(super) struct Held(());

/// Stores the engine, before the program begins.
pub(super) fn install(engine: Engine) {
    let _held = Held::take();
    // SAFETY: the lock is held.
    unsafe { *ENGINE.0.get() = Some(engine) };
}

impl Held {
    /// Waits for the lock. It needs no thread-local storage.
    pub(super) fn take() -> Self {
        let taken = LOCK.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            while LOCK.swap(AWAITED, Ordering::Acquire) != FREE {
                let wait = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64;
                let arguments = [LOCK.as_ptr() as u64, wait, AWAITED.into(), 0, 0, 0];
                call(libc::SYS_futex, arguments);
            }
        }
        Self(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if LOCK.swap(FREE, Ordering::Release) == AWAITED {
            let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;
            call(libc::SYS_futex, [LOCK.as_ptr() as u64, wake, 1, 0, 0, 0]);
        }
    }
}

impl Deref for Held {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        // SAFETY: the lock is held, and `install` came first.
        unsafe { (*ENGINE.0.get()).as_ref().unwrap_unchecked() }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Engine {
        // SAFETY: the lock is held, and `install` came first.
        unsafe { (*ENGINE.0.get()).as_mut().unwrap_unchecked() }
    }
}
