//! Where results go: standard output, or a file that appears whole or not at all.

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
    InPlace(BufWriter<std::fs::File>),
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
                let file = std::fs::OpenOptions::new()
                    .write(true)
                    .open(path)
                    .map_err(cannot)?;
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
