//! Recorder of a course: keeps the references of a trace that matter to OFFLINE.
//!
//! # References that may be left out
//!
//! The TLB modelled here is fully associative with exact LRU replacement. It holds a page's
//! translation as long as fewer distinct pages than its entries were used since the page. Any
//! superpages, present from the beginning or from some time on, merge translations. Every stretch
//! of the trace then uses fewer translations. So a reference that hits with base pages alone hits
//! under any superpages. Its only other effect is that its page becomes the newest. The recorder
//! may defer this effect, because replacement takes the oldest page: only the order of old pages
//! matters.
//!
//! The recorder therefore records misses at once and defers hits. A hit may stay deferred while
//! fewer items than half the entries were recorded since the last record of its page. Then the
//! recorder flushes: it records all deferred hits, and the misses among them again, in the order of
//! last use. The recorded order is then the true order. Between flushes, a deferred page is among
//! the newest half of the recorded order. It is truly newer than any page outside that half. So
//! both orders evict the same page under any superpages, and both have the same pages after a page
//! that missed.
//!
//! A removed translation is recorded at its place in the order. If superpages held its page, the
//! translations of their other pages went too. The same happens where pages become a superpage with
//! a page that is fetched from and not loaded. Then a reference that hits with base pages alone may
//! miss. So the next use of each page that could share a superpage with the removed one is recorded
//! at once.

use super::broken::Breaks;
use super::course::{Course, Event, Item, KeptCourse};
use super::numbers::Numbers;
use super::recency::Recency;
use super::regions::FaultRegions;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::{Appraisal, Place, System};

/// The recorder's state of a base page.
#[derive(Clone, Copy, Debug, Default)]
struct RecordedPage {
    /// The stretch of the page's last use.
    used: u64,
    /// The number of recorded uses at the page's last record. 0 if the page's next use must be
    /// recorded at once.
    recorded: u64,
}

/// Records a course while a trace is replayed in base pages.
pub(crate) struct Recorder {
    numbers: Numbers,
    recency: Recency,
    /// The page of the last use, if no event since could have removed its translation.
    newest: Option<u32>,
    /// True if a page faulted and no page was used since.
    unused: bool,
    /// The order of the largest superpage: the base-two logarithm of its base pages.
    largest: u8,
    /// The state of each page, by the page's number.
    pages: Vec<RecordedPage>,
    /// The number of stretches so far. A flush ends a stretch.
    stretch: u64,
    /// The number of recorded uses so far, plus `patience`.
    recorded: u64,
    /// The value of `recorded` at which the next flush is due.
    deadline: u64,
    /// The number of recorded uses for which a use may be deferred.
    patience: u64,
    /// The pages of the current flush, newest first.
    pending: Vec<u32>,
    course: Course,
    /// The maximum size of the course, in bytes.
    most: usize,
    /// True if the course exceeded `most`. The recorder then records nothing more.
    full: bool,
    regions: FaultRegions,
    breaks: Breaks,
    /// The time of the next event.
    now: u64,
}

/// The course of a trace exceeds its limit, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what has to be kept of the trace to choose superpages by takes more than {0} bytes")]
pub(crate) struct TooMuch(usize);

impl Recorder {
    /// A recorder for a TLB with `entries` entries and superpages up to the order `largest`. The
    /// course may take `most` bytes.
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
            recorded: patience,
            deadline: u64::MAX,
            patience,
            pending: Vec::new(),
            course: Course::default(),
            most,
            full: false,
            regions: FaultRegions::default(),
            breaks: Breaks::new(largest),
            now: 0,
        }
    }

    /// Sets the time of the next event.
    #[inline]
    pub(crate) const fn pass(&mut self, now: u64) {
        self.now = now;
    }

    /// Records a fault if the page that is about to be referenced is not resident.
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

    /// Records a promotion chance before a data reference to a resident page: at a miss, broken
    /// pieces around the page may become superpages again.
    #[inline]
    pub(crate) fn note_chance(&mut self, system: &System<'_>, spaces: &AddressSpaces, at: Place) {
        if !self.full && self.breaks.is_chance(at) && !self.holds(at) {
            self.chance(at, system.appraise(spaces, at));
        }
    }

    /// Returns true if the TLB holds the page, so that the page's next use hits.
    pub(super) fn holds(&mut self, at: Place) -> bool {
        let number = self.numbers.of(at);
        self.recency.holds(number)
    }

    pub(super) fn chance(&mut self, at: Place, appraisal: Appraisal) {
        let number = self.numbers.of(at);
        self.event(Event::Chance(number, appraisal));
        self.breaks.had(at);
    }

    /// Records a data reference to a page.
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
            self.pages
                .resize(number as usize + 1, RecordedPage::default());
        }
        let hits = self.recency.holds(number);
        if !hits && self.recorded >= self.deadline {
            self.flush();
        }
        self.recency.use_it(number);
        let page = &mut self.pages[number as usize];
        page.used = self.stretch;
        if !hits {
            self.record_use(Item::Missed(number), number);
        } else if page.recorded + self.patience > self.recorded {
            self.deadline = self.deadline.min(page.recorded + self.patience - 1);
        } else {
            self.flush();
        }
    }

    /// Notes an instruction fetch, which data TLBs do not see. If the page faulted, it may now be
    /// part of a superpage that no load has used.
    pub(crate) fn fetch(&mut self, at: Place) {
        if std::mem::take(&mut self.unused) {
            self.lost(at, 1);
        }
    }

    fn record_use(&mut self, item: Item, number: u32) {
        self.recorded += 1;
        self.pages[number as usize].recorded = self.recorded;
        self.add(item);
    }

    /// Records a shootdown of `pages` pages.
    pub(crate) fn shot_down(&mut self, first: Place, pages: u64) {
        self.removed(first, pages, Event::ShotDown);
    }

    /// Records that the resident pages of a range are about to move to page `to` of their address
    /// space.
    pub(crate) fn moved(&mut self, first: Place, pages: u64, to: u64) {
        if !self.full {
            self.event(Event::Moved(first, pages, to));
        }
    }

    /// Records that `pages` pages are unmapped.
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

    /// Marks the pages around the ends of a range: their next use is recorded at once.
    fn lost(&mut self, first: Place, pages: u64) {
        let last = first.page.saturating_add(pages).saturating_sub(1);
        let largest = |page: u64| page >> self.largest;
        let ends = [first.page, last].map(largest);
        for number in self.recency.newest_first() {
            let at = self.numbers.place(number);
            if at.space == first.space && ends.contains(&largest(at.page)) {
                self.pages[number as usize].recorded = 0;
            }
        }
    }

    fn event(&mut self, event: Event) {
        self.flush();
        self.newest = None;
        self.add(Item::Event(self.now, event));
    }

    /// Flushes: records all deferred uses, and the misses among them again, in the order of last
    /// use.
    fn flush(&mut self) {
        let (pages, stretch) = (&self.pages, self.stretch);
        let since = (self.recency.newest_first())
            .take_while(|number| pages[*number as usize].used == stretch);
        self.pending.extend(since);
        while let Some(number) = self.pending.pop() {
            self.record_use(Item::Used(number), number);
        }
        self.stretch += 1;
        self.deadline = u64::MAX;
    }

    fn add(&mut self, item: Item) {
        self.course.add(item);
        self.full |= self.course.size() + self.numbers.size() > self.most;
    }

    /// Returns the course.
    ///
    /// # Errors
    /// Returns [`TooMuch`] if the course exceeds its limit.
    pub(crate) fn finish(mut self) -> Result<KeptCourse, TooMuch> {
        self.flush();
        if self.full {
            return Err(TooMuch(self.most));
        }
        Ok(KeptCourse {
            numbers: self.numbers,
            course: self.course,
            regions: self.regions,
        })
    }
}
