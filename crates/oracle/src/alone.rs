//! Removes shared frames from a trace, for comparison with models without frames.

use std::ops::Range;

use broadleaf_trace::{Advice, Backing, Event, Mapping, Range as ByteRange};
use broadleaf_units::{FileId, SpaceId};

use crate::mappings::{overlap, pages_in};
use crate::{OwnedItem, Recording};

/// The number of the first copy of a file. No file of a random trace has a greater number.
const FIRST_COPY: u32 = 1000;

/// A copy of a file.
struct FileCopy {
    file: FileId,
    space: SpaceId,
    copy: FileId,
    /// The bytes that mappings show. No two mappings show a byte twice.
    mapped: Vec<Range<u64>>,
}

/// A recording without shared frames, which only the frame-level model knows (rule 30 of memory).
///
/// - Each process has its own files and no copy of another process.
/// - A part of a file that is mapped twice belongs to two files: a store to one private mapping
///   would otherwise copy the shared page, and its translation would leave the TLB.
/// - A mapping of a file does not grow when it moves: it could show what another mapping shows.
/// - Pages that a process does not need leave shared memory too.
pub fn alone(mut recording: Recording) -> Recording {
    let kept = |item: &OwnedItem| !matches!(item, OwnedItem::Event(Event::Fork { .. }));
    recording.items.retain(kept);
    for item in &mut recording.items {
        if let OwnedItem::Event(Event::Advise(_, advice @ Advice::DontNeed)) = item {
            *advice = Advice::Remove;
        }
    }
    keep_lengths_of_files(&mut recording.items);
    let copies = give_own_files(&mut recording.items);
    let named: Vec<OwnedItem> = (recording.items.iter())
        .filter_map(|item| match item {
            OwnedItem::Event(Event::File { id, size, path }) => Some((id, size, path)),
            _ => None,
        })
        .flat_map(|(id, size, path)| {
            let of_file = copies.iter().filter(move |copy| copy.file == *id);
            of_file.map(|copy| {
                OwnedItem::Event(Event::File {
                    id: copy.copy,
                    size: *size,
                    path: path.clone(),
                })
            })
        })
        .collect();
    recording.items.splice(0..0, named);
    recording
}

/// Lets mappings keep their lengths when they move from a place where a file was mapped.
fn keep_lengths_of_files(items: &mut [OwnedItem]) {
    let mut running = SpaceId(0);
    let mut of_files: Vec<(SpaceId, ByteRange)> = Vec::new();
    for item in items {
        match item {
            OwnedItem::Event(Event::SpaceSwitch(space)) => running = *space,
            OwnedItem::Event(Event::Map(mapping)) => {
                if matches!(mapping.backing, Backing::File { .. }) {
                    of_files.push((running, mapping.range));
                }
            }
            OwnedItem::Event(Event::Remap { from, to }) => {
                let held = |(space, range): &(SpaceId, ByteRange)| {
                    let pages = overlap(&pages_in(*range), &pages_in(*from));
                    *space == running && !pages.is_empty()
                };
                if of_files.iter().any(held) {
                    to.len = to.len.min(from.len);
                    of_files.push((running, *to));
                }
            }
            _ => {}
        }
    }
}

/// Lets each mapping of a file map a copy, and returns the copies.
fn give_own_files(items: &mut [OwnedItem]) -> Vec<FileCopy> {
    let mut running = SpaceId(0);
    let mut copies = Vec::new();
    for item in items {
        match item {
            OwnedItem::Event(Event::SpaceSwitch(space)) => running = *space,
            OwnedItem::Event(Event::Map(Mapping {
                backing: Backing::File { file, offset },
                range,
                ..
            })) => {
                let bytes = *offset..offset.saturating_add(range.len);
                *file = copy_for(&mut copies, *file, running, bytes);
            }
            _ => {}
        }
    }
    copies
}

/// Returns the first copy of the file in this space of which no mapping shows any of these bytes.
fn copy_for(copies: &mut Vec<FileCopy>, file: FileId, space: SpaceId, bytes: Range<u64>) -> FileId {
    let is_free = |copy: &FileCopy| {
        let mut mapped = copy.mapped.iter();
        !mapped.any(|other| other.start < bytes.end && bytes.start < other.end)
    };
    let mut known = copies.iter_mut();
    if let Some(found) =
        known.find(|copy| copy.file == file && copy.space == space && is_free(copy))
    {
        found.mapped.push(bytes);
        return found.copy;
    }
    let copy = FileId(FIRST_COPY + copies.len() as u32);
    copies.push(FileCopy {
        file,
        space,
        copy,
        mapped: vec![bytes],
    });
    copy
}
