//! Gives the allocation sites of one process their names, while its files are still there.
//!
//! The tool sends the addresses of a call stack. The mappings of the process lead from an address
//! to a file and an offset, and the file's symbols and debug information to names.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use broadleaf_trace::{Allocation, Backing, Event, Mapping, Site, SiteFrame};
use broadleaf_units::{FileId, SiteId, VirtAddr};

use super::wire::Payload;
use crate::symbols::{JitSymbols, ObjectFile};

const PAGE: u64 = 4096;
/// The allocator of variables with fixed addresses.
const STATIC_DATA: &str = "static data";
/// The library of a Java virtual machine, and the name of the memory that it maps.
const JAVA_LIBRARY: &str = "/libjvm.so";
const JAVA_MEMORY: &str = "JVM memory";
/// The number of frames among which the library is looked for: those of the C library come first.
const JAVA_DEPTH: usize = 3;
/// The system call that makes mappings.
const MMAP: &str = "mmap";
/// The function of CPython that runs a Python function. The frames above it are the interpreter's.
const PYTHON_FRAME: &str = "_PyEval_EvalFrame";
/// The beginning of the dynamic linker's file name. It maps libraries, not memory of the program.
const LINKER: &str = "ld-linux";

/// The sites of one process.
#[derive(Default)]
pub(super) struct ProcessSites {
    files: BTreeMap<FileId, MappedFile>,
    /// The mappings of files by start: the end, the file and the offset.
    mappings: BTreeMap<u64, (u64, FileId, u64)>,
    jit: Option<JitSymbols>,
    /// The number in the trace of each site of the tool; `None` for sites that are left out.
    numbers: BTreeMap<u64, Option<SiteId>>,
    next: u32,
}

/// A file that the process maps.
struct MappedFile {
    path: String,
    object: OnceCell<Option<ObjectFile>>,
}

impl MappedFile {
    fn object(&self) -> Option<&ObjectFile> {
        let open = || ObjectFile::open(Path::new(&self.path));
        self.object.get_or_init(open).as_ref()
    }

    fn is_linker(&self) -> bool {
        let name = self.path.rsplit('/').next();
        name.is_some_and(|name| name.starts_with(LINKER))
    }
}

impl ProcessSites {
    /// Notes an event of the process. Returns the sites and allocations that follow from it: the
    /// variables of a program or library that is mapped.
    pub(super) fn note(&mut self, event: &Event) -> Vec<Event> {
        match event {
            Event::SpaceStart { pid, .. } => self.jit = Some(JitSymbols::of_process(*pid)),
            Event::File { id, path, .. } => {
                let file = MappedFile {
                    path: path.clone(),
                    object: OnceCell::new(),
                };
                self.files.insert(*id, file);
            }
            Event::Map(mapping) => {
                if let Backing::File { file, offset } = mapping.backing {
                    let start = mapping.range.start.0;
                    let end = start.saturating_add(mapping.range.len);
                    self.mappings.insert(start, (end, file, offset));
                    if mapping.protection.write && !mapping.shared {
                        return self.variables(mapping, file, offset);
                    }
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// The variables of a file whose data is mapped here.
    fn variables(&mut self, mapping: &Mapping, file: FileId, offset: u64) -> Vec<Event> {
        let object = self.files.get(&file).and_then(MappedFile::object);
        let Some(object) = object else {
            return Vec::new();
        };
        let loaded = object.loaded(mapping.range.start.0, offset, PAGE);
        let Some((shift, range)) = loaded else {
            return Vec::new();
        };
        let whole = SiteFrame {
            file: object.path().to_owned(),
            ..SiteFrame::default()
        };
        let mut parts = vec![(range.start, range.end - range.start, whole)];
        for variable in object.static_variables() {
            if range.contains(&variable.address) {
                // A symbol table may say anything: the variable ends in its segment.
                let bytes = variable.bytes.min(range.end - variable.address);
                parts.push((variable.address, bytes, variable.frame));
            }
        }
        let mut events = Vec::new();
        for (address, bytes, frame) in parts {
            let site = self.number();
            let named = Site {
                allocator: STATIC_DATA.to_owned(),
                frames: vec![frame],
            };
            events.push(Event::Site(site, named));
            events.push(Event::Allocation(Allocation {
                site,
                start: VirtAddr(address.wrapping_add(shift)),
                len: bytes,
                count: 1,
                bytes,
            }));
        }
        events
    }

    fn number(&mut self) -> SiteId {
        let number = SiteId(self.next);
        self.next += 1;
        number
    }

    /// Returns the site of a record of the tool, or `None` for sites of the dynamic linker.
    pub(super) fn site(&mut self, record: &mut Payload<'_>) -> Option<Event> {
        let (tools_number, mut allocator) = (record.number(), record.text());
        let addresses: Vec<u64> = (0..record.count()).map(|_| record.number()).collect();
        let python: Vec<SiteFrame> = (0..record.count())
            .map(|_| SiteFrame {
                function: record.text(),
                file: record.text(),
                line: record.number() as u32,
            })
            .collect();
        let is_linker = |address: &u64| {
            self.file_at(*address)
                .is_some_and(|(file, _)| file.is_linker())
        };
        if addresses.first().is_some_and(is_linker) {
            self.numbers.insert(tools_number, None);
            return None;
        }
        let is_java = |address: &u64| {
            self.file_at(*address)
                .is_some_and(|(file, _)| file.path.ends_with(JAVA_LIBRARY))
        };
        if allocator == MMAP && addresses.iter().take(JAVA_DEPTH).any(is_java) {
            allocator = JAVA_MEMORY.to_owned();
        }
        let native: Vec<SiteFrame> = (addresses.iter())
            .flat_map(|address| self.frames_at(*address))
            .collect();
        let frames = with_python(native, python);
        let site = self.number();
        self.numbers.insert(tools_number, Some(site));
        Some(Event::Site(site, Site { allocator, frames }))
    }

    /// Returns the allocations of a record of the tool, if their site is in the trace.
    pub(super) fn allocation(&self, record: &mut Payload<'_>) -> Option<Event> {
        let site = self.numbers.get(&record.number()).copied().flatten()?;
        Some(Event::Allocation(Allocation {
            site,
            start: VirtAddr(record.number()),
            len: record.number(),
            count: record.number(),
            bytes: record.number(),
        }))
    }

    /// Returns the file that is mapped at an address, and the offset of the byte there.
    fn file_at(&self, address: u64) -> Option<(&MappedFile, u64)> {
        let (start, (end, file, offset)) = self.mappings.range(..=address).next_back()?;
        let file = self.files.get(file).filter(|_| address < *end)?;
        Some((file, offset.saturating_add(address - start)))
    }

    fn frames_at(&mut self, address: u64) -> Vec<SiteFrame> {
        if let Some((file, offset)) = self.file_at(address) {
            let object = file.object();
            let frames = object.and_then(|object| Some(object.frames(object.address_at(offset)?)));
            return frames.unwrap_or_default();
        }
        let compiled = self.jit.as_mut().and_then(|jit| jit.function_at(address));
        let frame = |function| SiteFrame {
            function,
            ..SiteFrame::default()
        };
        compiled.map(frame).into_iter().collect()
    }
}

/// Puts the frames of Python functions in the place of the interpreter's frames that run them.
fn with_python(mut native: Vec<SiteFrame>, python: Vec<SiteFrame>) -> Vec<SiteFrame> {
    if !python.is_empty() {
        let is_interpreter = |frame: &SiteFrame| frame.function.starts_with(PYTHON_FRAME);
        let end = native.iter().position(is_interpreter);
        native.truncate(end.unwrap_or(native.len()));
    }
    native.extend(python);
    native
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(function: &str) -> SiteFrame {
        SiteFrame {
            function: function.to_owned(),
            ..SiteFrame::default()
        }
    }

    #[test]
    fn python_functions_take_the_place_of_the_interpreter() {
        let native = vec![
            named("list_resize"),
            named("_PyEval_EvalFrameDefault"),
            named("main"),
        ];
        let merged = with_python(native.clone(), vec![named("fill"), named("<module>")]);
        let names: Vec<&str> = merged.iter().map(|frame| &*frame.function).collect();
        assert_eq!(names, ["list_resize", "fill", "<module>"]);
        assert_eq!(with_python(native.clone(), Vec::new()), native);
    }

    #[test]
    fn a_site_of_the_dynamic_linker_is_left_out_with_its_allocations() {
        let mut sites = ProcessSites::default();
        for event in [
            Event::File {
                id: FileId(0),
                size: 1,
                path: "/lib64/ld-linux-x86-64.so.2".to_owned(),
            },
            Event::Map(Mapping {
                range: broadleaf_trace::Range {
                    start: VirtAddr(0x1000),
                    len: 0x1000,
                },
                protection: broadleaf_units::Rights {
                    write: false,
                    ..broadleaf_units::Rights::READ_WRITE
                },
                shared: false,
                backing: Backing::File {
                    file: FileId(0),
                    offset: 0,
                },
            }),
        ] {
            assert!(sites.note(&event).is_empty());
        }
        let site = |number, address| {
            [
                number,
                4,
                u64::from_le_bytes(*b"mmap\0\0\0\0"),
                1,
                address,
                0,
            ]
        };
        assert_eq!(sites.site(&mut Payload(&site(0, 0x1800))), None);
        assert!(sites.site(&mut Payload(&site(1, 0x9000))).is_some());
        let allocation = |number| [number, 0x5000, 64, 1, 64];
        assert_eq!(sites.allocation(&mut Payload(&allocation(0))), None);
        assert!(sites.allocation(&mut Payload(&allocation(1))).is_some());
        assert_eq!(sites.allocation(&mut Payload(&allocation(7))), None);
    }
}
