//! Scripts: lookups of a team that are written down, and made later by another thread.

use crate::Entry;
use crate::batch::Batch;
use crate::members::{Members, Superpages};
use crate::translation::TeamTranslation;
use broadleaf_memory::{AddressSpaces, BlockId, Change, GEOMETRY, Shootdown};
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::ops::Range;

/// Everything that happens to the TLBs of a team during a turn, in order.
#[derive(Debug, Default)]
pub(crate) struct Script(Vec<ScriptLine>);

/// One line of a script. Indices are of visits of the batch that began last.
#[derive(Debug)]
enum ScriptLine {
    /// The next batch of the turn begins. All its blocks have lower numbers than this.
    Batch(usize),
    /// Visits are looked up.
    LookUp(Range<usize>),
    /// A visit is looked up again for some members.
    LookUpAgain(Members, usize),
    /// A block is a superpage under these members alone from now on.
    Resize(BlockId, Members),
    /// The entry of the superpage around a page leaves the TLBs of some members.
    ShootDownSuperpage(Members, PageNumber, BlockId),
    /// Stale entries leave the TLBs of some members.
    ShootDown(Members, StaleEntries),
    /// The batch ends.
    Rest,
}

impl Script {
    pub(crate) fn begin_batch(&mut self, blocks: usize) {
        self.0.push(ScriptLine::Batch(blocks));
    }

    pub(crate) fn look_up(&mut self, visits: Range<usize>) {
        self.0.push(ScriptLine::LookUp(visits));
    }

    pub(crate) fn look_up_again(&mut self, members: Members, visit: usize) {
        self.0.push(ScriptLine::LookUpAgain(members, visit));
    }

    pub(crate) fn resize(&mut self, block: BlockId, members: Members) {
        self.0.push(ScriptLine::Resize(block, members));
    }

    pub(crate) fn shoot_down_superpage(
        &mut self,
        members: Members,
        page: PageNumber,
        block: BlockId,
    ) {
        let line = ScriptLine::ShootDownSuperpage(members, page, block);
        self.0.push(line);
    }

    pub(crate) fn shoot_down(&mut self, members: Members, stale: StaleEntries) {
        self.0.push(ScriptLine::ShootDown(members, stale));
    }

    pub(crate) fn rest(&mut self) {
        self.0.push(ScriptLine::Rest);
    }

    /// Carries the script out on TLBs, with these superpages before it. `batches` are those of the
    /// turn. `rested` is called after each, and stops the script if it returns false. Returns false
    /// if the script was stopped.
    pub(super) fn carry_out<'a>(
        &self,
        batches: &[Batch],
        superpages: &mut Superpages,
        tlbs: &mut [TeamTranslation<'a>],
        rested: &mut dyn FnMut(&mut [TeamTranslation<'a>]) -> bool,
    ) -> bool {
        let none = Batch::default();
        let (mut batch, mut later) = (&none, batches.iter());
        for line in &self.0 {
            match line {
                ScriptLine::Batch(blocks) => {
                    superpages.make_room(*blocks);
                    batch = later.next().unwrap_or(&none);
                }
                ScriptLine::LookUp(visits) => {
                    for tlb in &mut *tlbs {
                        tlb.look_up(batch, visits.clone(), superpages);
                    }
                }
                ScriptLine::LookUpAgain(members, visit) => {
                    for tlb in &mut *tlbs {
                        tlb.look_up_for(*members, batch, *visit..*visit + 1, superpages);
                    }
                }
                ScriptLine::Resize(block, members) => {
                    superpages.make_room(block.index() + 1);
                    superpages.put(*block, *members);
                }
                ScriptLine::ShootDownSuperpage(members, page, block) => {
                    let each = tlbs.iter_mut();
                    each.for_each(|tlb| tlb.shoot_down_superpage(*members, *page, *block));
                }
                ScriptLine::ShootDown(members, stale) => {
                    let each = tlbs.iter_mut();
                    each.for_each(|tlb| tlb.shoot_down(*members, &|entry| stale.has(entry)));
                }
                ScriptLine::Rest => {
                    tlbs.iter_mut().for_each(TeamTranslation::rest);
                    if !rested(tlbs) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// The entries that a change made stale, and the places of the blocks that they can name. The
/// address spaces may change before the entries are removed.
#[derive(Debug)]
pub(crate) struct StaleEntries {
    shootdown: Shootdown,
    /// The blocks of the change, in order of their numbers.
    blocks: Vec<(BlockId, (SpaceId, BlockNumber))>,
}

impl StaleEntries {
    /// The entries that the shootdown of a change makes stale.
    pub(crate) fn of(shootdown: Shootdown, change: &Change, spaces: &AddressSpaces) -> Self {
        let blocks = change.blocks().map(|block| (block, spaces.place(block)));
        let mut blocks: Vec<_> = blocks.collect();
        blocks.sort_unstable_by_key(|(block, _)| block.0);
        blocks.dedup_by_key(|(block, _)| block.0);
        Self { shootdown, blocks }
    }

    /// Returns true for the stale entries of a shootdown, while the address spaces are those of its
    /// change.
    pub(crate) fn among<'s>(
        shootdown: &'s Shootdown,
        spaces: &'s AddressSpaces,
    ) -> impl Fn(Entry) -> bool + 's {
        |entry| is_stale(shootdown, entry, spaces.place(block_of(entry)))
    }

    /// Returns true if an entry is stale.
    fn has(&self, entry: Entry) -> bool {
        let block = block_of(entry);
        let found = self
            .blocks
            .binary_search_by_key(&block.0, |(block, _)| block.0);
        found.is_ok_and(|at| is_stale(&self.shootdown, entry, self.blocks[at].1))
    }
}

/// The block that an entry lies in.
const fn block_of(entry: Entry) -> BlockId {
    match entry {
        Entry::Base(block, _) | Entry::Superpage(block) => BlockId(block),
    }
}

/// Returns true if a shootdown makes an entry stale, whose block lies at that place.
fn is_stale(shootdown: &Shootdown, entry: Entry, (space, number): (SpaceId, BlockNumber)) -> bool {
    let (from, count) = match entry {
        Entry::Base(_, offset) => (u64::from(offset), 1),
        Entry::Superpage(_) => (0, GEOMETRY.pages_per_block()),
    };
    let start = GEOMETRY.first_page(number).0 + from;
    match *shootdown {
        Shootdown::Nothing => false,
        Shootdown::Superpage { space: its, run } => {
            space == its && count > 1 && start == run.first.0
        }
        Shootdown::Range { space: its, pages } => {
            space == its && start < pages.end && start + count > pages.start
        }
        Shootdown::Space(its) => space == its,
    }
}
