//! Calls that the kernel makes with pointers to the second place of the program's memory.

#![allow(unsafe_code, reason = "structures in the program's memory")]

use super::lists::{MISSING, PLAIN, POINTERS};
use super::{Answer, KernelCall, failed};
use crate::trap::inside::arch;
use crate::trap::inside::context::SignalMask;
use crate::trap::inside::engine::Engine;
use crate::trap::inside::signals::{read, write};
use crate::trap::inside::space::Space;

/// The path by which a program finds its own file.
pub(super) const OWN_PATH: &[u8] = b"/proc/self/exe";
/// The longest path of Linux.
const PATH_BYTES: usize = 4096;
/// The most buffers of a call (`UIO_MAXIOV`).
const MOST_BUFFERS: u64 = 1024;

/// Answers a call whose pointers the engine knows.
pub(super) fn answer(engine: &mut Engine, number: i64, arguments: [u64; 6]) -> Option<Answer> {
    if MISSING.binary_search(&number).is_ok() {
        return Some(failed(libc::ENOSYS));
    }
    if let Some(answer) = own_files(engine, number, arguments) {
        return Some(answer);
    }
    if let Some(answer) = own_path(engine, number, arguments) {
        return Some(answer);
    }
    let space = &engine.space;
    if PLAIN.binary_search(&number).is_ok() {
        return Some(Answer::Kernel(KernelCall::new(number, arguments)));
    }
    if let Ok(at) = POINTERS.binary_search_by_key(&number, |(number, _)| *number) {
        let arguments = reached(space, arguments, POINTERS[at].1);
        return Some(Answer::Kernel(KernelCall::new(number, arguments)));
    }
    let kernel = |places: &[usize]| {
        let arguments = reached(space, arguments, places);
        Some(Answer::Kernel(KernelCall::new(number, arguments)))
    };
    match number {
        libc::SYS_futex => futex(space, arguments),
        libc::SYS_fcntl => kernel(if takes_pointer(arguments[1]) {
            &[2]
        } else {
            &[]
        }),
        // Terminals: their structures have no pointers.
        libc::SYS_ioctl if arguments[1] >> 8 == 0x54 => kernel(&[2]),
        libc::SYS_prctl => prctl(space, arguments),
        libc::SYS_set_robust_list => Some(Answer::Result(0)),
        libc::SYS_readv
        | libc::SYS_writev
        | libc::SYS_preadv
        | libc::SYS_pwritev
        | libc::SYS_preadv2
        | libc::SYS_pwritev2 => Some(buffers(space, number, arguments)),
        libc::SYS_sendmsg | libc::SYS_recvmsg => Some(message(space, number, arguments)),
        libc::SYS_ppoll => Some(with_mask(space, number, arguments, (&[0, 2], 3))),
        libc::SYS_epoll_pwait => Some(with_mask(space, number, arguments, (&[1], 4))),
        libc::SYS_epoll_pwait2 => Some(with_mask(space, number, arguments, (&[1, 3], 4))),
        libc::SYS_pselect6 => {
            let at = arguments[5];
            // SAFETY: the kernel reads the same structure: a pointer to the mask, and its size.
            let inner = if at == 0 {
                0
            } else {
                unsafe { read::<u64>(space, at) }
            };
            let arguments = [
                arguments[0],
                arguments[1],
                arguments[2],
                arguments[3],
                arguments[4],
                inner,
            ];
            Some(with_mask(space, number, arguments, (&[1, 2, 3, 4], 5)))
        }
        _ => None,
    }
}

/// The arguments, with these ones led to the second place.
fn reached(space: &Space, mut arguments: [u64; 6], places: &[usize]) -> [u64; 6] {
    for place in places {
        arguments[*place] = space.reach(arguments[*place]);
    }
    arguments
}

/// Commands of `fcntl` whose argument is a pointer: locks and owners.
fn takes_pointer(command: u64) -> bool {
    let commands = [
        libc::F_GETLK,
        libc::F_SETLK,
        libc::F_SETLKW,
        libc::F_OFD_GETLK,
        libc::F_OFD_SETLK,
        libc::F_OFD_SETLKW,
        F_SETOWN_EX,
        F_GETOWN_EX,
    ];
    commands.contains(&(command as i32))
}

const F_SETOWN_EX: i32 = 15;
const F_GETOWN_EX: i32 = 16;

/// Every futex of the program has its second place as its address.
fn futex(space: &Space, arguments: [u64; 6]) -> Option<Answer> {
    let operation = arguments[1] as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let has_second = matches!(
        operation,
        libc::FUTEX_REQUEUE
            | libc::FUTEX_CMP_REQUEUE
            | libc::FUTEX_WAKE_OP
            | libc::FUTEX_WAIT_REQUEUE_PI
            | libc::FUTEX_CMP_REQUEUE_PI
    );
    let has_time = matches!(
        operation,
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_WAIT_REQUEUE_PI
    );
    let mut places = vec![0];
    places.extend(has_time.then_some(3));
    places.extend(has_second.then_some(4));
    let arguments = reached(space, arguments, &places);
    Some(Answer::Kernel(KernelCall::new(libc::SYS_futex, arguments)))
}

/// Names are pointers. A program that restricts its own calls would restrict the engine's.
fn prctl(space: &Space, arguments: [u64; 6]) -> Option<Answer> {
    let plain = |arguments| Some(Answer::Kernel(KernelCall::new(libc::SYS_prctl, arguments)));
    match arguments[0] as i32 {
        libc::PR_SET_NAME | libc::PR_GET_NAME | libc::PR_GET_PDEATHSIG => {
            plain(reached(space, arguments, &[1]))
        }
        libc::PR_SET_PDEATHSIG
        | libc::PR_GET_DUMPABLE
        | libc::PR_SET_DUMPABLE
        | libc::PR_SET_TIMERSLACK
        | libc::PR_GET_TIMERSLACK
        | libc::PR_SET_KEEPCAPS
        | libc::PR_GET_KEEPCAPS
        | libc::PR_CAPBSET_READ
        | libc::PR_SET_NO_NEW_PRIVS
        | libc::PR_GET_NO_NEW_PRIVS
        | libc::PR_SET_THP_DISABLE => plain(arguments),
        _ => Some(failed(libc::EINVAL)),
    }
}

/// Reads and writes of several buffers. The list is copied, since its pointers change.
fn buffers(space: &Space, number: i64, arguments: [u64; 6]) -> Answer {
    let [_, list, length, ..] = arguments;
    let Some(buffers) = reached_buffers(space, list, length) else {
        return failed(libc::EINVAL);
    };
    let mut call = KernelCall::new(number, arguments);
    call.arguments[1] = buffers.as_ptr() as u64;
    call.buffers = buffers;
    Answer::Kernel(call)
}

fn reached_buffers(space: &Space, list: u64, length: u64) -> Option<Vec<[u64; 2]>> {
    if length > MOST_BUFFERS {
        return None;
    }
    let each = (0..length).map(|at| {
        // SAFETY: the kernel reads the same list: a pointer and a length for each buffer.
        let [start, bytes] = unsafe { read::<[u64; 2]>(space, list + at * 16) };
        [space.reach(start), bytes]
    });
    Some(each.collect())
}

/// Messages of sockets: a structure with pointers to an address, a list of buffers, and control
/// data.
fn message(space: &Space, number: i64, arguments: [u64; 6]) -> Answer {
    // SAFETY: the kernel reads the same structure of seven words.
    let words = unsafe { read::<[u64; 7]>(space, arguments[1]) };
    let Some(buffers) = reached_buffers(space, words[2], words[3]) else {
        return failed(libc::EMSGSIZE);
    };
    let mut led = Box::new(words);
    led[0] = space.reach(words[0]);
    led[2] = buffers.as_ptr() as u64;
    led[4] = space.reach(words[4]);
    let mut call = KernelCall::new(number, arguments);
    call.arguments[1] = std::ptr::from_mut(led.as_mut()) as u64;
    call.buffers = buffers;
    call.message = Some((space.reach(arguments[1]), led));
    Answer::Kernel(call)
}

/// Writes what a received message says of itself to the program's structure.
pub(super) fn finish_message(at: u64, led: &[u64; 7]) {
    // SAFETY: the structure is mapped: it was read before the call.
    unsafe {
        let to = at as *mut u64;
        for place in [NAME_BYTES_AT, CONTROL_BYTES_AT, FLAGS_AT] {
            to.add(place).write_unaligned(led[place]);
        }
    }
}

/// The words of a message's structure that the kernel answers with.
const NAME_BYTES_AT: usize = 1;
const CONTROL_BYTES_AT: usize = 5;
const FLAGS_AT: usize = 6;

/// Calls that wait with signals of their own blocked. `pointers` and the place of the mask's
/// pointer are given; the mask is set before the call.
fn with_mask(
    space: &Space,
    number: i64,
    arguments: [u64; 6],
    (pointers, mask_at): (&[usize], usize),
) -> Answer {
    let mut led = reached(space, arguments, pointers);
    let mask = match led[mask_at] {
        0 => None,
        // SAFETY: the kernel reads the same eight bytes.
        at => Some(unsafe { read::<SignalMask>(space, at) }),
    };
    led[mask_at] = 0;
    let mut call = KernelCall::new(number, led);
    call.mask = mask;
    Answer::Kernel(call)
}

/// Calls that would close the engine's own files: those stay open, and the program is told that
/// they are not.
fn own_files(engine: &Engine, number: i64, arguments: [u64; 6]) -> Option<Answer> {
    let own = engine.space.files();
    let is_own = |file: u64| own.contains(&Some(file as i32));
    match number {
        libc::SYS_close if is_own(arguments[0]) => Some(failed(libc::EBADF)),
        libc::SYS_dup2 | libc::SYS_dup3 if is_own(arguments[1]) => Some(failed(libc::EBADF)),
        libc::SYS_close_range => {
            let [first, last, flags, ..] = arguments;
            let mut own: Vec<u64> = own.iter().flatten().map(|file| *file as u64).collect();
            own.sort_unstable();
            let mut from = first;
            let mut result = 0;
            for file in own.into_iter().filter(|file| (first..=last).contains(file)) {
                if from < file {
                    let arguments = [from, file - 1, flags, 0, 0, 0];
                    result = result.min(arch::call(number, arguments));
                }
                from = file + 1;
            }
            if from <= last {
                result = result.min(arch::call(number, [from, last, flags, 0, 0, 0]));
            }
            Some(Answer::Result(result))
        }
        _ => None,
    }
}

/// Answers a program that asks for its own file: the kernel would name the engine's.
fn own_path(engine: &Engine, number: i64, arguments: [u64; 6]) -> Option<Answer> {
    let (path, to, bytes) = match number {
        libc::SYS_readlink => (arguments[0], arguments[1], arguments[2]),
        libc::SYS_readlinkat => (arguments[1], arguments[2], arguments[3]),
        _ => return None,
    };
    let space = &engine.space;
    if !is_path(space, path, OWN_PATH) {
        let places: &[usize] = if number == libc::SYS_readlink {
            &[0, 1]
        } else {
            &[1, 2]
        };
        let arguments = reached(space, arguments, places);
        return Some(Answer::Kernel(KernelCall::new(number, arguments)));
    }
    let length = engine.program.len().min(bytes as usize).min(PATH_BYTES);
    // SAFETY: the kernel would write the same range.
    unsafe { write(space, to, &engine.program[..length]) };
    Some(Answer::Result(length as i64))
}

fn is_path(space: &Space, at: u64, path: &[u8]) -> bool {
    let whole = path.iter().chain(&[0]);
    space.regions.at(at).is_some()
        && whole.enumerate().all(|(offset, byte)| {
            let place = at + offset as u64;
            // SAFETY: a byte of a string in the program's memory, which is mapped.
            space.regions.at(place).is_some() && unsafe { read::<u8>(space, place) } == *byte
        })
}
