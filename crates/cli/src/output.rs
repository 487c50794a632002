//! Where results go: standard output, or a file that appears whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, reason};
use crate::interrupt::Unfinished;

/// Something to write to. Nothing stands under a file's name before [`Output::finish`].
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    to: To,
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
            });
        };
        let name = path.display().to_string();
        let cannot = |error: io::Error| {
            Failure::Wrong(format!("{name}: cannot write there: {}", reason(&error)))
        };
        let to = match path.metadata() {
            Ok(there) if there.is_dir() => {
                return Err(Failure::Wrong(format!("{name}: is a directory")));
            }
            Ok(there) if there.is_file() && !force => return Err(exists(&name)),
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(path).map_err(cannot)?;
                To::InPlace(BufWriter::new(file))
            }
            _ => {
                let folder = path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty())
                    .unwrap_or(Path::new("."));
                let file = new_file(folder).map_err(cannot)?;
                let unfinished = Unfinished::new(file.path());
                To::File {
                    file: BufWriter::new(file),
                    path: path.to_owned(),
                    force,
                    _unfinished: unfinished,
                }
            }
        };
        Ok(Self { name, to })
    }

    /// Whether it is a terminal, which binary data would upset.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(&self.to, To::Stdout(out) if out.get_ref().is_terminal())
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
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
                if force {
                    file.persist(&path).map_err(|error| failed(error.error))?;
                } else if let Err(error) = file.persist_noclobber(&path) {
                    return Err(match error.error.kind() {
                        io::ErrorKind::AlreadyExists => exists(&name),
                        _ => failed(error.error),
                    });
                }
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Stdout(out) => out.write(bytes),
            To::InPlace(out) => out.write(bytes),
            To::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(out) => out.flush(),
            To::InPlace(out) => out.flush(),
            To::File { file, .. } => file.flush(),
        }
    }
}

/// A file that has its name from its first byte on, so that what is written can be read whatever happens. It is made, or
/// with `force` emptied, by the first write.
#[derive(Debug)]
pub(crate) struct Direct {
    path: PathBuf,
    force: bool,
    file: Option<File>,
}

impl Direct {
    /// A file at `path`, not yet made.
    ///
    /// # Errors
    /// [`Failure::Wrong`] where something stands there already and `force` is not given.
    pub(crate) fn at(path: &Path, force: bool) -> Result<Self, Failure> {
        let name = path.display().to_string();
        match path.metadata() {
            Ok(there) if there.is_dir() => Err(Failure::Wrong(format!("{name}: is a directory"))),
            Ok(there) if there.is_file() && !force => Err(exists(&name)),
            _ => Ok(Self {
                path: path.to_owned(),
                force,
                file: None,
            }),
        }
    }

    /// Takes the file away again, if it was made and holds nothing worth keeping.
    pub(crate) fn discard(path: &Path) {
        if path.is_file() {
            // Nothing better can be done about a file that cannot be removed.
            let _ = std::fs::remove_file(path);
        }
    }

    fn open(&self) -> io::Result<File> {
        let mut options = File::options();
        options.write(true);
        match self.path.metadata() {
            Ok(there) if !there.is_file() => options.open(&self.path),
            _ if self.force => options.create(true).truncate(true).open(&self.path),
            _ => options.create_new(true).open(&self.path),
        }
    }
}

impl Write for Direct {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.open()?,
        };
        let written = file.write(bytes);
        self.file = Some(file);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
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

/// Writes `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = Output::create(None, false)?;
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
