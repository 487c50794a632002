//! A run: the process of the program, and what its parent learns of it.

#![allow(
    unsafe_code,
    reason = "processes, memory that two of them share, and signals"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use broadleaf_tlb::Design;
use broadleaf_units::PageSize;

use super::counts::{SharedCounts, TrapCounts};
use super::design::{RefusedDesign, check};
use super::inside;
use super::script::resolved;
use crate::valgrind::{self, RecordError};

/// How pages are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Minor faults of userfaultfd, handled in the thread that faults.
    Userfaultfd,
    /// Protection and SIGSEGV.
    Protection,
}

/// What to count.
#[derive(Clone, Debug)]
pub struct TrapOptions {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The TLB.
    pub design: Design,
    /// The page size that the system uses where a block of that size is mapped as a whole. 4 KiB:
    /// base pages alone.
    pub size: PageSize,
    /// The mechanism. `None`: userfaultfd if the kernel allows it, else protection.
    pub mechanism: Option<Mechanism>,
    /// Empties the TLB and counts from zero when the program unmaps this address.
    pub begin_at: Option<u64>,
}

/// A run that ended.
#[derive(Clone, Debug)]
pub struct TrapFinished {
    /// The counts.
    pub counts: TrapCounts,
    /// The program's end.
    pub status: ExitStatus,
    /// The mechanism that was used.
    pub mechanism: Mechanism,
    /// The time that the program ran.
    pub elapsed: Duration,
    /// The processor time of the program, in the program and in the kernel.
    pub processor: [Duration; 2],
}

/// The reason why nothing was counted.
#[derive(Debug, thiserror::Error)]
pub enum TrapError {
    /// The program cannot be found or run.
    #[error(transparent)]
    Program(#[from] RecordError),
    /// Traps cannot count the misses of this TLB.
    #[error("{0}")]
    Design(#[from] RefusedDesign),
    /// The processor or the kernel lacks something.
    #[error("{0}")]
    Lacks(&'static str),
    /// The kernel refused something.
    #[error("the program could not be started: {0}")]
    Io(#[from] io::Error),
    /// The program cannot be loaded.
    #[error("{0}")]
    Load(String),
    /// A page could not be opened or closed, so the counts are worthless.
    #[error(
        "a page could not be opened or closed: {}; with --mechanism protect, vm.max_map_count \
         bounds the number of pages that are open alone",
        io::Error::from_raw_os_error(*.0)
    )]
    Door(i32),
}

/// How often the parent looks at the counts.
const GLANCE: Duration = Duration::from_millis(200);

/// Runs a program and counts the TLB misses that its references to data cause.
///
/// `show` sees the counts now and then.
///
/// # Errors
/// If the program cannot be run or its misses cannot be counted.
pub fn count(
    options: &TrapOptions,
    show: &mut dyn FnMut(&TrapCounts),
) -> Result<TrapFinished, TrapError> {
    check(&options.design)?;
    let name = options.command.first().ok_or(RecordError::NoCommand)?;
    let found = valgrind::find_program(name)?;
    let (path, arguments) = resolved(&found, &options.command);
    let mechanism = inside::mechanism(options.mechanism)?;
    let shared = share_counts()?;
    let (told, tell) = pipe()?;
    let start = Instant::now();
    // SAFETY: the child runs code of this process alone, and every lock that it takes is free: no
    // other thread of this process uses the allocator while it forks (glibc's own handlers).
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error().into());
    }
    if child == 0 {
        drop(told);
        inside::become_program(options, (&path, &arguments), shared, tell);
    }
    drop(tell);
    let mut reason = String::new();
    File::from(told).read_to_string(&mut reason)?;
    let (status, processor) = wait(child, &mut || show(&shared.seen()))?;
    let counts = shared.seen();
    if !reason.is_empty() {
        return Err(TrapError::Load(reason));
    }
    if counts.failed != 0 {
        return Err(TrapError::Door(counts.failed as i32));
    }
    Ok(TrapFinished {
        counts,
        status,
        mechanism,
        elapsed: start.elapsed(),
        processor,
    })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut files = [0; 2];
    // SAFETY: the array has room for both ends, which are this process's own.
    unsafe {
        if libc::pipe2(files.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((
            OwnedFd::from_raw_fd(files[0]),
            OwnedFd::from_raw_fd(files[1]),
        ))
    }
}

/// Counts that this process shares with its child. They live as long as this process.
fn share_counts() -> io::Result<&'static SharedCounts> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    let bytes = size_of::<SharedCounts>();
    // SAFETY: the mapping is new, holds zeroes, and is never unmapped.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(&*at.cast())
    }
}

/// Waits for the program's end.
fn wait(child: i32, glance: &mut dyn FnMut()) -> io::Result<(ExitStatus, [Duration; 2])> {
    // SAFETY: the call takes no pointers.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
    let ended = i32::try_from(opened).ok().filter(|file| *file >= 0);
    // SAFETY: the file was just opened.
    let ended = ended.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        let flags = if ended.is_some() { libc::WNOHANG } else { 0 };
        // SAFETY: both structures are the kernel's.
        let result = unsafe { libc::wait4(child, &raw mut status, flags, usage.as_mut_ptr()) };
        glance();
        if result == child {
            break;
        }
        let error = io::Error::last_os_error();
        if result < 0 && error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        if let Some(ended) = &ended {
            let mut file = libc::pollfd {
                fd: ended.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one structure is given.
            unsafe { libc::poll(&raw mut file, 1, GLANCE.as_millis() as i32) };
        }
    }
    // SAFETY: all zeroes are a valid value, and the kernel filled it.
    let usage = unsafe { usage.assume_init() };
    let time = |of: libc::timeval| {
        Duration::from_secs(of.tv_sec as u64) + Duration::from_micros(of.tv_usec as u64)
    };
    Ok((
        ExitStatus::from_raw(status),
        [time(usage.ru_utime), time(usage.ru_stime)],
    ))
}
