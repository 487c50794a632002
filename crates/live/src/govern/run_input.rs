//! The standard input of programs that run several times.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;

/// This process's own standard input, by file descriptor. Opening it gives a place of its own.
const OWN: &str = "/proc/self/fd/0";

/// The standard input that each of several runs can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunInput {
    /// Nothing.
    Nothing,
    /// Nothing, although this process has an input: a pipe, which one program alone can read.
    Unrepeatable,
    /// A file, from this offset on.
    File(u64),
}

impl RunInput {
    /// The input that this process gives to programs.
    pub(super) fn here() -> Self {
        Self::of(stdin()).unwrap_or(Self::Nothing)
    }

    fn of(input: impl AsFd) -> io::Result<Self> {
        let mut file = File::from(input.as_fd().try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        Ok(if kind.is_file() {
            Self::File(file.stream_position()?)
        } else if kind.is_fifo() || kind.is_socket() {
            Self::Unrepeatable
        } else {
            Self::Nothing
        })
    }

    /// The input of one run.
    ///
    /// # Errors
    /// If the file cannot be opened again.
    pub(super) fn of_run(self) -> io::Result<Stdio> {
        self.from(OWN)
    }

    fn from(self, path: &str) -> io::Result<Stdio> {
        let Self::File(offset) = self else {
            return Ok(Stdio::null());
        };
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(file.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    fn read_by_a_run(input: RunInput, path: &str) -> String {
        let run = Command::new("cat")
            .stdin(input.from(path).unwrap())
            .output();
        String::from_utf8(run.unwrap().stdout).unwrap()
    }

    #[test]
    fn each_run_reads_a_file_from_where_it_was() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"head and the rest").unwrap();
        let mut opened = File::open(file.path()).unwrap();
        opened.seek(SeekFrom::Start(9)).unwrap();
        let input = RunInput::of(&opened).unwrap();
        let path = file.path().to_str().unwrap();
        for _ in 0..2 {
            assert_eq!(read_by_a_run(input, path), "the rest");
        }
        assert_eq!(opened.stream_position().unwrap(), 9);
    }

    #[test]
    fn a_pipe_and_nothing_are_told_apart() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(RunInput::of(&reader).unwrap(), RunInput::Unrepeatable);
        let nothing = File::open("/dev/null").unwrap();
        assert_eq!(RunInput::of(&nothing).unwrap(), RunInput::Nothing);
        assert_eq!(read_by_a_run(RunInput::Unrepeatable, "/dev/null"), "");
    }
}
