//! From all references to those that matter.
//!
//! # What may be left out
//!
//! Let superpages be there from the beginning, or from some time on, any of them. A TLB of so many entries that is fully associative and in which exactly the least recently used gives way holds a
//! page's translation as long as fewer others were used since. Where pages are one superpage, fewer translations are used in any stretch of the trace, so a reference that hits where all
//! pages are base pages hits under any superpages. What it does beside that is to become the newest. So it is enough to know, between two references that miss where all
//! pages are base pages, which pages were used since the first, in the order of their last use. A translation that is taken out is told of in its place in that order.

use super::course::{Course, Event, Item, Kept};
use super::numbers::Numbers;
use super::recency::Recency;
use super::regions::Regions;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::{Place, System};

/// What writes a course down while a trace is replayed in base pages.
pub(crate) struct Recorder {
    numbers: Numbers,
    recency: Recency,
    /// When each page was used last, in stretches between two items that were not left out.
    used: Vec<u64>,
    stretch: u64,
    /// What is being told, in turn.
    pending: Vec<u32>,
    course: Course,
    most: usize,
    regions: Regions,
}

/// The course of a trace takes more memory than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what has to be kept of the trace to choose superpages by takes more than {0} bytes")]
pub(crate) struct TooMuch(usize);

impl Recorder {
    /// For a TLB of so many entries, in so many bytes.
    pub(crate) fn new(entries: usize, most: usize) -> Self {
        Self {
            numbers: Numbers::new(),
            recency: Recency::new(entries),
            used: Vec::new(),
            stretch: 1,
            pending: Vec::new(),
            course: Course::default(),
            most,
            regions: Regions::default(),
        }
    }

    /// A page is about to be referenced.
    pub(crate) fn fault(&mut self, system: &System<'_>, spaces: &AddressSpaces, at: Place) {
        if !system.is_resident(at) {
            let number = self.numbers.of(at);
            let appraisal = system.appraise(spaces, at);
            if appraisal.covered > 1 {
                let unit = system.units_of(at.page).0;
                let mapping = spaces.mapping_at(at.space, unit);
                self.regions.note(at, unit, mapping);
            }
            self.event(Event::Fault(number, appraisal));
        }
    }

    /// A page is referenced.
    #[inline]
    pub(crate) fn refer(&mut self, at: Place) {
        let number = self.numbers.of(at);
        if self.recency.newest() == Some(number) {
            return;
        }
        if self.used.len() <= number as usize {
            self.used.resize(number as usize + 1, 0);
        }
        if self.recency.holds(number) {
            self.recency.use_it(number);
            self.used[number as usize] = self.stretch;
        } else {
            // Before another gives way to it that was used since.
            self.tell();
            self.recency.use_it(number);
            self.add(Item::Missed(number));
        }
    }

    /// Translations of so many pages left the TLB.
    pub(crate) fn shot_down(&mut self, first: Place, pages: u64) {
        self.removed(first, pages, Event::ShotDown);
    }

    /// So many pages are no more.
    pub(crate) fn gone(&mut self, first: Place, pages: u64) {
        self.removed(first, pages, Event::Gone);
    }

    fn removed(&mut self, first: Place, pages: u64, event: fn(Place, u64) -> Event) {
        self.event(event(first, pages));
        let removed: Vec<u32> = self.numbers.among(first, pages).collect();
        for number in removed {
            self.recency.remove(number);
        }
    }

    fn event(&mut self, event: Event) {
        self.tell();
        self.add(Item::Event(event));
    }

    /// Tells of what was used since something was told last, and begins anew.
    fn tell(&mut self) {
        let (used, stretch) = (&self.used, self.stretch);
        let since =
            (self.recency.newest_first()).take_while(|number| used[*number as usize] == stretch);
        self.pending.extend(since);
        while let Some(number) = self.pending.pop() {
            self.add(Item::Used(number));
        }
        self.stretch += 1;
    }

    fn add(&mut self, item: Item) {
        if self.course.size() <= self.most {
            self.course.add(item);
        }
    }

    /// What was written down.
    ///
    /// # Errors
    /// Where it was too much.
    pub(crate) fn finish(mut self) -> Result<Kept, TooMuch> {
        self.tell();
        if self.course.size() > self.most {
            return Err(TooMuch(self.most));
        }
        Ok(Kept {
            numbers: self.numbers,
            course: self.course,
            regions: self.regions,
        })
    }
}
