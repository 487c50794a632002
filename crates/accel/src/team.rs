//! A team: policies that are replayed together, on the same machines. Teams know nothing of each
//! other, so that each can have a core.

#[cfg(test)]
mod check;
mod deciding;
mod following;

use crate::batch::Batch;
use crate::bits::numbers;
use crate::cell::Cell;
use crate::curve::Curve;
use crate::members::{MOST_MEMBERS, Members, Superpages};
use crate::segments::{Script, StaleEntries};
use crate::translation::TeamTranslation;
use broadleaf_machine::Machine;
use broadleaf_memory::{AddressSpaces, BlockId, Change, Shootdown};
use broadleaf_model::stream::Stream;
use broadleaf_units::{PageNumber, SpaceId};

/// Policies that are replayed together.
pub(crate) struct Team<'a> {
    cells: Vec<Cell<'a>>,
    translations: Vec<TeamTranslation<'a>>,
    /// The lookups that are made later; `None` if they are made at once.
    script: Option<Script>,
    superpages: Superpages,
    /// TLBs of other geometries, by member; empty unless curves were asked for.
    curves: Vec<Curve>,
    /// The page of the last lookup, for the curves.
    last: Option<(SpaceId, PageNumber, BlockId)>,
    /// The time at which the first reservation of any policy falls due.
    due: u64,
    /// The policies that are asked when a reservation reaches an age.
    timed: Members,
    /// All members.
    everyone: Members,
    /// By block: 0, or one more than the number of its stored-to pages that no policy with the
    /// block as a superpage has seen. All of these policies know that the block is dirty, so none
    /// of them decides anything at the next store.
    owed: Vec<u16>,
}

impl<'a> Team<'a> {
    /// A team of at most [`MOST_MEMBERS`] policies.
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
            everyone: Members::MAX
                .checked_shr((MOST_MEMBERS - count) as u32)
                .unwrap_or(0),
            owed: Vec::new(),
            translations: TeamTranslation::families(machines, count),
            script: None,
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

    /// Returns true if a policy is asked when a reservation reaches an age.
    pub(crate) const fn is_timed(&self) -> bool {
        self.timed != 0
    }

    /// The misses of TLBs of every geometry under one member, if curves were asked for.
    pub(crate) fn curve(&self, member: usize) -> Option<&Curve> {
        self.curves.get(member)
    }

    /// Writes lookups down from now on, instead of making them. Returns the TLBs.
    pub(crate) fn write_down(&mut self) -> Vec<TeamTranslation<'a>> {
        self.script = Some(Script::default());
        std::mem::take(&mut self.translations)
    }

    /// Returns true if the team writes its lookups down.
    pub(crate) const fn writes_down(&self) -> bool {
        self.script.is_some()
    }

    /// Takes the TLBs back, after all lookups that were written down.
    pub(crate) fn take_back(&mut self, translations: Vec<TeamTranslation<'a>>) {
        self.script = None;
        self.translations = translations;
    }

    /// Takes out the lookups that were written down, with the superpages after them.
    pub(crate) fn take_script(&mut self) -> Option<(Script, &Superpages)> {
        let script = self.script.as_mut().map(std::mem::take)?;
        Some((script, &self.superpages))
    }

    pub(crate) fn cells(&self) -> &[Cell<'a>] {
        &self.cells
    }

    pub(crate) fn into_cells(self) -> Vec<Cell<'a>> {
        self.cells
    }

    pub(crate) fn translations(&self) -> &[TeamTranslation<'a>] {
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

    /// Applies an event to all memories. The histories are those before the event.
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
        // Most policies ask for equal shootdowns, and their groups stay together then.
        while let Some((first, shootdown)) = shootdowns.first().copied() {
            let mut members = first;
            shootdowns.retain(|(member, other)| {
                let same = *other == shootdown;
                members |= if same { *member } else { 0 };
                !same
            });
            if shootdown != Shootdown::Nothing {
                if let Some(script) = &mut self.script {
                    let stale = StaleEntries::of(shootdown, change, &stream.spaces);
                    script.shoot_down(members, stale);
                }
                let is_stale = StaleEntries::among(&shootdown, &stream.spaces);
                for translation in &mut self.translations {
                    translation.shoot_down(members, &is_stale);
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
            if let Some(script) = &mut self.script {
                script.resize(block, huge);
            }
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
    /// Lookups wait until a policy changes their result or a reservation falls due, so that many
    /// lookups are made at a time.
    pub(crate) fn replay(&mut self, batch: &Batch, spaces: &AddressSpaces) {
        self.make_room(spaces.blocks());
        if let Some(script) = &mut self.script {
            script.begin_batch(spaces.blocks());
        }
        let follows = !self.curves.is_empty();
        let (mut from, mut page) = (0, 0);
        for incident in &batch.incidents {
            if follows {
                let before = batch.trail.before[incident.at] as usize;
                self.follow(batch, from..incident.at, page..before, spaces);
                page = before;
                from = incident.at;
            }
            if self.passes(incident) {
                continue;
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
        if let Some(script) = &mut self.script {
            script.rest();
        }
        self.translations.iter_mut().for_each(TeamTranslation::rest);
    }

    /// Asks about reservations that fell due up to the last access so far. The filter may have left
    /// out the visit of that access.
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

    /// Replays visits that change no memory. They are looked up, and reservations fall due between
    /// them.
    fn replay_settled(
        &mut self,
        batch: &Batch,
        mut from: usize,
        to: usize,
        spaces: &AddressSpaces,
    ) {
        if self.never_due() {
            self.look_up(batch, &mut from, to);
        }
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

    /// Makes the lookups of the visits from `from` up to `to`, with the present page tables.
    fn look_up(&mut self, batch: &Batch, from: &mut usize, to: usize) {
        if *from < to {
            if let Some(script) = &mut self.script {
                script.look_up(*from..to);
            }
            for translation in &mut self.translations {
                translation.look_up(batch, *from..to, &self.superpages);
            }
            *from = to;
        }
    }
}
