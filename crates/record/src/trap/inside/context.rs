//! Signal contexts in the kernel's layout: registers, mask and floating-point state.

#![allow(unsafe_code, reason = "the kernel's signal frames")]

use super::thread::SignalStack;

/// A set of signals: bit N-1 is signal N.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SignalMask(pub(super) u64);

/// The signals that the engine needs for itself: the program cannot block them.
pub(super) const ENGINE_SIGNALS: [i32; 4] =
    [libc::SIGBUS, libc::SIGSEGV, libc::SIGSYS, libc::SIGTRAP];

impl SignalMask {
    /// Every signal.
    pub(super) const ALL: Self = Self(u64::MAX);

    /// One signal.
    pub(super) const fn of(signal: i32) -> Self {
        Self(1 << (signal - 1))
    }

    /// The signals of this set that the kernel may block while the program runs.
    pub(super) fn without_engine(self) -> Self {
        let kept = ENGINE_SIGNALS
            .iter()
            .fold(0, |all, one| all | Self::of(*one).0);
        Self(self.0 & !kept)
    }
}

/// The places of the general registers, in the order of the kernel.
pub(super) mod register {
    pub(in super::super) const R8: usize = 0;
    pub(in super::super) const R9: usize = 1;
    pub(in super::super) const R10: usize = 2;
    pub(in super::super) const RDI: usize = 8;
    pub(in super::super) const RSI: usize = 9;
    pub(in super::super) const RDX: usize = 12;
    pub(in super::super) const RAX: usize = 13;
    pub(in super::super) const RSP: usize = 15;
    pub(in super::super) const RIP: usize = 16;
    pub(in super::super) const FLAGS: usize = 17;
    pub(in super::super) const ERROR: usize = 19;
    /// The number of registers that an instruction restores when it begins again, RIP included.
    pub(in super::super) const RESTORED: usize = 17;
}

/// A signal context in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalContext {
    flags: u64,
    link: u64,
    pub(super) stack: SignalStack,
    pub(super) registers: [u64; 23],
    /// The address of the floating-point state.
    pub(super) floating: u64,
    reserved: [u64; 8],
    pub(super) mask: SignalMask,
}

/// Where a context has its registers.
pub(super) const REGISTERS_AT: usize = std::mem::offset_of!(SignalContext, registers);
/// Where the floating-point state has the parts that it consists of.
pub(super) const FEATURES_AT: usize = 472;

/// The bytes of the legacy part of the floating-point state.
const LEGACY_BYTES: usize = 512;
/// Where the kernel says how large the whole state is.
const MAGIC_AT: usize = 464;
const MAGIC: u32 = 0x4650_5853;

impl SignalContext {
    /// The six arguments of a system call.
    pub(super) const fn arguments(&self) -> [u64; 6] {
        let of = &self.registers;
        [
            of[register::RDI],
            of[register::RSI],
            of[register::RDX],
            of[register::R10],
            of[register::R8],
            of[register::R9],
        ]
    }

    /// Returns true if the floating-point state is one that XRSTOR reads.
    pub(super) fn has_whole_state(&self) -> bool {
        self.floating_bytes().len() > LEGACY_BYTES
    }

    /// The bytes of the floating-point state; empty if there is none.
    pub(super) fn floating_bytes(&self) -> &[u8] {
        if self.floating == 0 {
            return &[];
        }
        let start = self.floating as *const u8;
        // SAFETY: the kernel wrote the state there and says its size, as the manual of `ucontext`
        // and `asm/sigcontext.h` describe.
        unsafe {
            let word = |at: usize| start.add(at).cast::<u32>().read_unaligned();
            let has_more = word(MAGIC_AT) == MAGIC;
            let bytes = if has_more {
                word(MAGIC_AT + 4) as usize
            } else {
                LEGACY_BYTES
            };
            std::slice::from_raw_parts(start, bytes)
        }
    }

    /// Overwrites the floating-point state, as far as both are equally long.
    pub(super) fn restore_floating(&mut self, bytes: &[u8]) {
        if self.floating_bytes().len() == bytes.len() {
            // SAFETY: the state is in the kernel's frame on this thread's signal stack.
            unsafe {
                let to = self.floating as *mut u8;
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
        }
    }
}
