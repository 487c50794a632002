//! Reading ahead: a thread of its own decompresses, while another reads what it made.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::compression::Bytes;

/// The number of bytes of a buffer.
const BUFFER: usize = 256 << 10;
/// The number of buffers that wait at most.
const WAITING: usize = 4;

/// Bytes that a thread reads ahead. The thread ends with the bytes, at the first error, or when
/// this is dropped.
pub(crate) struct ReadAhead {
    full: Receiver<io::Result<Vec<u8>>>,
    used: Sender<Vec<u8>>,
    buffer: Vec<u8>,
    at: usize,
    has_ended: bool,
}

impl ReadAhead {
    /// Begins to read.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(crate) fn new(from: Bytes) -> io::Result<Self> {
        let (send_full, full) = sync_channel(WAITING);
        let (used, take_used) = channel();
        let thread = thread::Builder::new().name("decompression".to_owned());
        thread.spawn(move || fill(from, &send_full, &take_used))?;
        Ok(Self {
            full,
            used,
            buffer: Vec::new(),
            at: 0,
            has_ended: false,
        })
    }

    /// Takes the next buffer.
    fn next(&mut self) -> io::Result<()> {
        // The thread may have ended, and needs no buffer then.
        let _ = self.used.send(std::mem::take(&mut self.buffer));
        self.at = 0;
        let panicked = |_| io::Error::other("the decompression has failed");
        self.buffer = self.full.recv().map_err(panicked)??;
        self.has_ended = self.buffer.is_empty();
        Ok(())
    }
}

impl Read for ReadAhead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() && !self.has_ended && !into.is_empty() {
            self.next()?;
        }
        let count = (&self.buffer[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }
}

/// Sends the bytes of `from` in buffers. An empty one is the end.
fn fill(mut from: Bytes, full: &SyncSender<io::Result<Vec<u8>>>, used: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = used.try_recv().unwrap_or_default();
        buffer.clear();
        let read = from.by_ref().take(BUFFER as u64).read_to_end(&mut buffer);
        let is_last = buffer.is_empty();
        // What comes before an error is read first.
        if (!is_last || read.is_ok()) && full.send(Ok(buffer)).is_err() {
            return;
        }
        if let Err(error) = read {
            let _ = full.send(Err(error));
            return;
        }
        if is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Bytes that end with an error, or with a panic.
    struct Ending(u64, bool);

    impl Read for Ending {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(self.0 as usize);
            if count == 0 && !into.is_empty() {
                assert!(self.1, "the end of a library");
                return Err(io::ErrorKind::InvalidData.into());
            }
            into[..count].fill(7);
            self.0 -= count as u64;
            Ok(count)
        }
    }

    fn all(from: impl Read + Send + 'static) -> (usize, io::Result<()>) {
        let mut ahead = ReadAhead::new(Box::new(from)).unwrap();
        let mut bytes = Vec::new();
        let ended = ahead.read_to_end(&mut bytes).map(|_| ());
        (bytes.len(), ended)
    }

    #[test]
    fn bytes_are_the_same() {
        for length in [0, 1, BUFFER - 1, BUFFER, BUFFER + 1, 7 * BUFFER + 5] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * at / 7) as u8).collect();
            let mut ahead = ReadAhead::new(Box::new(io::Cursor::new(bytes.clone()))).unwrap();
            let mut back = Vec::new();
            ahead.read_to_end(&mut back).unwrap();
            assert!(back == bytes, "{length} bytes");
            // Every read at the end returns nothing.
            assert_eq!(ahead.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn an_error_comes_after_the_bytes_before_it() {
        for length in [0, 10, 3 * BUFFER + 10] {
            let (count, ended) = all(Ending(length as u64, true));
            assert_eq!(count, length);
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_panic_is_an_error_and_no_end() {
        let (_, ended) = all(Ending(BUFFER as u64, false));
        assert!(ended.unwrap_err().to_string().contains("decompression"));
    }

    #[test]
    fn the_thread_ends_if_nobody_reads_on() {
        struct Endless(Arc<AtomicBool>);
        impl Read for Endless {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                Ok(into.len())
            }
        }
        impl Drop for Endless {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        let ended = Arc::new(AtomicBool::new(false));
        let mut ahead = ReadAhead::new(Box::new(Endless(ended.clone()))).unwrap();
        ahead.read_exact(&mut [0; 100]).unwrap();
        drop(ahead);
        while !ended.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }
}
