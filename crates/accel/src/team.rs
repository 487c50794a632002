//! A team: policies that are replayed together, on the same machines. Teams know nothing of each other, so that each can have a core.

use crate::batch::{Batch, Incident};
use crate::cell::Cell;
use crate::curve::Curve;
use crate::members::{MOST_MEMBERS, Members, Superpages};
use crate::prepare::Touch;
use crate::translation::Translation;
use broadleaf_machine::Machine;
use broadleaf_memory::{AddressSpaces, BlockId, Change, Shootdown};
use broadleaf_model::stream::Stream;
use broadleaf_units::{PageNumber, SpaceId};
use std::ops::Range;

/// Policies that are replayed together.
pub(crate) struct Team<'a> {
    cells: Vec<Cell<'a>>,
    translations: Vec<Translation<'a>>,
    superpages: Superpages,
    /// TLBs of other geometries, by member; none where nobody asked.
    curves: Vec<Curve>,
    /// What was looked up last, for the curves.
    last: Option<(SpaceId, PageNumber, BlockId)>,
    /// When the first reservation of any falls due.
    due: u64,
}

impl<'a> Team<'a> {
    /// A team of these policies, of which there are at most [`MOST_MEMBERS`].
    pub(crate) fn new(cells: Vec<Cell<'a>>, machines: &'a [Machine]) -> Self {
        assert!(cells.len() <= MOST_MEMBERS, "a team is too large");
        let count = cells.len();
        Self {
            cells,
            translations: (machines.iter())
                .filter_map(|machine| Translation::new(machine, count))
                .collect(),
            superpages: Superpages::default(),
            curves: Vec::new(),
            last: None,
            due: u64::MAX,
        }
    }

    /// Counts TLBs of every geometry too.
    pub(crate) fn with_curves(mut self) -> Self {
        self.curves = vec![Curve::default(); self.cells.len()];
        self
    }

    /// Whether nothing is looked up: then a replay is so little work that nobody else need be woken for it.
    pub(crate) const fn is_light(&self) -> bool {
        self.translations.is_empty() && self.curves.is_empty()
    }

    /// What TLBs of every geometry missed under one member, where somebody asked.
    pub(crate) fn curve(&self, member: usize) -> Option<&Curve> {
        self.curves.get(member)
    }

    pub(crate) fn cells(&self) -> &[Cell<'a>] {
        &self.cells
    }

    pub(crate) fn into_cells(self) -> Vec<Cell<'a>> {
        self.cells
    }

    pub(crate) fn translations(&self) -> &[Translation<'a>] {
        &self.translations
    }

    fn make_room(&mut self, count: usize) {
        self.cells
            .iter_mut()
            .for_each(|cell| cell.memory.make_room(count));
        self.superpages.make_room(count);
    }

    /// Does what an event asks. The histories are those before it.
    pub(crate) fn apply(&mut self, change: &Change, stream: &Stream) {
        self.make_room(stream.spaces.blocks());
        let mut shootdowns: Vec<(Members, Shootdown)> = Vec::new();
        for member in 0..self.cells.len() {
            let shootdown = self.cells[member].apply(change, &stream.histories, stream.now());
            shootdowns.push((1 << member, shootdown));
            for block in change.blocks() {
                self.note(block, member);
            }
        }
        self.find_due();
        // Most policies ask for the same, and stay together then.
        while let Some((first, shootdown)) = shootdowns.first().copied() {
            let mut members = first;
            shootdowns.retain(|(member, other)| {
                let same = *other == shootdown;
                members |= if same { *member } else { 0 };
                !same
            });
            if shootdown != Shootdown::Nothing {
                for translation in &mut self.translations {
                    translation.shoot_down(members, &shootdown, &stream.spaces);
                }
                for (member, curve) in self.curves.iter_mut().enumerate() {
                    if members >> member & 1 != 0 {
                        curve.shoot_down(&shootdown);
                    }
                }
            }
        }
    }

    /// Notes whether a block is a superpage under a policy.
    fn note(&mut self, block: BlockId, member: usize) {
        let is = self.cells[member].memory.is_promoted(block);
        self.superpages.set(block, member, is);
    }

    fn find_due(&mut self) {
        let due = self.cells.iter().map(|cell| cell.deadlines.next());
        self.due = due.min().unwrap_or(u64::MAX);
    }

    /// Replays a batch.
    pub(crate) fn replay(&mut self, batch: &Batch, spaces: &AddressSpaces) {
        self.make_room(spaces.blocks());
        let follows = !self.curves.is_empty();
        let (mut from, mut page) = (0, 0);
        for incident in &batch.incidents {
            if follows {
                let before = batch.trail.before[incident.at] as usize;
                self.follow(batch, from..incident.at, page..before, spaces);
                page = before;
            } else {
                self.replay_settled(batch, from, incident.at, spaces);
            }
            self.visit(batch, incident, spaces);
            from = incident.at + 1;
        }
        let (end, last) = (batch.pages.len(), batch.trail.pages.len());
        if follows {
            self.follow(batch, from..end, page..last, spaces);
        } else {
            self.replay_settled(batch, from, end, spaces);
        }
        self.translations.iter_mut().for_each(Translation::rest);
    }

    /// All accesses so far were made, those after the last visit that was replayed with them.
    pub(crate) fn pass(&mut self, stream: &Stream) {
        self.make_room(stream.spaces.blocks());
        if let Some(last) = stream.now().checked_sub(1)
            && self.due <= last
        {
            self.ask_due(last, &stream.spaces);
            if !self.curves.is_empty() {
                // The last access went to the page that was looked up last, too.
                self.look_last_up();
            }
        }
    }

    /// Replays visits that no memory notices: they are only looked up, but for reservations that fall due between them.
    fn replay_settled(
        &mut self,
        batch: &Batch,
        mut from: usize,
        to: usize,
        spaces: &AddressSpaces,
    ) {
        while from < to {
            self.ask_due(batch.times[from], spaces);
            let rest = &batch.times[from..to];
            let end = match rest.last() {
                Some(last) if *last >= self.due && !self.never_due() => {
                    from + rest.partition_point(|time| *time < self.due)
                }
                _ => to,
            };
            for translation in &mut self.translations {
                translation.look_up(batch, from..end, &self.superpages);
            }
            from = end;
        }
    }

    /// The same, and shows the curves some of the trail's pages, which come between the visits before and the next that a memory notices.
    fn follow(
        &mut self,
        batch: &Batch,
        mut visits: Range<usize>,
        mut pages: Range<usize>,
        spaces: &AddressSpaces,
    ) {
        let trail = &batch.trail;
        loop {
            if self.never_due() {
                self.follow_all(batch, visits, pages);
                return;
            }
            let visit = batch.times[visits.clone()].first();
            let page = trail.times[pages.clone()].first();
            let Some(&next) = visit.into_iter().chain(page).min() else {
                return;
            };
            if self.due <= next {
                self.ask_due(next, spaces);
                // The page may be one that comes behind these: the next visit that a memory notices, or the next stretch.
                if trail.times.get(pages.start) != Some(&next) {
                    // The access at that time went to the page that was looked up last, too.
                    self.look_last_up();
                }
            }
            // What was decided holds until the next falls due.
            let due = |time: &u64| self.never_due() || *time < self.due;
            let visit = visits.start + batch.times[visits.clone()].partition_point(due);
            let page = pages.start + trail.times[pages.clone()].partition_point(due);
            self.follow_all(batch, visits.start..visit, pages.start..page);
            (visits.start, pages.start) = (visit, page);
        }
    }

    /// The same, between two times at which something falls due.
    fn follow_all(&mut self, batch: &Batch, visits: Range<usize>, pages: Range<usize>) {
        for translation in &mut self.translations {
            translation.look_up(batch, visits.clone(), &self.superpages);
        }
        let pages = &batch.trail.pages[pages];
        for &(page, block) in pages {
            look_up(&mut self.curves, &self.superpages, batch.space, page, block);
        }
        if let Some(&(page, block)) = pages.last() {
            self.last = Some((batch.space, page, block));
        }
    }

    /// A visit at which something may be decided. Only a first reference, a first store, and reservations that fall due count; all
    /// other accesses hit what the first lookup brought, unless a shootdown took that away.
    fn visit(&mut self, batch: &Batch, incident: &Incident, spaces: &AddressSpaces) {
        let mut incident = *incident;
        let (manner, time) = (incident.manner, incident.time);
        let mut first = true;
        if manner.leads() {
            // Its access was the last one before.
            let time = time.saturating_sub(1);
            self.reference(
                batch,
                &mut incident,
                time,
                manner.leads_with_store(),
                &mut first,
                spaces,
            );
        }
        if !manner.accesses() {
            return;
        }
        let loads = u64::from(incident.loads_before_store);
        let store_at_once = manner.stores() && loads == 0;
        self.reference(
            batch,
            &mut incident,
            time,
            store_at_once,
            &mut first,
            spaces,
        );
        if manner.stores() && loads > 0 {
            self.reference(
                batch,
                &mut incident,
                time.saturating_add(loads),
                true,
                &mut first,
                spaces,
            );
        }
    }

    /// One reference of a visit: decided under every policy, and looked up where it is the first or its entry was removed.
    fn reference(
        &mut self,
        batch: &Batch,
        incident: &mut Incident,
        time: u64,
        store: bool,
        first: &mut bool,
        spaces: &AddressSpaces,
    ) {
        self.ask_due(time, spaces);
        let shot_down = self.decide(incident, time, store, spaces);
        let (at, superpages) = (incident.at, &self.superpages);
        for translation in &mut self.translations {
            if shot_down != 0 {
                let page = batch.pages[at];
                translation.shoot_down_superpage(shot_down, page, incident.block);
            }
            if *first {
                translation.look_up(batch, at..at + 1, superpages);
            } else if shot_down != 0 {
                translation.look_up_for(shot_down, batch, at..at + 1, superpages);
            }
        }
        *first = false;
        // What was decided may have changed the size of the page.
        if !self.curves.is_empty() {
            self.last = Some((batch.space, batch.pages[at], incident.block));
            self.look_last_up();
        }
    }

    /// Lets each policy decide about a reference. Returns the members whose superpage translation
    /// needs a shootdown.
    fn decide(
        &mut self,
        incident: &mut Incident,
        time: u64,
        store: bool,
        spaces: &AddressSpaces,
    ) -> Members {
        let mut shot_down = 0;
        if incident.seen.is_settled(store) {
            return shot_down;
        }
        for member in 0..self.cells.len() {
            let shootdown = self.cells[member].reference(incident, time, store, spaces);
            self.note(incident.block, member);
            shot_down |= u64::from(shootdown != Shootdown::Nothing) << member;
            if let Some(curve) = self.curves.get_mut(member) {
                curve.shoot_down(&shootdown);
            }
        }
        incident.seen.used = true;
        incident.seen.dirty |= store;
        self.find_due();
        shot_down
    }

    /// The kernel touches pages: each policy decides as at a reference, and nothing is looked up.
    pub(crate) fn populate(&mut self, touches: &[Touch], spaces: &AddressSpaces) {
        self.make_room(spaces.blocks());
        for touch in touches {
            let mut incident = touch.incident;
            let time = incident.time;
            let shot_down = self.decide(&mut incident, time, touch.store, spaces);
            if shot_down != 0 {
                for translation in &mut self.translations {
                    translation.shoot_down_superpage(shot_down, touch.page, incident.block);
                }
            }
        }
    }

    /// Looks up in the TLBs of all geometries what was looked up last.
    fn look_last_up(&mut self) {
        if let Some((space, page, block)) = self.last {
            look_up(&mut self.curves, &self.superpages, space, page, block);
        }
    }

    /// Whether no reservation falls due at any time, be it the last that can be told.
    const fn never_due(&self) -> bool {
        self.due == u64::MAX
    }

    /// Asks about reservations that fall due before the access at that time.
    fn ask_due(&mut self, time: u64, spaces: &AddressSpaces) {
        if self.due > time {
            return;
        }
        if !self.curves.is_empty() && self.due < time {
            // Accesses that were made since then went to the page that was looked up last, which may be part of a superpage now.
            self.ask_all_due(time - 1, spaces);
            self.look_last_up();
        }
        self.ask_all_due(time, spaces);
    }

    fn ask_all_due(&mut self, time: u64, spaces: &AddressSpaces) {
        for member in 0..self.cells.len() {
            while let Some(block) = self.cells[member].ask_due(time, spaces) {
                self.note(block, member);
            }
        }
        self.find_due();
    }

    /// Asserts what has to hold between any two items of the trace.
    #[cfg(test)]
    pub(crate) fn check(&self, stream: &Stream) {
        for cell in &self.cells {
            cell.memory.check(&stream.histories);
        }
        self.translations.iter().for_each(Translation::check);
        for number in 0..stream.spaces.blocks() as u32 {
            let block = BlockId(number);
            for (member, cell) in self.cells.iter().enumerate() {
                let noted = self.superpages.of(block) >> member & 1 != 0;
                assert_eq!(
                    noted,
                    cell.memory.is_promoted(block),
                    "a superpage is not noted"
                );
            }
        }
    }
}

/// Looks a page up in the TLBs of all geometries.
#[inline]
fn look_up(
    curves: &mut [Curve],
    superpages: &Superpages,
    space: SpaceId,
    page: PageNumber,
    block: BlockId,
) {
    let superpage = superpages.of(block);
    for (member, curve) in curves.iter_mut().enumerate() {
        curve.look_up(space, page, superpage >> member & 1 != 0);
    }
}
