//! The likely cause of a failure is named if there is evidence that the recorder made the program
//! fail.

use std::process::Command;

use crate::support::{can_record, compiled, folder, has, recorded};

/// Returns the likely cause that a recording of a program with this argument names.
fn cause(program: &std::path::Path, argument: Option<&str>) -> Option<&'static str> {
    let arguments = argument.into_iter().map(std::ffi::OsStr::new);
    let command: Vec<_> = [program.as_os_str()].into_iter().chain(arguments).collect();
    let recording = recorded(&command);
    assert!(!recording.status.success(), "{:?}", recording.status);
    recording.likely_cause
}

#[test]
fn a_program_that_fails_by_itself_is_not_explained() {
    let place = folder();
    if !can_record() {
        return;
    }
    let Some(program) = compiled("fails", &[], place.path()) else {
        return;
    };
    // 132 is what a shell makes of SIGILL.
    for status in ["1", "132"] {
        assert_eq!(cause(&program, Some(status)), None, "{status}");
    }
    let illegal = cause(&program, None).expect("a likely cause");
    assert!(illegal.contains("SIGILL"), "{illegal}");
}

/// A program that is built with AddressSanitizer needs its library, or has it inside.
#[test]
fn a_program_with_address_sanitizer_is_explained() {
    let place = folder();
    if !can_record() || !has("gcc") {
        return;
    }
    let source = place.path().join("empty.c");
    std::fs::write(&source, "int main(void) { return 0; }").expect("a source");
    for more in [&[][..], &["-static-libasan"]] {
        let program = place.path().join("program");
        let mut gcc = Command::new("gcc");
        gcc.arg("-fsanitize=address").args(more).arg("-o");
        let output = gcc.arg(&program).arg(&source).output().expect("gcc starts");
        if !output.status.success() {
            eprintln!("skipped: gcc has no AddressSanitizer");
            return;
        }
        let named = cause(&program, None).expect("a likely cause");
        assert!(named.contains("AddressSanitizer"), "{more:?}: {named}");
    }
}
