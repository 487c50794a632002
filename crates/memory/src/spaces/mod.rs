//! The half of memory that is the same for every policy: address spaces with their mappings, and their blocks.

mod memories;
mod shared;

pub use memories::MemoryId;

use crate::advised::Advised;
use crate::space::{Facts, Space};
use crate::{Backing, Change, Extent, GEOMETRY, Mapping, Move, PAGES_PER_BLOCK, Pages, Span};
use broadleaf_policy::BackingKind;
use broadleaf_units::{BlockNumber, FileId, PageNumber, PageSize, Rights, SpaceId};
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

/// What is known of a block whatever the policy.
#[derive(Clone, Debug)]
struct Known {
    space: usize,
    number: BlockNumber,
    /// What its mapping says, as of `generation` of its space; only for covered blocks, where it is the same for every page.
    facts: Option<Facts>,
    generation: u64,
    /// Whether pages ever came to it from elsewhere.
    entered: bool,
}

/// Address spaces with their mappings, and those of their blocks that were asked for.
#[derive(Clone, Debug, Default)]
pub struct AddressSpaces {
    spaces: Vec<Space>,
    numbers: BTreeMap<SpaceId, usize>,
    /// Spaces known beforehand to have mappings told at some point.
    told: BTreeSet<SpaceId>,
    files: BTreeMap<FileId, u64>,
    memories: Memories,
    blocks: BTreeMap<(usize, BlockNumber), BlockId>,
    known: Vec<Known>,
}

impl AddressSpaces {
    /// None yet. `told` names the spaces whose mappings the trace tells, as far as that is known beforehand: it matters
    /// for references that come before the first mapping.
    pub fn new(told: BTreeSet<SpaceId>) -> Self {
        Self {
            told,
            ..Self::default()
        }
    }

    fn number(&mut self, id: SpaceId) -> usize {
        let (told, spaces) = (self.told.contains(&id), &mut self.spaces);
        *self.numbers.entry(id).or_insert_with(|| {
            spaces.push(Space::new(id, told));
            spaces.len() - 1
        })
    }

    fn space(&mut self, id: SpaceId) -> &mut Space {
        let number = self.number(id);
        &mut self.spaces[number]
    }

    /// The block of that number, where it is known and [prepared](AddressSpaces::prepare) as things stand.
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
            known.push(Known {
                space,
                number,
                facts: None,
                generation: 0,
                entered: false,
            });
            BlockId((known.len() - 1) as u32)
        })
    }

    /// How many blocks are known; their ids are below this.
    pub fn blocks(&self) -> usize {
        self.known.len()
    }

    /// Where a block stands.
    pub fn place(&self, block: BlockId) -> (SpaceId, BlockNumber) {
        let known = &self.known[block.index()];
        (self.spaces[known.space].id, known.number)
    }

    /// Whether pages ever came to a block from elsewhere, referenced there and not here.
    pub fn was_entered(&self, block: BlockId) -> bool {
        self.known[block.index()].entered
    }

    /// Finds out about the block what [`AddressSpaces::facts`] may be asked often until the next event. Answers are right
    /// without it too, and slower.
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

    /// What the mappings say about a block, seen from one of its pages.
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
        match self.numbers.get(&space) {
            Some(number) => facts(&self.spaces[*number]),
            None => facts(&Space::new(space, self.told.contains(&space))),
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
                unknown = Space::new(space, self.told.contains(&space));
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

    /// Whether a file is known to have a byte there.
    pub fn file_holds(&self, file: FileId, byte: u64) -> bool {
        self.files.get(&file).is_some_and(|size| byte < *size)
    }

    /// Spaces that were referenced and whose mappings the trace does not tell.
    pub fn untold(&self) -> impl Iterator<Item = SpaceId> + '_ {
        self.spaces
            .iter()
            .filter(|space| space.visited && !space.told)
            .map(|space| space.id)
    }

    /// Notes that the trace tells a space's mappings. False where that comes too late: the space was referenced and taken
    /// for one whose mappings are not told, so the replay has to start again with this knowledge.
    pub fn tell(&mut self, space: SpaceId) -> bool {
        let space = self.space(space);
        let in_time = space.told || !space.visited;
        space.tell();
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
                spans.push(Span {
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

    /// A mapping came to be, in place of whatever stood there.
    pub fn map(&mut self, space: SpaceId, mapping: Mapping) -> Vec<Change> {
        let shared = self.shared_in(space, mapping.pages);
        self.memories.show(&mapping);
        let target = self.space(space);
        target.generation += 1;
        target.map(mapping);
        if mapping.backing == Backing::Heap {
            let heap = target.heap.get_or_insert(mapping.pages);
            heap.start = heap.start.min(mapping.pages.start);
            heap.end = heap.end.max(mapping.pages.end);
        }
        let mut changes: Vec<Change> = self.release(space, mapping.pages).into_iter().collect();
        changes.extend(self.unshared(&shared));
        changes
    }

    /// A range is no longer mapped.
    pub fn unmap(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        let shared = self.shared_in(space, pages);
        let target = self.space(space);
        target.generation += 1;
        target.unmap(pages);
        let mut changes: Vec<Change> = self.release(space, pages).into_iter().collect();
        changes.extend(self.unshared(&shared));
        changes
    }

    /// The pages of a range go, and its mappings stay.
    pub fn discard(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        self.release(space, pages).into_iter().collect()
    }

    /// A range has these rights now. Parts that had them before are left alone.
    pub fn protect(&mut self, space: SpaceId, pages: Pages, rights: Rights) -> Vec<Change> {
        let target = self.space(space);
        target.generation += 1;
        let changed = target.mappings.protect(pages, rights);
        changed
            .into_iter()
            .map(|pages| Change::Protect(self.extent(space, pages)))
            .collect()
    }

    /// Superpages are advised for a range, or against.
    pub fn advise(&mut self, space: SpaceId, pages: Pages, superpages: bool) {
        let target = self.space(space);
        target.generation += 1;
        let Advised { for_them, against } = &mut target.advised;
        let (given, other) = if superpages {
            (for_them, against)
        } else {
            (against, for_them)
        };
        given.add(pages);
        other.remove(pages);
    }

    /// The heap stands there now: what it lost is unmapped. What it gained is mapped, and pages that are resident there
    /// stay.
    pub fn set_heap(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        let nothing = Pages {
            start: pages.start,
            end: pages.start,
        };
        let target = self.space(space);
        target.generation += 1;
        let before = target.heap.replace(pages).unwrap_or(nothing);
        let (lost, gained) = (before.without(pages), pages.without(before));
        let mut shared = Vec::new();
        for part in lost.into_iter().chain(gained) {
            shared.extend(self.shared_in(space, part));
        }
        let target = self.space(space);
        for part in lost {
            target.unmap(part);
        }
        for part in gained {
            let (rights, backing) = (Rights::READ_WRITE, Backing::Heap);
            target.map(Mapping {
                pages: part,
                rights,
                shared: false,
                backing,
            });
        }
        let mut changes: Vec<Change> = (lost.into_iter())
            .filter_map(|part| self.release(space, part))
            .collect();
        changes.extend(self.unshared(&shared));
        changes
    }

    /// A stack reaches down to the start of the range now. What it gains has the rights of what was there of it, and pages
    /// that are resident there stay.
    pub fn grow_stack(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        let target = self.space(space);
        target.generation += 1;
        let is_stack = |mapping: &&Mapping| mapping.backing == Backing::Stack;
        let stack = target.mappings.meeting(pages).find(is_stack).copied();
        let gained = Pages {
            end: stack.map_or(pages.end, |stack| stack.pages.start),
            ..pages
        };
        let shared = self.shared_in(space, gained);
        let target = self.space(space);
        match stack {
            Some(stack) if !gained.is_empty() => {
                target.mappings.put(Mapping {
                    pages: Pages {
                        start: pages.start,
                        ..stack.pages
                    },
                    ..stack
                });
                target.advised.forget(gained);
            }
            Some(_) => {}
            None => {
                let (rights, backing) = (Rights::READ_WRITE, Backing::Stack);
                target.map(Mapping {
                    pages,
                    rights,
                    shared: false,
                    backing,
                });
            }
        }
        self.unshared(&shared)
    }

    /// Pages went from one range to another, as by `mremap(2)`: what grew is new, what shrank is gone. Ranges that overlap
    /// and begin at different places are left alone, as no kernel moves those.
    pub fn remap(&mut self, space: SpaceId, from: Pages, to: Pages) -> Vec<Change> {
        if from.start == to.start {
            return self.resize(space, from, to);
        }
        if !from.common(to).is_empty() || from.is_empty() {
            return Vec::new();
        }
        let moved = Pages {
            start: from.start,
            end: from.start + from.len().min(to.len()),
        };
        let tail = Pages {
            start: moved.end,
            end: from.end,
        };
        let mut shared = self.shared_in(space, to);
        shared.extend(self.shared_in(space, tail));
        let mut changes: Vec<Change> = [to, tail]
            .into_iter()
            .filter_map(|pages| self.release(space, pages))
            .collect();
        changes.push(Change::Relocate {
            from: self.extent(space, moved),
            to: to.start,
            moves: self.moves(space, moved, to),
        });
        let target = self.space(space);
        target.generation += 1;
        target.mappings.cut(to);
        let advised = target.advised.taken_out(moved);
        target.advised.forget(from);
        target.advised.forget(to);
        let taken = target.mappings.cut(from);
        target.assume(from);
        for piece in taken.iter().filter(|piece| piece.pages.start < moved.end) {
            let piece = piece.part(moved);
            target
                .mappings
                .put(piece.moved_to(to.start + (piece.pages.start - from.start)));
        }
        target
            .advised
            .put_down(&advised, to.start.wrapping_sub(from.start));
        self.extend(space, to.start + moved.len(), to.end);
        changes.extend(self.unshared(&shared));
        changes
    }

    fn resize(&mut self, space: SpaceId, from: Pages, to: Pages) -> Vec<Change> {
        if to.end <= from.end {
            return self.unmap(
                space,
                Pages {
                    start: to.end,
                    end: from.end,
                },
            );
        }
        let gained = Pages {
            start: from.end,
            end: to.end,
        };
        let changes = self.unmap(space, gained);
        self.extend(space, gained.start, gained.end);
        changes
    }

    /// Lets the mapping that ends at `start` go on to `end`.
    fn extend(&mut self, space: SpaceId, start: u64, end: u64) {
        let target = self.space(space);
        let last = start
            .checked_sub(1)
            .and_then(|page| target.mappings.at(page))
            .copied();
        if let Some(last) = last
            && start < end
        {
            let gained = Pages { start, end };
            target.advised.forget(gained);
            target.mappings.put(Mapping {
                pages: Pages {
                    start: last.pages.start,
                    end,
                },
                ..last
            });
            self.memories.show(&Mapping {
                pages: gained,
                ..last
            });
        }
    }

    /// Which parts of which blocks go where, if a range moves.
    fn moves(&mut self, space: SpaceId, from: Pages, to: Pages) -> Vec<Move> {
        let mut moves = Vec::new();
        for span in self.extent(space, from).spans {
            let first = Pages::of_block(self.place(span.block).1).start;
            let mut offset = span.from;
            while offset < span.to {
                let page = PageNumber(to.start + (first + offset as u64 - from.start));
                let at = GEOMETRY.offset_in_block(page);
                let length = (span.to - offset).min(PAGES_PER_BLOCK - at);
                let target = self.block(space, GEOMETRY.block_of(page));
                self.known[target.index()].entered = true;
                let source = Span {
                    block: span.block,
                    from: offset,
                    to: offset + length,
                };
                moves.push(Move { source, target, at });
                offset += length;
            }
        }
        moves
    }

    /// An address space ended, or begins with nothing of what was there.
    pub fn end(&mut self, space: SpaceId) -> Vec<Change> {
        let untold = self.memories.end(space);
        if !self.numbers.contains_key(&space) {
            // It began, and nothing of it was told.
            return self.unshared(&untold);
        }
        let mut shared = self.shared_in(space, Pages::ALL);
        shared.extend(untold);
        self.space(space).clear();
        let mut changes = vec![Change::End(self.extent(space, Pages::ALL))];
        changes.extend(self.unshared(&shared));
        changes
    }
}
