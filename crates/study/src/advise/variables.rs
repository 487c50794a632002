//! The variables of the recorded program, for traces without allocation sites.
//!
//! A trace names the program and its hash. If the file is still the same, its symbols name the
//! variables of `.data` and `.bss`.

use std::fs::{self, File};
use std::path::Path;

use broadleaf_record::symbols::ObjectFile;
use broadleaf_trace::{Allocation, Event, RecordedProgram, Site};
use broadleaf_units::{FileId, SiteId, SpaceId, VirtAddr};

use super::places::TracePlaces;

const PAGE: u64 = 4096;

/// A mapping of a file's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataMapping {
    pub(super) space: SpaceId,
    pub(super) file: FileId,
    pub(super) start: u64,
    pub(super) offset: u64,
}

/// Adds the variables of the recorded program to the owners of memory, if the program's file has
/// not changed.
pub(super) fn add_variables(places: &mut TracePlaces, program: &RecordedProgram) {
    let is_it = |mapping: &&DataMapping| places.files.get(&mapping.file) == Some(&program.path);
    let mappings: Vec<DataMapping> = places.data.iter().filter(is_it).copied().collect();
    if mappings.is_empty() || hash(&program.path) != Some(program.hash) {
        return;
    }
    let Some(object) = ObjectFile::open(Path::new(&program.path)) else {
        return;
    };
    let variables = object.static_variables();
    for mapping in mappings {
        let Some((shift, range)) = object.loaded(mapping.start, mapping.offset, PAGE) else {
            continue;
        };
        let loaded = variables.iter().filter(|one| range.contains(&one.address));
        for (number, variable) in (0..).map(SiteId).zip(loaded) {
            let site = Site {
                allocator: "static data".to_owned(),
                frames: vec![variable.frame.clone()],
            };
            let allocation = Allocation {
                site: number,
                start: VirtAddr(variable.address.wrapping_add(shift)),
                len: variable.bytes,
                count: 1,
                bytes: variable.bytes,
            };
            for event in [Event::Site(number, site), Event::Allocation(allocation)] {
                places.owners.add(mapping.space, &event);
            }
        }
    }
}

/// The hash of a file. `None` for pipes and devices, which may have no end.
fn hash(path: &str) -> Option<[u8; 32]> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path).ok()?).ok()?;
    Some(*hasher.finalize().as_bytes())
}
