//! The pipe whose end informs the processes of a recording that their recorder has died.
//!
//! The recorder keeps the pipe open for writing. Each process under the tool keeps the pipe open
//! for reading. It has asked the kernel for SIGKILL when the last writer goes (`F_SETSIG`, in
//! `recorder/valgrind/ring.c`).

#![allow(
    unsafe_code,
    reason = "a keeper process that outlives this one, and only makes system calls"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The writing end of the pipe.
#[derive(Debug)]
pub(super) struct LifePipe {
    /// The pipe, open for reading and writing. A pipe without a reader cannot be opened for writing
    /// alone.
    both: Option<File>,
    writer: File,
}

impl LifePipe {
    pub(super) fn open(pipe: &Path) -> io::Result<Self> {
        let open = |read| {
            OpenOptions::new()
                .read(read)
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(pipe)
        };
        let both = Some(open(true)?);
        Ok(Self {
            both,
            writer: open(false)?,
        })
    }
}

impl Drop for LifePipe {
    /// Ends the recording, but not the forked processes that were not followed: a daemon continues.
    /// While such a process lives, a keeper process holds the writing end in place of the recorder.
    fn drop(&mut self) {
        self.both = None;
        let writer = self.writer.as_raw_fd();
        if has_reader(writer, 0) {
            // SAFETY: the child only makes system calls until it exits.
            if unsafe { libc::fork() } == 0 {
                keep(writer);
            }
        }
    }
}

/// Waits up to `wait` milliseconds, or without limit (-1), until the pipe has no reader. Returns
/// true if the pipe still has a reader.
fn has_reader(writer: i32, wait: i32) -> bool {
    let mut asked = libc::pollfd {
        fd: writer,
        events: 0,
        revents: 0,
    };
    // SAFETY: `asked` is one valid entry for the length of the call.
    unsafe { libc::poll(&raw mut asked, 1, wait) };
    asked.revents & libc::POLLERR == 0
}

/// Holds the writing end, and nothing else of the recorder, until the last reader has gone.
fn keep(writer: i32) -> ! {
    let fd = writer.unsigned_abs();
    // SAFETY: system calls on numbers. No other thread of this process exists after the fork.
    unsafe {
        libc::setsid();
        if fd > 0 {
            libc::syscall(libc::SYS_close_range, 0, fd - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, fd + 1, u32::MAX, 0);
        while has_reader(writer, -1) {}
        libc::_exit(0)
    }
}
