//! System calls of the program.
//!
//! The kernel must never meet a closed page. Calls about memory, signals and processes are answered
//! here. Other calls reach the kernel with pointers to the second place of the program's memory,
//! where all pages are open. For a call that the engine does not know, every page is opened.

mod exec;
mod lists;
mod memory;
mod pointers;
mod processes;
mod signals;

use std::sync::atomic::Ordering;

use super::arch::{self, call_interruptibly};
use super::context::{SignalContext, SignalMask, register};
use super::engine::{Engine, Held};
use super::signals::{block_exactly, deliver};
use super::thread::ThreadBlock;

/// How a call is answered.
pub(super) enum Answer {
    /// With this result.
    Result(i64),
    /// The kernel makes the call. Signals may interrupt it.
    Kernel(KernelCall),
    /// The registers are what they should be.
    Done,
}

/// A call that the kernel makes for the program.
pub(super) struct KernelCall {
    number: i64,
    arguments: [u64; 6],
    /// The signals that are blocked meanwhile, if they are not the thread's own.
    mask: Option<SignalMask>,
    /// The buffers to which an argument points, if the engine made the list.
    buffers: Vec<[u64; 2]>,
    /// The program's structure of a message, and the engine's copy.
    message: Option<(u64, Box<[u64; 7]>)>,
}

impl KernelCall {
    const fn new(number: i64, arguments: [u64; 6]) -> Self {
        Self {
            number,
            arguments,
            mask: None,
            buffers: Vec::new(),
            message: None,
        }
    }

    /// Returns true if the engine's allocator has memory to take back.
    const fn owns_memory(&self) -> bool {
        self.buffers.capacity() > 0 || self.message.is_some()
    }
}

/// The result of a failed call.
const fn failed(error: i32) -> Answer {
    Answer::Result(-(error as i64))
}

impl From<Result<u64, i32>> for Answer {
    fn from(result: Result<u64, i32>) -> Self {
        match result {
            Ok(value) => Self::Result(value as i64),
            Err(error) => failed(error),
        }
    }
}

impl From<Result<(), i32>> for Answer {
    fn from(result: Result<(), i32>) -> Self {
        result.map(|()| 0).into()
    }
}

/// Answers the system call that a thread was about to make.
pub(super) fn answer(context: &mut SignalContext, block: &ThreadBlock) {
    let number = context.registers[register::RAX] as i64;
    let mut engine = Held::take();
    engine.tlb.counts.calls += 1;
    let answer = answer_of(&mut engine, number, context, block);
    if matches!(number, libc::SYS_exit | libc::SYS_exit_group) {
        engine.other_threads = engine.other_threads.saturating_sub(1);
        engine.show();
    }
    let call = match answer {
        Answer::Done => return,
        Answer::Result(result) => {
            context.registers[register::RAX] = result as u64;
            return;
        }
        Answer::Kernel(call) => call,
    };
    drop(engine);
    let blocked = call.mask.unwrap_or(context.mask).without_engine();
    block_exactly(blocked);
    let result = call_interruptibly(call.number, &call.arguments, block);
    block_exactly(SignalMask::ALL);
    context.registers[register::RAX] = result as u64;
    let signal = block.waiting.swap(0, Ordering::Relaxed) as i32;
    if signal != 0 {
        deliver_waiting(signal, (number, &call, result), context, block);
    }
    if call.owns_memory() {
        // The allocator serves one thread at a time.
        let _held = Held::take();
        if let Some((at, led)) = &call.message
            && result >= 0
            && number == libc::SYS_recvmsg
        {
            pointers::finish_message(*at, led);
        }
        drop(call);
    }
}

/// Delivers a signal that interrupted or followed a call.
fn deliver_waiting(
    signal: i32,
    (number, call, result): (i64, &KernelCall, i64),
    context: &mut SignalContext,
    block: &ThreadBlock,
) {
    let mut engine = Held::take();
    let restarts = engine
        .handlers
        .of(signal)
        .is_some_and(|action| action.restarts_calls());
    let is_interrupted = result == -i64::from(libc::EINTR);
    if is_interrupted && restarts && lists::NEVER_RESTARTED.binary_search(&number).is_err() {
        // The call is made again when the handler ends.
        context.registers[register::RIP] -= SYSCALL_BYTES;
        context.registers[register::RAX] = number as u64;
    }
    let info = block.state().waiting_info;
    block.state().mask_before = call.mask.map(|_| context.mask);
    let Engine {
        handlers, space, ..
    } = &mut *engine;
    deliver(handlers, space, block, signal, &info, context);
}

/// The bytes of the instruction of a system call.
const SYSCALL_BYTES: u64 = 2;

fn answer_of(
    engine: &mut Engine,
    number: i64,
    context: &mut SignalContext,
    block: &ThreadBlock,
) -> Answer {
    let arguments = context.arguments();
    if let Some(answer) = memory::answer(engine, number, arguments) {
        return answer;
    }
    if let Some(answer) = signals::answer(engine, number, context, block) {
        return answer;
    }
    if let Some(answer) = processes::answer(engine, number, context, block) {
        return answer;
    }
    if let Some(answer) = pointers::answer(engine, number, arguments) {
        return answer;
    }
    engine.tlb.counts.opened_for_calls += 1;
    engine.open_all();
    let result = arch::call(number, arguments);
    engine.close_all();
    Answer::Result(result)
}
