//! Calls about signals: the engine has the kernel's handlers, and the program's are values.

#![allow(unsafe_code, reason = "structures in the program's memory")]

use super::{Answer, KernelCall, failed};
use crate::trap::inside::context::{SignalContext, SignalMask, register};
use crate::trap::inside::engine::Engine;
use crate::trap::inside::signals::{Action, back, read, write};
use crate::trap::inside::thread::{SignalStack, ThreadBlock};

const MASK_BYTES: u64 = size_of::<SignalMask>() as u64;

/// Answers a call about signals.
pub(super) fn answer(
    engine: &mut Engine,
    number: i64,
    context: &mut SignalContext,
    block: &ThreadBlock,
) -> Option<Answer> {
    let [first, second, third, fourth, ..] = context.arguments();
    Some(match number {
        libc::SYS_rt_sigaction if fourth != MASK_BYTES => failed(libc::EINVAL),
        libc::SYS_rt_sigaction => act(engine, first as i32, second, third).into(),
        libc::SYS_rt_sigprocmask if fourth != MASK_BYTES => failed(libc::EINVAL),
        libc::SYS_rt_sigprocmask => mask(engine, first as i32, second, third, context).into(),
        libc::SYS_rt_sigreturn => {
            back(&engine.space, block, context);
            Answer::Done
        }
        libc::SYS_sigaltstack => stack(engine, first, second, context, block).into(),
        libc::SYS_rt_sigsuspend => {
            // SAFETY: the kernel reads the same mask.
            let mask = unsafe { read::<SignalMask>(&engine.space, first) };
            let mut call = KernelCall::new(libc::SYS_pause, [0; 6]);
            call.mask = Some(mask);
            Answer::Kernel(call)
        }
        _ => return None,
    })
}

fn act(engine: &mut Engine, signal: i32, new: u64, old: u64) -> Result<(), i32> {
    let before = *engine.handlers.of(signal).ok_or(libc::EINVAL)?;
    if new != 0 {
        // SAFETY: the kernel reads the same structure.
        let action = unsafe { read::<Action>(&engine.space, new) };
        engine.handlers.set(signal, action)?;
    }
    if old != 0 {
        // SAFETY: the kernel writes the same structure.
        unsafe {
            let bytes = std::ptr::from_ref(&before).cast::<[u8; size_of::<Action>()]>();
            write(&engine.space, old, &*bytes);
        }
    }
    Ok(())
}

fn mask(
    engine: &Engine,
    how: i32,
    new: u64,
    old: u64,
    context: &mut SignalContext,
) -> Result<(), i32> {
    let before = context.mask;
    if new != 0 {
        // SAFETY: the kernel reads the same mask.
        let SignalMask(given) = unsafe { read::<SignalMask>(&engine.space, new) };
        let mask = match how {
            libc::SIG_BLOCK => before.0 | given,
            libc::SIG_UNBLOCK => before.0 & !given,
            libc::SIG_SETMASK => given,
            _ => return Err(libc::EINVAL),
        };
        context.mask = SignalMask(mask).without_engine();
    }
    if old != 0 {
        // SAFETY: the kernel writes the same mask.
        unsafe { write(&engine.space, old, &before.0.to_ne_bytes()) };
    }
    Ok(())
}

fn stack(
    engine: &Engine,
    new: u64,
    old: u64,
    context: &SignalContext,
    block: &ThreadBlock,
) -> Result<(), i32> {
    let state = block.state();
    let before = state.signal_stack;
    let is_used = before.holds(context.registers[register::RSP]);
    if new != 0 {
        if is_used {
            return Err(libc::EPERM);
        }
        // SAFETY: the kernel reads the same structure.
        let given = unsafe { read::<SignalStack>(&engine.space, new) };
        let is_off = given.flags & libc::SS_DISABLE != 0;
        state.signal_stack = if is_off {
            SignalStack::NONE
        } else {
            SignalStack { flags: 0, ..given }
        };
    }
    if old != 0 {
        let shown = SignalStack {
            flags: if is_used {
                libc::SS_ONSTACK
            } else {
                before.flags
            },
            ..before
        };
        // SAFETY: the kernel writes the same structure.
        unsafe {
            let bytes = std::ptr::from_ref(&shown).cast::<[u8; size_of::<SignalStack>()]>();
            write(&engine.space, old, &*bytes);
        }
    }
    Ok(())
}
