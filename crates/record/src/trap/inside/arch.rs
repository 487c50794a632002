//! The assembly of the trap engine: entries of signal handlers, system calls that a signal may
//! interrupt, new threads, and the jump into the program.
//!
//! Program and engine share a process, and each has a thread-local storage of its own. The entry
//! changes the FS register from the program's to the engine's, and the exit changes it back. The
//! selector byte of Syscall User Dispatch is 0 while the engine runs, so that its calls reach the
//! kernel. While the program runs, it is 1, and its
//! calls raise SIGSYS.

#![allow(unsafe_code, reason = "signal handlers and system calls")]

use std::arch::{asm, global_asm};

use super::context::{FEATURES_AT, REGISTERS_AT};
use super::thread::{BLOCK_BYTES, ThreadBlock};

/// The selector byte while the engine runs: system calls reach the kernel.
pub(super) const SELECT_ALLOW: u8 = 0;

const PR_SET_SYSCALL_USER_DISPATCH: i64 = 59;

global_asm!(
    // A signal handler: rdi is the signal, rsi its information, rdx the context. The stack is a
    // thread's block, which is aligned to its size.
    ".global broadleaf_trap_entry",
    "broadleaf_trap_entry:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "mov rbx, rsp",
    "and rbx, -{block}",
    "movzx r12d, byte ptr [rbx]",
    "mov byte ptr [rbx], 0",
    "rdfsbase r13",
    "mov rax, [rbx + 8]",
    "wrfsbase rax",
    "test r12d, r12d",
    "jz 1f",
    "mov [rbx + 16], r13",
    "1:",
    ".global broadleaf_trap_entered",
    "broadleaf_trap_entered:",
    "mov rcx, rbx",
    "mov r8d, r12d",
    "cld",
    "call {handler}",
    "test eax, eax",
    "jnz 4f",
    "test r12d, r12d",
    "jz 2f",
    "mov r13, [rbx + 16]",
    "2:",
    "wrfsbase r13",
    "mov byte ptr [rbx], r12b",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    // The return to the program without a system call, after a miss that changed no register. The
    // five saved registers make room for what IRETQ reads: instruction, code segment, flags, stack
    // and stack segment. The context lies above them.
    "4:",
    "mov rax, [rsp + {registers} + 8 * 16]",
    "mov [rsp], rax",
    "movzx eax, word ptr [rsp + {registers} + 8 * 18]",
    "mov [rsp + 8], rax",
    "mov rax, [rsp + {registers} + 8 * 17]",
    "mov [rsp + 16], rax",
    "mov rax, [rsp + {registers} + 8 * 15]",
    "mov [rsp + 24], rax",
    "movzx eax, word ptr [rsp + {registers} + 8 * 18 + 6]",
    "mov [rsp + 32], rax",
    "mov rcx, [rsp + {registers} + 8 * 23]",
    "mov eax, [rcx + {features}]",
    "mov edx, [rcx + {features} + 4]",
    "xrstor64 [rcx]",
    "mov r13, [rbx + 16]",
    "wrfsbase r13",
    // A signal that arrived waits for the program, or arrives from here on and leads to
    // `broadleaf_trap_late`.
    ".global broadleaf_trap_leave",
    "broadleaf_trap_leave:",
    "cmp qword ptr [rbx + 24], 0",
    "jne broadleaf_trap_late",
    "mov byte ptr [rbx], 1",
    "mov r8, [rsp + {registers}]",
    "mov r9, [rsp + {registers} + 8]",
    "mov r10, [rsp + {registers} + 8 * 2]",
    "mov r11, [rsp + {registers} + 8 * 3]",
    "mov r12, [rsp + {registers} + 8 * 4]",
    "mov r13, [rsp + {registers} + 8 * 5]",
    "mov r14, [rsp + {registers} + 8 * 6]",
    "mov r15, [rsp + {registers} + 8 * 7]",
    "mov rdi, [rsp + {registers} + 8 * 8]",
    "mov rsi, [rsp + {registers} + 8 * 9]",
    "mov rbp, [rsp + {registers} + 8 * 10]",
    "mov rbx, [rsp + {registers} + 8 * 11]",
    "mov rdx, [rsp + {registers} + 8 * 12]",
    "mov rax, [rsp + {registers} + 8 * 13]",
    "mov rcx, [rsp + {registers} + 8 * 14]",
    "iretq",
    ".global broadleaf_trap_left",
    "broadleaf_trap_left:",
    "ud2",
    // A signal arrived while the program was about to go on. All others are blocked by now.
    ".global broadleaf_trap_late",
    "broadleaf_trap_late:",
    "mov rbx, rsp",
    "and rbx, -{block}",
    "mov byte ptr [rbx], 0",
    "mov rax, [rbx + 8]",
    "wrfsbase rax",
    "lea rdi, [rsp + {context}]",
    "mov rsi, rbx",
    "cld",
    "call {late}",
    "mov r13, [rbx + 16]",
    "wrfsbase r13",
    "mov byte ptr [rbx], 1",
    "add rsp, 40",
    "ret",
    // The return from a signal handler. Its system call is in the range that is always allowed.
    ".global broadleaf_trap_restorer",
    "broadleaf_trap_restorer:",
    "mov eax, 15",
    "syscall",
    "nop",
    ".global broadleaf_trap_restorer_end",
    "broadleaf_trap_restorer_end:",
    "ud2",
    // A system call that a signal may interrupt: rdi is its number, rsi six arguments, rdx the
    // thread's block. A signal that arrives before the call is made leads to the last label.
    ".global broadleaf_trap_call",
    "broadleaf_trap_call:",
    "push r12",
    "mov r12, rdx",
    "mov rax, rdi",
    "mov r11, rsi",
    "mov rdi, [r11]",
    "mov rsi, [r11 + 8]",
    "mov rdx, [r11 + 16]",
    "mov r10, [r11 + 24]",
    "mov r8, [r11 + 32]",
    "mov r9, [r11 + 40]",
    ".global broadleaf_trap_call_begin",
    "broadleaf_trap_call_begin:",
    "cmp qword ptr [r12 + 24], 0",
    "jne broadleaf_trap_call_interrupted",
    "syscall",
    ".global broadleaf_trap_call_end",
    "broadleaf_trap_call_end:",
    "pop r12",
    "ret",
    ".global broadleaf_trap_call_interrupted",
    "broadleaf_trap_call_interrupted:",
    "mov rax, -4",
    "pop r12",
    "ret",
    // A new thread: rdi are the flags, rsi the context that the thread begins with, rdx and rcx
    // the places of its number, r8 its thread-local storage, r9 its block.
    ".global broadleaf_trap_clone",
    "broadleaf_trap_clone:",
    "push r12",
    "push r13",
    "mov r12, rsi",
    "mov r13, r9",
    "mov r10, rcx",
    "mov eax, 56",
    "syscall",
    "test rax, rax",
    "jz 3f",
    "pop r13",
    "pop r12",
    "ret",
    "3:",
    "mov edi, 59",
    "mov esi, 1",
    "lea rdx, [rip + broadleaf_trap_restorer]",
    "mov r10d, {allowed}",
    "mov r8, r13",
    "mov eax, 157",
    "syscall",
    "mov byte ptr [r13], 1",
    "jmp broadleaf_trap_restorer",
    // The jump into the program: rdi is the thread's block, rsi the stack, rdx the first
    // instruction.
    ".global broadleaf_trap_begin",
    "broadleaf_trap_begin:",
    "mov rsp, rsi",
    "mov r11, rdx",
    "xor eax, eax",
    "wrfsbase rax",
    "mov byte ptr [rdi], 1",
    "xor ebx, ebx",
    "xor ecx, ecx",
    "xor edx, edx",
    "xor esi, esi",
    "xor edi, edi",
    "xor ebp, ebp",
    "xor r8d, r8d",
    "xor r9d, r9d",
    "xor r10d, r10d",
    "xor r12d, r12d",
    "xor r13d, r13d",
    "xor r14d, r14d",
    "xor r15d, r15d",
    "jmp r11",
    block = const BLOCK_BYTES,
    allowed = const ALLOWED_BYTES,
    handler = sym super::handler::handle,
    late = sym super::handler::late,
    // Five saved registers and the return address lie below the context.
    context = const CONTEXT_AT,
    registers = const CONTEXT_AT + REGISTERS_AT,
    features = const FEATURES_AT,
);

/// Where a handler finds the context on its stack, after it saved five registers.
const CONTEXT_AT: usize = 48;

/// The bytes of the restorer: its two instructions and the byte after them, where the kernel sees
/// the call come from.
const ALLOWED_BYTES: usize = 8;

unsafe extern "C" {
    fn broadleaf_trap_entry();
    fn broadleaf_trap_entered();
    fn broadleaf_trap_leave();
    fn broadleaf_trap_left();
    fn broadleaf_trap_late();
    fn broadleaf_trap_restorer();
    fn broadleaf_trap_call(number: i64, arguments: *const [u64; 6], block: u64) -> i64;
    fn broadleaf_trap_call_begin();
    fn broadleaf_trap_call_end();
    fn broadleaf_trap_call_interrupted();
    fn broadleaf_trap_clone(
        flags: u64,
        context: u64,
        parent_id: u64,
        child_id: u64,
        storage: u64,
        block: u64,
    ) -> i64;
    fn broadleaf_trap_begin(block: u64, stack: u64, first: u64) -> !;
}

/// The address of a block, whose first byte is the selector.
fn address_of(block: &ThreadBlock) -> u64 {
    std::ptr::from_ref(block) as u64
}

/// The address of the entry of all signal handlers.
pub(super) fn entry() -> u64 {
    broadleaf_trap_entry as *const () as u64
}

/// The address of the return from signal handlers.
pub(super) fn restorer() -> u64 {
    broadleaf_trap_restorer as *const () as u64
}

/// Makes a system call at once. A failure is the negated error number, as in the kernel.
pub(super) fn call(number: i64, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel checks the arguments. The callers pass memory of the program, or memory
    // of the engine that lives long enough.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes a system call that signals may interrupt. Returns "interrupted" if a signal of the
/// program waits already.
pub(super) fn call_interruptibly(number: i64, arguments: &[u64; 6], block: &ThreadBlock) -> i64 {
    // SAFETY: as `call`; the block is the running thread's.
    unsafe { broadleaf_trap_call(number, arguments, address_of(block)) }
}

/// The instruction to go on with, if a signal arrived just before a system call that it should
/// interrupt.
pub(super) fn after_interrupted_call(instruction: u64) -> Option<u64> {
    let begin = broadleaf_trap_call_begin as *const () as u64;
    let end = broadleaf_trap_call_end as *const () as u64;
    let interrupted = broadleaf_trap_call_interrupted as *const () as u64;
    (begin..end).contains(&instruction).then_some(interrupted)
}

/// Returns true if a signal arrived while the handler of another began. The selector byte may still
/// say that the program runs.
pub(super) fn is_entering(instruction: u64) -> bool {
    let entered = broadleaf_trap_entered as *const () as u64;
    (entry()..entered).contains(&instruction)
}

/// The instruction to go on with, if a signal arrived while a handler returned to the program
/// without a system call.
pub(super) fn after_interrupted_return(instruction: u64) -> Option<u64> {
    let begin = broadleaf_trap_leave as *const () as u64;
    let end = broadleaf_trap_left as *const () as u64;
    let late = broadleaf_trap_late as *const () as u64;
    (begin..end).contains(&instruction).then_some(late)
}

/// The arguments of a new thread.
pub(super) struct NewThread {
    /// The flags of `clone`.
    pub(super) flags: u64,
    /// The address of the signal context that the thread begins with.
    pub(super) context: u64,
    /// Where the kernel writes the thread's number for the parent.
    pub(super) parent_id: u64,
    /// Where the kernel writes and clears the thread's number.
    pub(super) child_id: u64,
    /// The program's thread-local storage.
    pub(super) storage: u64,
}

/// Starts a thread of the program. Returns its number, or the negated error number.
pub(super) fn start_thread(new: &NewThread, block: &ThreadBlock) -> i64 {
    // SAFETY: the context and the block belong to the new thread alone.
    unsafe {
        broadleaf_trap_clone(
            new.flags,
            new.context,
            new.parent_id,
            new.child_id,
            new.storage,
            address_of(block),
        )
    }
}

/// Sends the system calls of this thread to the handler while its selector byte says so.
pub(super) fn dispatch_calls(block: &ThreadBlock) -> i64 {
    let selector = address_of(block);
    let range = [restorer(), ALLOWED_BYTES as u64];
    let arguments = [
        PR_SET_SYSCALL_USER_DISPATCH as u64,
        1,
        range[0],
        range[1],
        selector,
        0,
    ];
    call(libc::SYS_prctl, arguments)
}

/// Jumps into the program.
pub(super) fn begin(block: &ThreadBlock, stack: u64, first: u64) -> ! {
    // SAFETY: the stack and the instruction are those of a program that was just loaded.
    unsafe { broadleaf_trap_begin(address_of(block), stack, first) }
}

/// The thread-local storage of the running code.
pub(super) fn thread_storage() -> u64 {
    let storage;
    // SAFETY: the instruction reads a register. The kernel allows it; `Abilities` checked.
    unsafe { asm!("rdfsbase {}", out(reg) storage, options(nomem, nostack, preserves_flags)) }
    storage
}
