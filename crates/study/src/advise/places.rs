//! The processes in a trace's address spaces, the trace's files, and the places of its mappings in
//! an allocator's pools, from the trace's events.

use std::collections::BTreeMap;

use broadleaf_trace::{Backing, Event, Site, SiteFrame};
use broadleaf_units::{FileId, SpaceId};

use super::location::named_frame;
use super::owners::SiteOwners;
use super::pool::Pool;
use super::variables::DataMapping;

/// The content of a trace's events.
#[derive(Debug, Default)]
pub struct TracePlaces {
    pub(crate) processes: BTreeMap<SpaceId, SpaceProcess>,
    /// Paths of files, as the trace named them last.
    pub(crate) files: BTreeMap<FileId, String>,
    /// Paths of files by address space. Each program of a trace numbers its files anew.
    files_of: BTreeMap<SpaceId, BTreeMap<FileId, String>>,
    pub(crate) pools: BTreeMap<SpaceId, Pools>,
    /// The allocation sites.
    pub(super) owners: SiteOwners,
    /// True if the sites are variables that the program's file names.
    pub(super) has_variables_of_file: bool,
    /// The mappings of the data of programs and libraries.
    pub(super) data: Vec<DataMapping>,
    running: SpaceId,
    /// The initial pools of forked processes that have not run yet, by process id.
    forked: BTreeMap<u32, Pools>,
}

/// The process of an address space.
#[derive(Clone, Debug)]
pub(crate) struct SpaceProcess {
    pub(crate) pid: u32,
    pub(crate) command: Vec<String>,
}

/// The memory of one address space, placed as an allocator with pools would place it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pools {
    /// The start of the heap, and the highest end of the heap.
    pub(crate) heap: Option<(u64, u64)>,
    /// Anonymous mappings.
    pub(super) anonymous: Pool,
    /// Mappings of files.
    pub(super) files: Pool,
    /// The ends of private, writable file mappings, with the files.
    pub(crate) data_ends: BTreeMap<u64, FileId>,
    /// Anonymous mappings that begin at one of these ends: by the first byte, the byte after the
    /// last, and the file. A loader maps `.bss` in this way.
    pub(crate) static_data: BTreeMap<u64, (u64, FileId)>,
}

impl TracePlaces {
    /// Returns true if the trace has allocation sites.
    pub fn has_sites(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Returns true if the trace itself has allocation sites, and not only its program's file.
    pub(super) fn has_recorded_sites(&self) -> bool {
        self.has_sites() && !self.has_variables_of_file
    }

    /// The path of a file that an address space maps, if the trace names it.
    pub(crate) fn path(&self, space: SpaceId, file: FileId) -> Option<String> {
        let own = self.files_of.get(&space).and_then(|files| files.get(&file));
        own.or_else(|| self.files.get(&file)).cloned()
    }

    /// A process begins with the files of its parent.
    fn inherit_files(&mut self, parent: u32) {
        let is_parent = |(_, process): &(&SpaceId, &SpaceProcess)| process.pid == parent;
        let parent = self.processes.iter().rfind(is_parent);
        let files = parent.and_then(|(space, _)| self.files_of.get(space));
        let files = files.cloned().unwrap_or_default();
        self.files_of.insert(self.running, files);
    }

    /// The allocation sites of a range's memory, with their bytes in it.
    pub(crate) fn sites_of(&self, space: SpaceId, start: u64, end: u64) -> Vec<(String, u64)> {
        let shares = self.owners.of_range(space, start, end).into_iter();
        let named = shares.filter_map(|(site, bytes)| {
            let site = &self.owners.sites.get(site)?.site;
            Some((site_name(site), bytes))
        });
        named.collect()
    }

    /// Adds the next event of the trace.
    pub(super) fn add(&mut self, event: &Event) {
        self.owners.add(self.running, event);
        match event {
            Event::SpaceSwitch(space) => self.running = *space,
            Event::SpaceStart {
                pid,
                parent,
                command,
            } => {
                self.inherit_files(*parent);
                let process = SpaceProcess {
                    pid: *pid,
                    command: command.clone(),
                };
                self.processes.insert(self.running, process);
                if let Some(pools) = self.forked.remove(pid) {
                    self.pools.insert(self.running, pools);
                }
            }
            Event::Fork { child } => {
                let pools = self.pools().clone();
                self.forked.insert(*child, pools);
            }
            Event::File { id, path, .. } => {
                self.files.insert(*id, path.clone());
                let files = self.files_of.entry(self.running).or_default();
                files.insert(*id, path.clone());
            }
            event => {
                self.data.extend(data_mapping(self.running, event));
                self.pools().add(event);
            }
        }
    }

    fn pools(&mut self) -> &mut Pools {
        self.pools.entry(self.running).or_default()
    }
}

/// The name of a site: function, file and line, as far as they are known.
fn site_name(site: &Site) -> String {
    let frame = named_frame(&site.frames).map(|at| &site.frames[at]);
    match frame {
        Some(SiteFrame {
            function,
            file,
            line,
        }) if *line > 0 => {
            let file = file.rsplit('/').next().unwrap_or(file);
            format!("{function} ({file}:{line})")
        }
        Some(frame) if !frame.function.is_empty() => frame.function.clone(),
        _ => site.allocator.clone(),
    }
}

/// The mapping of a file that the program may store to for itself.
fn data_mapping(space: SpaceId, event: &Event) -> Option<DataMapping> {
    let Event::Map(mapping) = event else {
        return None;
    };
    let Backing::File { file, offset } = mapping.backing else {
        return None;
    };
    (mapping.protection.write && !mapping.shared).then_some(DataMapping {
        space,
        file,
        start: mapping.range.start.0,
        offset,
    })
}

impl Pools {
    fn add(&mut self, event: &Event) {
        match event {
            Event::Map(mapping) => {
                let (start, len) = (mapping.range.start.0, mapping.range.len);
                self.unmap(start, len);
                let end = start.saturating_add(len);
                match mapping.backing {
                    Backing::Anonymous => {
                        self.anonymous.map(start, len);
                        if let Some(file) = self.data_ends.get(&start) {
                            self.static_data.insert(start, (end, *file));
                        }
                    }
                    Backing::File { file, .. } => {
                        self.files.map(start, len);
                        if mapping.protection.write && !mapping.shared {
                            self.data_ends.insert(end, file);
                        }
                    }
                    Backing::Heap | Backing::Stack | Backing::SharedMemory | Backing::Kernel => {}
                }
            }
            Event::Unmap(range) => self.unmap(range.start.0, range.len),
            Event::Remap { from, to } => {
                for pool in [&mut self.anonymous, &mut self.files] {
                    pool.remap((from.start.0, from.len), (to.start.0, to.len));
                }
            }
            Event::Brk(range) => {
                let (start, end) = (range.start.0, range.start.0.saturating_add(range.len));
                let heap = self.heap.get_or_insert((start, end));
                heap.1 = heap.1.max(end);
            }
            _ => {}
        }
    }

    fn unmap(&mut self, start: u64, len: u64) {
        self.anonymous.unmap(start, len);
        self.files.unmap(start, len);
        let gone = start..start.saturating_add(len);
        self.static_data.retain(|start, _| !gone.contains(start));
        // A mapping of a file ends after its last byte.
        (self.data_ends).retain(|end, _| !gone.contains(&end.wrapping_sub(1)));
    }

    /// The file whose static data holds a byte, if any.
    pub(crate) fn static_data(&self, byte: u64) -> Option<FileId> {
        let (_, (end, file)) = self.static_data.range(..=byte).next_back()?;
        (byte < *end).then_some(*file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::{Mapping, Range};
    use broadleaf_units::{Rights, VirtAddr};

    fn range(start: u64, len: u64) -> Range {
        Range {
            start: VirtAddr(start),
            len,
        }
    }

    fn map(start: u64, len: u64, backing: Backing) -> Event {
        Event::Map(Mapping {
            range: range(start, len),
            protection: Rights::READ_WRITE,
            shared: false,
            backing,
        })
    }

    fn started(pid: u32, command: &str) -> Event {
        Event::SpaceStart {
            pid,
            parent: 1,
            command: vec![command.to_owned()],
        }
    }

    #[test]
    fn anonymous_memory_after_a_file_s_data_is_its_static_data() {
        let file = Backing::File {
            file: FileId(3),
            offset: 0x2000,
        };
        let mut pools = Pools::default();
        for event in [
            map(0x10_0000, 0x2000, file),
            map(0x10_2000, 0x50_0000, Backing::Anonymous),
            map(0x90_0000, 0x1000, Backing::Anonymous),
        ] {
            pools.add(&event);
        }
        for (byte, found) in [
            (0x10_1fff, None),
            (0x10_2000, Some(FileId(3))),
            (0x60_1fff, Some(FileId(3))),
            (0x60_2000, None),
            (0x90_0000, None),
        ] {
            assert_eq!(pools.static_data(byte), found, "{byte:#x}");
        }
        // Memory mapped over an unmapped file is not static data.
        pools.add(&Event::Unmap(range(0x10_0000, 0x60_0000)));
        pools.add(&map(0x10_2000, 0x1000, Backing::Anonymous));
        assert_eq!(pools.static_data(0x10_2000), None);
    }

    #[test]
    fn a_forked_process_begins_with_the_pools_of_its_parent() {
        let mut places = TracePlaces::default();
        let file = Backing::File {
            file: FileId(0),
            offset: 0,
        };
        for event in [
            started(7, "sh"),
            map(0x10_0000, 0x3000, Backing::Anonymous),
            map(0x20_0000, 0x1000, file),
            Event::Brk(range(0x50_0000, 0)),
            Event::Brk(range(0x50_0000, 0x8000)),
            Event::Brk(range(0x50_0000, 0x2000)),
            Event::Fork { child: 8 },
            Event::SpaceSwitch(SpaceId(1)),
            started(8, "sh"),
            map(0x30_0000, 0x1000, Backing::Anonymous),
            Event::SpaceSwitch(SpaceId(2)),
            started(8, "cc1"),
            map(0x30_0000, 0x1000, Backing::Anonymous),
        ] {
            places.add(&event);
        }
        let pools = |space| &places.pools[&SpaceId(space)];
        assert_eq!(pools(0).heap, Some((0x50_0000, 0x50_8000)));
        assert_eq!(pools(0).files.furthest(), 0x1000);
        let place = |space| {
            let parts = pools(space).anonymous.parts(0x30_0000, 0x30_1000)?;
            parts.first().map(|part| part.start)
        };
        assert_eq!(place(0), None);
        assert_eq!(place(1), Some(0x3000));
        assert_eq!(place(2), Some(0));
        assert_eq!(places.processes[&SpaceId(2)].command, ["cc1"]);
    }

    #[test]
    fn each_program_has_files_of_its_own_numbers_and_those_of_its_parent() {
        let file = |id, path: &str| Event::File {
            id: FileId(id),
            path: path.to_owned(),
            size: 0,
        };
        let mut places = TracePlaces::default();
        for event in [
            started(1, "sh"),
            file(0, "/bin/sh"),
            file(1, "/lib/c"),
            Event::SpaceSwitch(SpaceId(1)),
            started(8, "cc1"),
            file(0, "/bin/cc1"),
        ] {
            places.add(&event);
        }
        let path = |space, id| places.path(SpaceId(space), FileId(id));
        assert_eq!(path(0, 0).as_deref(), Some("/bin/sh"));
        assert_eq!(path(1, 0).as_deref(), Some("/bin/cc1"));
        assert_eq!(path(1, 1).as_deref(), Some("/lib/c"));
    }
}
