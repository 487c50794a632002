//! The handler of every signal: misses, system calls, single steps, and signals of the program.

#![allow(unsafe_code, reason = "a signal handler")]

use std::sync::atomic::Ordering;

use super::arch;
use super::calls;
use super::context::{ENGINE_SIGNALS, SignalContext, SignalMask, register};
use super::engine::{Engine, Held};
use super::signals::{self, Action};
use super::thread::{Repeats, SIGNAL_INFO_BYTES, ThreadBlock};

/// The bits of a page fault's error number.
const FAULT_OF_STORE: u64 = 2;
const FAULT_OF_FETCH: u64 = 16;
/// The trap flag: one instruction is executed, then SIGTRAP arrives.
const TRAP_FLAG: u64 = 0x100;
/// The code of a SIGSYS of Syscall User Dispatch.
const SYS_USER_DISPATCH: i32 = 2;
const TRAP_OF_STEP: i32 = 2;
/// A factor that spreads bits: 2^64 divided by the golden ratio.
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;
const CODE_AT: usize = 8;
const ADDRESS_AT: usize = 16;

/// Answers of [`handle`]: the kernel restores the context, or the program goes on at once.
const RESTORED_BY_KERNEL: u32 = 0;
const GOES_ON: u32 = 1;

/// Handles a signal. Assembly calls it. `from_program` is 1 if the program ran, and 0 if the engine
/// waited in a system call of the program, or handled a page fault.
pub(super) extern "C" fn handle(
    signal: i32,
    info: *const [u8; SIGNAL_INFO_BYTES],
    context: *mut SignalContext,
    block: *const ThreadBlock,
    from_program: u32,
) -> u32 {
    // SAFETY: the kernel and the assembly pass the thread's own information, context and block.
    let (info, context, block) = unsafe { (&*info, &mut *context, &*block) };
    let code = word(info, CODE_AT) as i32;
    let instruction = context.registers[register::RIP];
    let leaves = arch::after_interrupted_return(instruction);
    let in_engine = from_program == 0 || leaves.is_some() || arch::is_entering(instruction);
    if in_engine && code > 0 && ENGINE_SIGNALS.contains(&signal) {
        // A mistake of the engine, or a pointer of the program that leads nowhere.
        signals::kernel_action(signal, Some(&Action::default()));
        return RESTORED_BY_KERNEL;
    }
    if in_engine {
        note_waiting(signal, info, context, block);
        if let Some(late) = leaves {
            context.registers[register::RIP] = late;
        }
        return RESTORED_BY_KERNEL;
    }
    if signal == libc::SIGSYS && code == SYS_USER_DISPATCH {
        calls::answer(context, block);
        return RESTORED_BY_KERNEL;
    }
    if matches!(signal, libc::SIGBUS | libc::SIGSEGV) {
        let mut engine = Held::take();
        let address = word(info, ADDRESS_AT);
        let is_miss = code > 0 && fault(&mut engine, address, context, block);
        if is_miss && !block.state().steps && context.has_whole_state() {
            return GOES_ON;
        }
        drop(engine);
        // The action of page faults blocks no signal, and what follows must not be interrupted.
        signals::block_exactly(SignalMask::ALL);
        if !is_miss {
            answer(signal, code, info, context, block);
        }
        late(context, block);
        return RESTORED_BY_KERNEL;
    }
    answer(signal, code, info, context, block);
    RESTORED_BY_KERNEL
}

/// Delivers a signal that arrived while a page fault was handled.
pub(super) extern "C" fn late(context: &mut SignalContext, block: &ThreadBlock) {
    let signal = block.waiting.swap(0, Ordering::Relaxed) as i32;
    if signal == 0 {
        return;
    }
    let info = block.state().waiting_info;
    let mut engine = Held::take();
    let Engine {
        handlers, space, ..
    } = &mut *engine;
    signals::deliver(handlers, space, block, signal, &info, context);
}

/// Answers a signal of the program, or the end of a single step. All signals are blocked.
fn answer(
    signal: i32,
    code: i32,
    info: &[u8; SIGNAL_INFO_BYTES],
    context: &mut SignalContext,
    block: &ThreadBlock,
) {
    let mut engine = Held::take();
    let is_handled = match signal {
        libc::SIGTRAP if code == TRAP_OF_STEP && block.state().steps => {
            block.state().steps = false;
            context.registers[register::FLAGS] &= !TRAP_FLAG;
            engine.close_all();
            true
        }
        _ => false,
    };
    if is_handled {
        return;
    }
    let engine = &mut *engine;
    let (handlers, space) = (&mut engine.handlers, &engine.space);
    if !signals::deliver(handlers, space, block, signal, info, context) {
        // The program has no handler: the kernel's default action follows when the instruction is
        // executed again, or at once for a signal that was sent.
        signals::kernel_action(signal, Some(&Action::default()));
        if code <= 0 {
            let id = arch::call(libc::SYS_gettid, [0; 6]) as u64;
            let process = arch::call(libc::SYS_getpid, [0; 6]) as u64;
            context.mask = SignalMask(context.mask.0 & !SignalMask::of(signal).0);
            arch::call(libc::SYS_tgkill, [process, id, signal as u64, 0, 0, 0]);
        }
    }
}

/// Keeps a signal for the program that arrived during a system call. The call ends at once, and the
/// program's handler follows it.
fn note_waiting(
    signal: i32,
    info: &[u8; SIGNAL_INFO_BYTES],
    context: &mut SignalContext,
    block: &ThreadBlock,
) {
    block.state().waiting_info = *info;
    block.waiting.store(signal as u64, Ordering::Relaxed);
    // Others stay in the kernel until this one is delivered.
    context.mask = SignalMask::ALL;
    let instruction = &mut context.registers[register::RIP];
    if let Some(after) = arch::after_interrupted_call(*instruction) {
        *instruction = after;
    }
}

/// Handles a page fault. Returns false if the program caused a fault of its own.
fn fault(
    engine: &mut Held,
    address: u64,
    context: &mut SignalContext,
    block: &ThreadBlock,
) -> bool {
    let error = context.registers[register::ERROR];
    let is_store = error & FAULT_OF_STORE != 0;
    let Some(region) = engine
        .space
        .regions
        .at(address)
        .filter(|region| region.counts())
    else {
        return false;
    };
    let needed = if is_store {
        libc::PROT_WRITE
    } else {
        libc::PROT_READ | libc::PROT_WRITE
    };
    if error & FAULT_OF_FETCH != 0 || region.protection & needed == 0 {
        return false;
    }
    engine.miss(address, is_store);
    let digest = digest(context);
    let state = block.state();
    if state.repeats.digest == digest {
        state.repeats.times += 1;
    } else {
        state.repeats = Repeats { digest, times: 0 };
    }
    if state.repeats.times > engine.most_repeats {
        state.repeats = Repeats::default();
        state.steps = true;
        context.registers[register::FLAGS] |= TRAP_FLAG;
        engine.tlb.counts.steps += 1;
        engine.open_all();
        engine.show();
    }
    true
}

/// A digest of an instruction's address and the registers that it begins with.
fn digest(context: &SignalContext) -> u64 {
    // Any mixing serves: a digest that two instructions share costs one step. No product waits for
    // another one.
    let registers = context.registers[..register::RESTORED].iter();
    let mixed = registers.zip(1_u64..).map(|(word, at)| {
        let factor = MIXER.wrapping_add(at << 1);
        (word ^ at).wrapping_mul(factor).rotate_left(at as u32)
    });
    mixed.fold(0, u64::wrapping_add)
}

fn word(info: &[u8; SIGNAL_INFO_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&info[at..at + 8]);
    u64::from_ne_bytes(bytes)
}
