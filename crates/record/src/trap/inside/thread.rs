//! Threads of the program, as the engine sees them: the block of each, which is its signal stack.

#![allow(unsafe_code, reason = "memory that the kernel and assembly use")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicU64};

use super::arch::{self, SELECT_ALLOW};
use super::context::SignalMask;

/// The bytes of a block. A block is aligned to its size, so that the stack leads to it.
pub(super) const BLOCK_BYTES: usize = 1 << 18;

/// The bytes at the start of a block that are not stack.
const HEAD_BYTES: usize = 1 << 12;

/// The bytes of the kernel's description of a signal.
pub(super) const SIGNAL_INFO_BYTES: usize = 128;

/// The state of one thread of the program, at the start of its signal stack. Assembly knows the
/// places of the first four fields.
#[repr(C)]
pub(super) struct ThreadBlock {
    /// The selector byte of Syscall User Dispatch.
    pub(super) selector: AtomicU8,
    /// The engine's thread-local storage.
    pub(super) engine_storage: AtomicU64,
    /// The program's thread-local storage while the engine runs.
    pub(super) program_storage: AtomicU64,
    /// The number of the signal that waits for the program's handler; 0 for none.
    pub(super) waiting: AtomicU64,
    /// The rest. Only the thread itself uses it.
    pub(super) own: UnsafeCell<ThreadState>,
}

/// The part of a thread's state that the engine alone uses.
pub(super) struct ThreadState {
    /// The description of the signal that waits.
    pub(super) waiting_info: [u8; SIGNAL_INFO_BYTES],
    /// The signal stack that the program asked for: its first byte, its flags and its size.
    pub(super) signal_stack: SignalStack,
    /// The mask to restore after a call that had a mask of its own.
    pub(super) mask_before: Option<SignalMask>,
    /// How often one instruction with equal registers missed in a row.
    pub(super) repeats: Repeats,
    /// The thread executes one instruction with all pages open.
    pub(super) steps: bool,
}

/// A signal stack, in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignalStack {
    pub(super) start: u64,
    pub(super) flags: i32,
    pub(super) size: u64,
}

impl SignalStack {
    /// No signal stack.
    pub(super) const NONE: Self = Self {
        start: 0,
        flags: libc::SS_DISABLE,
        size: 0,
    };

    /// Returns true if a stack pointer lies on it.
    pub(super) const fn holds(&self, pointer: u64) -> bool {
        self.flags & libc::SS_DISABLE == 0
            && pointer > self.start
            && pointer - self.start <= self.size
    }
}

/// An instruction that misses again and again with equal registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// A digest of the instruction's address and all registers.
    pub(super) digest: u64,
    pub(super) times: usize,
}

impl ThreadBlock {
    /// A block for a new thread. It lives as long as the process.
    ///
    /// # Errors
    /// The kernel's error number if there is no memory.
    pub(super) fn new(engine_storage: u64) -> Result<&'static Self, i32> {
        let bytes = 2 * BLOCK_BYTES as u64;
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
        let mapped = arch::call(libc::SYS_mmap, [0, bytes, protection, flags, u64::MAX, 0]);
        if mapped < 0 {
            return Err(-mapped as i32);
        }
        let start = (mapped as u64).next_multiple_of(BLOCK_BYTES as u64);
        let block = start as *mut Self;
        // SAFETY: the mapping is new, large enough and aligned, and is never unmapped.
        unsafe {
            block.write(Self {
                selector: AtomicU8::new(SELECT_ALLOW),
                engine_storage: AtomicU64::new(engine_storage),
                program_storage: AtomicU64::new(0),
                waiting: AtomicU64::new(0),
                own: UnsafeCell::new(ThreadState {
                    waiting_info: [0; SIGNAL_INFO_BYTES],
                    signal_stack: SignalStack::NONE,
                    mask_before: None,
                    repeats: Repeats::default(),
                    steps: false,
                }),
            });
            Ok(&*block)
        }
    }

    /// The state that the thread alone uses.
    #[expect(clippy::mut_from_ref, reason = "each block belongs to one thread")]
    pub(super) fn state(&self) -> &mut ThreadState {
        // SAFETY: only the thread of the block calls this, and its handlers never keep the
        // reference across a call that a signal may interrupt.
        unsafe { &mut *self.own.get() }
    }

    /// The signal stack of the engine's handlers.
    pub(super) fn engine_stack(&self) -> SignalStack {
        SignalStack {
            start: std::ptr::from_ref(self) as u64 + HEAD_BYTES as u64,
            flags: 0,
            size: (BLOCK_BYTES - HEAD_BYTES) as u64,
        }
    }
}
