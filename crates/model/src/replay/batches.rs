//! Batches of visits: how a replay filters and gathers visits, and when worlds replay them.

use super::Replay;
use crate::filter::BatchPart;
use crate::stream::Refused;
use crate::visit_slice::VisitSlice;
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::{PageNumber, SpaceId};

/// The most visits of a batch. Worlds sample memory after each batch.
const BATCH: usize = 1 << 14;

/// The number of pages that are known to be noted. A power of two.
pub(super) const NOTED: usize = 256;
pub(super) const NO_PAGE: PageNumber = PageNumber(u64::MAX);

/// Visits that most traces do not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnusualVisits {
    /// Visits that fetch instructions.
    fetches: bool,
    /// Visits without a reference. They count as visits to their pages.
    empty: bool,
}

impl UnusualVisits {
    fn of(visits: &[Visit]) -> Self {
        let (mut fetches, mut empty) = (false, false);
        for visit in visits {
            fetches |= visit.fetch;
            empty |= is_empty(visit);
        }
        Self { fetches, empty }
    }
}

/// True if a visit references nothing, and fetches no instructions.
#[inline]
fn is_empty(visit: &Visit) -> bool {
    // Without branches: this is asked about every visit.
    (visit.loads | visit.stores == 0) & (visit.lead == Lead::None) & !visit.fetch
}

/// The visits since worlds last sampled memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenBatch {
    space: SpaceId,
    visits: usize,
    /// The time when the last visit began that worlds have replayed.
    last: u64,
}

impl Replay<'_, '_> {
    /// Forgets the words of the last part of a trace.
    pub(super) fn begin_trace_part(&mut self) {
        self.flush();
        self.unusual = None;
        self.trace_part += 1;
        self.filters.begin_trace_part();
    }

    /// Replays visits with no event between them.
    pub(super) fn visits(&mut self, visits: VisitSlice<'_>) -> Result<(), Refused> {
        let unusual = self.unusual(&visits);
        let mut at = 0;
        while at < visits.len() {
            let first = visits.visit(at);
            if first.fetch && !self.code {
                self.origins.fetch(&first, self.shift);
                self.stream.pass(&Sums {
                    instructions: first.instructions.into(),
                    ..Sums::default()
                });
                at += 1;
                continue;
            }
            if self.stream.is_ending() {
                self.end_spaces();
            }
            self.look_at_results();
            if self.batch.space != self.stream.running || self.batch.visits >= BATCH {
                self.end_batch();
                self.refuse_more_than_may_be()?;
            }
            let (to, counted) = self.end_of_part(&visits, at, unusual);
            self.batch.visits += counted;
            self.gather(&visits.range(at, to), unusual)?;
            at = to;
        }
        Ok(())
    }

    /// The number of the first visit after `from` before which something else happens: the batch
    /// ends, or results are due. Returns also how many visits before it count for the batch.
    fn end_of_part(
        &self,
        visits: &VisitSlice<'_>,
        from: usize,
        unusual: UnusualVisits,
    ) -> (usize, usize) {
        let room = BATCH - self.batch.visits;
        let due = self.next_results().unwrap_or(u64::MAX);
        if due == u64::MAX && !unusual.fetches {
            let to = visits.len().min(from + room);
            return (to, to - from);
        }
        let (mut counted, mut accesses) = (0, self.stream.summary.accesses);
        for at in from..visits.len() {
            let visit = visits.visit(at);
            if !visit.fetch || self.code {
                if counted == room || accesses >= due {
                    return (at, counted);
                }
                counted += 1;
                accesses = accesses.saturating_add(visit.accesses());
            }
        }
        (visits.len(), counted)
    }

    /// Returns which unusual visits there may be.
    fn unusual(&mut self, visits: &VisitSlice<'_>) -> UnusualVisits {
        let phrased = match visits {
            VisitSlice::Each(visits) => return UnusualVisits::of(visits),
            VisitSlice::Named(phrased) => phrased,
        };
        let address = phrased.vocabulary.as_ptr().addr();
        let length = phrased.vocabulary.len();
        match self.unusual {
            Some((known, as_long, found)) if (known, as_long) == (address, length) => found,
            _ => {
                let found = UnusualVisits::of(phrased.vocabulary);
                self.unusual = Some((address, length, found));
                found
            }
        }
    }

    /// Filters visits of the running space between which nothing else happens, and gathers them
    /// for the worlds.
    fn gather(&mut self, visits: &VisitSlice<'_>, unusual: UnusualVisits) -> Result<(), Refused> {
        if !self.gathered.can_take(visits, self.trace_part) {
            self.flush();
        }
        let Self {
            gathered,
            stream,
            filters,
            origins,
            noted,
            groups,
            ..
        } = self;
        if gathered.is_empty() {
            gathered.begin = stream.now();
            gathered.instructions = stream.summary.instructions;
        }
        self.batch.space = stream.running;
        gathered.set_origin(origins.now());
        gathered.add(visits, self.trace_part);
        let before = gathered.sums;
        let all = || (0..visits.len()).map(|at| visits.visit(at));
        if let Some(kept) = filters.filter(visits, self.shift, &mut gathered.sums) {
            // A renewed page was noticed before.
            for kept in kept.iter().filter(|kept| !kept.manner.renews()) {
                stream.note_visit(PageNumber(kept.page))?;
            }
            if unusual.fetches
                && let Some(last) = all().rev().find(|visit| visit.fetch)
            {
                origins.fetch(&last, self.shift);
            }
            if unusual.empty {
                for visit in all().filter(is_empty) {
                    stream.note_visit(PageNumber(visit.unit >> self.shift))?;
                }
            }
            if let Some(groups) = groups {
                for visit in all() {
                    groups.add(&visit, self.shift, self.code);
                }
            }
        } else {
            // Nothing that matters to a page happens between these visits.
            noted.fill(NO_PAGE);
            for visit in all() {
                gathered.sums.instructions += u64::from(visit.instructions);
                if visit.fetch {
                    origins.fetch(&visit, self.shift);
                }
                let new = match groups {
                    Some(groups) => groups.add(&visit, self.shift, self.code),
                    None => Some(PageNumber(visit.unit >> self.shift)),
                };
                if !visit.fetch || self.code {
                    gathered.sums.loads += u64::from(visit.loads);
                    gathered.sums.stores += u64::from(visit.stores);
                    let Some(page) = new else { continue };
                    let known = &mut noted[page.0 as usize % NOTED];
                    if *known != page {
                        *known = page;
                        stream.note_visit(page)?;
                    }
                }
            }
        }
        gathered.end_origin(origins.now());
        stream.pass(&Sums {
            loads: gathered.sums.loads - before.loads,
            stores: gathered.sums.stores - before.stores,
            instructions: gathered.sums.instructions - before.instructions,
            data: gathered.sums.data,
        });
        Ok(())
    }

    /// Lets all worlds replay the visits that were gathered.
    pub(super) fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let Self {
            gathered, stream, ..
        } = self;
        self.filters.end_part(&gathered.sums);
        let part = BatchPart {
            space: self.batch.space,
            visits: gathered.all(),
            origins: &gathered.origins,
            shift: self.shift,
            begin: gathered.begin,
            instructions: gathered.instructions,
            code: self.code,
            trace_part: self.trace_part,
            kernel: stream.kernel(),
            filtered: None,
            groups: self.groups.as_ref(),
        };
        self.batch.last = part.last_time(&gathered.sums);
        let (stream, filters) = (&*stream, &self.filters);
        let worlds = self.worlds.all.iter_mut();
        self.pool.run(worlds.map(|world| {
            let group = world.filter_group();
            let part = BatchPart {
                filtered: filters.filtered(group),
                groups: part.groups.filter(|_| group.is_none()),
                ..part
            };
            move || world.replay(&part, stream)
        }));
        self.filters.clear(gathered.all().len());
        if let Some(groups) = &mut self.groups {
            groups.clear();
        }
        gathered.clear();
    }

    /// Continues the batch in another address space, after the visits that were gathered.
    pub(super) fn resume(&mut self, space: SpaceId) {
        self.flush();
        self.batch.space = space;
        self.stream.resume(space);
        self.origins.switch(space);
    }

    /// Lets all worlds replay the rest of a batch, and then sample memory.
    pub(super) fn end_batch(&mut self) {
        self.flush();
        if self.batch.visits > 0 {
            let last = self.batch.last;
            let worlds = self.worlds.all.iter_mut();
            let spaces = &self.stream.spaces;
            worlds.for_each(|world| world.end_batch(last, spaces));
            self.batch.visits = 0;
        }
    }
}
