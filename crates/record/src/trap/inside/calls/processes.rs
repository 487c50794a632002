//! Calls that start threads, processes and programs.

#![allow(unsafe_code, reason = "the state of new threads and processes")]

use std::sync::atomic::Ordering;

use super::{Answer, exec, failed};
use crate::trap::inside::arch::{self, NewThread, call};
use crate::trap::inside::context::{SignalContext, register};
use crate::trap::inside::engine::Engine;
use crate::trap::inside::signals::write;
use crate::trap::inside::thread::{SIGNAL_INFO_BYTES, ThreadBlock};

const ARCH_SET_FS: i32 = 0x1002;
const ARCH_GET_FS: i32 = 0x1003;

/// Answers a call about threads, processes and programs.
pub(super) fn answer(
    engine: &mut Engine,
    number: i64,
    context: &mut SignalContext,
    block: &ThreadBlock,
) -> Option<Answer> {
    let arguments = context.arguments();
    Some(match number {
        libc::SYS_arch_prctl => storage(engine, arguments, block),
        libc::SYS_clone if arguments[0] as i32 & libc::CLONE_THREAD != 0 => {
            Answer::from(start_thread(engine, arguments, context, block))
        }
        libc::SYS_clone => fork(engine, arguments, context, block),
        libc::SYS_fork => fork(
            engine,
            [libc::SIGCHLD as u64, 0, 0, 0, 0, 0],
            context,
            block,
        ),
        libc::SYS_vfork => {
            let flags = (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as u64;
            fork(engine, [flags, 0, 0, 0, 0, 0], context, block)
        }
        libc::SYS_execve | libc::SYS_execveat => exec::answer(engine, number, context, block),
        _ => return None,
    })
}

/// Reads or sets the program's thread-local storage, which the engine's exit loads.
fn storage(engine: &Engine, [what, address, ..]: [u64; 6], block: &ThreadBlock) -> Answer {
    match what as i32 {
        ARCH_SET_FS => block.program_storage.store(address, Ordering::Relaxed),
        ARCH_GET_FS => {
            let now = block.program_storage.load(Ordering::Relaxed);
            // SAFETY: the kernel writes the same word.
            unsafe { write(&engine.space, address, &now.to_ne_bytes()) };
        }
        _ => return Answer::Result(call(libc::SYS_arch_prctl, [what, address, 0, 0, 0, 0])),
    }
    Answer::Result(0)
}

/// Starts a thread with a block of its own. It begins where this thread is.
fn start_thread(
    engine: &mut Engine,
    [flags, stack, parent_id, child_id, storage, _]: [u64; 6],
    context: &SignalContext,
    block: &ThreadBlock,
) -> Result<u64, i32> {
    let engine_storage = block.engine_storage.load(Ordering::Relaxed);
    let own = ThreadBlock::new(engine_storage)?;
    let engine_stack = own.engine_stack();
    // The frame of the new thread's first return lies at the end of its block.
    let floating = context.floating_bytes();
    let end = engine_stack.start + engine_stack.size;
    let floating_at = (end - floating.len() as u64) & !63;
    let bytes = size_of::<SignalContext>() + SIGNAL_INFO_BYTES;
    let context_at = (floating_at - bytes as u64) & !63;
    let mut first = *context;
    first.stack = engine_stack;
    first.floating = if floating.is_empty() { 0 } else { floating_at };
    first.registers[register::RAX] = 0;
    first.registers[register::RSP] = stack;
    // SAFETY: the block is new, and the frame fits.
    unsafe {
        let to = floating_at as *mut u8;
        std::ptr::copy_nonoverlapping(floating.as_ptr(), to, floating.len());
        (context_at as *mut SignalContext).write(first);
    }
    let new = NewThread {
        flags,
        context: context_at,
        parent_id: engine.space.reach(parent_id),
        child_id: engine.space.reach(child_id),
        storage,
    };
    let result = arch::start_thread(&new, own);
    if result < 0 {
        return Err(-result as i32);
    }
    engine.tlb.counts.threads += 1;
    engine.other_threads += 1;
    engine.show();
    Ok(result as u64)
}

/// Starts a process. Its misses do not count. It has memory of its own, unless the program waits
/// for it to execute another program or to end (`vfork`, `posix_spawn`): then both share the memory
/// file, so that the child can report to its parent why it failed.
fn fork(
    engine: &mut Engine,
    [flags, stack, parent_id, child_id, storage, _]: [u64; 6],
    context: &mut SignalContext,
    block: &ThreadBlock,
) -> Answer {
    let flags = flags as i32;
    let shares_memory = flags & libc::CLONE_VM != 0 && flags & libc::CLONE_VFORK != 0;
    let mut copied = [0_i32; 2];
    let pipe = std::ptr::from_mut(&mut copied) as u64;
    let made = call(libc::SYS_pipe2, [pipe, libc::O_CLOEXEC as u64, 0, 0, 0, 0]);
    if made < 0 {
        return Answer::Result(made);
    }
    let kept = flags & (0xff | libc::CLONE_VFORK | libc::CLONE_PARENT);
    let result = call(libc::SYS_clone, [kept as u64, 0, 0, 0, 0, 0]);
    let close = |file: i32| call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0]);
    if result != 0 {
        close(copied[1]);
        if result > 0 {
            // The child needs the parent's memory no more when its end of the pipe closes.
            let mut byte = 0_u8;
            let at = std::ptr::from_mut(&mut byte) as u64;
            while call(libc::SYS_read, [copied[0] as u64, at, 1, 0, 0, 0])
                == -i64::from(libc::EINTR)
            {}
            if !shares_memory {
                engine.space.regions.lend();
            }
            engine.tlb.counts.processes += 1;
            engine.show();
            if flags & libc::CLONE_PARENT_SETTID != 0 {
                // SAFETY: the kernel writes the same word.
                unsafe { write(&engine.space, parent_id, &(result as i32).to_ne_bytes()) };
            }
        }
        close(copied[0]);
        return Answer::Result(result);
    }
    if let Err(error) = engine.space.leave(shares_memory) {
        call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
        return failed(error);
    }
    engine.handlers.make_real();
    context.stack = block.state().signal_stack;
    engine
        .space
        .files()
        .into_iter()
        .flatten()
        .chain(copied)
        .for_each(|file| {
            close(file);
        });
    let id = call(libc::SYS_getpid, [0; 6]) as i32;
    if flags & libc::CLONE_CHILD_SETTID != 0 {
        // SAFETY: the kernel writes the same word, in memory that is open to the child.
        unsafe { (child_id as *mut i32).write_unaligned(id) };
    }
    if flags & libc::CLONE_CHILD_CLEARTID != 0 {
        call(libc::SYS_set_tid_address, [child_id, 0, 0, 0, 0, 0]);
    }
    if flags & libc::CLONE_SETTLS != 0 {
        block.program_storage.store(storage, Ordering::Relaxed);
    }
    if stack != 0 {
        context.registers[register::RSP] = stack;
    }
    Answer::Result(0)
}
