//! A filter that makes a program's own switches of huge pages have no effect.
//!
//! Some programs forbid huge pages to themselves: redis calls `prctl(PR_SET_THP_DISABLE)`, and
//! allocators give the advice `MADV_NOHUGEPAGE`. Run times with base pages and with huge pages
//! differ in nothing else only if neither is obeyed. The filter answers both calls with success and
//! does nothing (`seccomp(2)`).
#![allow(unsafe_code, reason = "system calls between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The offset of the system call's number in `struct seccomp_data`.
const NUMBER: u32 = 0;
/// The offset of the architecture.
const ARCHITECTURE: u32 = 4;
/// The offset of the low half of an argument. The machine has its low bytes first.
const fn argument(number: u32) -> u32 {
    16 + 8 * number
}

/// The architecture of this build in `seccomp_data` (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
/// No architecture: the filter lets every call pass.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const NATIVE: u32 = 0;

/// Loads a word of `seccomp_data`.
const fn load(offset: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16,
        jt: 0,
        jf: 0,
        k: offset,
    }
}

/// Skips `same` instructions if the loaded word is `value`, otherwise `other` instructions.
const fn compare(value: u32, same: u8, other: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: same,
        jf: other,
        k: value,
    }
}

/// Ends the filter with an answer.
const fn answer(action: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: action,
    }
}

/// The error number 0, which is success.
const SUCCESS: u32 = libc::SECCOMP_RET_ERRNO;

/// The filter.
static FILTER: [libc::sock_filter; 11] = [
    load(ARCHITECTURE),
    compare(NATIVE, 0, 8),
    load(NUMBER),
    compare(libc::SYS_prctl as u32, 0, 2),
    load(argument(0)),
    compare(libc::PR_SET_THP_DISABLE as u32, 3, 4),
    compare(libc::SYS_madvise as u32, 0, 3),
    load(argument(2)),
    compare(libc::MADV_NOHUGEPAGE as u32, 0, 1),
    answer(SUCCESS),
    answer(libc::SECCOMP_RET_ALLOW),
];

/// Makes a command start with a filter: it and its children cannot forbid huge pages to themselves.
/// The calls that would do so succeed without effect.
pub fn ignore_thp_switches(command: &mut Command) {
    // SAFETY: between fork and exec, `install` makes system calls alone. It takes no lock and
    // allocates nothing.
    unsafe { command.pre_exec(install) };
}

fn install() -> io::Result<()> {
    let program = libc::sock_fprog {
        len: FILTER.len() as u16,
        filter: FILTER.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads `program` and `FILTER` during the calls, and writes to neither.
    unsafe {
        let filter = || {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
        };
        if filter() == 0 {
            return Ok(());
        }
        // Without CAP_SYS_ADMIN, a filter takes the promise to gain no privileges.
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter() == 0 {
            return Ok(());
        }
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of the filter as the kernel runs it.
    fn run(architecture: u32, number: u32, arguments: [u32; 3]) -> u32 {
        let word = |offset: u32| match offset {
            NUMBER => number,
            ARCHITECTURE => architecture,
            offset => arguments[((offset - 16) / 8) as usize],
        };
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = FILTER[at];
            at += 1;
            match u32::from(step.code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => loaded = word(step.k),
                code if code == libc::BPF_RET | libc::BPF_K => return step.k,
                _ => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
            }
        }
    }

    #[test]
    fn only_switches_of_huge_pages_are_answered() {
        let allow = libc::SECCOMP_RET_ALLOW;
        let prctl = libc::SYS_prctl as u32;
        let madvise = libc::SYS_madvise as u32;
        let thp = libc::PR_SET_THP_DISABLE as u32;
        let name = libc::PR_SET_NAME as u32;
        assert_eq!(run(NATIVE, prctl, [thp, 1, 0]), SUCCESS);
        assert_eq!(run(NATIVE, prctl, [name, 1, 0]), allow);
        let never = libc::MADV_NOHUGEPAGE as u32;
        assert_eq!(run(NATIVE, madvise, [0, 0, never]), SUCCESS);
        for advice in [libc::MADV_HUGEPAGE, libc::MADV_DONTNEED] {
            assert_eq!(run(NATIVE, madvise, [0, 0, advice as u32]), allow);
        }
        assert_eq!(run(NATIVE, libc::SYS_read as u32, [thp, 0, never]), allow);
        assert_eq!(run(NATIVE + 1, prctl, [thp, 1, 0]), allow);
    }
}
