//! The symbols and the debug information of one program or library.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use broadleaf_trace::SiteFrame;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use super::demangled;
use super::variables::{VariablePlace, variable_places};

/// The folder of separate debug information, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";
/// The size of the smallest variable that is named. Smaller ones cannot fill a page.
const SMALLEST_VARIABLE: u64 = 4096;

/// A program or library.
pub struct ObjectFile {
    path: String,
    segments: Vec<FileSegment>,
    /// The functions by address.
    functions: Vec<NamedRange>,
    variables: Vec<NamedRange>,
    /// The file with the debug information: the file itself or a separate one.
    debug_file: PathBuf,
    debug: OnceCell<Option<Loader>>,
}

/// A loaded part of the file.
#[derive(Clone, Copy, Debug)]
struct FileSegment {
    offset: u64,
    file_bytes: u64,
    address: u64,
    bytes: u64,
}

/// A symbol with its size.
#[derive(Clone, Debug)]
struct NamedRange {
    address: u64,
    bytes: u64,
    name: String,
}

/// A variable with a fixed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticVariable {
    /// The address in the file's own numbering, before the file is loaded somewhere.
    pub address: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The name of the variable and the line of its definition, as far as they are known.
    pub frame: SiteFrame,
}

impl ObjectFile {
    /// Reads the symbols of a file. Returns `None` if it is no ELF file or cannot be read.
    pub fn open(path: &Path) -> Option<Self> {
        let bytes = elf_bytes(path)?;
        let file = object::File::parse(&*bytes).ok()?;
        let debug_file = separate_debug_file(&file).unwrap_or_else(|| path.to_owned());
        let symbols = |bytes: &[u8]| {
            let file = object::File::parse(bytes).ok()?;
            Some(named_ranges(&file))
        };
        let mut named = named_ranges(&file);
        if debug_file != path
            && let Some(more) = elf_bytes(&debug_file).and_then(|bytes| symbols(&bytes))
        {
            named.extend(more);
        }
        named.sort_by_key(|(one, _)| one.address);
        named.dedup_by(|(one, _), (other, _)| one.address == other.address);
        let (functions, variables): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|(_, is_function)| *is_function);
        let without_kind = |named: Vec<(NamedRange, bool)>| -> Vec<NamedRange> {
            named.into_iter().map(|(range, _)| range).collect()
        };
        Some(Self {
            path: path.to_string_lossy().into_owned(),
            segments: file.segments().map(|part| FileSegment::of(&part)).collect(),
            functions: without_kind(functions),
            variables: without_kind(variables),
            debug: OnceCell::new(),
            debug_file,
        })
    }

    /// Returns the address of the byte at a file offset, in the file's own numbering.
    pub fn address_at(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|part| {
            let inside = offset.checked_sub(part.offset)?;
            (inside < part.file_bytes).then(|| part.address.wrapping_add(inside))
        })
    }

    /// Returns the difference between the addresses of a process and those of the file, given a
    /// mapping of the file. The range of the mapped segment, in the file's numbering, comes second.
    pub fn loaded(
        &self,
        start: u64,
        offset: u64,
        page: u64,
    ) -> Option<(u64, std::ops::Range<u64>)> {
        let part = (self.segments.iter())
            .filter(|part| part.offset / page * page == offset)
            .max_by_key(|part| part.address)?;
        let first_page = part.address / page * page;
        let range = part.address..part.address.saturating_add(part.bytes);
        Some((start.wrapping_sub(first_page), range))
    }

    /// Returns the frames at an address in the file's numbering, the innermost inlined function
    /// first. Without debug information, there is one frame, whose file is the program or library.
    pub fn frames(&self, address: u64) -> Vec<SiteFrame> {
        let mut frames = self.debug_frames(address).unwrap_or_default();
        let symbol = || {
            self.function_at(address)
                .map_or_else(String::new, |at| at.name.clone())
        };
        if frames.is_empty() {
            frames.push(SiteFrame {
                function: symbol(),
                file: self.path.clone(),
                line: 0,
            });
        }
        if let Some(last) = frames.last_mut().filter(|frame| frame.function.is_empty()) {
            last.function = symbol();
        }
        frames
    }

    fn debug_frames(&self, address: u64) -> Option<Vec<SiteFrame>> {
        let debug = self
            .debug
            .get_or_init(|| Loader::new(&self.debug_file).ok());
        let mut found = debug.as_ref()?.find_frames(address).ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|function| {
                let name = function.demangle().ok()?;
                Some(name.into_owned())
            });
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file);
            if name.is_none() && file.is_none() {
                continue;
            }
            frames.push(SiteFrame {
                function: name.unwrap_or_default(),
                file: file.unwrap_or(&self.path).to_owned(),
                line: location.and_then(|location| location.line).unwrap_or(0),
            });
        }
        Some(frames)
    }

    fn function_at(&self, address: u64) -> Option<&NamedRange> {
        let after = self
            .functions
            .partition_point(|function| function.address <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address - function.address < function.bytes).then_some(function)
    }

    /// Returns the variables of `.data` and `.bss` that are a page long or longer.
    pub fn static_variables(&self) -> Vec<StaticVariable> {
        if self.variables.is_empty() {
            return Vec::new();
        }
        let places = variable_places(&self.debug_file).unwrap_or_default();
        let variables = self.variables.iter().map(|variable| {
            let place = places.get(&variable.address);
            StaticVariable {
                address: variable.address,
                bytes: variable.bytes,
                frame: self.variable_frame(variable, place),
            }
        });
        variables.collect()
    }

    fn variable_frame(&self, variable: &NamedRange, place: Option<&VariablePlace>) -> SiteFrame {
        SiteFrame {
            function: variable.name.clone(),
            file: place.map_or_else(|| self.path.clone(), |place| place.file.clone()),
            line: place.map_or(0, |place| place.line),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// What an ELF file begins with.
const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

/// Reads an ELF file. Returns `None` for other files, of which at most four bytes are read: a
/// program may map large data files, and devices.
pub(super) fn elf_bytes(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut file = File::open(path).ok()?;
    let mut bytes = vec![0; ELF_MAGIC.len()];
    file.read_exact(&mut bytes).ok()?;
    if bytes != ELF_MAGIC {
        return None;
    }
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

impl FileSegment {
    fn of<'data>(part: &impl ObjectSegment<'data>) -> Self {
        let (offset, file_bytes) = part.file_range();
        Self {
            offset,
            file_bytes,
            address: part.address(),
            bytes: part.size(),
        }
    }
}

/// The functions and the large variables of a file. The flag is true for functions.
fn named_ranges(file: &object::File<'_>) -> Vec<(NamedRange, bool)> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let named = symbols.filter_map(|symbol| {
        let is_function = match symbol.kind() {
            SymbolKind::Text => true,
            SymbolKind::Data if symbol.size() >= SMALLEST_VARIABLE => false,
            _ => return None,
        };
        let is_defined = symbol.address() != 0 && symbol.size() != 0 && symbol.is_definition();
        let name = symbol.name_bytes().ok().filter(|_| is_defined)?;
        let range = NamedRange {
            address: symbol.address(),
            bytes: symbol.size(),
            name: demangled(name),
        };
        Some((range, is_function))
    });
    named.collect()
}

/// The file with a program's debug information, if it is separate and installed.
fn separate_debug_file(file: &object::File<'_>) -> Option<PathBuf> {
    let id = file.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = Path::new(DEBUG_FILES).join(format!("{first:02x}/{rest}.debug"));
    path.exists().then_some(path)
}
