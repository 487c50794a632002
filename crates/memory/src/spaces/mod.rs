//! The half of memory that all policies share: address spaces with their mappings, and their
//! blocks.

mod changes;
mod kernel;
mod memories;
mod shared;

pub use memories::MemoryId;

use crate::space::{Facts, Space};
use crate::{Backing, BlockSpan, Change, Extent, GEOMETRY, Mapping, Pages};
use broadleaf_units::{BackingKind, BlockNumber, FileId, PageNumber, PageSize, SpaceId};
use kernel::KernelReservations;
use memories::Memories;
use std::collections::{BTreeMap, BTreeSet};

/// A block of an address space, numbered from 0 in the order in which a trace meets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The number, to look into an array with.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The facts about a block under any policy.
#[derive(Clone, Debug)]
struct KnownBlock {
    space: usize,
    number: BlockNumber,
    /// The facts of its mapping, as of `generation` of its space. Only covered blocks have them,
    /// where they are equal for every page.
    facts: Option<Facts>,
    generation: u64,
    /// True if pages ever moved to the block from elsewhere.
    entered: bool,
}

/// Address spaces with their mappings, and the blocks that were looked up.
#[derive(Clone, Debug, Default)]
pub struct AddressSpaces {
    spaces: Vec<Space>,
    numbers: BTreeMap<SpaceId, usize>,
    /// Spaces whose mappings the trace is known to list, before any mapping was seen.
    listed: BTreeSet<SpaceId>,
    files: BTreeMap<FileId, u64>,
    memories: Memories,
    /// The reservations of an instrumented kernel; `None` if faults reserve blocks by our rules.
    kernel_reservations: Option<KernelReservations>,
    blocks: BTreeMap<(usize, BlockNumber), BlockId>,
    known: Vec<KnownBlock>,
}

impl AddressSpaces {
    /// No spaces. `listed` names the spaces whose mappings the trace lists, as far as known
    /// beforehand. A reference before the first mapping needs this.
    pub fn new(listed: BTreeSet<SpaceId>) -> Self {
        Self {
            listed,
            ..Self::default()
        }
    }

    fn number(&mut self, id: SpaceId) -> usize {
        let (listed, spaces) = (self.listed.contains(&id), &mut self.spaces);
        *self.numbers.entry(id).or_insert_with(|| {
            spaces.push(Space::new(id, listed));
            spaces.len() - 1
        })
    }

    fn space(&mut self, id: SpaceId) -> &mut Space {
        let number = self.number(id);
        &mut self.spaces[number]
    }

    /// The block of that number, if it is known and [prepared](AddressSpaces::prepare) since the
    /// last event.
    pub fn prepared(&self, space: SpaceId, number: BlockNumber) -> Option<BlockId> {
        let space = *self.numbers.get(&space)?;
        let block = *self.blocks.get(&(space, number))?;
        let known = &self.known[block.index()];
        (known.generation == self.spaces[space].generation).then_some(block)
    }

    /// The block of that number, made known where it was not.
    pub fn block(&mut self, space: SpaceId, number: BlockNumber) -> BlockId {
        let space = self.number(space);
        let known = &mut self.known;
        *self.blocks.entry((space, number)).or_insert_with(|| {
            known.push(KnownBlock {
                space,
                number,
                facts: None,
                generation: 0,
                entered: false,
            });
            BlockId((known.len() - 1) as u32)
        })
    }

    /// The number of known blocks. Their ids are below this number.
    pub fn blocks(&self) -> usize {
        self.known.len()
    }

    /// The space and the number of a block.
    pub fn place(&self, block: BlockId) -> (SpaceId, BlockNumber) {
        let known = &self.known[block.index()];
        (self.spaces[known.space].id, known.number)
    }

    /// Returns true if pages ever moved to a block from elsewhere. Such pages were referenced there
    /// and not here.
    pub fn was_entered(&self, block: BlockId) -> bool {
        self.known[block.index()].entered
    }

    /// Computes the facts about a block once until the next event. [`AddressSpaces::facts`] is
    /// right without this call, but slower.
    #[inline]
    pub fn prepare(&mut self, block: BlockId) {
        let known = &mut self.known[block.index()];
        let space = &mut self.spaces[known.space];
        space.visited = true;
        if known.generation != space.generation {
            let pages = Pages::of_block(known.number);
            let facts = space.facts(pages, pages.start, &self.files, GEOMETRY.base());
            known.facts = (facts.coverage == broadleaf_policy::Coverage::Covered).then_some(facts);
            known.generation = space.generation;
        }
    }

    /// The facts of the mappings about a block, seen from one of its pages.
    pub fn facts(&self, block: BlockId, offset: usize) -> Facts {
        let known = &self.known[block.index()];
        let space = &self.spaces[known.space];
        match known.facts {
            Some(facts) if known.generation == space.generation => facts,
            _ => {
                let pages = Pages::of_block(known.number);
                let page = pages.start + offset as u64;
                space.facts(pages, page, &self.files, GEOMETRY.base())
            }
        }
    }

    /// The kind of memory that a page of a block maps.
    pub fn backing(&self, block: BlockId, offset: usize) -> BackingKind {
        let known = &self.known[block.index()];
        let space = &self.spaces[known.space];
        match known.facts {
            Some(facts) if known.generation == space.generation => facts.backing,
            _ => space.backing(Pages::of_block(known.number).start + offset as u64),
        }
    }

    /// The facts about any aligned piece of a space, as seen from one of its pages. `base` is the
    /// size of a base page.
    pub fn facts_of(&self, space: SpaceId, piece: Pages, page: u64, base: PageSize) -> Facts {
        let facts = |space: &Space| space.facts(piece, page, &self.files, base);
        let facts = match self.numbers.get(&space) {
            Some(number) => facts(&self.spaces[*number]),
            None => facts(&Space::new(space, self.listed.contains(&space))),
        };
        Facts {
            reservable: self.may_reserve(space, piece, facts.reservable),
            ..facts
        }
    }

    /// The mapping of a page, where there is one.
    pub fn mapping_at(&self, space: SpaceId, page: u64) -> Option<Mapping> {
        let number = self.numbers.get(&space)?;
        self.spaces[*number].mappings.at(page).copied()
    }

    /// The mappings in a range, cut to the range. Pages past the end of a file are left out.
    pub fn mappings_in(&self, space: SpaceId, pages: Pages) -> Vec<Mapping> {
        let unknown;
        let space = match self.numbers.get(&space) {
            Some(number) => &self.spaces[*number],
            None => {
                unknown = Space::new(space, self.listed.contains(&space));
                &unknown
            }
        };
        let parts = space.mappings.meeting(pages);
        parts
            .map(|mapping| self.before_end_of_file(mapping.part(pages)))
            .filter(|part| !part.pages.is_empty())
            .collect()
    }

    fn before_end_of_file(&self, mut part: Mapping) -> Mapping {
        if let Backing::File { file, offset } = part.backing
            && let Some(size) = self.files.get(&file)
        {
            let bytes = size.saturating_sub(offset);
            let pages = bytes.div_ceil(GEOMETRY.base().bytes());
            part.pages.end = part.pages.end.min(part.pages.start.saturating_add(pages));
        }
        part
    }

    /// Returns true if a file is known to have a byte there.
    pub fn file_holds(&self, file: FileId, byte: u64) -> bool {
        self.files.get(&file).is_some_and(|size| byte < *size)
    }

    /// Spaces that were referenced and whose mappings the trace does not list.
    pub fn unlisted(&self) -> impl Iterator<Item = SpaceId> + '_ {
        self.spaces
            .iter()
            .filter(|space| space.visited && !space.listed)
            .map(|space| space.id)
    }

    /// Notes that the trace lists a space's mappings. Returns false if the space was referenced
    /// before and taken for one without: the replay has to start again with this knowledge.
    pub fn list_mappings(&mut self, space: SpaceId) -> bool {
        let space = self.space(space);
        let in_time = space.listed || !space.visited;
        space.list_mappings();
        in_time
    }

    /// A file has that size in bytes.
    pub fn file(&mut self, file: FileId, size: u64) {
        self.files.insert(file, size);
        self.spaces
            .iter_mut()
            .for_each(|space| space.generation += 1);
    }

    /// The blocks of a range that are known.
    fn extent(&self, id: SpaceId, pages: Pages) -> Extent {
        let mut spans = Vec::new();
        if let Some(space) = self.numbers.get(&id)
            && !pages.is_empty()
        {
            let block_of = |page: u64| GEOMETRY.block_of(PageNumber(page));
            let range = (*space, block_of(pages.start))..=(*space, block_of(pages.end - 1));
            for ((_, number), block) in self.blocks.range(range) {
                let all = Pages::of_block(*number);
                let part = all.common(pages);
                spans.push(BlockSpan {
                    block: *block,
                    from: (part.start - all.start) as usize,
                    to: (part.end - all.start) as usize,
                });
            }
        }
        Extent {
            space: id,
            pages,
            spans,
        }
    }

    fn release(&self, space: SpaceId, pages: Pages) -> Option<Change> {
        (!pages.is_empty()).then(|| Change::Release(self.extent(space, pages)))
    }
}
