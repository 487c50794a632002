//! Where results go: standard output, or a file that appears whole or not at all.

mod special;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tempfile::NamedTempFile;

use crate::failure::{Failure, reason};
use crate::interrupt::Unfinished;

/// Something to write to. Nothing stands under a file's name before [`Output::finish`].
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    to: To,
    /// Bytes written.
    written: u64,
}

#[derive(Debug)]
enum To {
    Stdout(BufWriter<io::Stdout>),
    /// A file that is no regular one (a pipe, a device) cannot be replaced: it is written to.
    InPlace(BufWriter<File>),
    File {
        file: BufWriter<NamedTempFile>,
        path: PathBuf,
        force: bool,
        _unfinished: Unfinished,
    },
}

impl Output {
    /// Output to `path`, or to standard output where there is none or it is `-`.
    ///
    /// # Errors
    /// [`Failure::Wrong`] where something stands there already and `force` is not given, or nothing can be made there.
    pub(crate) fn create(path: Option<&Path>, force: bool) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self {
                name: "standard output".to_owned(),
                to: To::Stdout(BufWriter::new(io::stdout())),
                written: 0,
            });
        };
        let path = &resolved(path);
        let to = match place(path, force)? {
            Place::Special(file) => To::InPlace(BufWriter::new(file)),
            Place::New(file, unfinished) => To::File {
                file: BufWriter::new(file),
                path: path.to_owned(),
                force,
                _unfinished: unfinished,
            },
        };
        let name = path.display().to_string();
        Ok(Self {
            name,
            to,
            written: 0,
        })
    }

    /// Whether it is a terminal, which binary data would upset.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(&self.to, To::Stdout(out) if out.get_ref().is_terminal())
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many bytes were written so far.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Writes out what is held back, and gives a file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let name = self.name;
        let failed = |error: io::Error| Failure::writing(&name, &error);
        match self.to {
            To::Stdout(mut out) => out.flush().map_err(failed),
            To::InPlace(mut out) => out.flush().map_err(failed),
            To::File {
                file,
                path,
                force,
                _unfinished,
            } => {
                let file = file
                    .into_inner()
                    .map_err(|error| failed(error.into_error()))?;
                match persist(file, &path, force) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        return Err(exists(&name));
                    }
                    done => done.map_err(failed)?,
                };
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::Stdout(out) => out.write(bytes),
            To::InPlace(out) => out.write(bytes),
            To::File { file, .. } => file.write(bytes),
        }?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(out) => out.flush(),
            To::InPlace(out) => out.flush(),
            To::File { file, .. } => file.flush(),
        }
    }
}

/// Where a link leads, so that what it leads to is replaced and not the link: it may be `/dev/stdout`.
fn resolved(path: &Path) -> PathBuf {
    let leads_somewhere = path.is_symlink().then(|| path.canonicalize().ok());
    leads_somewhere.flatten().unwrap_or_else(|| path.to_owned())
}

/// A recording's file. It has its name from its first chunk on, so that what is written can be read whatever happens; until
/// then it is a nameless beginning that goes by itself, and what stands under the name stays.
#[derive(Debug)]
pub(crate) struct Direct {
    path: PathBuf,
    force: bool,
    to: Recording,
    named: Named,
}

/// Whether a [`Direct`] has its name, for whoever has to say what is left of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named(Arc<AtomicBool>);

#[derive(Debug)]
enum Recording {
    /// Holds nothing, or the head.
    Begun {
        file: NamedTempFile,
        has_head: bool,
        _unfinished: Unfinished,
    },
    Named(File),
    /// It could not be given its name.
    Refused,
}

impl Direct {
    /// A file that will be at `path`.
    ///
    /// # Errors
    /// [`Failure::Wrong`] where something stands there already and `force` is not given, or nothing can be made there.
    pub(crate) fn at(path: &Path, force: bool) -> Result<Self, Failure> {
        let path = &resolved(path);
        let to = match place(path, force)? {
            Place::Special(file) => Recording::Named(file),
            Place::New(file, unfinished) => Recording::Begun {
                file,
                has_head: false,
                _unfinished: unfinished,
            },
        };
        let named = Named::default();
        named
            .0
            .store(matches!(to, Recording::Named(_)), Ordering::Release);
        Ok(Self {
            path: path.to_owned(),
            force,
            to,
            named,
        })
    }

    /// Tells from now on whether the file has its name.
    pub(crate) fn named(&self) -> Named {
        self.named.clone()
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.to = match std::mem::replace(&mut self.to, Recording::Refused) {
            Recording::Begun { file, .. } => {
                let file = persist(file, &self.path, self.force)?;
                self.named.0.store(true, Ordering::Release);
                Recording::Named(file)
            }
            other => other,
        };
        match &mut self.to {
            Recording::Named(file) => Ok(file),
            _ => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }
}

impl Named {
    /// One that has its name.
    #[cfg(test)]
    pub(crate) fn yes() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Whether it has.
    pub(crate) fn is(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Write for Direct {
    /// What is written first is the head, in one piece; what follows are chunks.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            Recording::Begun { file, has_head, .. } if !*has_head => {
                file.write_all(bytes)?;
                *has_head = true;
                Ok(bytes.len())
            }
            _ => self.file()?.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

/// Refuses an output that is one of the files that are read: `--force` is permission to lose a result, not what it is made of.
///
/// # Errors
/// [`Failure::Wrong`] where one of `inputs` names the file that stands at `output`; `-` is the file that is standard input.
pub(crate) fn refuse_input<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    // What is no file (a device, a pipe) may be read and written at once, and loses nothing.
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
            output.display()
        )));
    }
    Ok(())
}

/// Where a file can come to stand.
enum Place {
    /// A pipe, a device: it cannot be replaced, and is written to.
    Special(File),
    /// A file beside the place, to be named when it means something.
    New(NamedTempFile, Unfinished),
}

/// Looks whether `path` may be written, and begins to.
fn place(path: &Path, force: bool) -> Result<Place, Failure> {
    let name = path.display().to_string();
    let cannot = |error: io::Error| {
        Failure::Wrong(format!("{name}: cannot write there: {}", reason(&error)))
    };
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(Failure::Wrong(format!("{name}: is a directory"))),
        Ok(there) if there.is_file() && !force => Err(exists(&name)),
        Ok(there) if !there.is_file() => special::open(path).map(Place::Special).map_err(cannot),
        Err(_) if path.is_symlink() => Err(Failure::Wrong(format!(
            "{name}: is a symbolic link to a file that does not exist: give that file's name with -o"
        ))),
        _ => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            let file = new_file(folder).map_err(cannot)?;
            let unfinished = Unfinished::new(file.path());
            Ok(Place::New(file, unfinished))
        }
    }
}

/// Gives a file its name.
fn persist(file: NamedTempFile, path: &Path, force: bool) -> io::Result<File> {
    let named = if force {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    named.map_err(|error| error.error)
}

fn exists(name: &str) -> Failure {
    Failure::Wrong(format!("{name}: exists already; --force overwrites it"))
}

/// A file without a meaning yet, with the rights that a new file has.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .prefix(".broadleaf-")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

/// `value` for programs.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    Ok(format!("{text}\n"))
}

/// Writes `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = Output::create(None, false)?;
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
