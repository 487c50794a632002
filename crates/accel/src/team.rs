//! A team: policies that are replayed together, on the same machines. Teams know nothing of each
//! other, so that each can have a core.

use crate::batch::{Batch, Incident};
use crate::cell::{Cell, view_of};
use crate::curve::Curve;
use crate::members::{MOST_MEMBERS, Members, Superpages, numbers};
use crate::prepare::Touch;
use crate::translation::Translation;
use broadleaf_machine::Machine;
use broadleaf_memory::{AddressSpaces, BlockId, Change, Facts, Shootdown};
use broadleaf_model::stream::Stream;
use broadleaf_units::{PageNumber, SpaceId};
use std::ops::Range;

/// Policies that are replayed together.
pub(crate) struct Team<'a> {
    cells: Vec<Cell<'a>>,
    translations: Vec<Translation<'a>>,
    superpages: Superpages,
    /// TLBs of other geometries, by member; empty unless curves were asked for.
    curves: Vec<Curve>,
    /// What was looked up last, for the curves.
    last: Option<(SpaceId, PageNumber, BlockId)>,
    /// When the first reservation of any falls due.
    due: u64,
    /// The policies that ask at an age.
    timed: Members,
    /// By block: 0, or one more than the number of its stored-to pages that no policy with the
    /// block as a superpage has seen. All of those policies know that the block is dirty. So none
    /// of them has anything to decide at the next store.
    owed: Vec<u16>,
}

/// What the policies decided about a reference.
#[derive(Clone, Copy)]
struct Decided {
    /// Those whose superpage was broken, and has to go from the TLBs.
    shot_down: Members,
    /// Those under which the block is a superpage now.
    huge: Members,
}

impl<'a> Team<'a> {
    /// A team of these policies, of which there are at most [`MOST_MEMBERS`].
    pub(crate) fn new(cells: Vec<Cell<'a>>, machines: &'a [Machine]) -> Self {
        assert!(cells.len() <= MOST_MEMBERS, "a team is too large");
        let count = cells.len();
        let mut timed = 0;
        for (member, cell) in cells.iter().enumerate() {
            timed |= Members::from(cell.deadlines.are_kept()) << member;
        }
        Self {
            cells,
            timed,
            owed: Vec::new(),
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

    /// Returns true if nothing is looked up. Then a replay is too short to wake another thread for.
    pub(crate) const fn is_light(&self) -> bool {
        self.translations.is_empty() && self.curves.is_empty()
    }

    /// The misses of TLBs of every geometry under one member, if curves were asked for.
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
        if self.owed.len() < count {
            self.owed.resize(count, 0);
        }
    }

    /// The members of the team.
    fn all(&self) -> Members {
        let others = MOST_MEMBERS - self.cells.len();
        Members::MAX.checked_shr(others as u32).unwrap_or(0)
    }

    /// Does what an event asks. The histories are those before it.
    pub(crate) fn apply(&mut self, change: &Change, stream: &Stream) {
        self.make_room(stream.spaces.blocks());
        change.blocks().for_each(|block| self.pay(block));
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
        let huge = self.superpages.of(block) & !(1 << member) | Members::from(is) << member;
        self.note_all(block, huge);
    }

    /// Notes under which policies a block is a superpage.
    fn note_all(&mut self, block: BlockId, huge: Members) {
        if huge != self.superpages.of(block) {
            self.pay(block);
            self.superpages.put(block, huge);
        }
    }

    /// Reports the owed stores of a block to the policies under which the block is a superpage.
    fn pay(&mut self, block: BlockId) {
        let owed = std::mem::take(&mut self.owed[block.index()]);
        if owed > 1 {
            for member in numbers(self.superpages.of(block)) {
                self.cells[member].memory.dirty_pages(block, owed - 1);
            }
        }
    }

    /// Ends the trace: reports all owed stores to the policies.
    pub(crate) fn end(&mut self) {
        for block in 0..self.owed.len() as u32 {
            self.pay(BlockId(block));
        }
    }

    fn find_due(&mut self) {
        let due = self.cells.iter().map(|cell| cell.deadlines.next());
        self.due = due.min().unwrap_or(u64::MAX);
    }

    /// Replays a batch.
    ///
    /// Lookups wait until a policy changes what they would find, or a reservation falls due, so
    /// that many of them are made at a time.
    pub(crate) fn replay(&mut self, batch: &Batch, spaces: &AddressSpaces) {
        self.make_room(spaces.blocks());
        let follows = !self.curves.is_empty();
        let (mut from, mut page) = (0, 0);
        for incident in &batch.incidents {
            if follows {
                let before = batch.trail.before[incident.at] as usize;
                self.follow(batch, from..incident.at, page..before, spaces);
                page = before;
                from = incident.at;
            }
            self.visit(batch, incident, &mut from, spaces);
            if follows {
                self.look_up(batch, &mut from, incident.at + 1);
            }
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

    /// Replays visits that no memory notices: they are only looked up, but for reservations that
    /// fall due between them.
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
            self.look_up(batch, &mut from, end);
        }
    }

    /// Makes the lookups from one on up to another, as page tables are now.
    fn look_up(&mut self, batch: &Batch, from: &mut usize, to: usize) {
        if *from < to {
            for translation in &mut self.translations {
                translation.look_up(batch, *from..to, &self.superpages);
            }
            *from = to;
        }
    }

    /// The same, and shows the curves some of the trail's pages, which come between the visits
    /// before and the next that a memory notices.
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
                // The page may come after these pages: in the next visit that a memory notices, or
                // in the next stretch.
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

    /// A visit at which something may be decided. Only a first reference, a first store, and
    /// reservations that fall due count; all other accesses hit what the first lookup brought,
    /// unless a shootdown took that away. Lookups from `from` on are still to be made.
    fn visit(
        &mut self,
        batch: &Batch,
        incident: &Incident,
        from: &mut usize,
        spaces: &AddressSpaces,
    ) {
        let mut incident = *incident;
        let (manner, time) = (incident.manner, incident.time);
        let facts = spaces.facts(incident.block, usize::from(incident.offset));
        let loads = u64::from(incident.loads_before_store);
        let mut first = true;
        let mut reference = |time, store| {
            self.reference(
                batch,
                &mut incident,
                (time, store),
                (&mut *from, &mut first),
                &facts,
                spaces,
            );
        };
        if manner.leads() {
            // Its access was the last one before.
            reference(time.saturating_sub(1), manner.leads_with_store());
        }
        if !manner.accesses() {
            return;
        }
        let store_at_once = manner.stores() && loads == 0;
        reference(time, store_at_once);
        if manner.stores() && loads > 0 {
            reference(time.saturating_add(loads), true);
        }
    }

    /// One reference of a visit: decided under every policy. The visit is looked up once, where its
    /// first reference is made, and again where its entry was removed. Lookups from `from` on are
    /// still to be made; they wait as long as no policy changes what they would find.
    fn reference(
        &mut self,
        batch: &Batch,
        incident: &mut Incident,
        (time, store): (u64, bool),
        (from, first): (&mut usize, &mut bool),
        facts: &Facts,
        spaces: &AddressSpaces,
    ) {
        let (at, block) = (incident.at, incident.block);
        let to = at + usize::from(!*first);
        if self.due <= time {
            if *first && self.curves.is_empty() {
                self.replay_settled(batch, *from, to, spaces);
                *from = to;
            } else {
                self.look_up(batch, from, to);
            }
            self.ask_due(time, spaces);
        }
        let Decided { shot_down, huge } = self.decide(incident, time, store, facts, spaces);
        if shot_down != 0 || huge != self.superpages.of(block) {
            self.look_up(batch, from, to);
            self.note_all(block, huge);
            let page = batch.pages[at];
            for translation in &mut self.translations {
                if shot_down != 0 {
                    translation.shoot_down_superpage(shot_down, page, block);
                }
                if shot_down != 0 && !*first {
                    translation.look_up_for(shot_down, batch, at..at + 1, &self.superpages);
                }
            }
        }
        *first = false;
        if self.due <= time {
            // No lookup waits for longer than until a reservation falls due.
            self.look_up(batch, from, at + 1);
        }
        // What was decided may have changed the size of the page.
        if !self.curves.is_empty() {
            self.last = Some((batch.space, batch.pages[at], block));
            self.look_last_up();
        }
    }

    /// Lets each policy decide about a reference. What it decided is still to be
    /// [noted](Self::note_all).
    fn decide(
        &mut self,
        incident: &mut Incident,
        time: u64,
        store: bool,
        facts: &Facts,
        spaces: &AddressSpaces,
    ) -> Decided {
        let block = incident.block;
        let mut huge = self.superpages.of(block);
        let mut shot_down = 0;
        if incident.seen.is_settled(store) {
            return Decided { shot_down, huge };
        }
        // All pages of a superpage are resident, so a load decides nothing about it.
        let mut asked = self.all() & !huge;
        let owed = &mut self.owed[block.index()];
        if store && huge != 0 {
            if *owed > 0 {
                *owed += 1;
            } else {
                *owed = 1;
                asked = self.all();
            }
        }
        let mut view = view_of(facts);
        for member in numbers(asked) {
            let cell = &mut self.cells[member];
            let known = (&mut view, facts.reservable);
            let shootdown = cell.reference(incident, time, store, known, spaces);
            let is = Members::from(cell.memory.is_promoted(block));
            huge = huge & !(1 << member) | is << member;
            shot_down |= Members::from(shootdown != Shootdown::Nothing) << member;
            if self.timed >> member & 1 != 0 {
                self.due = self.due.min(cell.deadlines.next());
            }
            if let Some(curve) = self.curves.get_mut(member) {
                curve.shoot_down(&shootdown);
            }
        }
        incident.seen.used = true;
        incident.seen.dirty |= store;
        Decided { shot_down, huge }
    }

    /// The kernel touches pages: each policy decides as at a reference, and nothing is looked up.
    pub(crate) fn populate(&mut self, touches: &[Touch], spaces: &AddressSpaces) {
        self.make_room(spaces.blocks());
        for touch in touches {
            let mut incident = touch.incident;
            let time = incident.time;
            let facts = spaces.facts(incident.block, usize::from(incident.offset));
            let Decided { shot_down, huge } =
                self.decide(&mut incident, time, touch.store, &facts, spaces);
            self.note_all(incident.block, huge);
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

    /// Returns true if no reservation falls due, not even at the last possible time.
    const fn never_due(&self) -> bool {
        self.due == u64::MAX
    }

    /// Asks about reservations that fall due before the access at that time.
    fn ask_due(&mut self, time: u64, spaces: &AddressSpaces) {
        if self.due > time {
            return;
        }
        if !self.curves.is_empty() && self.due < time {
            // Accesses that were made since then went to the page that was looked up last, which
            // may be part of a superpage now.
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
        for (member, cell) in self.cells.iter().enumerate() {
            let mut memory = cell.memory.clone();
            for (block, owed) in self.owed.iter().enumerate() {
                let block = BlockId(block as u32);
                if self.superpages.of(block) >> member & 1 != 0 {
                    memory.dirty_pages(block, owed.saturating_sub(1));
                }
            }
            memory.check(&stream.histories);
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
