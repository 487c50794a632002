//! The shared memory in which one process of the recorded program writes its executions.

#![allow(unsafe_code, reason = "memory that another process writes to")]

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use memmap2::{MmapOptions, MmapRaw};

use super::wire::{A_WHILE, HEADER_BYTES, MAGIC, RING_BYTES, SEGMENT_BYTES, SEGMENTS, header};
use crate::windows::WindowProgress;

/// One process's ring, mapped into this process.
pub(super) struct Ring {
    map: MmapRaw,
}

/// The contents of a segment.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Executions and records.
    pub(super) words: Vec<u32>,
    /// The numbers of the words, in reverse order.
    pub(super) numbers: Vec<u64>,
}

/// The reason for which [`Ring::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A segment can be taken.
    Full,
    /// The tool has written its last words.
    Ended,
    /// Neither, for a while. The caller checks that the process still exists.
    Idle,
}

impl Ring {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let map = MmapOptions::new().len(RING_BYTES).map_raw(&file)?;
        let ring = Self { map };
        if file.metadata()?.len() < RING_BYTES as u64
            || ring.word(header::MAGIC).load(Ordering::Acquire) != MAGIC
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the recorder and this program do not fit together",
            ));
        }
        Ok(ring)
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= HEADER_BYTES);
        // SAFETY: the offset is aligned and inside the mapping, which lives as long as `self`. The
        // tool writes these words atomically.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(offset).cast()) }
    }

    /// Returns the base-two logarithm of the unit in which the tool detects moved references.
    pub(super) fn unit_shift(&self) -> u32 {
        self.word(header::UNIT_SHIFT).load(Ordering::Relaxed)
    }

    pub(super) fn pid(&self) -> u32 {
        self.word(header::PID).load(Ordering::Relaxed)
    }

    /// Returns the number of the fork that made the process, as reported by its parent. Returns 0
    /// if there is none.
    pub(super) fn fork(&self) -> u64 {
        let half = |offset| u64::from(self.word(header::FORK + offset).load(Ordering::Relaxed));
        half(0) | half(4) << 32
    }

    /// Returns the position of the process in its windows.
    pub(super) fn window(&self) -> WindowProgress {
        let word = |offset| u64::from(self.word(offset).load(Ordering::Relaxed));
        let number = |offset| word(offset) | word(offset + 4) << 32;
        let window = word(header::WINDOW);
        WindowProgress {
            number: window / 2,
            inside: window % 2 == 1,
            accesses: number(header::ACCESSES),
            instructions: number(header::INSTRUCTIONS),
        }
    }

    /// Waits for a filled segment, for at most a tenth of a second.
    pub(super) fn wait(&self) -> Wait {
        let tail = self.word(header::TAIL).load(Ordering::Relaxed);
        let head = || self.word(header::HEAD).load(Ordering::SeqCst);
        let ended = || self.word(header::ENDED).load(Ordering::Acquire) != 0;
        if head() != tail {
            return Wait::Full;
        }
        let enough = tail.wrapping_add(A_WHILE);
        self.word(header::WAKE_READER_AT)
            .store(enough, Ordering::SeqCst);
        let until = Instant::now() + Duration::from_millis(100);
        loop {
            let seen = head();
            // The last segment may have come between the two reads.
            if ended() && head() == tail {
                return Wait::Ended;
            }
            let left = until.saturating_duration_since(Instant::now());
            if seen.wrapping_sub(tail) >= A_WHILE || ended() || left.is_zero() {
                return if head() == tail {
                    Wait::Idle
                } else {
                    Wait::Full
                };
            }
            futex_wait(self.word(header::HEAD), seen, left);
        }
    }

    /// Copies the oldest filled segment to `into` and gives it back to the tool.
    pub(super) fn take(&self, into: &mut Segment) {
        let tail = self.word(header::TAIL).load(Ordering::Relaxed);
        let slot = tail as usize % SEGMENTS;
        let used = |field, size| {
            let used = self.word(field + 4 * slot).load(Ordering::Relaxed) as usize;
            used.min(SEGMENT_BYTES / size)
        };
        let (words, numbers) = (used(header::WORDS, 4), used(header::NUMBERS, 8));
        into.words.clear();
        into.words.reserve(words);
        into.numbers.clear();
        into.numbers.reserve(numbers);
        // SAFETY: the segment lies inside the mapping and is aligned to 8, and neither part is
        // longer than it. The tool does not write to the segment between its own increment of
        // `head`, which was read with Acquire, and this side's increment of `tail`.
        unsafe {
            let from = self.map.as_ptr().add(HEADER_BYTES + slot * SEGMENT_BYTES);
            std::ptr::copy_nonoverlapping(from.cast(), into.words.as_mut_ptr(), words);
            into.words.set_len(words);
            let from = from.add(SEGMENT_BYTES - 8 * numbers);
            std::ptr::copy_nonoverlapping(from.cast(), into.numbers.as_mut_ptr(), numbers);
            into.numbers.set_len(numbers);
        }
        let tail = tail.wrapping_add(1);
        self.word(header::TAIL).store(tail, Ordering::SeqCst);
        if tail == self.word(header::WAKE_TOOL_AT).load(Ordering::SeqCst) {
            futex_wake(self.word(header::TAIL));
        }
    }
}

fn futex_wait(word: &AtomicU32, while_it_is: u32, at_most: Duration) {
    let time = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: the word is valid for the length of the call, and the time is read only.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            while_it_is,
            &time,
        )
    };
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is valid for the length of the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
