//! Events that change an address space, and what each changes for every memory.

use super::AddressSpaces;
use crate::advised::Advised;
use crate::{Backing, BlockSpan, Change, GEOMETRY, Mapping, Move, PAGES_PER_BLOCK, Pages};
use broadleaf_units::{PageNumber, Rights, SpaceId};

impl AddressSpaces {
    /// Adds a mapping in place of all earlier ones in its range.
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

    /// Removes the mappings of a range, as by `munmap(2)`.
    pub fn unmap(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        let shared = self.shared_in(space, pages);
        let target = self.space(space);
        target.generation += 1;
        target.unmap(pages);
        let mut changes: Vec<Change> = self.release(space, pages).into_iter().collect();
        changes.extend(self.unshared(&shared));
        changes
    }

    /// Removes the pages of a range and keeps its mappings (`MADV_DONTNEED`).
    pub fn discard(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        self.release(space, pages).into_iter().collect()
    }

    /// Sets the rights of a range. Parts that had these rights before are left alone.
    pub fn protect(&mut self, space: SpaceId, pages: Pages, rights: Rights) -> Vec<Change> {
        let target = self.space(space);
        target.generation += 1;
        let changed = target.mappings.protect(pages, rights);
        changed
            .into_iter()
            .map(|pages| Change::Protect(self.extent(space, pages)))
            .collect()
    }

    /// Notes advice for superpages in a range, or against them.
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

    /// Moves the heap to a range: the part that the heap loses is unmapped, and the part that it
    /// gains is mapped. Pages that are resident in the gained part stay.
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

    /// Extends a stack down to the start of the range. The new part has the rights of the old
    /// stack, and pages that are resident there stay.
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

    /// Moves pages from one range to another, as by `mremap(2)`: growth is new memory, and the
    /// pages of a shrunk end are removed. Overlapping ranges with different starts are left alone,
    /// as no kernel moves those.
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

    /// Extends the mapping that ends at `start` up to `end`.
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

    /// The parts of blocks that move, and their targets.
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
                let source = BlockSpan {
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

    /// Ends an address space, or clears one that begins again.
    pub fn end(&mut self, space: SpaceId) -> Vec<Change> {
        self.end_kernel_reservations(space);
        let unlisted = self.memories.end(space);
        if !self.numbers.contains_key(&space) {
            // The space began, and the trace lists no mapping of it.
            return self.unshared(&unlisted);
        }
        let mut shared = self.shared_in(space, Pages::ALL);
        shared.extend(unlisted);
        self.space(space).clear();
        let mut changes = vec![Change::End(self.extent(space, Pages::ALL))];
        changes.extend(self.unshared(&shared));
        changes
    }
}
