//! The pipe on which processes announce their rings.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The pipe, open for reading.
pub(super) struct Control {
    pipe: File,
    text: Vec<u8>,
}

impl Control {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Also open for writing, because otherwise the pipe would end with each process that
        // announces itself.
        let pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        Ok(Self {
            pipe,
            text: Vec::new(),
        })
    }

    /// Returns the rings announced since the last call.
    pub(super) fn announced(&mut self) -> io::Result<Vec<String>> {
        let mut bytes = [0; 4096];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => break,
                Ok(n) => self.text.extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let whole = self
            .text
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.text.drain(..whole).collect();
        Ok(String::from_utf8_lossy(&lines)
            .lines()
            .map(str::to_owned)
            .collect())
    }
}
