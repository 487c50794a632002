//! Events of a trace as rows of a table, and back.

mod fields;
mod kernel;
mod system;
mod windows;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use broadleaf_trace::{
    Advice, Allocation, Backing, Event, KernelTouch, Mapping, Range, Site, SiteFrame, TouchOrigin,
};
use broadleaf_units::{CoreId, FileId, SiteId, SpaceId, ThreadId, VirtAddr};

use crate::read::columns::{Hashed, NamedColumn};
use crate::words::word_of;
use fields::{from_json, known, need, rights_of, rights_text};
pub(crate) use kernel::KERNEL_EVENT;
pub(crate) use system::is_of_system;

/// Columns of events, all of which may lack a value.
macro_rules! event_columns {
    ($($name:ident: $value:ty, $array:ty, $kind:expr;)*) => {
        /// An event as a row: the fields that its kind has.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct EventRow {
            $(pub(crate) $name: Option<$value>,)*
        }

        /// The columns of a table of events.
        pub(crate) fn schema() -> SchemaRef {
            let place = Field::new("visit", DataType::UInt64, false);
            let fields = [place, $(Field::new(stringify!($name), $kind, true),)*];
            Arc::new(Schema::new(fields.to_vec()))
        }

        /// Makes a batch of rows, each with the number of visits before it.
        pub(crate) fn batch(
            places: Vec<u64>,
            rows: &[EventRow],
        ) -> Result<RecordBatch, ArrowError> {
            let places: ArrayRef = Arc::new(UInt64Array::from(places));
            let columns = vec![places, $({
                let values = rows.iter().map(|row| row.$name.clone());
                Arc::new(values.collect::<$array>()) as ArrayRef
            },)*];
            RecordBatch::try_new(schema(), columns)
        }

        /// Reads the rows of a batch. Columns may lack.
        pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<EventRow>, String> {
            let mut rows = vec![EventRow::default(); batch.num_rows()];
            $(if let Some(column) = batch.column_by_name(stringify!($name)) {
                let column = NamedColumn::new(stringify!($name), column);
                let values: Vec<Option<$value>> = column.values()?;
                for (row, value) in rows.iter_mut().zip(values) {
                    row.$name = value;
                }
            })*
            Ok(rows)
        }

        impl EventRow {
            /// Adds the row to a hash.
            pub(crate) fn hash(&self, hasher: &mut blake3::Hasher) {
                $(match &self.$name {
                    None => {
                        hasher.update(&[0]);
                    }
                    Some(value) => {
                        hasher.update(&[1]);
                        value.hashed(hasher);
                    }
                })*
            }
        }
    };
}

event_columns! {
    event: String, StringArray, DataType::Utf8;
    space: u32, UInt32Array, DataType::UInt32;
    thread: u32, UInt32Array, DataType::UInt32;
    core: u32, UInt32Array, DataType::UInt32;
    start: u64, UInt64Array, DataType::UInt64;
    bytes: u64, UInt64Array, DataType::UInt64;
    to_start: u64, UInt64Array, DataType::UInt64;
    to_bytes: u64, UInt64Array, DataType::UInt64;
    rights: String, StringArray, DataType::Utf8;
    shared: bool, BooleanArray, DataType::Boolean;
    backing: String, StringArray, DataType::Utf8;
    file: u32, UInt32Array, DataType::UInt32;
    offset: u64, UInt64Array, DataType::UInt64;
    advice: i32, Int32Array, DataType::Int32;
    touch: String, StringArray, DataType::Utf8;
    origin: String, StringArray, DataType::Utf8;
    path: String, StringArray, DataType::Utf8;
    size: u64, UInt64Array, DataType::UInt64;
    pid: u32, UInt32Array, DataType::UInt32;
    parent: u32, UInt32Array, DataType::UInt32;
    command: String, StringArray, DataType::Utf8;
    status: i32, Int32Array, DataType::Int32;
    site: u32, UInt32Array, DataType::UInt32;
    allocator: String, StringArray, DataType::Utf8;
    frames: String, StringArray, DataType::Utf8;
    count: u64, UInt64Array, DataType::UInt64;
    allocated: u64, UInt64Array, DataType::UInt64;
    border: String, StringArray, DataType::Utf8;
    window: u64, UInt64Array, DataType::UInt64;
    accesses: u64, UInt64Array, DataType::UInt64;
    instructions: u64, UInt64Array, DataType::UInt64;
}

const TOUCHES: [(&str, KernelTouch); 4] = [
    ("load", KernelTouch::Load),
    ("store", KernelTouch::Store),
    ("as_mapped", KernelTouch::AsMapped),
    ("collapse", KernelTouch::Collapse),
];
const ORIGINS: [(&str, TouchOrigin); 3] = [
    ("request", TouchOrigin::Request),
    ("buffer", TouchOrigin::Buffer),
    ("gap", TouchOrigin::Gap),
];
const BACKINGS: [(&str, Backing); 5] = [
    ("anonymous", Backing::Anonymous),
    ("heap", Backing::Heap),
    ("stack", Backing::Stack),
    ("shared_memory", Backing::SharedMemory),
    ("kernel", Backing::Kernel),
];
const FILE: &str = "file";

/// Advice by its number in Linux.
const ADVICE: [(i32, Advice); 5] = [
    (4, Advice::DontNeed),
    (8, Advice::Free),
    (9, Advice::Remove),
    (14, Advice::HugePage),
    (15, Advice::NoHugePage),
];

/// An event as a row.
pub(crate) fn row_of(event: &Event) -> EventRow {
    let mut row = EventRow::default();
    let mut range = |range: &Range| {
        (row.start, row.bytes) = (Some(range.start.0), Some(range.len));
    };
    let kind = match event {
        Event::Map(mapping) => {
            range(&mapping.range);
            row.rights = Some(rights_text(mapping.protection));
            row.shared = Some(mapping.shared);
            row.backing = Some(match mapping.backing {
                Backing::File { file, offset } => {
                    (row.file, row.offset) = (Some(file.0), Some(offset));
                    FILE.to_owned()
                }
                other => word_of(&other, &BACKINGS).to_owned(),
            });
            "map"
        }
        Event::Unmap(at) => {
            range(at);
            "unmap"
        }
        Event::Protect(at, rights) => {
            range(at);
            row.rights = Some(rights_text(*rights));
            "protect"
        }
        Event::Remap { from, to } => {
            range(from);
            (row.to_start, row.to_bytes) = (Some(to.start.0), Some(to.len));
            "remap"
        }
        Event::Advise(at, advice) => {
            range(at);
            let number = |known: &Advice| match known {
                Advice::Other(number) => *number,
                known => ADVICE
                    .iter()
                    .find(|(_, of)| of == known)
                    .map_or(0, |(number, _)| *number),
            };
            row.advice = Some(number(advice));
            "advise"
        }
        Event::Populate {
            range: at,
            touch,
            origin,
        } => {
            range(at);
            row.touch = Some(word_of(touch, &TOUCHES).to_owned());
            row.origin = Some(word_of(origin, &ORIGINS).to_owned());
            "populate"
        }
        Event::Brk(at) => {
            range(at);
            "brk"
        }
        Event::StackGrow(at) => {
            range(at);
            "stack_grow"
        }
        Event::File { id, size, path } => {
            (row.file, row.size, row.path) = (Some(id.0), Some(*size), Some(path.clone()));
            "file"
        }
        Event::Misplaced { at, native } => {
            range(at);
            row.to_start = Some(native.0);
            "misplaced"
        }
        Event::SpaceSwitch(space) => {
            row.space = Some(space.0);
            "space_switch"
        }
        Event::SpaceStart {
            pid,
            parent,
            command,
        } => {
            (row.pid, row.parent) = (Some(*pid), Some(*parent));
            row.command = Some(serde_json::json!(command).to_string());
            "space_start"
        }
        Event::Fork { child } => {
            row.pid = Some(*child);
            "fork"
        }
        Event::Exec { path } => {
            row.path = Some(path.clone());
            "exec"
        }
        Event::SpaceEnd { status } => {
            row.status = *status;
            "space_end"
        }
        Event::ThreadStart(thread) => {
            row.thread = Some(thread.0);
            "thread_start"
        }
        Event::ThreadSwitch(thread) => {
            row.thread = Some(thread.0);
            "thread_switch"
        }
        Event::ThreadEnd(thread) => {
            row.thread = Some(thread.0);
            "thread_end"
        }
        Event::CoreSwitch(core) => {
            row.core = Some(core.0);
            "core_switch"
        }
        Event::Site(id, site) => {
            (row.site, row.allocator) = (Some(id.0), Some(site.allocator.clone()));
            let frames = site.frames.iter();
            let frames: Vec<_> = frames
                .map(|frame| serde_json::json!([frame.function, frame.file, frame.line]))
                .collect();
            row.frames = Some(serde_json::Value::Array(frames).to_string());
            "site"
        }
        Event::Allocation(made) => {
            (row.site, row.start, row.bytes) =
                (Some(made.site.0), Some(made.start.0), Some(made.len));
            (row.count, row.allocated) = (Some(made.count), Some(made.bytes));
            "allocation"
        }
        Event::Window(at) => {
            windows::fill(&mut row, at);
            "window"
        }
        Event::System(event) => system::fill(&mut row, event),
        Event::Kernel(event) => kernel::fill(&mut row, event),
    };
    row.event = Some(kind.to_owned());
    row
}

/// The event of a row.
///
/// # Errors
/// A message that names the missing or invalid column.
pub(crate) fn event_of(row: &EventRow) -> Result<Event, String> {
    let kind = need(&row.event, "event", "")?;
    let range = || -> Result<Range, String> {
        Ok(Range {
            start: VirtAddr(*need(&row.start, "start", kind)?),
            len: *need(&row.bytes, "bytes", kind)?,
        })
    };
    let rights = || rights_of(need(&row.rights, "rights", kind)?);
    let thread = || Ok::<_, String>(ThreadId(*need(&row.thread, "thread", kind)?));
    Ok(match kind.as_str() {
        "map" => Event::Map(Mapping {
            range: range()?,
            protection: rights()?,
            shared: *need(&row.shared, "shared", kind)?,
            backing: match need(&row.backing, "backing", kind)?.as_str() {
                FILE => Backing::File {
                    file: FileId(*need(&row.file, "file", kind)?),
                    offset: *need(&row.offset, "offset", kind)?,
                },
                other => known(other, "backing", &BACKINGS)?,
            },
        }),
        "unmap" => Event::Unmap(range()?),
        "protect" => Event::Protect(range()?, rights()?),
        "remap" => Event::Remap {
            from: range()?,
            to: Range {
                start: VirtAddr(*need(&row.to_start, "to_start", kind)?),
                len: *need(&row.to_bytes, "to_bytes", kind)?,
            },
        },
        "advise" => {
            let number = *need(&row.advice, "advice", kind)?;
            let found = ADVICE.iter().find(|(known, _)| *known == number);
            Event::Advise(
                range()?,
                found.map_or(Advice::Other(number), |(_, advice)| *advice),
            )
        }
        "populate" => Event::Populate {
            range: range()?,
            touch: known(need(&row.touch, "touch", kind)?, "touch", &TOUCHES)?,
            origin: known(need(&row.origin, "origin", kind)?, "origin", &ORIGINS)?,
        },
        "brk" => Event::Brk(range()?),
        "stack_grow" => Event::StackGrow(range()?),
        "file" => Event::File {
            id: FileId(*need(&row.file, "file", kind)?),
            size: *need(&row.size, "size", kind)?,
            path: need(&row.path, "path", kind)?.clone(),
        },
        "misplaced" => Event::Misplaced {
            at: range()?,
            native: VirtAddr(*need(&row.to_start, "to_start", kind)?),
        },
        "space_switch" => Event::SpaceSwitch(SpaceId(*need(&row.space, "space", kind)?)),
        "space_start" => Event::SpaceStart {
            pid: *need(&row.pid, "pid", kind)?,
            parent: *need(&row.parent, "parent", kind)?,
            command: from_json(need(&row.command, "command", kind)?, "command")?,
        },
        "fork" => Event::Fork {
            child: *need(&row.pid, "pid", kind)?,
        },
        "exec" => Event::Exec {
            path: need(&row.path, "path", kind)?.clone(),
        },
        "space_end" => Event::SpaceEnd { status: row.status },
        "thread_start" => Event::ThreadStart(thread()?),
        "thread_switch" => Event::ThreadSwitch(thread()?),
        "thread_end" => Event::ThreadEnd(thread()?),
        "core_switch" => Event::CoreSwitch(CoreId(*need(&row.core, "core", kind)?)),
        "site" => {
            let frames = need(&row.frames, "frames", kind)?;
            let frames: Vec<(String, String, u32)> = from_json(frames, "frames")?;
            let frame = |(function, file, line)| SiteFrame {
                function,
                file,
                line,
            };
            let site = Site {
                allocator: need(&row.allocator, "allocator", kind)?.clone(),
                frames: frames.into_iter().map(frame).collect(),
            };
            Event::Site(SiteId(*need(&row.site, "site", kind)?), site)
        }
        "allocation" => Event::Allocation(Allocation {
            site: SiteId(*need(&row.site, "site", kind)?),
            start: range()?.start,
            len: range()?.len,
            count: *need(&row.count, "count", kind)?,
            bytes: *need(&row.allocated, "allocated", kind)?,
        }),
        "window" => Event::Window(windows::border_of(row, kind)?),
        KERNEL_EVENT => Event::Kernel(kernel::event_of(row, kind)?),
        other => match system::event_of(row, other)? {
            Some(event) => Event::System(event),
            None => return Err(format!("no event is called {other:?}")),
        },
    })
}
