//! Earlier traces: traces replayed before the one that the results are about. Their processes and
//! files get numbers of their own. A file that two traces name by the same path is one file: the
//! second trace finds the pages that the first left in memory.

use broadleaf_trace::{Backing, Event, KernelEvent, Mapping, SystemEvent};
use broadleaf_units::{FileId, SpaceId};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The first number that belongs to earlier traces. Copies of spaces that have not begun are
/// numbered from the end down.
const FIRST: u32 = 1 << 30;
/// The count of numbers for each earlier trace.
const EACH: u32 = 1 << 23;
/// The maximum number of earlier traces.
pub const MOST_EARLIER: usize = (FIRST / EACH) as usize;

/// The numbers of one of several traces that are replayed in turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The index of the earlier trace. `None` for the last trace.
    earlier: Option<u32>,
    /// Files by their paths, each as the first trace that names it does, and that trace.
    paths: BTreeMap<String, (Option<u32>, FileId)>,
    /// Files of a trace that others named before.
    known: BTreeMap<(Option<u32>, FileId), FileId>,
}

/// The error of a number that leaves no room for the numbers of other traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) number: u32,
    /// The first number that leaves no room.
    pub(crate) limit: u32,
}

impl Names {
    /// Begins a trace: an earlier one by its index, or the last one.
    pub(crate) fn begin(&mut self, earlier: Option<usize>) {
        self.resume(earlier);
        let trace = self.earlier;
        self.known.retain(|(of, _), _| *of != trace);
    }

    /// Continues a trace that began before.
    pub(crate) fn resume(&mut self, earlier: Option<usize>) {
        self.earlier = earlier.map(|number| number as u32);
    }

    /// Returns true if the current trace is an earlier one.
    pub(crate) const fn are_earlier(&self) -> bool {
        self.earlier.is_some()
    }

    fn name(&self, name: u32) -> Result<u32, NoRoom> {
        match self.earlier {
            None if name < FIRST => Ok(name),
            Some(number) if name < EACH => Ok(FIRST + number * EACH + name),
            earlier => Err(NoRoom {
                number: name,
                limit: earlier.map_or(FIRST, |_| EACH),
            }),
        }
    }

    /// The shared number of a space of this trace.
    ///
    /// # Errors
    /// Returns [`NoRoom`] if the space's number is too high.
    pub(crate) fn space(&self, space: SpaceId) -> Result<SpaceId, NoRoom> {
        self.name(space.0).map(SpaceId)
    }

    fn file(&self, file: FileId) -> Result<FileId, NoRoom> {
        match self.known.get(&(self.earlier, file)) {
            Some(known) => Ok(*known),
            None => self.name(file.0).map(FileId),
        }
    }

    /// An event of this trace with the shared numbers.
    ///
    /// # Errors
    /// Returns [`NoRoom`] if a number in the event is too high.
    pub(crate) fn of<'e>(&mut self, event: &'e Event) -> Result<Cow<'e, Event>, NoRoom> {
        let named = match event {
            Event::SpaceSwitch(space) => Event::SpaceSwitch(self.space(*space)?),
            Event::System(SystemEvent::Space(space)) => Event::SpaceSwitch(self.space(*space)?),
            Event::System(SystemEvent::SpaceEnd) => Event::SpaceEnd { status: None },
            Event::Kernel(event) => Event::Kernel(KernelEvent {
                space: self.space(event.space)?,
                ..*event
            }),
            Event::SpaceStart {
                pid,
                parent,
                command,
            } => Event::SpaceStart {
                pid: self.name(*pid)?,
                parent: self.name(*parent)?,
                command: command.clone(),
            },
            Event::Fork { child } => Event::Fork {
                child: self.name(*child)?,
            },
            Event::File { id, size, path } => Event::File {
                id: self.introduce(*id, path)?,
                size: *size,
                path: path.clone(),
            },
            Event::Map(
                mapping @ Mapping {
                    backing: Backing::File { file, offset },
                    ..
                },
            ) => Event::Map(Mapping {
                backing: Backing::File {
                    file: self.file(*file)?,
                    offset: *offset,
                },
                ..*mapping
            }),
            _ => return Ok(Cow::Borrowed(event)),
        };
        Ok(Cow::Owned(named))
    }

    fn introduce(&mut self, file: FileId, path: &str) -> Result<FileId, NoRoom> {
        let own = self.name(file.0).map(FileId)?;
        let first = self.paths.entry(path.to_owned());
        let (trace, first) = *first.or_insert((self.earlier, own));
        if trace == self.earlier {
            // The number may have belonged to another file.
            self.known.remove(&(self.earlier, file));
            return Ok(own);
        }
        self.known.insert((self.earlier, file), first);
        Ok(first)
    }
}

/// Returns true if a space belongs to an earlier trace.
pub(crate) const fn is_earlier(space: SpaceId) -> bool {
    space.0 >= FIRST
}
