//! The likely cause of a failure, if the recorder itself may have made the program fail.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use super::elf::Elf;

const UNKNOWN_INSTRUCTION: &str = "SIGILL ended the program. Valgrind does not know all \
instructions, those of AVX-512 among them. If the program runs without the recorder, build it \
for a processor without AVX-512 (-mno-avx512f, or -march=x86-64-v3), or switch AVX-512 off in \
its settings";

/// A run-time library that reserves addresses which Valgrind uses. Programs with this library end
/// at their start under Valgrind.
struct Sanitizer {
    /// A function that the library defines.
    function: &'static str,
    /// The libraries' names begin with these.
    libraries: [&'static str; 2],
    cause: &'static str,
}

const SANITIZERS: [Sanitizer; 3] = [
    Sanitizer {
        function: "__asan_init",
        libraries: ["libasan.so", "libclang_rt.asan"],
        cause: "the program was built with AddressSanitizer, which cannot run under Valgrind: \
                build it without -fsanitize=address",
    },
    Sanitizer {
        function: "__tsan_init",
        libraries: ["libtsan.so", "libclang_rt.tsan"],
        cause: "the program was built with ThreadSanitizer, which cannot run under Valgrind: \
                build it without -fsanitize=thread",
    },
    Sanitizer {
        function: "__msan_init",
        libraries: ["libmsan.so", "libclang_rt.msan"],
        cause: "the program was built with MemorySanitizer, which cannot run under Valgrind: \
                build it without -fsanitize=memory",
    },
];

/// Returns the likely cause, if the recorder itself may have made the program fail.
///
/// An exit status of 132 is no evidence of SIGILL, because any program may exit with 132. Programs
/// that a shell starts are recorded only with `--follow-children`.
pub(super) fn likely_cause(program: &Path, status: ExitStatus) -> Option<&'static str> {
    if status.success() {
        return None;
    }
    if status.signal() == Some(libc::SIGILL) {
        return Some(UNKNOWN_INSTRUCTION);
    }
    sanitizer(program).map(|sanitizer| sanitizer.cause)
}

/// Returns the sanitizer that a program was built with.
fn sanitizer(program: &Path) -> Option<&'static Sanitizer> {
    let elf = Elf::open(program)?;
    let has =
        |sanitizer: &&Sanitizer| elf.needs(&sanitizer.libraries) || elf.defines(sanitizer.function);
    SANITIZERS.iter().find(has)
}

/// Returns true if a program was built with a sanitizer, whose library reserves terabytes.
pub(crate) fn has_sanitizer(program: &Path) -> bool {
    sanitizer(program).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const WEAK: u8 = 2;
    const GLOBAL: u8 = 1;
    const TEXT: u16 = 1;

    /// Returns an ELF file with these symbols (place of the name, binding, section) and needed
    /// libraries (place of the name).
    fn elf(names: &[u8], symbols: &[(u32, u8, u16)], needed: &[u64]) -> Vec<u8> {
        let mut table = Vec::new();
        for (name, binding, section) in symbols {
            table.extend(name.to_le_bytes());
            table.extend([binding << 4, 0]);
            table.extend(section.to_le_bytes());
            table.extend([0; 16]);
        }
        let dynamic = needed.iter().flat_map(|name| [1, *name]);
        let dynamic: Vec<u8> = dynamic.flat_map(u64::to_le_bytes).collect();
        let mut file = vec![0; 64];
        let mut headers = vec![0; 64];
        for (kind, bytes) in [(3_u32, names), (2, &table), (6, &dynamic)] {
            let mut header = [0; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            header[40] = 1; // names are in the first section
            headers.extend(header);
            file.extend(bytes);
        }
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let at = file.len() as u64;
        file[40..48].copy_from_slice(&at.to_le_bytes());
        file[58] = 64;
        file[60] = 4;
        file.extend(headers);
        file
    }

    fn cause_of(program: &[u8], status: i32) -> &'static str {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), program).expect("it can be written");
        likely_cause(file.path(), ExitStatus::from_raw(status)).unwrap_or("")
    }

    const FAILED: i32 = 1 << 8;

    #[test]
    fn only_a_signal_is_evidence_of_an_unknown_instruction() {
        assert!(cause_of(b"", libc::SIGILL).contains("AVX-512"));
        assert_eq!(cause_of(b"", (128 + libc::SIGILL) << 8), "");
        assert_eq!(cause_of(b"", FAILED), "");
    }

    #[test]
    fn a_defined_function_of_a_sanitizer_is_evidence() {
        let names = b"\0my__asan_init\0__tsan_init\0";
        let (own, inner, thread) = (1, 3, 15);
        let cause = |symbols: &[_]| cause_of(&elf(names, symbols, &[]), FAILED);
        assert!(cause(&[(own, GLOBAL, TEXT), (inner, GLOBAL, TEXT)]).contains("AddressSanitizer"));
        assert!(cause(&[(thread, GLOBAL, TEXT)]).contains("ThreadSanitizer"));
        for symbols in [
            &[][..],
            &[(own, GLOBAL, TEXT)],
            &[(inner, WEAK, TEXT)],
            &[(inner, WEAK, 0)],
            &[(inner, GLOBAL, 0)],
        ] {
            assert_eq!(cause(symbols), "", "{symbols:?}");
        }
        let built_so = elf(names, &[(inner, GLOBAL, TEXT)], &[]);
        assert_eq!(cause_of(&built_so, 0), "");
    }

    #[test]
    fn a_needed_library_of_a_sanitizer_is_evidence() {
        let names = b"\0mylibasan.so\0libc.so.6\0";
        let cause = |needed: &[_]| cause_of(&elf(names, &[], needed), FAILED);
        assert!(cause(&[14, 3]).contains("AddressSanitizer"));
        assert_eq!(cause(&[1, 14]), "");
    }

    /// Large tables are read in pieces of 64 KiB.
    #[test]
    fn a_name_may_lie_across_two_pieces() {
        for before in (65_520..65_540).chain([200_000]) {
            let names = [vec![b'x'; before], b"__msan_init\0".to_vec()].concat();
            let mut symbols = vec![(0, GLOBAL, TEXT); 10_000];
            symbols.push((before as u32, GLOBAL, TEXT));
            let cause = cause_of(&elf(&names, &symbols, &[]), FAILED);
            assert!(cause.contains("MemorySanitizer"), "{before}");
        }
    }

    #[test]
    fn a_damaged_program_is_no_evidence() {
        let whole = elf(b"\0__asan_init\0", &[(1, GLOBAL, TEXT)], &[1]);
        for length in 0..whole.len() {
            assert_eq!(cause_of(&whole[..length], FAILED), "", "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            let _ = cause_of(&damaged, FAILED);
        }
    }
}
