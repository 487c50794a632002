//! Scripts: a file that begins with `#!` is run by the program that its first line names.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The depth to which interpreters that are scripts are followed, as in Linux.
const DEPTH: usize = 5;
/// The number of bytes at a file's start that the kernel reads.
const START: u64 = 256;

/// The ELF file that runs a command, and its arguments.
pub(super) fn resolved(path: &Path, arguments: &[OsString]) -> (PathBuf, Vec<OsString>) {
    let (mut path, mut arguments) = (path.to_owned(), arguments.to_vec());
    for _ in 0..DEPTH {
        let Some((interpreter, argument)) = first_line(&path) else {
            break;
        };
        let mut now = vec![interpreter.clone()];
        now.extend(argument);
        now.push(path.into_os_string());
        now.extend(arguments.drain(1..));
        (path, arguments) = (interpreter.into(), now);
    }
    (path, arguments)
}

/// The interpreter that a script names, and the one argument that the line may have.
fn first_line(path: &Path) -> Option<(OsString, Option<OsString>)> {
    let mut start = Vec::new();
    File::open(path)
        .ok()?
        .take(START)
        .read_to_end(&mut start)
        .ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?
        .trim_ascii();
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_ascii();
    let own = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    (!name.is_empty()).then(|| (own(name), (!rest.is_empty()).then(|| own(rest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_take_one_argument_and_the_script() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        std::fs::write(&script, "#! /bin/sh -e -x\necho\n").expect("a script");
        let given = ["script", "one"].map(OsString::from);
        let (path, arguments) = resolved(&script, &given);
        assert_eq!(path, Path::new("/bin/sh"));
        let script = script.into_os_string();
        let expected = ["/bin/sh".into(), "-e -x".into(), script, "one".into()];
        assert_eq!(arguments, expected);
        let (path, arguments) = resolved(Path::new("/bin/sh"), &given);
        assert_eq!(
            (path.as_path(), arguments.as_slice()),
            (Path::new("/bin/sh"), &given[..])
        );
    }
}
