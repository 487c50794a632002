//! Trace filtering: visits that change neither memory nor any TLB are left out.
//!
//! One [`Sieve`] filters each part of a batch for the worlds of a group of machines
//! ([`super::filter_groups`]). A visit is left out if
//!
//! - the part visited its page before, and stored to the page before if the visit stores, and
//! - its lookup hits the first level of every TLB of the group and changes no order, or an order
//!   that a later lookup restores ([`broadleaf_filter::Recency`], which also says which TLBs it
//!   covers).
//!
//! The first condition leaves memory as it is: the earlier visit left the page resident, used,
//! referenced and, if it stored, dirty. [`System::look`] finds such a page settled. A reference to
//! a settled page changes nothing: the lists of the page daemon hold no time of last use, only the
//! reference bit counts. The number of references so far and the instructions so far do change, so
//! [`covers`] declines worlds that read them.
//!
//! Both conditions hold until the world's memory *unsettles* a page or drops a translation: the
//! page daemon clears a reference bit, a page leaves memory, a superpage is demoted. Each world
//! watches for this ([`System::unsettled`], [`System::has_shootdowns`]). The world then catches up
//! with the lookups that were left out so far, before the translation is dropped, and goes on with
//! a filter of its own that knows nothing yet ([`super::world`]). At the next part all worlds begin
//! with the shared filter again.
//!
//! A daemon of a policy runs before the first reference at or after its time. The filter may have
//! left this reference out, so a world looks for it among all visits of the part.
//!
//! [`System::look`]: broadleaf_memory::system::System::look
//! [`System::unsettled`]: broadleaf_memory::system::System::unsettled
//! [`System::has_shootdowns`]: broadleaf_memory::system::System::has_shootdowns

use crate::origin::OriginMark;
use crate::recorded::is_kernels;
use crate::visit_groups::VisitGroups;
use crate::visit_slice::VisitSlice;
use broadleaf_filter::{Recency, Sieve, Sifted};
use broadleaf_tlb::Design;
use broadleaf_trace::Visit;
use broadleaf_trace::reduced::{KeptVisit, Sums};
use broadleaf_units::{PageNumber, SpaceId};

/// The reason why a world replays every visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfiltered {
    /// The world records the course of all references, to choose superpages from it.
    Recorded,
    /// References are numbered: a schedule names moments, or changes are logged with their moments.
    Numbered,
    /// Misses are charged to candidates. Some charges count hits, and each is compared with the
    /// instructions so far.
    Charged,
}

/// The properties of a world that decide whether its visits can be filtered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorldNeeds {
    /// The world records references.
    pub(crate) records: bool,
    /// The world reads the numbers of references.
    pub(crate) numbers: bool,
    /// The world charges misses.
    pub(crate) charges: bool,
}

/// Checks that the filter changes no figure of a world.
///
/// # Errors
/// Returns an error with the reason if the filter would change a figure.
pub(crate) const fn covers(needs: WorldNeeds) -> Result<(), Unfiltered> {
    if needs.records {
        return Err(Unfiltered::Recorded);
    }
    if needs.numbers {
        return Err(Unfiltered::Numbered);
    }
    if needs.charges {
        return Err(Unfiltered::Charged);
    }
    Ok(())
}

/// Visits of one address space with no event between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchPart<'v> {
    pub(crate) space: SpaceId,
    pub(crate) visits: VisitSlice<'v>,
    /// The origins of the visits: one mark for each change.
    pub(crate) origins: &'v [OriginMark],
    /// The number of a unit's low bits that lie inside a page.
    pub(crate) shift: u32,
    /// Accesses before the part.
    pub(crate) begin: u64,
    /// Instructions before the part.
    pub(crate) instructions: u64,
    /// True if fetches of instructions reference memory.
    pub(crate) code: bool,
    /// The number of the part of the trace. All words of a part have one vocabulary.
    pub(crate) trace_part: u64,
    /// The space of the upper half of the addresses, if the trace holds a whole system.
    pub(crate) kernel: Option<SpaceId>,
    /// The filtered visits; `None` if the world has no filter, or its filter rests.
    pub(crate) filtered: Option<&'v Filtered>,
    /// The visits in groups; `None` if the world has a filter, or no world passes groups.
    pub(crate) groups: Option<&'v VisitGroups>,
}

impl BatchPart<'_> {
    /// The space that a page belongs to.
    #[inline]
    pub(super) const fn space_of(&self, page: PageNumber) -> SpaceId {
        match self.kernel {
            Some(kernel) if is_kernels(page) => kernel,
            _ => self.space,
        }
    }

    /// True if a visit references memory. Fetches do so only if code lies in the memory.
    pub(super) const fn references(&self, visit: &Visit) -> bool {
        !visit.fetch || self.code
    }

    /// The start of the last visit that counts for a batch, if all visits add up to `sums`.
    pub(super) fn last_time(&self, sums: &Sums) -> u64 {
        let last = self.last_of(|visit| self.references(visit));
        let before = sums.accesses() - last.map_or(0, |last| last.accesses());
        self.begin.saturating_add(before)
    }

    /// The time of the last reference, if all visits add up to `sums`.
    fn last_reference(&self, sums: &Sums) -> Option<u64> {
        let last = self.last_of(|visit| visit.lookups() > 0)?;
        let before = sums.accesses() - last.accesses();
        last_reference(&last, self.begin.saturating_add(before))
    }

    fn last_of(&self, wanted: impl Fn(&Visit) -> bool) -> Option<Visit> {
        let all = (0..self.visits.len()).rev();
        all.map(|at| self.visits.visit(at)).find(wanted)
    }

    /// True if a daemon that is due at this time runs at a reference of the part.
    pub(super) fn reaches(&self, due: u64, sums: &Sums) -> bool {
        self.last_reference(sums).is_some_and(|last| due <= last)
    }
}

/// The greatest number of visits for one mark of [`Filtered`].
const MARKED: usize = 256;

/// The progress of the filter at a visit of a part.
#[derive(Clone, Copy, Debug)]
struct FilterMark {
    /// Visits before.
    visits: usize,
    /// The number of kept visits, with the lookups that replace others.
    kept: usize,
    /// Accesses before.
    accesses: u64,
}

/// A part of a batch, filtered.
#[derive(Debug, Default)]
pub(crate) struct Filtered {
    sifted: Sifted,
    /// The sums of all visits.
    sums: Sums,
    marks: Vec<FilterMark>,
}

impl Filtered {
    /// The sums of all visits.
    pub(crate) const fn sums(&self) -> &Sums {
        &self.sums
    }

    /// The kept visits, and the lookups that replace others.
    pub(crate) fn kept(&self) -> &[KeptVisit] {
        &self.sifted.kept
    }
}

/// The parts that pass unfiltered after a part of which the filter kept more than half.
const RESTS_FOR: u32 = 15;

/// A filter that worlds share.
#[derive(Debug)]
pub(super) struct SharedFilter {
    sieve: Sieve,
    new: Sieve,
    filtered: Filtered,
    /// The number of further parts that pass unfiltered.
    rests_for: u32,
}

impl SharedFilter {
    /// A filter for machines of these designs.
    pub(super) fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let new = Sieve::new(Recency::new(designs));
        Self {
            sieve: new.clone(),
            new,
            filtered: Filtered::default(),
            rests_for: 0,
        }
    }

    /// True if the part passes unfiltered: the filter left out too little of an earlier one.
    pub(super) const fn rests(&self) -> bool {
        self.rests_for > 0
    }

    /// An empty filter for the machines of this one.
    pub(super) fn fresh(&self) -> Sieve {
        self.new.clone()
    }

    /// Begins a part of the trace, whose words have another vocabulary.
    pub(super) fn begin_trace_part(&mut self) {
        self.sieve.renew(&self.new);
    }

    /// Filters more visits of a part, and adds them to `sums`. Returns the kept visits.
    pub(super) fn filter(
        &mut self,
        visits: &VisitSlice<'_>,
        shift: u32,
        sums: &mut Sums,
    ) -> &[KeptVisit] {
        let Filtered { sifted, marks, .. } = &mut self.filtered;
        let before = sifted.kept.len();
        for from in (0..visits.len()).step_by(MARKED) {
            let some = visits.range(from, (from + MARKED).min(visits.len()));
            some.sift(&mut self.sieve, shift, sifted, sums);
            marks.push(FilterMark {
                visits: marks.last().map_or(0, |last| last.visits) + some.len(),
                kept: sifted.kept.len(),
                accesses: sums.accesses(),
            });
        }
        &sifted.kept[before..]
    }

    /// Ends a part whose visits add up to `sums`.
    ///
    /// The filter forgets everything, so that a world that left the filter can come back at the
    /// next part.
    pub(super) fn end_part(&mut self, sums: &Sums) {
        self.filtered.sums = *sums;
        self.sieve.catch_up(&mut self.filtered.sifted, sums);
        self.sieve.forget();
    }

    /// The filtered visits of the part that ended.
    pub(super) const fn filtered(&self) -> &Filtered {
        &self.filtered
    }

    /// Makes room for the next part. The part before it has `visits` visits.
    pub(super) fn clear(&mut self, visits: usize) {
        if self.rests() {
            self.rests_for -= 1;
        } else if 2 * self.filtered.kept().len() > visits {
            self.rests_for = RESTS_FOR;
        }
        self.filtered.sifted.clear();
        self.filtered.marks.clear();
    }
}

/// Filters a part a second time, up to where a world leaves the shared filter.
#[derive(Debug)]
pub(crate) struct FilterRerun {
    sieve: Sieve,
    new: Sieve,
    trace_part: u64,
    sifted: Sifted,
}

/// The position at which a world leaves the shared filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeavingPoint {
    /// After the kept visit of this number.
    AfterKept(usize),
    /// Before the first visit with a reference at this time or later, in accesses since the part
    /// began.
    AtTime(u64),
}

impl FilterRerun {
    /// `new` is an empty copy of the shared filter.
    pub(crate) fn new(new: Sieve) -> Self {
        Self {
            sieve: new.clone(),
            new,
            trace_part: u64::MAX,
            sifted: Sifted::default(),
        }
    }

    /// The number of the first visit from that point on, the sums of the visits before it, and
    /// their deferred lookups, in order.
    pub(crate) fn up_to(
        &mut self,
        point: LeavingPoint,
        part: &BatchPart<'_>,
        filtered: &Filtered,
    ) -> (usize, Sums, &[KeptVisit]) {
        if self.trace_part == part.trace_part {
            self.sieve.forget();
        } else {
            self.sieve.renew(&self.new);
            self.trace_part = part.trace_part;
        }
        let (visits, shift) = (&part.visits, part.shift);
        let Self { sieve, sifted, .. } = self;
        sifted.clear();
        let mut sums = Sums::default();
        let is_before = |mark: &FilterMark| match point {
            LeavingPoint::AfterKept(number) => mark.kept <= number,
            // The last reference of a visit is earlier than the end of its accesses.
            LeavingPoint::AtTime(time) => mark.accesses <= time,
        };
        let marks = filtered.marks.partition_point(is_before);
        let last = marks.checked_sub(1).map(|last| filtered.marks[last].visits);
        let mut at = last.unwrap_or(0);
        visits.range(0, at).sift(sieve, shift, sifted, &mut sums);
        while at < visits.len() {
            let is_there = match point {
                LeavingPoint::AfterKept(kept) => sifted.kept.len() > kept,
                LeavingPoint::AtTime(time) => {
                    let last = last_reference(&visits.visit(at), sums.accesses());
                    last.is_some_and(|last| last >= time)
                }
            };
            if is_there {
                break;
            }
            visits
                .range(at, at + 1)
                .sift(sieve, shift, sifted, &mut sums);
            at += 1;
        }
        sifted.clear();
        sieve.catch_up(sifted, &sums);
        (at, sums, &sifted.kept)
    }
}

/// The time of a visit's last reference that may change memory, if the visit begins at `time`.
pub(crate) fn last_reference(visit: &Visit, time: u64) -> Option<u64> {
    let stores_late = visit.stores > 0 && visit.loads_before_store > 0;
    let late = u64::from(visit.loads_before_store.min(visit.loads));
    match (
        visit.accesses() > 0,
        visit.lead == broadleaf_trace::Lead::None,
    ) {
        (true, _) => Some(time.saturating_add(if stores_late { late } else { 0 })),
        (false, false) => Some(time.saturating_sub(1)),
        (false, true) => None,
    }
}
