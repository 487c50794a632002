//! The mappers of each frame, and the order of frames on the lists of the page daemon.

mod info;
mod lists;

use super::sparse::{ENTRIES, Sparse, SparseEntry};
use super::table::Place;
use crate::MemoryId;
use crate::frames::Frame;
use broadleaf_units::FileId;
use info::{Info, NO_FRAME};
use std::collections::BTreeMap;
use std::ops::Range;

/// The file of a page that several places may map. Shared memory counts as a file, as in Linux: one
/// without a name that begins with zeroes and has the swap as its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum File {
    /// A file on the disk.
    OnDisk(FileId),
    /// Shared memory.
    Memory(MemoryId),
}

/// A page of a file: the file, and the number of the base page in it.
pub(crate) type FilePage = (File, u64);

/// The lists of the page daemon (Navarro 2002; the cache is no list, as its frames are free).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// Referenced of late, as far as is known.
    Active,
    /// Not referenced at the daemon's last check, or a page of a file that no place maps.
    Inactive,
}

/// The ends of a list, and how many frames are on it.
#[derive(Clone, Copy, Debug)]
struct Ends {
    newest: u32,
    oldest: u32,
    count: u64,
}

/// Frames of a table.
const GROUP: usize = ENTRIES as usize;

/// The table of all frames.
#[derive(Clone, Debug)]
pub(crate) struct FrameTable {
    /// By frame, in groups that are there where one of them is used or was.
    groups: Vec<Option<Box<Sparse<Info>>>>,
    /// Places that map a frame beside the first.
    others: BTreeMap<Frame, Vec<Place>>,
    /// The page of a file that each frame holds.
    of_file: BTreeMap<Frame, FilePage>,
    /// The frame that holds a page of a file.
    files: BTreeMap<FilePage, Frame>,
    ends: [Ends; 2],
    used: u64,
    /// Frames that are used and that no place maps.
    unmapped: u64,
    /// The number of groups, and the bytes of memory that their entries take.
    made: usize,
    entry_bytes: usize,
}

impl FrameTable {
    pub(crate) fn new() -> Self {
        let empty = Ends {
            newest: NO_FRAME,
            oldest: NO_FRAME,
            count: 0,
        };
        Self {
            groups: Vec::new(),
            others: BTreeMap::new(),
            of_file: BTreeMap::new(),
            files: BTreeMap::new(),
            ends: [empty; 2],
            used: 0,
            unmapped: 0,
            made: 0,
            entry_bytes: 0,
        }
    }

    fn info(&self, frame: Frame) -> Info {
        match self.groups.get(frame.0 as usize / GROUP) {
            Some(Some(group)) => group.get(frame.0 as usize),
            _ => Info::NONE,
        }
    }

    fn change(&mut self, frame: Frame, change: impl FnOnce(&mut Info)) {
        let number = frame.0 as usize / GROUP;
        if self.groups.len() <= number {
            self.groups.resize_with(number + 1, || None);
        }
        let made = &mut self.made;
        let group = self.groups[number].get_or_insert_with(|| {
            *made += 1;
            Box::new(Sparse::new())
        });
        let mut info = group.get(frame.0 as usize);
        change(&mut info);
        let (_, bytes) = group.set(frame.0 as usize, info);
        self.entry_bytes += bytes;
    }

    /// The number of used frames.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// The number of used frames that no place maps.
    pub(crate) const fn unmapped(&self) -> u64 {
        self.unmapped
    }

    /// Bytes of memory that the table takes.
    pub(crate) fn bytes(&self) -> usize {
        use super::footprint::entry;
        let groups = self.groups.capacity() * size_of::<usize>();
        let made = self.made * size_of::<Sparse<Info>>();
        let files = self.of_file.len() * (entry::<Frame, FilePage>() + entry::<FilePage, Frame>());
        let others = self.others.len() * (entry::<Frame, Vec<Place>>() + size_of::<[Place; 4]>());
        self.entry_bytes + groups + made + files + others
    }

    /// Lets the frames of a superpage take little memory. To be called after a change of all of
    /// them.
    pub(crate) fn compact(&mut self, first: Frame, frames: u64) {
        let groups = first.0 as usize / GROUP..(first.0 + frames).div_ceil(ENTRIES) as usize;
        for group in self.groups.get_mut(groups).into_iter().flatten().flatten() {
            self.entry_bytes -= group.compact();
        }
    }

    pub(crate) fn is_used(&self, frame: Frame) -> bool {
        self.info(frame).used
    }

    /// The places that map a frame.
    pub(crate) fn mappers(&self, frame: Frame) -> Vec<Place> {
        let mut all: Vec<Place> = self.info(frame).mapper().into_iter().collect();
        if let Some(others) = self.others.get(&frame) {
            all.extend(others);
        }
        all
    }

    /// The number of places that map a frame.
    pub(crate) fn mapped(&self, frame: Frame) -> usize {
        let others = self.others.get(&frame).map_or(0, Vec::len);
        usize::from(self.info(frame).mapper().is_some()) + others
    }

    /// The frame holds a page from now on.
    pub(crate) fn begin(&mut self, frame: Frame) {
        self.change(frame, |info| {
            debug_assert!(!info.used, "a frame is used twice");
            info.used = true;
        });
        self.used += 1;
        self.unmapped += 1;
    }

    /// Ends the use of a frame that no page table maps.
    pub(crate) fn end(&mut self, frame: Frame) {
        self.leave_list(frame);
        self.forget_file(frame);
        self.change(frame, |info| {
            debug_assert!(info.used && info.mapper().is_none());
            *info = Info::NONE;
        });
        self.used -= 1;
        self.unmapped -= 1;
    }

    /// A place maps the frame from now on.
    pub(crate) fn map(&mut self, frame: Frame, place: Place) {
        if self.info(frame).mapper().is_none() {
            self.change(frame, |info| info.set_mapper(Some(place)));
            self.unmapped -= 1;
        } else {
            self.others.entry(frame).or_default().push(place);
        }
    }

    /// A place does not map the frame any more.
    pub(crate) fn unmap(&mut self, frame: Frame, place: Place) {
        if self.info(frame).mapper() == Some(place) {
            let next = self.others.get_mut(&frame).and_then(Vec::pop);
            self.change(frame, |info| info.set_mapper(next));
            self.unmapped += u64::from(next.is_none());
        } else if let Some(others) = self.others.get_mut(&frame) {
            others.retain(|other| *other != place);
        }
        if self.others.get(&frame).is_some_and(Vec::is_empty) {
            self.others.remove(&frame);
        }
    }

    // ---- files ----

    /// The frame holds that page of a file.
    pub(crate) fn hold_file(&mut self, frame: Frame, page: FilePage) {
        self.of_file.insert(frame, page);
        self.files.insert(page, frame);
    }

    /// The page of a file that a frame holds.
    pub(crate) fn file_page(&self, frame: Frame) -> Option<FilePage> {
        self.of_file.get(&frame).copied()
    }

    /// Returns true if a frame holds a page of a file on the disk.
    pub(crate) fn holds_files(&self) -> bool {
        // They come before those of shared memory.
        let first = self.files.first_key_value();
        first.is_some_and(|((file, _), _)| matches!(file, File::OnDisk(_)))
    }

    /// The frame that holds a page of a file.
    pub(crate) fn file_frame(&self, page: FilePage) -> Option<Frame> {
        self.files.get(&page).copied()
    }

    /// Returns true if a page of a file in a range is in a frame.
    pub(crate) fn holds_any(&self, pages: Range<FilePage>) -> bool {
        self.files.range(pages).next().is_some()
    }

    /// The frames that hold pages of a file in a range.
    pub(crate) fn holding(&self, pages: Range<FilePage>) -> Vec<(FilePage, Frame)> {
        let found = self.files.range(pages);
        found.map(|(page, frame)| (*page, *frame)).collect()
    }

    /// Marks the page of a file in this frame as unsaved: a place that stored to the page no longer
    /// maps it. The page is written back when it leaves.
    pub(crate) fn leave_unsaved(&mut self, frame: Frame) {
        if self.of_file.contains_key(&frame) {
            self.change(frame, |info| info.unsaved = true);
        }
    }

    /// Returns true if the frame itself is marked unsaved. Page tables may say so, too.
    pub(crate) fn is_unsaved(&self, frame: Frame) -> bool {
        self.info(frame).unsaved
    }

    /// Moves the content of a frame that no place maps to an unused frame. The old frame becomes
    /// unused.
    pub(crate) fn pass_on(&mut self, from: Frame, to: Frame) {
        let (list, page, unsaved) = (self.list(from), self.file_page(from), self.is_unsaved(from));
        self.end(from);
        self.begin(to);
        if let Some(page) = page {
            self.hold_file(to, page);
        }
        if unsaved {
            self.leave_unsaved(to);
        }
        if let Some(list) = list {
            self.put(to, list);
        }
    }

    /// The frame's page is no longer a file's.
    pub(crate) fn forget_file(&mut self, frame: Frame) {
        if let Some(page) = self.of_file.remove(&frame) {
            self.change(frame, |info| info.unsaved = false);
            self.files.remove(&page);
        }
    }

    /// Every frame that holds a page, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Frame> + '_ {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(number, group)| {
            let infos = group.iter().flat_map(|group| group.iter());
            infos
                .filter(|(_, info)| info.used)
                .map(move |(at, _)| Frame((number * GROUP + at) as u64))
        })
    }

    /// Asserts what has to hold of the lists and files.
    pub(crate) fn check(&self) {
        assert_eq!(
            self.used,
            self.iter().count() as u64,
            "used frames are miscounted"
        );
        for list in [List::Active, List::Inactive] {
            let mut at = self.oldest(list);
            let mut count = 0;
            let mut before = NO_FRAME;
            while let Some(frame) = at {
                let info = self.info(frame);
                assert!(info.used, "an unused frame is on a list");
                assert_eq!(info.list, Some(list));
                assert_eq!(info.older, before, "a list is torn");
                before = frame.0 as u32;
                count += 1;
                at = self.newer(frame);
            }
            assert_eq!(count, self.length(list), "a list is miscounted");
        }
        let unmapped = self.iter().filter(|frame| self.mapped(*frame) == 0);
        assert_eq!(unmapped.count() as u64, self.unmapped, "unmapped frames");
        let bytes = self.groups.iter().flatten().map(|group| group.bytes());
        assert_eq!(bytes.sum::<usize>(), self.entry_bytes, "memory of frames");
        assert_eq!(self.files.len(), self.of_file.len());
        for (frame, page) in &self.of_file {
            assert!(self.is_used(*frame), "a file's page lies in no frame");
            assert_eq!(self.files.get(page), Some(frame));
        }
        for frame in self.iter().filter(|frame| self.is_unsaved(*frame)) {
            assert!(
                self.of_file.contains_key(&frame),
                "there is no file to save to"
            );
        }
        for (frame, others) in &self.others {
            assert!(!others.is_empty() && self.info(*frame).mapper().is_some());
        }
    }
}
