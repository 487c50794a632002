//! Signals of the program: its handlers, and their frames on the program's stack.
//!
//! The engine has the kernel's handlers. A signal for the program is delivered by the engine: it
//! writes the frame that the kernel would have written, and lets the thread go on in the program's
//! handler. The program's return from the handler is a system call, which the engine answers.

#![allow(unsafe_code, reason = "signal frames on the program's stack")]

use super::arch::{self, call};
use super::context::{ENGINE_SIGNALS, SignalContext, SignalMask, register};
use super::space::Space;
use super::thread::{SIGNAL_INFO_BYTES, SignalStack, ThreadBlock};

/// The number of signals of Linux.
const SIGNALS: usize = 64;
/// The kernel's flag for a handler with a return of its own.
const SA_RESTORER: u64 = 0x0400_0000;
/// The bytes of a context that the kernel saves.
const CONTEXT_BYTES: usize = size_of::<SignalContext>();
/// The bytes of a frame without the floating-point state: the return address, the context and the
/// signal's information.
const FRAME_BYTES: u64 = (8 + CONTEXT_BYTES + SIGNAL_INFO_BYTES) as u64;
/// The bytes below the stack pointer that a function may use (System V ABI).
const RED_ZONE: u64 = 128;
/// Trap, resume, direction and nested-task flags, which a handler begins without.
const FLAGS_OFF: u64 = 0x1_4500;

/// The action of a signal, in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) handler: u64,
    pub(super) flags: u64,
    pub(super) restorer: u64,
    pub(super) mask: SignalMask,
}

impl Action {
    fn has_handler(&self) -> bool {
        self.handler != libc::SIG_DFL as u64 && self.handler != libc::SIG_IGN as u64
    }

    /// Returns true if calls that the signal interrupts are made again.
    pub(super) const fn restarts_calls(&self) -> bool {
        self.has(libc::SA_RESTART)
    }

    const fn has(&self, flag: i32) -> bool {
        self.flags & (flag as u32 as u64) != 0
    }
}

/// The actions that the program set.
#[derive(Clone, Debug)]
pub(super) struct Handlers([Action; SIGNALS]);

impl Handlers {
    /// The actions that a program begins with: ignored signals stay ignored.
    pub(super) fn inherited() -> Self {
        let mut all = [Action::default(); SIGNALS];
        for (at, action) in all.iter_mut().enumerate() {
            let now = kernel_action(at as i32 + 1, None);
            if now.handler == libc::SIG_IGN as u64 {
                action.handler = now.handler;
            }
        }
        Self(all)
    }

    /// The action of a signal. `None` if there is no such signal.
    pub(super) fn of(&self, signal: i32) -> Option<&Action> {
        self.0.get(usize::try_from(signal).ok()?.checked_sub(1)?)
    }

    /// Sets the action of a signal.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn set(&mut self, signal: i32, action: Action) -> Result<(), i32> {
        let slot = usize::try_from(signal - 1)
            .ok()
            .and_then(|at| self.0.get_mut(at));
        let slot = slot.ok_or(libc::EINVAL)?;
        if signal == libc::SIGKILL || signal == libc::SIGSTOP {
            return Err(libc::EINVAL);
        }
        *slot = action;
        if !ENGINE_SIGNALS.contains(&signal) {
            let kernel = if action.has_handler() {
                engine_action(action.flags & libc::SA_NOCLDSTOP as u64)
            } else {
                Action {
                    flags: action.flags & !SA_RESTORER,
                    ..action
                }
            };
            kernel_action(signal, Some(&kernel));
        }
        Ok(())
    }

    /// Forgets the handlers of a program that another replaces. Ignored signals stay ignored.
    pub(super) fn forget(&mut self) {
        for signal in 1..=SIGNALS as i32 {
            let has_handler = self.of(signal).is_some_and(Action::has_handler);
            if has_handler {
                // Signals without handlers have none to forget.
                let _ = self.set(signal, Action::default());
            }
        }
    }

    /// Gives a forked process the program's own actions.
    pub(super) fn make_real(&self) {
        for (at, action) in self.0.iter().enumerate() {
            kernel_action(at as i32 + 1, Some(action));
        }
    }
}

/// The engine's own action for a signal, with more flags.
pub(super) fn engine_action(more: u64) -> Action {
    let flags = (libc::SA_SIGINFO | libc::SA_ONSTACK) as u64 | SA_RESTORER | more;
    Action {
        handler: arch::entry(),
        flags,
        restorer: arch::restorer(),
        mask: SignalMask::ALL,
    }
}

/// The engine's action for a page fault. It blocks no signal, so that the program goes on without a
/// system call that would restore the blocked ones.
pub(super) fn fault_action() -> Action {
    Action {
        mask: SignalMask::default(),
        ..engine_action(libc::SA_NODEFER as u32 as u64)
    }
}

/// The kernel's action of a signal. It is set first if `new` is given.
pub(super) fn kernel_action(signal: i32, new: Option<&Action>) -> Action {
    let mut old = Action::default();
    let new = new.map_or(0, |new| std::ptr::from_ref(new) as u64);
    let old_at = std::ptr::from_mut(&mut old) as u64;
    let bytes = size_of::<SignalMask>() as u64;
    call(
        libc::SYS_rt_sigaction,
        [signal as u64, new, old_at, bytes, 0, 0],
    );
    old
}

/// Blocks these signals in this thread and no others. Returns the signals that were blocked.
pub(super) fn block_exactly(mask: SignalMask) -> SignalMask {
    let mut old = SignalMask::default();
    let how = libc::SIG_SETMASK as u64;
    let (new_at, old_at) = (
        std::ptr::from_ref(&mask) as u64,
        std::ptr::from_mut(&mut old) as u64,
    );
    let bytes = size_of::<SignalMask>() as u64;
    call(libc::SYS_rt_sigprocmask, [how, new_at, old_at, bytes, 0, 0]);
    old
}

/// Lets the thread go on in the program's handler of a signal. Returns false if the program has no
/// handler for it.
pub(super) fn deliver(
    handlers: &mut Handlers,
    space: &Space,
    block: &ThreadBlock,
    signal: i32,
    info: &[u8; SIGNAL_INFO_BYTES],
    context: &mut SignalContext,
) -> bool {
    let Some(action) = handlers.of(signal).copied().filter(Action::has_handler) else {
        return false;
    };
    let state = block.state();
    let mut below = context.registers[register::RSP] - RED_ZONE;
    let alternate = state.signal_stack;
    let can_switch = alternate.flags & libc::SS_DISABLE == 0 && !alternate.holds(below);
    if action.has(libc::SA_ONSTACK) && can_switch {
        below = alternate.start + alternate.size;
    }
    let floating = context.floating_bytes();
    let floating_at = (below - floating.len() as u64) & !63;
    let frame_at = ((floating_at - FRAME_BYTES) & !15) - 8;
    let context_at = frame_at + 8;
    let info_at = context_at + CONTEXT_BYTES as u64;
    let blocked = state.mask_before.take().unwrap_or(context.mask);
    let mut saved = *context;
    saved.floating = if floating.is_empty() { 0 } else { floating_at };
    saved.stack = alternate;
    saved.mask = blocked;
    // SAFETY: the stack is the program's memory. If it is not mapped there, the process ends by
    // SIGSEGV, as under the kernel.
    unsafe {
        write(space, floating_at, floating);
        write(space, frame_at, &action.restorer.to_ne_bytes());
        let bytes = std::ptr::from_ref(&saved).cast::<[u8; CONTEXT_BYTES]>();
        write(space, context_at, &*bytes);
        write(space, info_at, info);
    }
    let registers = &mut context.registers;
    registers[register::RSP] = frame_at;
    registers[register::RIP] = action.handler;
    registers[register::RDI] = signal as u64;
    registers[register::RSI] = info_at;
    registers[register::RDX] = context_at;
    registers[register::RAX] = 0;
    registers[register::FLAGS] &= !FLAGS_OFF;
    let own = if action.has(libc::SA_NODEFER) {
        0
    } else {
        SignalMask::of(signal).0
    };
    context.mask = SignalMask(blocked.0 | action.mask.0 | own).without_engine();
    if action.has(libc::SA_RESETHAND) {
        let _ = handlers.set(signal, Action::default());
    }
    true
}

/// Goes back to where a signal arrived: the program's handler ended. The frame is on its stack.
pub(super) fn back(space: &Space, block: &ThreadBlock, context: &mut SignalContext) {
    let context_at = context.registers[register::RSP];
    // SAFETY: as for `deliver`.
    unsafe {
        let saved: SignalContext = read(space, context_at);
        context.registers = saved.registers;
        context.mask = saved.mask.without_engine();
        block.state().signal_stack = SignalStack { ..saved.stack };
        if saved.floating != 0 {
            let length = context.floating_bytes().len();
            let from = space.reach(saved.floating) as *const u8;
            let bytes = std::slice::from_raw_parts(from, length);
            context.restore_floating(bytes);
        }
    }
}

/// Writes to the program's memory.
///
/// # Safety
/// The range is mapped and the program may write to it.
pub(super) unsafe fn write(space: &Space, at: u64, bytes: &[u8]) {
    // SAFETY: the caller says so.
    unsafe {
        let to = space.reach(at) as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
}

/// Reads from the program's memory.
///
/// # Safety
/// The range is mapped, and any bytes are a value of the type.
pub(super) unsafe fn read<T: Copy>(space: &Space, at: u64) -> T {
    // SAFETY: the caller says so.
    unsafe { (space.reach(at) as *const T).read_unaligned() }
}
