//! The stack that a program begins with: arguments, environment and auxiliary vector.

#![allow(
    unsafe_code,
    reason = "the program's stack and the kernel's auxiliary vector"
)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::arch::call;
use super::image::Image;
use super::layout::{MOST_STACK, PAGE, STACK_END, page_start, second};
use super::space::{Contents, Space};

const AT_MINSIGSTKSZ: u64 = 51;
const PLATFORM: &[u8] = b"x86_64";

/// What a program begins with.
pub(super) struct Beginning<'a> {
    pub(super) image: &'a Image,
    pub(super) arguments: &'a [OsString],
    /// Each is a name, `=` and a value.
    pub(super) environment: &'a [OsString],
    pub(super) path: &'a OsStr,
}

/// Maps the stack and fills it. Returns the stack pointer.
///
/// # Errors
/// The kernel's error number, "argument list too long" for example.
pub(super) fn build(space: &mut Space, of: &Beginning<'_>) -> Result<u64, i32> {
    let bytes = stack_bytes();
    let range = STACK_END - bytes..STACK_END;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    space.map(&range, Contents::Zeroes, protection, false)?;
    let mut stack = Filling {
        top: STACK_END - 8,
        lowest: range.start + PAGE,
    };
    let path = stack.string(of.path.as_bytes())?;
    let environment = stack.strings(of.environment)?;
    let arguments = stack.strings(of.arguments)?;
    let platform = stack.string(PLATFORM)?;
    let mut random = [0_u8; 16];
    let at = random.as_mut_ptr() as u64;
    call(libc::SYS_getrandom, [at, random.len() as u64, 0, 0, 0, 0]);
    let random = stack.push(&random)?;
    let mut words = vec![arguments.len() as u64];
    words.extend(&arguments);
    words.push(0);
    words.extend(&environment);
    words.push(0);
    for (kind, value) in vector(of.image, [path, platform, random]) {
        words.extend([kind, value]);
    }
    words.extend([libc::AT_NULL, 0]);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    stack.top = (stack.top - bytes.len() as u64) & !15;
    stack.top += bytes.len() as u64;
    stack.push(&bytes)
}

/// The bytes of the stack: its limit, as far as there is one.
fn stack_bytes() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is the kernel's.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    let limit = if known { limit.rlim_cur } else { MOST_STACK };
    page_start(limit.min(MOST_STACK)).max(64 * PAGE)
}

/// The auxiliary vector. The kernel's own library of calls (vDSO) is left out: its pages cannot be
/// closed.
fn vector(image: &Image, [path, platform, random]: [u64; 3]) -> Vec<(u64, u64)> {
    let [headers, header_bytes, header_count] = image.headers;
    // SAFETY: the function reads a table that the kernel wrote.
    let own = |kind| unsafe { libc::getauxval(kind) };
    vec![
        (AT_MINSIGSTKSZ, own(AT_MINSIGSTKSZ)),
        (libc::AT_HWCAP, own(libc::AT_HWCAP)),
        (libc::AT_PAGESZ, PAGE),
        (libc::AT_CLKTCK, own(libc::AT_CLKTCK)),
        (libc::AT_PHDR, headers),
        (libc::AT_PHENT, header_bytes),
        (libc::AT_PHNUM, header_count),
        (libc::AT_BASE, image.linker),
        (libc::AT_FLAGS, 0),
        (libc::AT_ENTRY, image.entry),
        (libc::AT_UID, own(libc::AT_UID)),
        (libc::AT_EUID, own(libc::AT_EUID)),
        (libc::AT_GID, own(libc::AT_GID)),
        (libc::AT_EGID, own(libc::AT_EGID)),
        (libc::AT_SECURE, 0),
        (libc::AT_RANDOM, random),
        (libc::AT_HWCAP2, own(libc::AT_HWCAP2)),
        (libc::AT_EXECFN, path),
        (libc::AT_PLATFORM, platform),
    ]
}

/// A stack that is filled downwards.
struct Filling {
    top: u64,
    lowest: u64,
}

impl Filling {
    fn push(&mut self, bytes: &[u8]) -> Result<u64, i32> {
        let place = self.top.checked_sub(bytes.len() as u64);
        let place = place
            .filter(|place| *place >= self.lowest)
            .ok_or(libc::E2BIG)?;
        // SAFETY: the stack is mapped at its second place from `lowest` on.
        unsafe {
            let to = second(place) as *mut u8;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        self.top = place;
        Ok(place)
    }

    fn string(&mut self, text: &[u8]) -> Result<u64, i32> {
        self.push(&[text, b"\0"].concat())
    }

    fn strings(&mut self, texts: &[OsString]) -> Result<Vec<u64>, i32> {
        texts
            .iter()
            .map(|text| self.string(text.as_bytes()))
            .collect()
    }
}
