//! The program that QEMU runs: its processor, and the facts that the plugin needs to place it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::valgrind::{RecordError, executable, has_sanitizer, interpreter_line};

/// The depth to which script interpreters that are scripts are followed, as in Linux.
const SCRIPTS: usize = 5;
const START: usize = 256;
const SET_IDS: u32 = libc::S_ISUID | libc::S_ISGID;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const SHARED_OBJECT: u16 = 3;
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const PROGRAM_HEADER: usize = 56;
/// The type of the program header that names a dynamic linker.
const INTERPRETER: u32 = 3;

/// The processors whose programs the recorder runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// The name of QEMU's program.
    pub(crate) const fn qemu(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-x86_64",
            Self::Aarch64 => "qemu-aarch64",
        }
    }
}

/// A program with its arguments. Of a script, this is the interpreter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) processor: Processor,
    pub(crate) file: PathBuf,
    /// The first word of the program's arguments.
    pub(crate) name: OsString,
    /// The further arguments.
    pub(crate) arguments: Vec<OsString>,
    /// True if the kernel chooses the program's place.
    pub(crate) is_dynamic: bool,
    /// True if the program has a dynamic linker.
    pub(crate) is_interpreted: bool,
}

impl Guest {
    /// Reads the headers of a program. `words` are its name and its arguments.
    ///
    /// # Errors
    /// [`RecordError::CannotRun`] with the reason if QEMU cannot run the program.
    pub(crate) fn of(program: &Path, words: &[OsString]) -> Result<Self, RecordError> {
        let (mut file, mut words) = (program.to_owned(), words.to_vec());
        for _ in 0..=SCRIPTS {
            let open = File::open(&file).map_err(|error| no_program(&file, error))?;
            let mut start = [0; START];
            let read = open.read_at(&mut start, 0)?;
            if let Some((interpreter, option)) = interpreter_line(&start[..read]) {
                executable(&interpreter).map_err(|error| no_program(&file, error))?;
                let mut script = vec![interpreter.clone().into_os_string()];
                script.extend(option);
                script.push(file.into_os_string());
                script.extend(words.into_iter().skip(1));
                (file, words) = (interpreter, script);
                continue;
            }
            let refused = |why| RecordError::CannotRun {
                program: file.clone().into_os_string(),
                why,
            };
            let processor = processor(&start[..read]).map_err(refused)?;
            if fs::metadata(&file)?.mode() & SET_IDS != 0 {
                return Err(refused(
                    "is a set-user-ID or set-group-ID program, and QEMU gives it no rights: record \
                     a copy without these bits (cp, then chmod ug-s)",
                ));
            }
            if has_sanitizer(&file) {
                return Err(refused(
                    "was built with a sanitizer, which reserves terabytes of addresses, and QEMU \
                     notes each page of them: build it without -fsanitize",
                ));
            }
            let is_interpreted = has_interpreter(&open, &start);
            let mut words = words.into_iter();
            return Ok(Self {
                processor,
                name: words.next().unwrap_or_default(),
                arguments: words.collect(),
                is_dynamic: half(&start, 16) == SHARED_OBJECT,
                is_interpreted,
                file,
            });
        }
        Err(RecordError::CannotRun {
            program: program.as_os_str().to_owned(),
            why: "is a script whose interpreters are scripts, deeper than Linux follows them",
        })
    }
}

fn no_program(file: &Path, error: std::io::Error) -> RecordError {
    RecordError::NoProgram {
        program: file.as_os_str().to_owned(),
        error,
    }
}

/// Returns the processor of an ELF file, or the reason for which QEMU cannot run the file.
fn processor(start: &[u8]) -> Result<Processor, &'static str> {
    if start.len() < 64 || !start.starts_with(b"\x7fELF") {
        return Err(
            "is neither an ELF program nor a script with `#!`, and QEMU runs these alone: record \
             its interpreter with the file as argument",
        );
    }
    match (start[4], start[5], half(start, 18)) {
        (CLASS_64, LITTLE_ENDIAN, X86_64) => Ok(Processor::X86_64),
        (CLASS_64, LITTLE_ENDIAN, AARCH64) => Ok(Processor::Aarch64),
        (CLASS_64, ..) => Err(
            "is a program for another processor; the QEMU recorder runs programs of x86-64 and \
             AArch64",
        ),
        _ => Err(
            "is a 32-bit program, and the recorder runs 64-bit programs only: record a 64-bit \
             build of it",
        ),
    }
}

/// Returns true if a program header names a dynamic linker.
fn has_interpreter(file: &File, head: &[u8]) -> bool {
    let mut headers = vec![0; usize::from(half(head, 56)) * PROGRAM_HEADER];
    let at = u64::from_le_bytes(head[32..40].try_into().expect("eight bytes"));
    file.read_exact_at(&mut headers, at).is_ok()
        && headers.chunks_exact(PROGRAM_HEADER).any(|header| {
            u32::from_le_bytes([header[0], header[1], header[2], header[3]]) == INTERPRETER
        })
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn elf(class: u8, machine: u8, kind: u8, interpreted: bool) -> Vec<u8> {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.extend([class, 1, 1]);
        bytes.resize(64, 0);
        bytes[16] = kind;
        bytes[18] = machine;
        bytes[32] = 64;
        bytes[56] = 1;
        bytes.extend(u32::to_le_bytes(if interpreted { 3 } else { 1 }));
        bytes.resize(64 + PROGRAM_HEADER, 0);
        bytes
    }

    fn written(folder: &Path, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        path
    }

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(Into::into).collect()
    }

    #[test]
    fn a_header_names_processor_and_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        for (machine, processor) in [(62, Processor::X86_64), (183, Processor::Aarch64)] {
            for (kind, interpreted) in [(2, false), (3, true), (3, false)] {
                let bytes = elf(2, machine, kind, interpreted);
                let file = written(folder.path(), "program", &bytes, 0o755);
                let guest = Guest::of(&file, &words("program a b")).expect("it can be run");
                assert_eq!(guest.processor, processor);
                assert_eq!(guest.name, "program");
                assert_eq!(guest.arguments, words("a b"));
                assert_eq!(
                    (guest.is_dynamic, guest.is_interpreted),
                    (kind == 3, interpreted)
                );
            }
        }
    }

    #[test]
    fn a_script_becomes_its_interpreter() {
        let folder = tempfile::tempdir().expect("a folder");
        let shell = written(folder.path(), "shell", &elf(2, 62, 3, true), 0o755);
        let text = format!("#!{} -e -u\nexit\n", shell.display());
        let script = written(folder.path(), "script", text.as_bytes(), 0o755);
        let guest = Guest::of(&script, &words("script x")).expect("it can be run");
        assert_eq!(guest.file, shell);
        assert_eq!(guest.name, shell.as_os_str());
        let expected = ["-e -u".into(), script.into_os_string(), "x".into()];
        assert_eq!(guest.arguments, expected);
    }

    #[test]
    fn other_programs_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        for (bytes, mode, word) in [
            (elf(1, 3, 2, false), 0o755, "32-bit"),
            (elf(2, 243, 2, false), 0o755, "another processor"),
            (elf(2, 62, 2, false), 0o4755, "set-user-ID"),
            (b"hello".to_vec(), 0o755, "neither an ELF program"),
            (
                elf(2, 62, 2, false)[..40].to_vec(),
                0o755,
                "neither an ELF program",
            ),
        ] {
            let file = written(folder.path(), "program", &bytes, mode);
            let error = Guest::of(&file, &words("program")).expect_err("it is refused");
            let error = error.to_string();
            assert!(error.contains(word) && error.contains("program"), "{error}");
        }
    }
}
