//! System calls that none of the used libraries offers.
#![allow(unsafe_code, reason = "system calls")]

use crate::kernel::KernelError;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Promotes the blocks of a range at once (Linux 6.1).
pub(super) const MADV_COLLAPSE: i32 = 25;
/// With `PR_SET_THP_DISABLE`: superpages only if they are advised, and by `MADV_COLLAPSE` (Linux
/// 6.18).
const PR_THP_DISABLE_EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Returns the errno of the call that just failed.
fn last() -> KernelError {
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::ESRCH) => KernelError::Gone,
        Some(libc::EPERM | libc::EACCES) => KernelError::NotAllowed,
        number => KernelError::Errno(number.unwrap_or(libc::EIO)),
    }
}

/// Opens a file descriptor that refers to a process.
pub(super) fn open_process(pid: u32) -> Result<OwnedFd, KernelError> {
    // SAFETY: no pointers. A result that is not negative is a new file descriptor without another
    // owner.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            return Err(last());
        }
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Gives advice on memory of another process.
pub(super) fn advise(
    process: &OwnedFd,
    start: u64,
    bytes: u64,
    advice: i32,
) -> Result<(), KernelError> {
    let range = libc::iovec {
        iov_base: start as *mut libc::c_void,
        iov_len: bytes as usize,
    };
    // SAFETY: `range` lives through the call, and points to memory of the other process. The call
    // touches no memory of this process.
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
        // The call was done in part. The next call returns the reason.
        _ => Err(KernelError::Errno(libc::EAGAIN)),
    }
}

/// Returns the time of one of the kernel's clocks.
pub(super) fn clock(which: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is local, and the call writes nothing else. Every Linux has the clocks that
    // this crate uses.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns true if a file belongs to a mount of cgroups, of either version.
pub(super) fn is_of_cgroup(file: &File) -> bool {
    // SAFETY: a structure of numbers, for which zeroes are values.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is local, and the call writes nothing else.
    let failed = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut status) } != 0;
    // The types of these numbers differ between C libraries.
    let magic = [libc::CGROUP_SUPER_MAGIC, libc::CGROUP2_SUPER_MAGIC];
    !failed
        && magic
            .iter()
            .any(|magic| *magic as u64 == status.f_type as u64)
}

/// Returns the kernel's release, such as `6.18.3-1-amd64`.
pub(super) fn release() -> String {
    // SAFETY: a structure of letters, for which zeroes are values.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is local, and the call writes nothing else.
    if unsafe { libc::uname(&raw mut name) } != 0 {
        return String::new();
    }
    let letters = name.release.iter().map(|letter| *letter as u8);
    letters
        .take_while(|letter| *letter != 0)
        .map(char::from)
        .collect()
}

/// The control of superpages in a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThpControl {
    /// The system-wide settings decide.
    System,
    /// Superpages are forbidden, even to a governor.
    Forbidden,
    /// Superpages are only made on request: by advice of the program, and by a governor.
    Advised,
}

/// Returns the control of superpages in this process's memory and in the processes that it starts.
pub fn thp_control() -> ThpControl {
    // SAFETY: no pointers.
    match unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } {
        1 => ThpControl::Forbidden,
        3 => ThpControl::Advised,
        _ => ThpControl::System,
    }
}

/// Restricts superpages to requests, in this process and in the processes that it starts from now
/// on.
///
/// # Errors
/// Returns an error if the kernel is older than Linux 6.18.
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

/// Forbids superpages in this process and in the processes that it starts from now on, even to
/// advice and to a governor.
///
/// # Errors
/// Returns the kernel's answer.
pub fn forbid_thp() -> io::Result<()> {
    // SAFETY: no pointers.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Applies the system-wide settings to this process and to the processes that it starts from now
/// on.
///
/// # Errors
/// Returns the kernel's answer.
pub fn allow_thp() -> io::Result<()> {
    // SAFETY: no pointers.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The resources that an ended program used, including the children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, in user mode and in the kernel.
    pub cpu: Duration,
    /// Processor time in user mode.
    pub user: Duration,
    /// Page faults.
    pub faults: u64,
    /// The largest resident size of any of its processes, in bytes.
    pub rss_bytes_peak: u64,
}

/// Waits until a child ends. Returns its status and its usage. Calls `stopped` with the signal each
/// time that the terminal stops the child (SIGTSTP, SIGTTIN or SIGTTOU).
///
/// # Errors
/// Returns the kernel's error if the child does not exist or was already waited for.
pub fn wait_for(child: u32, mut stopped: impl FnMut(i32)) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: a structure of numbers, for which zeroes are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `status` and `usage` are local, and the call writes nothing else.
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
        user: time(usage.ru_utime),
        faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        rss_bytes_peak: usage.ru_maxrss as u64 * 1024,
    };
    Ok((ExitStatus::from_raw(status), usage))
}
