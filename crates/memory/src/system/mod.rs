//! Memory as an operating system has it: frames that run short, reservations of many sizes, page
//! tables that share frames, and daemons that take pages back. A [`System`] is the memory of one
//! machine under one policy.
//!
//! [`AddressSpaces`] hold the mappings, the policy decides about superpages, and the system acts. A
//! reference calls [`System::look`] and, if the page is not settled, [`System::reference`]. An
//! event calls [`System::apply`], and time calls [`System::pass`]. Stale translations come out of
//! [`System::shootdowns`].
//!
//! The rules are those of docs/spec/memory.md.

mod appraise;
mod around;
mod ask;
mod check;
mod colouring;
mod copies;
mod counters;
mod counts;
mod daemon;
mod decisions;
mod demote;
mod fault;
mod footprint;
mod fork;
mod frame_table;
mod notices;
mod objects;
mod obtain;
mod promote;
mod pte;
mod recent_chunks;
mod recent_entries;
mod recorded;
mod reference;
mod release;
mod relocate;
mod repair;
mod reserve;
mod sample;
mod scan;
mod scattered;
mod schedule;
mod sparse;
mod spec;
mod streams;
mod table;
mod tables;
mod unprotect;

pub use appraise::Appraisal;
pub use ask::Foreseen;
pub use counters::SystemCounters;
pub use decisions::{Decided, PieceDecision, ResidentPage};
pub use sample::{Sample, Totals as SystemTotals};
pub use schedule::{Resized, Schedule, Span};
pub use spec::{Costs, Files, Spec};
pub use table::{Place, RecentChunks};

use crate::frames::{Buddy, Frame, Runs, Wired};
use crate::reservations::{Key, ReservationId, Reservations};
use crate::{AddressSpaces, Shootdown};
use broadleaf_policy::{Needs, Policy, Refusals};
use broadleaf_units::{AlignedRun, PageNumber, PageSize, PageSizes, Rights, SpaceId, SplitMix64};
use colouring::Colouring;
use frame_table::FrameTable;
use pte::Pte;
use std::collections::{BTreeMap, BTreeSet};
use table::Tables;

/// Memory is used up, and no page can be taken back. A real system ends the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: no frame is left, and nothing can be taken back")]
pub struct OutOfMemory;

/// An aligned piece of an address space that could be a page of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) first: Place,
    /// The number of its size.
    pub(crate) level: usize,
}

impl Key for Place {
    fn plus(self, pages: u64) -> Self {
        Self {
            page: self.page.saturating_add(pages),
            ..self
        }
    }
}

/// Memory under one policy.
pub struct System<'a> {
    policy: &'a dyn Policy,
    needs: Needs,
    base: PageSize,
    sizes: PageSizes,
    costs: Costs,
    /// The program's accesses per second.
    rate: u64,
    files: Files,
    buddy: Buddy,
    /// Frames that something stood in before the trace began and that can be moved.
    movable: Runs,
    /// The random choice of frames, if the policy asks for one.
    random_frames: Option<SplitMix64>,
    /// The colours of pages, if the policy places pages by colour.
    colouring: Option<Colouring>,
    /// The number of occupied frames that cannot move.
    occupied: u64,
    /// Frames that page tables are in, which cannot either, and where they come from.
    of_tables: Vec<Frame>,
    wired_pages: Wired,
    frames: FrameTable,
    tables: Tables,
    /// The rights of each page as noticed last, if notices are kept.
    noticed_rights: BTreeMap<(SpaceId, AlignedRun), Rights>,
    reservations: Reservations<Place>,
    /// When each reservation was made, by its first page.
    reserved_at: BTreeMap<Place, u64>,
    objects: objects::Objects,
    /// Reservations by the time at which the policy is asked about them, each with the time when it
    /// was made; and the first of these times.
    due: BTreeSet<(u64, Place, u64)>,
    next_due: u64,
    /// Promotions whose missing pages are on their way, by the time at which these have arrived.
    streams: BTreeSet<(u64, Piece)>,
    /// Pages of files that left memory, and the free frames in which they can still be found.
    cache: BTreeMap<Frame, frame_table::FilePage>,
    cached: BTreeMap<frame_table::FilePage, Frame>,
    /// The pages that the swap has room for, the pages that it holds, and the pages of shared
    /// memory among them.
    swap: u64,
    in_swap: u64,
    shared_in_swap: BTreeSet<frame_table::FilePage>,
    /// Copies of forked spaces that have not begun, by process id: the temporary name of the copy,
    /// and the parent.
    forked: BTreeMap<u32, (SpaceId, SpaceId)>,
    /// Processes that began or were forked. True if their first event was not the fork.
    begun: BTreeMap<u32, bool>,
    /// Spaces that began as copies, and of which the trace has only listed inherited mappings so
    /// far.
    inheriting: BTreeSet<SpaceId>,
    /// The page daemon works below `low` free frames, until there are `high`.
    low: u64,
    high: u64,
    /// The level of an extent that was requested in vain. The compacting daemon clears it.
    wanted: Option<usize>,
    next_scan: u64,
    /// The number of accesses between two runs of the policy's daemon.
    scan_period: u64,
    scan_from: (SpaceId, u64),
    /// Spaces of recorded kernels: policies are never asked about their pages.
    kernels: BTreeSet<SpaceId>,
    compact_from: u64,
    /// Frames given out that hold zeroes already, and were not yet taken for zeroed.
    zeroed_given: u64,
    now: u64,
    counters: SystemCounters,
    refusals: Refusals,
    shootdowns: Vec<Shootdown>,
    /// The page that is being referenced, which stays.
    pinned: Option<Place>,
    /// Cycles of the fault that is being handled.
    fault_cycles: u64,
    foreseen: Option<Foreseen<'a>>,
    log: schedule::Log,
    /// Decisions that a listener has not heard; `None` if no listener wants them.
    decisions: Option<Vec<PieceDecision>>,
    /// The references so far, by which a schedule goes.
    moment: u64,
}

impl<'a> System<'a> {
    /// The memory of a machine before a trace begins. `foreseen` is knowledge of the trace
    /// ([`Needs::foresight`]).
    pub fn new(policy: &'a dyn Policy, spec: &Spec, foreseen: Option<Foreseen<'a>>) -> Self {
        let needs = policy.needs();
        let scan_period = (needs.scan).map_or(u64::MAX, |scan| spec.accesses_in(scan.period));
        let mut movable = Runs::new();
        let mut wired = 0;
        for occupied in &spec.start.occupied {
            let frames = occupied.first.0..occupied.first.0 + (1 << occupied.order);
            if occupied.movable {
                movable.add(frames);
            } else {
                wired += frames.end - frames.start;
            }
        }
        let mut buddy = spec.start.buddy.clone();
        if needs.without.coalescing {
            buddy.stop_merging();
        }
        let orders: Vec<u8> = (0..spec.sizes.levels())
            .map(|level| spec.sizes.order(level))
            .collect();
        buddy.choose_by(spec.allocator, &orders, spec.pools);
        let colouring = needs
            .colours
            .and_then(|rule| Colouring::new(rule, spec.base));
        if let Some(colouring) = &colouring {
            buddy.divide_colours(colouring.colours());
        }
        let mut reservations = Reservations::new(spec.sizes);
        if needs.preempts_oldest {
            reservations.keep_turns();
        }
        let low = (buddy.frames() / 128).clamp(4, 1 << 16);
        let wired_pages = if needs.wires_together {
            Wired::clustered(tables::cluster_order(buddy.frames()))
        } else {
            Wired::unclustered()
        };
        Self {
            policy,
            needs,
            base: spec.base,
            sizes: spec.sizes,
            costs: spec.costs,
            rate: spec.rate,
            files: spec.files,
            buddy,
            movable,
            random_frames: needs.random_frames.map(SplitMix64::new),
            colouring,
            occupied: wired,
            of_tables: Vec::new(),
            wired_pages,
            frames: FrameTable::new(),
            tables: Tables::new(),
            noticed_rights: BTreeMap::new(),
            reservations,
            reserved_at: BTreeMap::new(),
            objects: objects::Objects::default(),
            due: BTreeSet::new(),
            next_due: u64::MAX,
            streams: BTreeSet::new(),
            cache: BTreeMap::new(),
            cached: BTreeMap::new(),
            swap: spec.swap,
            in_swap: 0,
            shared_in_swap: BTreeSet::new(),
            forked: BTreeMap::new(),
            begun: BTreeMap::new(),
            inheriting: BTreeSet::new(),
            low,
            high: 2 * low,
            wanted: None,
            next_scan: scan_period,
            scan_period,
            scan_from: (SpaceId(0), 0),
            kernels: BTreeSet::new(),
            compact_from: 0,
            zeroed_given: 0,
            now: 0,
            counters: SystemCounters::default(),
            refusals: Refusals::default(),
            shootdowns: Vec::new(),
            pinned: None,
            fault_cycles: 0,
            foreseen,
            log: schedule::Log::default(),
            decisions: None,
            moment: 0,
        }
    }

    /// Resets the counters, and leaves memory as it is. Peaks begin with the present state.
    pub fn begin_counting(&mut self) {
        self.counters = self.counters.begun();
        self.refusals = Refusals::default();
        self.take_decisions();
        self.tables.note_filled();
    }

    /// The counters so far.
    pub const fn counters(&self) -> &SystemCounters {
        &self.counters
    }

    /// Refusals that were counted, by reason.
    pub const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Takes out the translations that became stale. Drop them before the next lookup.
    #[must_use = "a TLB that keeps these entries translates wrongly"]
    pub fn shootdowns(&mut self) -> std::vec::Drain<'_, Shootdown> {
        self.shootdowns.drain(..)
    }

    /// Returns true if translations became stale.
    #[inline]
    pub const fn has_shootdowns(&self) -> bool {
        !self.shootdowns.is_empty()
    }

    /// The base page that a page of 4 KiB lies in.
    #[inline]
    pub const fn base_page(&self, page: PageNumber) -> u64 {
        page.0 >> (self.base.shift() - PageSize::SIZE_4K.shift())
    }

    /// The 4 KiB pages of `pages` base pages from `first` on.
    fn units(&self, first: u64, pages: u64) -> crate::Pages {
        let shift = self.base.shift() - PageSize::SIZE_4K.shift();
        crate::Pages {
            start: first << shift,
            end: (first + pages) << shift,
        }
    }

    /// The number of accesses between two runs of the policy's daemon; `u64::MAX` if it has no
    /// daemon.
    pub const fn scan_period(&self) -> u64 {
        self.scan_period
    }

    /// The size of the pages of a level.
    pub fn size(&self, level: usize) -> PageSize {
        let shift = self.base.shift() + self.sizes.order(level);
        PageSize::from_shift(shift).unwrap_or(self.base)
    }

    /// The level of the pages of a size; `None` where it has no pages of that size.
    pub fn level_of(&self, size: PageSize) -> Option<usize> {
        (0..self.sizes.levels()).find(|level| self.size(*level) == size)
    }

    /// The number of base pages in a page of a level.
    pub fn pages_of(&self, level: usize) -> u64 {
        self.pages(level)
    }

    /// The first page of 4 KiB of a base page.
    pub fn units_of(&self, page: u64) -> PageNumber {
        PageNumber(self.units(page, 1).start)
    }

    /// The base pages that a range meets: the first, and how many.
    pub fn base_pages(&self, pages: crate::Pages) -> (u64, u64) {
        let shift = self.base.shift() - PageSize::SIZE_4K.shift();
        let first = pages.start >> shift;
        let last = pages.end.div_ceil(1 << shift);
        (first, last.saturating_sub(first))
    }

    /// The number of base pages in a page of a level.
    fn pages(&self, level: usize) -> u64 {
        self.sizes.pages(level)
    }

    fn piece(&self, at: Place, level: usize) -> Piece {
        let page = at.page & !(self.pages(level) - 1);
        Piece {
            first: Place { page, ..at },
            level,
        }
    }

    /// The places of a piece, in order.
    fn places(&self, piece: Piece) -> impl Iterator<Item = Place> + use<> {
        let (space, first) = (piece.first.space, piece.first.page);
        (first..first + self.pages(piece.level)).map(move |page| Place { space, page })
    }

    /// The reservation that a page lies in, and when it was made.
    fn reservation_at(&self, at: Place) -> Option<(ReservationId, u64)> {
        let id = self.reservations.around(at)?;
        let made = self.reserved_at.get(&self.reservations.get(id).key());
        Some((id, made.copied().unwrap_or(self.now)))
    }

    /// The reservation that holds all of a piece, and when the reservation was made. A piece that
    /// is not congruent with its object's blocks lies in none.
    fn reservation_of(
        &self,
        spaces: &AddressSpaces,
        piece: Piece,
    ) -> Option<(ReservationId, Place, u64)> {
        let home = self.home_of(spaces, piece.first)?;
        let (id, made) = self.reservation_at(home)?;
        let is_whole = self.reservations.get(id).level() >= piece.level
            && home.page.is_multiple_of(self.pages(piece.level));
        is_whole.then_some((id, home, made))
    }

    fn note_peaks(&mut self) {
        let counters = &mut self.counters;
        counters.peak_resident = counters.peak_resident.max(counters.resident);
        counters.peak_in_superpages = counters.peak_in_superpages.max(counters.in_superpages);
    }

    fn facts(&self, spaces: &AddressSpaces, piece: Piece, page: u64) -> crate::Facts {
        let pages = self.units(piece.first.page, self.pages(piece.level));
        let page = self.units(page, 1).start;
        spaces.facts_of(piece.first.space, pages, page, self.base)
    }
}
