//! The engine inside the program's process.
//!
//! `arch` changes between the engine and the program, `image` loads the program, `doors` open and
//! close pages, `calls` answer system calls, and `handler` handles every signal.

#![allow(unsafe_code, reason = "signals, and the end of a process")]

mod arch;
mod calls;
mod contents;
mod context;
mod doors;
mod engine;
mod handler;
mod image;
mod layout;
mod regions;
mod signals;
mod space;
mod stack;
mod thread;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use arch::{call, dispatch_calls, thread_storage};
use broadleaf_tlb::Design;
use context::{ENGINE_SIGNALS, SignalMask};
use doors::Doors;
use engine::{Engine, install};
use layout::{FILE_END, page_end};
use signals::{Action, Handlers, block_exactly, engine_action, fault_action, kernel_action};
use space::Space;
use stack::{Beginning, build};
use thread::ThreadBlock;

use super::counts::SharedCounts;
use super::pages::TrapTlb;
use super::{Mechanism, TrapError, TrapOptions};

/// The fewest misses in a row of one instruction that count as livelock.
const FEWEST_REPEATS: usize = 64;
/// The engine's files have the highest numbers, so that the program gets those it expects.
const HIGH_FILE: u64 = 900;

/// The mechanism that a run will use.
///
/// # Errors
/// If the processor or the kernel lacks something.
pub(super) fn mechanism(wanted: Option<Mechanism>) -> Result<Mechanism, TrapError> {
    check_processor()?;
    let doors = doors(wanted)?;
    // SAFETY: the file was just opened, and nothing else uses it.
    drop(
        doors
            .file()
            .map(|file| unsafe { OwnedFd::from_raw_fd(file) }),
    );
    Ok(doors.mechanism())
}

/// Checks that the processor lets programs change the FS register.
fn check_processor() -> Result<(), TrapError> {
    const FSGSBASE: u64 = 2;
    // SAFETY: the function reads a table that the kernel wrote.
    let features = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    if features & FSGSBASE == 0 {
        return Err(TrapError::Lacks(
            "the trap engine needs the instruction WRFSBASE, which this processor or kernel does \
             not allow (Linux 5.9, Ivy Bridge or Zen)",
        ));
    }
    Ok(())
}

/// The doors to use.
fn doors(wanted: Option<Mechanism>) -> Result<Doors, TrapError> {
    let faults = match wanted {
        Some(Mechanism::Protection) => None,
        _ => Doors::userfaultfd(),
    };
    match (faults, wanted) {
        (None, Some(Mechanism::Userfaultfd)) => Err(TrapError::Lacks(
            "the kernel does not allow userfaultfd with minor faults of shared memory (Linux 5.14, \
             CONFIG_USERFAULTFD, and vm.unprivileged_userfaultfd=1 or root)",
        )),
        (faults, _) => Ok(faults.unwrap_or(Doors::protection())),
    }
}

/// Becomes the program. On failure the parent learns the reason, and the process ends.
pub(super) fn become_program(
    options: &TrapOptions,
    (path, arguments): (&Path, &[OsString]),
    shared: &'static SharedCounts,
    tell: OwnedFd,
) -> ! {
    let reason = match loaded(options, (path, arguments), shared) {
        Ok((block, stack, first)) => {
            drop(tell);
            arch::begin(block, stack, first);
        }
        Err(reason) => reason,
    };
    let _ = File::from(tell).write_all(reason.as_bytes());
    // SAFETY: nothing of this copy of the process has to be completed.
    unsafe { libc::_exit(127) }
}

/// Loads the program into this process, and installs the engine. Returns the first thread's block,
/// its stack, and its first instruction.
fn loaded(
    options: &TrapOptions,
    (path, arguments): (&Path, &[OsString]),
    shared: &'static SharedCounts,
) -> Result<(&'static ThreadBlock, u64, u64), String> {
    let say = |what: &str| {
        let what = what.to_owned();
        move |error: i32| format!("{what}: {}", io::Error::from_raw_os_error(error))
    };
    // The program ends with its recorder.
    call(
        libc::SYS_prctl,
        [
            libc::PR_SET_PDEATHSIG as u64,
            libc::SIGKILL as u64,
            0,
            0,
            0,
            0,
        ],
    );
    let mut doors = doors(options.mechanism).map_err(|error| error.to_string())?;
    if let Some(file) = doors.file() {
        doors.renumber(high(file).map_err(say("userfaultfd"))?);
    }
    let memory = high(memory_file().map_err(say("a memory file"))?).map_err(say("a file"))?;
    let mut space = Space::new(doors, memory);
    let image = image::load(&mut space, path)
        .map_err(|(path, error)| format!("{} {error}", path.display()))?;
    let environment: Vec<OsString> = std::env::vars_os()
        .map(|(name, value)| {
            [name.as_os_str(), OsStr::new("="), &value]
                .into_iter()
                .collect()
        })
        .collect();
    let beginning = Beginning {
        image: &image,
        arguments,
        environment: &environment,
        path: path.as_os_str(),
    };
    let stack = build(&mut space, &beginning).map_err(say("the program's stack"))?;
    let block = ThreadBlock::new(thread_storage()).map_err(say("a signal stack"))?;
    let handlers = take_signals(block);
    let heap = page_end(image.end).unwrap_or(image.end);
    install(Engine {
        space,
        tlb: TrapTlb::new(&options.design, options.size),
        handlers,
        shared,
        heap: heap..heap,
        program: absolute(path).into_os_string().into_encoded_bytes(),
        other_threads: 0,
        begin_at: options.begin_at,
        most_repeats: FEWEST_REPEATS.max(2 * entries(&options.design)),
    });
    match dispatch_calls(block) {
        0 => Ok((block, stack, image.first)),
        _ => Err("the kernel lacks Syscall User Dispatch (Linux 5.11)".to_owned()),
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The number of entries of the first level.
fn entries(design: &Design) -> usize {
    let first = design.structures().iter().filter(|of| of.level == 1);
    first.map(|of| of.entries).sum()
}

/// A file in memory with a byte for each address of the program.
fn memory_file() -> Result<i32, i32> {
    let name = c"broadleaf".as_ptr() as u64;
    let file = call(
        libc::SYS_memfd_create,
        [name, libc::MFD_CLOEXEC.into(), 0, 0, 0, 0],
    );
    let file = i32::try_from(file)
        .ok()
        .filter(|file| *file >= 0)
        .ok_or(-file as i32)?;
    let result = call(libc::SYS_ftruncate, [file as u64, FILE_END, 0, 0, 0, 0]);
    if result < 0 {
        Err(-result as i32)
    } else {
        Ok(file)
    }
}

/// Gives an open file a high number.
fn high(file: i32) -> Result<i32, i32> {
    let command = libc::F_DUPFD_CLOEXEC as u64;
    let mut new = call(libc::SYS_fcntl, [file as u64, command, HIGH_FILE, 0, 0, 0]);
    if new < 0 {
        // The limit of open files is low.
        new = call(libc::SYS_fcntl, [file as u64, command, 3, 0, 0, 0]);
    }
    call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0]);
    if new < 0 {
        Err(-new as i32)
    } else {
        Ok(new as i32)
    }
}

/// Takes the signals that the engine needs, and gives the others the actions that a new program
/// has.
fn take_signals(block: &ThreadBlock) -> Handlers {
    let stack = block.engine_stack();
    let at = std::ptr::from_ref(&stack) as u64;
    call(libc::SYS_sigaltstack, [at, 0, 0, 0, 0, 0]);
    // Rust ignores SIGPIPE, which programs expect to end them.
    kernel_action(libc::SIGPIPE, Some(&Action::default()));
    let handlers = Handlers::inherited();
    for signal in 1..=64 {
        let handler = kernel_action(signal, None).handler;
        if handler != libc::SIG_IGN as u64 && handler != libc::SIG_DFL as u64 {
            kernel_action(signal, Some(&Action::default()));
        }
    }
    for signal in ENGINE_SIGNALS {
        let action = match signal {
            libc::SIGBUS | libc::SIGSEGV => fault_action(),
            _ => engine_action(0),
        };
        kernel_action(signal, Some(&action));
    }
    block_exactly(SignalMask::default());
    handlers
}
