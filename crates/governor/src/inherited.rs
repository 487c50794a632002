//! The signal and stream state with which this process was started, for the programs that it
//! starts.
//!
//! Before `main`, Rust's runtime ignores SIGPIPE and opens standard streams that were closed.
//! Before a program runs, Rust's library gives SIGPIPE its default effect and empties the signal
//! mask. `nice` does neither. So the state is read before the runtime begins, and restored just
//! before the program runs.
#![allow(unsafe_code, reason = "signals and streams of this process")]

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{mem, ptr};

/// The ignored signals, with bit 0 for signal 1.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// The blocked signals, likewise.
static BLOCKED: AtomicU64 = AtomicU64::new(0);
/// The standard streams that were closed, with bit 0 for standard input.
static CLOSED: AtomicU64 = AtomicU64::new(0);

/// The number of the last signal.
const LAST: i32 = 64;

/// The dynamic loader calls functions of this section before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

extern "C" fn remember() {
    let mut ignored = 0;
    let mut blocked = 0;
    // SAFETY: structures of numbers, for which zeroes are values. The calls write to them and to
    // nothing else, and change no signal.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        let masked = libc::sigprocmask(libc::SIG_BLOCK, ptr::null(), &raw mut mask) == 0;
        for signal in 1..=LAST {
            let mut action: libc::sigaction = mem::zeroed();
            let known = libc::sigaction(signal, ptr::null(), &raw mut action) == 0;
            ignored |= bit(signal, known && action.sa_sigaction == libc::SIG_IGN);
            blocked |= bit(
                signal,
                masked && libc::sigismember(&raw const mask, signal) == 1,
            );
        }
    }
    let mut closed = 0;
    for stream in 0..3 {
        // SAFETY: no pointers.
        let flags = unsafe { libc::fcntl(stream, libc::F_GETFD) };
        closed |= bit(stream + 1, flags == -1);
    }
    IGNORED.store(ignored, Ordering::Relaxed);
    BLOCKED.store(blocked, Ordering::Relaxed);
    CLOSED.store(closed, Ordering::Relaxed);
}

const fn bit(number: i32, is_set: bool) -> u64 {
    (is_set as u64) << (number - 1)
}

/// Returns true if this process was started with a signal ignored.
pub fn was_ignored(signal: i32) -> bool {
    (1..=LAST).contains(&signal) && IGNORED.load(Ordering::Relaxed) & bit(signal, true) != 0
}

/// Returns true if this process was started with the standard stream of this number closed. The
/// runtime has put `/dev/null` there since.
pub fn was_closed(stream: i32) -> bool {
    (0..3).contains(&stream) && CLOSED.load(Ordering::Relaxed) & bit(stream + 1, true) != 0
}

/// Makes a command start with the ignored and blocked signals that this process was started with.
pub fn inherit_signals(command: &mut Command) {
    // SAFETY: between fork and exec, `restore_signals` makes system calls and reads atomic numbers.
    // It takes no lock and allocates nothing.
    unsafe { command.pre_exec(restore_signals) };
}

/// The standard streams that a command may begin without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayLack {
    /// All three.
    All,
    /// All three streams.
    InputAndOutput,
}

/// Makes a command start with the standard streams closed that were closed at the start of this
/// process. The command must not redirect them. A stream that the command may not lack is
/// `/dev/null`.
pub fn inherit_closed_streams(command: &mut Command, may_lack: MayLack) {
    if CLOSED.load(Ordering::Relaxed) != 0 {
        let last = match may_lack {
            MayLack::All => libc::STDERR_FILENO,
            MayLack::InputAndOutput => libc::STDOUT_FILENO,
        };
        // SAFETY: as above.
        unsafe { command.pre_exec(move || close_streams(last)) };
    }
}

fn restore_signals() -> io::Result<()> {
    let (ignored, blocked) = (
        IGNORED.load(Ordering::Relaxed),
        BLOCKED.load(Ordering::Relaxed),
    );
    // SAFETY: the calls change signals of the child alone, which has one thread and is about to run
    // a program. Handlers of this process's do not outlive that. `signal` fails for SIGKILL,
    // SIGSTOP and the signals of the C library, which changes nothing.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut mask);
        for signal in 1..=LAST {
            let is_ignored = ignored & bit(signal, true) != 0;
            // A handler between now and the program's first instruction would be run in the child.
            libc::signal(
                signal,
                if is_ignored {
                    libc::SIG_IGN
                } else {
                    libc::SIG_DFL
                },
            );
            if blocked & bit(signal, true) != 0 {
                libc::sigaddset(&raw mut mask, signal);
            }
        }
        if libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn close_streams(last: i32) -> io::Result<()> {
    let closed = CLOSED.load(Ordering::Relaxed);
    for stream in 0..=last {
        if closed & bit(stream + 1, true) != 0 {
            // SAFETY: no pointers. Nothing else in the child uses the stream: the runtime opened it
            // only because it was closed.
            unsafe { libc::close(stream) };
        }
    }
    Ok(())
}

/// Returns a new descriptor of the open file that has the descriptor `number`. Both share the
/// position in the file.
///
/// # Errors
/// If no file has this descriptor.
pub fn duplicate(number: i32) -> io::Result<File> {
    // SAFETY: no pointers. The call fails if the descriptor is not open.
    let new = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if new == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nothing else uses it.
    Ok(unsafe { File::from_raw_fd(new) })
}

/// Sends a signal of any number to a process, including real-time signals.
///
/// # Errors
/// Returns the kernel's error if the process does not exist or this user may not signal it.
pub fn send_signal(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    match unsafe { libc::kill(pid, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process by a signal, as a program with the signal's default effect ends. Returns if
/// the signal does not end a process.
pub fn end_by(signal: i32) {
    // SAFETY: the mask is a local structure of numbers. This process is about to end, so the
    // replaced handler is not needed any more.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut mask);
        libc::sigaddset(&raw mut mask, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const mask, ptr::null_mut());
        libc::raise(signal);
    }
}
