//! System calls that no library of ours has.
#![allow(unsafe_code, reason = "system calls")]

use crate::kernel::No;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Makes superpages of a range, at once (Linux 6.1).
pub(super) const MADV_COLLAPSE: i32 = 25;
/// With `PR_SET_THP_DISABLE`: superpages only where they are advised, and by `MADV_COLLAPSE` (Linux 6.18).
const PR_THP_DISABLE_EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// The errno of the call that just failed.
fn last() -> No {
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::ESRCH) => No::Gone,
        Some(libc::EPERM | libc::EACCES) => No::NotAllowed,
        number => No::Errno(number.unwrap_or(libc::EIO)),
    }
}

/// A file that stands for a process.
pub(super) fn open_process(pid: u32) -> Result<OwnedFd, No> {
    // SAFETY: no pointers. A result that is not negative is a file descriptor that nobody else has.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            return Err(last());
        }
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Gives advice on memory of another process.
pub(super) fn advise(process: &OwnedFd, start: u64, bytes: u64, advice: i32) -> Result<(), No> {
    let range = libc::iovec {
        iov_base: start as *mut libc::c_void,
        iov_len: bytes as usize,
    };
    // SAFETY: `range` lives through the call, and what it points to lies in the other process: nothing of ours is touched.
    let advised = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_raw_fd(),
            &raw const range,
            1_usize,
            advice,
            0_u32,
        )
    };
    match advised {
        ..0 => Err(last()),
        advised if advised as u64 == bytes => Ok(()),
        // It went part of the way, and the next call would say why it stopped.
        _ => Err(No::Errno(libc::EAGAIN)),
    }
}

/// What one of the kernel's clocks shows.
pub(super) fn clock(which: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours, and the call writes nothing else. The clocks that are asked for are there on any Linux.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The kernel's release, as `6.18.3-1-amd64`.
pub(super) fn release() -> String {
    // SAFETY: a structure of letters, for which zeroes are values.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is ours, and the call writes nothing else.
    if unsafe { libc::uname(&raw mut name) } != 0 {
        return String::new();
    }
    let letters = name.release.iter().map(|letter| *letter as u8);
    letters
        .take_while(|letter| *letter != 0)
        .map(char::from)
        .collect()
}

/// Who may make superpages of a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThpControl {
    /// Whoever the system-wide settings allow.
    System,
    /// Nobody, not even a governor.
    Nobody,
    /// Only who asks for them: advice of the program, and a governor.
    Advised,
}

/// Who may make superpages of this process's memory, and of what it starts.
pub fn thp_control() -> ThpControl {
    // SAFETY: no pointers.
    match unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } {
        1 => ThpControl::Nobody,
        3 => ThpControl::Advised,
        _ => ThpControl::System,
    }
}

/// From here on, and in what this process starts, superpages are made only for those who ask for them.
///
/// # Errors
/// Where the kernel is older than Linux 6.18.
pub fn allow_only_advised() -> io::Result<()> {
    // SAFETY: no pointers.
    match unsafe {
        libc::prctl(
            libc::PR_SET_THP_DISABLE,
            1,
            PR_THP_DISABLE_EXCEPT_ADVISED,
            0,
            0,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// From here on, and in what this process starts, the system-wide settings hold.
///
/// # Errors
/// What the kernel answered.
pub fn allow_thp() -> io::Result<()> {
    // SAFETY: no pointers.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What a program that has ended, and all that it waited for, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, of users and of the kernel.
    pub cpu: Duration,
    /// Page faults.
    pub faults: u64,
    /// The most that one of its processes held, in bytes.
    pub rss_bytes_peak: u64,
}

/// Waits until a child ends. Returns its status and its usage. Calls `stopped` with the signal each
/// time that the terminal stops the child (SIGTSTP, SIGTTIN or SIGTTOU).
///
/// # Errors
/// Those of the kernel: the child does not exist, or was waited for before.
pub fn wait_for(child: u32, mut stopped: impl FnMut(i32)) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: a structure of numbers, for which zeroes are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `status` and `usage` are ours, and the call writes nothing else.
        let ended = unsafe {
            libc::wait4(
                child as i32,
                &raw mut status,
                libc::WUNTRACED,
                &raw mut usage,
            )
        };
        if ended < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        } else if libc::WIFSTOPPED(status) {
            let signal = libc::WSTOPSIG(status);
            if matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
                stopped(signal);
            }
        } else {
            break;
        }
    }
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    let usage = Usage {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        rss_bytes_peak: usage.ru_maxrss as u64 * 1024,
    };
    Ok((ExitStatus::from_raw(status), usage))
}
