//! Finds the program to record, and checks that Valgrind can run it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::errors::RecordError;

/// The depth to which script interpreters that are scripts are followed, as in Linux.
const SCRIPTS: usize = 5;
/// The number of bytes at a file's start that the kernel reads.
const START: u64 = 256;
const SET_IDS: u32 = libc::S_ISUID | libc::S_ISGID;
const ELF_CLASS_64: u8 = 2;
const ELF_X86_64: u16 = 62;

/// Finds the program's file as `execvp` does.
///
/// # Errors
/// [`RecordError::NoProgram`] with the error of `execvp`: "not found" if no such file exists,
/// "permission denied" if files of that name exist and none is executable.
pub(crate) fn find(name: &OsStr) -> Result<PathBuf, RecordError> {
    let refused = |error| RecordError::NoProgram {
        program: name.to_owned(),
        error,
    };
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return executable(&path).map(|()| path).map_err(refused);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut error = io::Error::from_raw_os_error(libc::ENOENT);
    for folder in env::split_paths(&folders) {
        let path = folder.join(name);
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(other) if other.kind() == io::ErrorKind::PermissionDenied => error = other,
            Err(_) => {}
        }
    }
    Err(refused(error))
}

/// Checks that a path names an executable file.
///
/// # Errors
/// Returns the error with which `execve` fails.
pub(crate) fn executable(path: &Path) -> io::Result<()> {
    let data = fs::metadata(path)?;
    if data.is_file() && data.permissions().mode() & 0o111 != 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::EACCES))
    }
}

/// Refuses a program that Valgrind cannot run, and a script whose interpreter it cannot run.
///
/// Valgrind itself reports files that cannot be read, and files that are neither ELF files nor
/// scripts.
///
/// # Errors
/// [`RecordError::NoProgram`] with the error of `execvp` if a script's interpreter does not exist
/// or is not executable, otherwise [`RecordError::CannotRun`].
pub(super) fn check(program: &Path) -> Result<(), RecordError> {
    let mut path = program.to_owned();
    for _ in 0..SCRIPTS {
        let mut start = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(START).read_to_end(&mut start));
        let (Ok(_), Ok(data)) = (read, fs::metadata(&path)) else {
            return Ok(());
        };
        if let Some(interpreter) = interpreter(&start) {
            // Linux ignores the set-user-ID bit of a script.
            path = interpreter;
            executable(&path).map_err(|error| RecordError::NoProgram {
                program: program.as_os_str().to_owned(),
                error,
            })?;
            continue;
        }
        let refused = |why| {
            Err(RecordError::CannotRun {
                program: path.clone().into_os_string(),
                why,
            })
        };
        return match foreign(&start) {
            Some(why) => refused(why),
            None if data.mode() & SET_IDS != 0 => refused(
                "is a set-user-ID or set-group-ID program, and Valgrind runs none: record a copy \
                 without \
                these bits (cp, then chmod ug-s)",
            ),
            None => Ok(()),
        };
    }
    Ok(())
}

/// Returns the interpreter that a script's first line names.
fn interpreter(start: &[u8]) -> Option<PathBuf> {
    interpreter_line(start).map(|(interpreter, _)| interpreter)
}

/// Returns the interpreter that a script's first line names, and the argument after it.
pub(crate) fn interpreter_line(start: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let line = start.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let line = line.trim_ascii();
    let name = line.split(u8::is_ascii_whitespace).next()?;
    let text = |bytes: &[u8]| (!bytes.is_empty()).then(|| OsString::from_vec(bytes.to_vec()));
    let argument = line[name.len()..].trim_ascii();
    Some((text(name)?.into(), text(argument)))
}

/// Returns the reason for which an ELF file is not a program of 64-bit x86.
fn foreign(start: &[u8]) -> Option<&'static str> {
    let class = *start.strip_prefix(b"\x7fELF")?.first()?;
    let machine = u16::from_le_bytes([*start.get(18)?, *start.get(19)?]);
    match (class, machine) {
        (ELF_CLASS_64, ELF_X86_64) => None,
        (ELF_CLASS_64, _) => {
            Some("is a program for another processor; the recorder runs 64-bit x86 programs")
        }
        _ => Some(
            "is a 32-bit program, and the recorder runs 64-bit x86 programs only: \
            record a 64-bit build of it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(folder: &Path, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn elf(class: u8, machine: u8) -> Vec<u8> {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.extend([class, 1, 1, 0]);
        bytes.resize(18, 0);
        bytes.extend([machine, 0]);
        bytes
    }

    #[test]
    fn a_program_that_cannot_be_started_has_the_error_of_execvp() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let plain = program(folder, "plain", b"", 0o644);
        let error = |path: &Path| match find(path.as_os_str()) {
            Err(RecordError::NoProgram { error, .. }) => error.raw_os_error(),
            other => panic!("{other:?}"),
        };
        assert_eq!(error(&plain), Some(libc::EACCES));
        assert_eq!(error(folder), Some(libc::EACCES));
        assert_eq!(error(&folder.join("none")), Some(libc::ENOENT));
        assert_eq!(error(&plain.join("below")), Some(libc::ENOTDIR));
        assert_eq!(error(Path::new("no-such-program")), Some(libc::ENOENT));
        assert!(find(OsStr::new("sh")).is_ok());
    }

    #[test]
    fn programs_that_valgrind_cannot_run_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let said = |path: &Path| check(path).map_err(|error| error.to_string());
        let good = program(folder, "good", &elf(2, 62), 0o755);
        assert!(said(&good).is_ok());
        for (name, bytes, mode, word) in [
            ("i386", elf(1, 3), 0o755, "32-bit"),
            ("x32", elf(1, 62), 0o755, "32-bit"),
            ("arm", elf(2, 183), 0o755, "another processor"),
            ("setuid", elf(2, 62), 0o4755, "set-user-ID"),
            ("setgid", elf(2, 62), 0o2755, "set-user-ID"),
        ] {
            let path = program(folder, name, &bytes, mode);
            let error = said(&path).unwrap_err();
            assert!(error.contains(word) && error.contains(name), "{error}");
            // A script fails with its interpreter.
            let script = program(
                folder,
                "script",
                format!("#! {} -x\n", path.display()).as_bytes(),
                0o755,
            );
            let error = said(&script).unwrap_err();
            assert!(error.contains(word) && error.contains(name), "{error}");
        }
        // Valgrind itself reports a file that is no program.
        assert!(said(&program(folder, "text", b"hello", 0o755)).is_ok());
        let none = program(folder, "none", b"#!/nonexistent/x\n", 0o755);
        match check(&none) {
            Err(RecordError::NoProgram { program, error }) => {
                assert_eq!(program, none.as_os_str());
                assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
            }
            other => panic!("{other:?}"),
        }
    }
}
