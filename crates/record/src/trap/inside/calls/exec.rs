//! `execve`: the program replaces itself by another, and counting goes on.

#![allow(unsafe_code, reason = "strings in the program's memory")]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::Answer;
use super::pointers::OWN_PATH;
use crate::trap::inside::arch::call;
use crate::trap::inside::context::{SignalContext, register};
use crate::trap::inside::engine::Engine;
use crate::trap::inside::image;
use crate::trap::inside::layout::{END, page_end};
use crate::trap::inside::signals::{block_exactly, read};
use crate::trap::inside::space::Space;
use crate::trap::inside::stack::{Beginning, build};
use crate::trap::inside::thread::{SignalStack, ThreadBlock};
use crate::trap::script::resolved;

/// The bits of a file that runs with the rights of its owner or group.
const SET_IDS: u32 = libc::S_ISUID | libc::S_ISGID;
/// The bits of a file that somebody may execute.
const EXECUTABLE: u32 = 0o111;
/// The processor's flags of a new program: interrupts are on.
const FIRST_FLAGS: u64 = 0x202;

/// Answers `execve`. The engine loads the new program where the old one was, if it can. Otherwise
/// the kernel does, and counting ends.
pub(super) fn answer(
    engine: &mut Engine,
    number: i64,
    context: &mut SignalContext,
    block: &ThreadBlock,
) -> Answer {
    let mut arguments = context.arguments();
    let [path, list, environment, ..] = arguments;
    let own_path = CString::new(engine.program.clone()).unwrap_or_default();
    if number == libc::SYS_execve {
        let mut path = string(&engine.space, path);
        if path.as_bytes() == OWN_PATH {
            path = OsString::from_vec(engine.program.clone());
            arguments[0] = own_path.as_ptr() as u64;
        }
        let list = strings(&engine.space, list);
        let (file, list) = resolved(Path::new(&path), &list);
        if engine.other_threads == 0 && !list.is_empty() && can_follow(&file) {
            let environment = strings(&engine.space, environment);
            follow(engine, (&file, &list, &environment), context, block);
            return Answer::Done;
        }
    }
    leave(engine, number, arguments, context)
}

/// Lets the kernel replace the process. Returns if that fails.
fn leave(engine: &mut Engine, number: i64, arguments: [u64; 6], context: &SignalContext) -> Answer {
    engine.tlb.counts.replaced = 1;
    engine.show();
    engine.open_all();
    let blocked = block_exactly(context.mask);
    // The kernel turns the dispatch of calls off, and forgets all handlers.
    let result = call(number, arguments);
    block_exactly(blocked);
    engine.close_all();
    engine.tlb.counts.replaced = 0;
    engine.show();
    Answer::Result(result)
}

/// Returns true if the engine can load the file as the kernel would.
fn can_follow(file: &Path) -> bool {
    let Ok(data) = file.metadata() else {
        return false;
    };
    let mode = data.permissions().mode();
    let runs = data.is_file() && mode & EXECUTABLE != 0 && mode & SET_IDS == 0;
    runs && image::is_program(file)
}

/// Replaces the program. Beyond this point there is no way back: if the file cannot be loaded, the
/// process is killed, as by the kernel.
fn follow(
    engine: &mut Engine,
    (file, arguments, environment): (&Path, &[OsString], &[OsString]),
    context: &mut SignalContext,
    block: &ThreadBlock,
) {
    engine.forget(&(0..END), true);
    let loaded = replace(engine, (file, arguments, environment));
    let Ok((stack, first)) = loaded else {
        call(
            libc::SYS_exit_group,
            [128 + libc::SIGKILL as u64, 0, 0, 0, 0, 0],
        );
        return;
    };
    close_files(engine);
    engine.handlers.forget();
    engine.tlb.counts.programs += 1;
    engine.show();
    block.state().signal_stack = SignalStack::NONE;
    block.program_storage.store(0, Ordering::Relaxed);
    call(libc::SYS_set_tid_address, [0; 6]);
    context.registers[..=register::RIP].fill(0);
    context.registers[register::RSP] = stack;
    context.registers[register::RIP] = first;
    context.registers[register::FLAGS] = FIRST_FLAGS;
}

/// Loads a program in place of all that is mapped. Returns its stack and its first instruction.
fn replace(
    engine: &mut Engine,
    (file, arguments, environment): (&Path, &[OsString], &[OsString]),
) -> Result<(u64, u64), i32> {
    engine.space.unmap(&(0..END))?;
    let image = image::load(&mut engine.space, file).map_err(|_| libc::ENOEXEC)?;
    let beginning = Beginning {
        image: &image,
        arguments,
        environment,
        path: file.as_os_str(),
    };
    let stack = build(&mut engine.space, &beginning)?;
    let heap = page_end(image.end).unwrap_or(image.end);
    engine.heap = heap..heap;
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    engine.program = path.into_os_string().into_vec();
    Ok((stack, image.first))
}

/// Closes the files that a new program does not inherit.
fn close_files(engine: &Engine) {
    let own = engine.space.files();
    let Ok(files) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<i32> = files
        .flatten()
        .filter_map(|file| file.file_name().to_str()?.parse().ok())
        .collect();
    for file in numbers
        .into_iter()
        .filter(|file| !own.contains(&Some(*file)))
    {
        let flags = call(
            libc::SYS_fcntl,
            [file as u64, libc::F_GETFD as u64, 0, 0, 0, 0],
        );
        if flags >= 0 && flags as i32 & libc::FD_CLOEXEC != 0 {
            call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0]);
        }
    }
}

/// A string of the program.
fn string(space: &Space, at: u64) -> OsString {
    if at == 0 {
        return OsString::new();
    }
    // SAFETY: the kernel reads the same string, up to its zero.
    let text = unsafe { CStr::from_ptr(space.reach(at) as *const libc::c_char) };
    OsStr::from_bytes(text.to_bytes()).to_owned()
}

/// A list of strings, which a null pointer ends.
fn strings(space: &Space, list: u64) -> Vec<OsString> {
    if list == 0 {
        return Vec::new();
    }
    // SAFETY: the kernel reads the same list.
    let pointers = (0..).map(|at| unsafe { read::<u64>(space, list + at * 8) });
    pointers
        .take_while(|at| *at != 0)
        .map(|at| string(space, at))
        .collect()
}
