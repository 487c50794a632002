//! Loading a program: its ELF file and its dynamic linker, as the kernel's `execve` does.

#![allow(unsafe_code, reason = "memory at addresses that the program has")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::layout::{END, LOWEST, PAGE, PLACES_END, PROGRAM, page_end, page_start, second};
use super::space::{Contents, Space};

/// A loaded program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image {
    /// The first instruction: the dynamic linker's, if there is one.
    pub(super) first: u64,
    /// The first instruction of the program itself.
    pub(super) entry: u64,
    /// Where the dynamic linker is; 0 if there is none.
    pub(super) linker: u64,
    /// The address, the size and the number of the program's headers.
    pub(super) headers: [u64; 3],
    /// The end of the program's own memory, where the heap begins.
    pub(super) end: u64,
}

/// The reason why a program cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImageError {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("is no ELF program of 64-bit x86")]
    NotAProgram,
    #[error("has headers that contradict each other")]
    Broken,
    #[error("cannot be mapped: {}", io::Error::from_raw_os_error(*.0))]
    Map(i32),
    #[error("needs addresses that the recorder keeps for itself")]
    TooHigh,
}

/// A file's header and program headers.
struct Parsed {
    file: File,
    is_fixed: bool,
    entry: u64,
    headers_at: u64,
    headers: Vec<ProgramHeader>,
}

/// A program header.
#[derive(Clone, Copy, Debug)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    in_file: u64,
    in_memory: u64,
}

const HEADER_BYTES: usize = 56;
const FILE_HEADER_BYTES: usize = 64;
const FIXED: u16 = 2;
const POSITION_INDEPENDENT: u16 = 3;
const X86_64: u16 = 62;
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const PROGRAM_HEADERS: u32 = 6;
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 4;
/// The longest name of a dynamic linker.
const MOST_NAME_BYTES: u64 = 4096;

/// Loads a program and its dynamic linker.
///
/// # Errors
/// The file's name and the reason.
pub(super) fn load(space: &mut Space, path: &Path) -> Result<Image, (PathBuf, ImageError)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    let program = Parsed::read(path).map_err(at(path))?;
    let (bias, end) = program.map(space, PROGRAM).map_err(at(path))?;
    let entry = program.entry.wrapping_add(bias);
    let mut image = Image {
        first: entry,
        entry,
        linker: 0,
        headers: [
            program.headers_address().wrapping_add(bias),
            HEADER_BYTES as u64,
            program.headers.len() as u64,
        ],
        end,
    };
    if let Some(linker) = program.linker().map_err(at(path))? {
        let parsed = Parsed::read(&linker).map_err(at(&linker))?;
        let bytes = parsed.span().map_err(at(&linker))?;
        let place = space
            .regions
            .highest_free(bytes.end - bytes.start, PLACES_END, LOWEST);
        let place = place.ok_or(ImageError::TooHigh).map_err(at(&linker))?;
        let (bias, _) = parsed.map(space, place).map_err(at(&linker))?;
        image.linker = bias;
        image.first = parsed.entry.wrapping_add(bias);
    }
    Ok(image)
}

/// Returns true if a file is an ELF program of 64-bit x86.
pub(super) fn is_program(path: &Path) -> bool {
    Parsed::read(path).is_ok_and(|parsed| parsed.span().is_ok())
}

impl Parsed {
    fn read(path: &Path) -> Result<Self, ImageError> {
        let mut file = File::open(path)?;
        let mut start = [0; FILE_HEADER_BYTES];
        file.read_exact(&mut start)
            .map_err(|_| ImageError::NotAProgram)?;
        let (kind, machine) = (half(&start, 16), half(&start, 18));
        let is_64 = start.starts_with(b"\x7fELF\x02\x01");
        let known = kind == FIXED || kind == POSITION_INDEPENDENT;
        if !is_64 || machine != X86_64 || !known || usize::from(half(&start, 54)) != HEADER_BYTES {
            return Err(ImageError::NotAProgram);
        }
        let headers_at = long(&start, 32);
        let mut bytes = vec![0; usize::from(half(&start, 56)) * HEADER_BYTES];
        file.read_exact_at(&mut bytes, headers_at)?;
        let headers = bytes.chunks_exact(HEADER_BYTES).map(|bytes| ProgramHeader {
            kind: word(bytes, 0),
            flags: word(bytes, 4),
            offset: long(bytes, 8),
            address: long(bytes, 16),
            in_file: long(bytes, 32),
            in_memory: long(bytes, 40),
        });
        Ok(Self {
            is_fixed: kind == FIXED,
            entry: long(&start, 24),
            headers_at,
            headers: headers.collect(),
            file,
        })
    }

    fn loaded(&self) -> impl Iterator<Item = &ProgramHeader> {
        self.headers
            .iter()
            .filter(|header| header.kind == LOAD && header.in_memory > 0)
    }

    /// The pages of the whole image, before it is moved.
    fn span(&self) -> Result<std::ops::Range<u64>, ImageError> {
        let first = self.loaded().map(|header| page_start(header.address)).min();
        let mut last = 0;
        for header in self.loaded() {
            let end = header
                .address
                .checked_add(header.in_memory)
                .and_then(page_end);
            let is_whole =
                header.in_file <= header.in_memory && header.address % PAGE == header.offset % PAGE;
            last = end
                .filter(|_| is_whole)
                .ok_or(ImageError::Broken)?
                .max(last);
        }
        Ok(first.ok_or(ImageError::Broken)?..last)
    }

    /// The address of the program headers, before the image is moved.
    fn headers_address(&self) -> u64 {
        let own = self
            .headers
            .iter()
            .find(|header| header.kind == PROGRAM_HEADERS);
        let first = || {
            let first = self.loaded().find(|header| header.offset == 0);
            first.map_or(0, |header| header.address + self.headers_at)
        };
        own.map_or_else(first, |header| header.address)
    }

    /// The name of the dynamic linker.
    fn linker(&self) -> Result<Option<PathBuf>, ImageError> {
        let Some(header) = self
            .headers
            .iter()
            .find(|header| header.kind == INTERPRETER)
        else {
            return Ok(None);
        };
        if header.in_file == 0 || header.in_file > MOST_NAME_BYTES {
            return Err(ImageError::Broken);
        }
        let mut name = vec![0; header.in_file as usize];
        self.file.read_exact_at(&mut name, header.offset)?;
        name.pop();
        Ok(Some(OsString::from_vec(name).into()))
    }

    /// Maps the image at a place, or where the file says if it is fixed. Returns how far it was
    /// moved, and its end.
    fn map(&self, space: &mut Space, place: u64) -> Result<(u64, u64), ImageError> {
        let span = self.span()?;
        let bias = if self.is_fixed { 0 } else { place - span.start };
        let end = span.end.checked_add(bias).filter(|end| *end <= PLACES_END);
        let end = end.ok_or(ImageError::TooHigh)?;
        if span.start + bias < LOWEST || end > END {
            return Err(ImageError::TooHigh);
        }
        for header in self.loaded() {
            self.map_part(space, header, bias)
                .map_err(ImageError::Map)?;
        }
        Ok((bias, end))
    }

    fn map_part(&self, space: &mut Space, header: &ProgramHeader, bias: u64) -> Result<(), i32> {
        let protections = [
            (READ, libc::PROT_READ),
            (WRITE, libc::PROT_WRITE),
            (EXECUTE, libc::PROT_EXEC),
        ];
        let given = protections
            .iter()
            .filter(|(flag, _)| header.flags & flag != 0);
        let protection = given.fold(0, |all, (_, one)| all | one);
        let start = header.address + bias;
        let file_end = start + header.in_file;
        let first = page_start(start);
        let middle = page_end(file_end).unwrap_or(file_end);
        if header.in_file > 0 {
            let offset = page_start(header.offset);
            let contents = Contents::File(self.file.as_raw_fd(), offset);
            space.map(&(first..middle), contents, protection, false)?;
            if protection & libc::PROT_WRITE != 0 && protection & libc::PROT_EXEC == 0 {
                let bytes = (middle - file_end) as usize;
                // SAFETY: the page was just mapped, at its second place too.
                unsafe { std::ptr::write_bytes(second(file_end) as *mut u8, 0, bytes) };
            }
        }
        let last = page_end(start + header.in_memory).unwrap_or(middle);
        let zeroes = if header.in_file > 0 {
            middle..last
        } else {
            first..last
        };
        if zeroes.start < zeroes.end {
            space.map(&zeroes, Contents::Zeroes, protection, false)?;
        }
        Ok(())
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}
