//! Facts about a 64-bit ELF program: the libraries that it needs and the symbols that it defines.
//! Programs may be gigabytes large, so only their headers, their dynamic section and their symbol
//! tables are read, piece by piece.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem;

/// The number of bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// The size of the largest section that is read. Larger sections are skipped.
const LARGEST: u64 = 1 << 30;
/// The maximum number of places of a name. A linker writes a name once.
const PLACES: usize = 64;
/// The length of the longest library name that is read.
const NAME: usize = 256;

const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const DYNAMIC_ENTRY: usize = 16;

const SYMBOL_TABLE: u32 = 2;
const DYNAMIC: u32 = 6;
const DYNAMIC_SYMBOL_TABLE: u32 = 11;
/// The tag of a dynamic entry that names a library.
const NEEDED: u64 = 1;
const GLOBAL: u8 = 1;
const UNDEFINED: u16 = 0;

/// An ELF program with its section headers.
pub(super) struct Elf {
    file: File,
    sections: Vec<ElfSection>,
}

#[derive(Clone, Copy)]
struct ElfSection {
    kind: u32,
    /// The section with the names of this section.
    names: usize,
    offset: u64,
    size: u64,
}

impl Elf {
    /// Reads the headers of a program. Returns `None` if it is no 64-bit little-endian ELF file.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut head = [0; 64];
        file.read_exact_at(&mut head, 0).ok()?;
        if !head.starts_with(b"\x7fELF\x02\x01") || half(&head, 58) as usize != SECTION_HEADER {
            return None;
        }
        let mut headers = vec![0; half(&head, 60) as usize * SECTION_HEADER];
        file.read_exact_at(&mut headers, long(&head, 40)).ok()?;
        let sections = headers
            .chunks_exact(SECTION_HEADER)
            .map(|header| ElfSection {
                kind: word(header, 4),
                names: word(header, 40) as usize,
                offset: long(header, 24),
                size: long(header, 32),
            });
        let sections = sections.collect();
        Some(Self { file, sections })
    }

    /// Returns true if the program needs a library whose name begins with one of `names`.
    pub(super) fn needs(&self, names: &[&str]) -> bool {
        let needs = |section: &ElfSection| {
            let mut found = false;
            let libraries = self.names_of(section)?;
            self.entries(section, DYNAMIC_ENTRY, |entry| {
                if !found && long(entry, 0) == NEEDED {
                    let name = self.name(&libraries, long(entry, 8));
                    found = names
                        .iter()
                        .any(|wanted| name.starts_with(wanted.as_bytes()));
                }
            })?;
            Some(found)
        };
        self.of_kind(DYNAMIC)
            .any(|section| needs(section) == Some(true))
    }

    /// Returns true if the program itself defines a global symbol of that name. Weak symbols do not
    /// count: a library may test for another library with a weak symbol.
    pub(super) fn defines(&self, name: &str) -> bool {
        let defines = |section: &ElfSection| {
            let at = self.positions(&self.names_of(section)?, name)?;
            let mut found = false;
            self.entries(section, SYMBOL, |symbol| {
                let is_strong = symbol[4] >> 4 == GLOBAL && half(symbol, 6) != UNDEFINED;
                found |= is_strong && at.contains(&word(symbol, 0).into());
            })?;
            Some(found)
        };
        let tables = [DYNAMIC_SYMBOL_TABLE, SYMBOL_TABLE].into_iter();
        let mut tables = tables.flat_map(|kind| self.of_kind(kind));
        tables.any(|section| defines(section) == Some(true))
    }

    fn of_kind(&self, kind: u32) -> impl Iterator<Item = &ElfSection> {
        let sections = self.sections.iter();
        sections.filter(move |section| section.kind == kind && section.size <= LARGEST)
    }

    /// Returns the section with the names of `section`.
    fn names_of(&self, section: &ElfSection) -> Option<ElfSection> {
        let names = self.sections.get(section.names)?;
        (names.size <= LARGEST).then_some(*names)
    }

    /// Calls `each` with every entry of a section, of `size` bytes each.
    fn entries(
        &self,
        section: &ElfSection,
        size: usize,
        mut each: impl FnMut(&[u8]),
    ) -> Option<()> {
        let whole = PIECE / size * size;
        let mut piece = vec![0; whole];
        let mut at = 0;
        while at < section.size {
            let length = (section.size - at).min(whole as u64) as usize;
            let from = section.offset.checked_add(at)?;
            self.file.read_exact_at(&mut piece[..length], from).ok()?;
            piece[..length].chunks_exact(size).for_each(&mut each);
            at += length as u64;
        }
        Some(())
    }

    /// Returns the positions in a section of names at which `name` begins. Another name may end
    /// with it.
    fn positions(&self, names: &ElfSection, name: &str) -> Option<Vec<u64>> {
        let sought = [name.as_bytes(), b"\0"].concat();
        let (mut found, mut at) = (Vec::new(), 0);
        let mut piece = vec![0; PIECE];
        while at < names.size {
            let length = (names.size - at).min(PIECE as u64) as usize;
            let from = names.offset.checked_add(at)?;
            self.file.read_exact_at(&mut piece[..length], from).ok()?;
            let positions = memmem::find_iter(&piece[..length], &sought);
            let positions = positions.map(|position| at + position as u64);
            found.extend(positions.take(PLACES.saturating_sub(found.len())));
            // A name may lie across the end of the piece.
            at += match names.size - at > length as u64 {
                true => (length - sought.len() + 1) as u64,
                false => length as u64,
            };
        }
        Some(found)
    }

    /// Returns a library's name, cut off if it is too long.
    fn name(&self, names: &ElfSection, position: u64) -> Vec<u8> {
        let mut name = vec![0; NAME];
        let read = match names.offset.checked_add(position) {
            Some(from) => read_at_most(&self.file, &mut name, from).unwrap_or(0),
            None => 0,
        };
        name.truncate(read);
        name.truncate(memchr::memchr(0, &name).unwrap_or(read));
        name
    }
}

fn read_at_most(file: &File, into: &mut [u8], from: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match file.read_at(&mut into[read..], from.saturating_add(read as u64))? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
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
