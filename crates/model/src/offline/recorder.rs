//! From all references to those that matter.
//!
//! # What may be left out
//!
//! Let superpages be there from the beginning, or from some time on, any of them. A TLB of so many
//! entries that is fully associative and in which exactly the least recently used gives way holds a
//! page's translation as long as fewer others were used since. Where pages are one superpage, fewer
//! translations are used in any stretch of the trace, so a reference that hits where all pages are
//! base pages hits under any superpages. What it does beside that is to become the newest. That
//! need not be told at once: what gives way is the oldest, so only the order of old ones matters.
//!
//! So misses are told as they come, and a hit is put off while fewer than half as many items as
//! there are entries were told since its page was told of last. Before that many were, all that is
//! put off is told, with what missed among it, in the order of last use; the order is then the true
//! one. In between, a page whose use was put off is among the newest half in the order that was
//! told, and truly newer than any page that is not; so whichever gives way by the one order gives
//! way by the other, whatever is one superpage. What was used since a page that missed are the same
//! pages by both orders, too.
//!
//! A translation that is taken out is told of in its place in that order. If pages were one
//! superpage with it, by whatever choice, theirs went too, and so they did where they become one
//! superpage with a page that is fetched from and not loaded: what hits where all pages are base
//! pages may miss then. So each page that could have been part of the same superpage is told of as
//! soon as it is used again.

use super::broken::Breaks;
use super::course::{Course, Event, Item, Kept};
use super::numbers::Numbers;
use super::recency::Recency;
use super::regions::Regions;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::{Appraisal, Place, System};

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// In which stretch it was used last.
    used: u64,
    /// How many uses had been told when it was told of last; 0 where its next use has to be told at
    /// once.
    told: u64,
}

/// What writes a course down while a trace is replayed in base pages.
pub(crate) struct Recorder {
    numbers: Numbers,
    recency: Recency,
    /// What was used last, if nothing happened since that could have taken its translation.
    newest: Option<u32>,
    /// Whether a page faulted and nothing was used since.
    unused: bool,
    /// The base-two logarithm of how many base pages the largest superpage has.
    largest: u8,
    /// What is known of each page.
    pages: Vec<Page>,
    /// Stretches so far: one ends where all that was put off is told.
    stretch: u64,
    /// Uses told so far, and as many more as a use may be put off for; and at how many all that was
    /// put off has to have been told.
    told: u64,
    deadline: u64,
    /// For how many a use may be put off.
    patience: u64,
    /// What is being told, in turn.
    pending: Vec<u32>,
    course: Course,
    /// In how many bytes, and whether there were more: nothing is written down from then on.
    most: usize,
    full: bool,
    regions: Regions,
    breaks: Breaks,
    /// The moment of the next event.
    now: u64,
}

/// The course of a trace takes more memory than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what has to be kept of the trace to choose superpages by takes more than {0} bytes")]
pub(crate) struct TooMuch(usize);

impl Recorder {
    /// For a TLB of so many entries and superpages of an order up to this, in so many bytes.
    pub(crate) fn new(entries: usize, largest: u8, most: usize) -> Self {
        let patience = entries as u64 / 2;
        Self {
            numbers: Numbers::new(),
            recency: Recency::new(entries),
            newest: None,
            unused: false,
            largest,
            pages: Vec::new(),
            stretch: 1,
            told: patience,
            deadline: u64::MAX,
            patience,
            pending: Vec::new(),
            course: Course::default(),
            most,
            full: false,
            regions: Regions::default(),
            breaks: Breaks::new(largest),
            now: 0,
        }
    }

    /// The next event happens at this moment.
    #[inline]
    pub(crate) const fn pass(&mut self, now: u64) {
        self.now = now;
    }

    /// A page is about to be referenced.
    pub(crate) fn fault(&mut self, system: &System<'_>, spaces: &AddressSpaces, at: Place) {
        if !self.full && !system.is_resident(at) {
            let appraisal = system.appraise(spaces, at);
            if appraisal.covered > 1 {
                let unit = system.units_of(at.page).0;
                let mapping = spaces.mapping_at(at.space, unit);
                self.regions.note(at, unit, mapping);
            }
            self.faulted(at, appraisal);
        }
    }

    pub(super) fn faulted(&mut self, at: Place, appraisal: Appraisal) {
        let number = self.numbers.of(at);
        self.event(Event::Fault(number, appraisal));
        self.breaks.had(at);
        self.unused = true;
    }

    /// A resident page is about to be referenced by data: broken pieces around the page may become
    /// superpages again at a miss.
    #[inline]
    pub(crate) fn look_for_a_chance(
        &mut self,
        system: &System<'_>,
        spaces: &AddressSpaces,
        at: Place,
    ) {
        if !self.full && self.breaks.is_chance(at) && !self.holds(at) {
            self.chance(at, system.appraise(spaces, at));
        }
    }

    /// Returns true if a page is among those used last, so that its next use hits.
    pub(super) fn holds(&mut self, at: Place) -> bool {
        let number = self.numbers.of(at);
        self.recency.holds(number)
    }

    pub(super) fn chance(&mut self, at: Place, appraisal: Appraisal) {
        let number = self.numbers.of(at);
        self.event(Event::Chance(number, appraisal));
        self.breaks.had(at);
    }

    /// A page is referenced.
    #[inline]
    pub(crate) fn refer(&mut self, at: Place) {
        if self.full {
            return;
        }
        let number = self.numbers.of(at);
        if self.newest == Some(number) {
            return;
        }
        self.newest = Some(number);
        self.unused = false;
        if self.pages.len() <= number as usize {
            self.pages.resize(number as usize + 1, Page::default());
        }
        let hits = self.recency.holds(number);
        if !hits && self.told >= self.deadline {
            self.tell();
        }
        self.recency.use_it(number);
        let page = &mut self.pages[number as usize];
        page.used = self.stretch;
        if !hits {
            self.tell_use(Item::Missed(number), number);
        } else if page.told + self.patience > self.told {
            self.deadline = self.deadline.min(page.told + self.patience - 1);
        } else {
            self.tell();
        }
    }

    /// Instructions were fetched from a page, which data TLBs do not hear of. If it faulted, it may
    /// be part of a superpage now that is not loaded.
    pub(crate) fn fetch(&mut self, at: Place) {
        if std::mem::take(&mut self.unused) {
            self.lost(at, 1);
        }
    }

    fn tell_use(&mut self, item: Item, number: u32) {
        self.told += 1;
        self.pages[number as usize].told = self.told;
        self.add(item);
    }

    /// Translations of so many pages left the TLB.
    pub(crate) fn shot_down(&mut self, first: Place, pages: u64) {
        self.removed(first, pages, Event::ShotDown);
    }

    /// The resident pages of a range are about to move to another place in their address space.
    pub(crate) fn moved(&mut self, first: Place, pages: u64, to: u64) {
        if !self.full {
            self.event(Event::Moved(first, pages, to));
        }
    }

    /// So many pages are no more.
    pub(crate) fn gone(&mut self, first: Place, pages: u64) {
        self.removed(first, pages, Event::Gone);
    }

    fn removed(&mut self, first: Place, pages: u64, event: fn(Place, u64) -> Event) {
        if self.full {
            return;
        }
        self.event(event(first, pages));
        self.breaks.add(first, pages);
        let removed: Vec<u32> = self.numbers.among(first, pages).collect();
        for number in removed {
            self.recency.remove(number);
        }
        self.lost(first, pages);
    }

    /// Translations of pages around the ends of a range may be lost.
    fn lost(&mut self, first: Place, pages: u64) {
        let last = first.page.saturating_add(pages).saturating_sub(1);
        let largest = |page: u64| page >> self.largest;
        let ends = [first.page, last].map(largest);
        for number in self.recency.newest_first() {
            let at = self.numbers.place(number);
            if at.space == first.space && ends.contains(&largest(at.page)) {
                self.pages[number as usize].told = 0;
            }
        }
    }

    fn event(&mut self, event: Event) {
        self.tell();
        self.newest = None;
        self.add(Item::Event(self.now, event));
    }

    /// Tells of all uses that were put off, and of the misses among them once more, in the order of
    /// last use.
    fn tell(&mut self) {
        let (pages, stretch) = (&self.pages, self.stretch);
        let since = (self.recency.newest_first())
            .take_while(|number| pages[*number as usize].used == stretch);
        self.pending.extend(since);
        while let Some(number) = self.pending.pop() {
            self.tell_use(Item::Used(number), number);
        }
        self.stretch += 1;
        self.deadline = u64::MAX;
    }

    fn add(&mut self, item: Item) {
        self.course.add(item);
        self.full |= self.course.size() + self.numbers.size() > self.most;
    }

    /// What was written down.
    ///
    /// # Errors
    /// Where it was too much.
    pub(crate) fn finish(mut self) -> Result<Kept, TooMuch> {
        self.tell();
        if self.full {
            return Err(TooMuch(self.most));
        }
        Ok(Kept {
            numbers: self.numbers,
            course: self.course,
            regions: self.regions,
        })
    }
}
