//! The destination of results: standard output, or a file that appears whole or not at all.

mod claim;
mod direct;
mod special;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use broadleaf_governor::was_closed;
use broadleaf_report::{command_line, printable};
use serde::Serialize;

use crate::failure::{Failure, reason};
use claim::{NameClaim, exists};

pub use claim::{Access, ClaimRefused, sweep};
pub use direct::{Direct, KeptPath, Replace};

/// The number of standard output.
const STDOUT: i32 = 1;

/// Refuses to write to a standard stream that was closed when this process was started. Rust's
/// runtime has opened `/dev/null` in its place, where a result would be lost.
fn refuse_closed(stream: i32) -> io::Result<()> {
    if was_closed(stream) {
        Err(io::Error::other("it is closed"))
    } else {
        Ok(())
    }
}

/// Checks that texts that another library has printed have reached standard output.
///
/// # Errors
/// [`Failure::NoReader`] if the reader went away. [`Failure::Failed`] if standard output is closed,
/// or cannot be written to.
pub fn reached(printed: io::Result<()>) -> Result<(), Failure> {
    printed
        .and_then(|()| refuse_closed(STDOUT))
        .and_then(|()| io::stdout().flush())
        .map_err(|error| Failure::writing("standard output", &error))
}

/// An output. No file has the output's name before [`Output::finish`].
#[derive(Debug)]
pub struct Output {
    name: String,
    to: OutputSink,
    /// Bytes written.
    written: u64,
}

#[derive(Debug)]
enum OutputSink {
    Stdout(BufWriter<io::Stdout>),
    /// A file that is not a regular one (a pipe, a device) cannot be replaced; the output writes to
    /// it.
    InPlace(BufWriter<File>),
    File(BufWriter<NameClaim>),
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        Self {
            name: "standard output".to_owned(),
            to: OutputSink::Stdout(BufWriter::new(io::stdout())),
            written: 0,
        }
    }

    /// Output to `path`, or to standard output if `path` is missing or `-`.
    ///
    /// # Errors
    /// [`Failure::Wrong`] if the file exists and `force` is not given, or if the file cannot be
    /// made.
    pub fn create(path: Option<&Path>, force: bool, access: Access) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::stdout());
        };
        let path = &resolved(path);
        let to = match place(path, force, access)? {
            OutputTarget::Special(file) => OutputSink::InPlace(BufWriter::new(file)),
            OutputTarget::New(claim) => OutputSink::File(BufWriter::new(claim)),
        };
        let name = shown(path);
        Ok(Self {
            name,
            to,
            written: 0,
        })
    }

    /// Returns true for a terminal, which binary data would upset.
    pub fn is_terminal(&self) -> bool {
        matches!(&self.to, OutputSink::Stdout(out) if out.get_ref().is_terminal())
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of bytes written so far.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Returns true if the first bytes can be replaced later: those of a new regular file.
    pub const fn can_replace_start(&self) -> bool {
        matches!(self.to, OutputSink::File(_))
    }

    /// Replaces the first bytes, which were written before. Does nothing if they cannot be replaced
    /// ([`Output::can_replace_start`]).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn replace_start(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let OutputSink::File(file) = &mut self.to {
            file.flush()?;
            file.get_ref().file.write_all_at(bytes, 0)?;
        }
        Ok(())
    }

    /// Writes the buffered data, and gives a file its name.
    ///
    /// # Errors
    /// Those of [`Failure::writing`], and a failure if another file has taken the name.
    pub fn finish(self) -> Result<(), Failure> {
        let name = self.name;
        let failed = |error: io::Error| Failure::writing(&name, &error);
        match self.to {
            OutputSink::Stdout(mut out) => refuse_closed(STDOUT)
                .and_then(|()| out.flush())
                .map_err(failed),
            OutputSink::InPlace(mut out) => out.flush().map_err(failed),
            OutputSink::File(file) => {
                let claim = file.into_inner();
                let mut claim = claim.map_err(|error| failed(error.into_error()))?;
                match claim.settle() {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Err(exists(&name))
                    }
                    done => done.map_err(failed),
                }
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            OutputSink::Stdout(out) => refuse_closed(STDOUT).and_then(|()| out.write(bytes)),
            OutputSink::InPlace(out) => out.write(bytes),
            OutputSink::File(file) => file.write(bytes),
        }?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            OutputSink::Stdout(out) => out.flush(),
            OutputSink::InPlace(out) => out.flush(),
            OutputSink::File(file) => file.flush(),
        }
    }
}

/// The target of a link, so that the target is replaced and not the link. The target may be
/// `/dev/stdout`.
fn resolved(path: &Path) -> PathBuf {
    // A file open as a stream is appended to, not replaced.
    if special::descriptor(path).is_some() {
        return path.to_owned();
    }
    let leads_somewhere = path.is_symlink().then(|| path.canonicalize().ok());
    leads_somewhere.flatten().unwrap_or_else(|| path.to_owned())
}

/// Refuses an output that is an input of the command: `--force` permits the loss of a result, not
/// of an input.
///
/// # Errors
/// [`Failure::Wrong`] if one of `inputs` names the file at `output`; `-` names the file of standard
/// input.
pub fn refuse_input<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    // A device or a pipe can be read and written at once without loss.
    let Some(there) = output.metadata().ok().filter(std::fs::Metadata::is_file) else {
        return Ok(());
    };
    let is_there = |input: &Path| {
        let input = if input.as_os_str() == "-" {
            Path::new("/dev/stdin")
        } else {
            input
        };
        input
            .metadata()
            .is_ok_and(|input| (input.dev(), input.ino()) == (there.dev(), there.ino()))
    };
    if inputs.into_iter().any(is_there) {
        return Err(Failure::Wrong(format!(
            "{}: is read by this command, and would be written over: give another name with -o",
            shown(output)
        )));
    }
    Ok(())
}

/// The target of an output file.
enum OutputTarget {
    /// A pipe, a device: it cannot be replaced, and is written to.
    Special(File),
    /// A claim to a name in a folder.
    New(NameClaim),
}

/// Claims `path`, or opens it if it is a pipe or a device.
fn place(path: &Path, force: bool, access: Access) -> Result<OutputTarget, ClaimRefused> {
    let name = shown(path);
    let wrong = |why: &str| ClaimRefused::Impossible(Failure::Wrong(format!("{name}: {why}")));
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(wrong("is a directory")),
        Ok(there) if !there.is_file() || special::descriptor(path).is_some() => {
            let cannot =
                |error: io::Error| wrong(&format!("cannot write there: {}", reason(&error)));
            special::open(path)
                .map(OutputTarget::Special)
                .map_err(cannot)
        }
        Err(_) if path.is_symlink() => Err(wrong(
            "is a symbolic link to a file that does not exist: give that file's name with -o",
        )),
        _ => NameClaim::take(path, force, access).map(OutputTarget::New),
    }
}

/// A path for messages: on one line, and without control characters.
pub fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// A path as an argument of a command that a user can type.
pub fn argument(path: &Path) -> String {
    command_line(&[path.to_string_lossy()])
}

/// Formats `value` as JSON.
///
/// # Errors
/// [`Failure::Failed`] if the value has no form in JSON.
pub fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    Ok(format!("{text}\n"))
}

/// Writes `text` to standard output.
///
/// # Errors
/// Those of [`Failure::writing`].
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = Output::stdout();
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
