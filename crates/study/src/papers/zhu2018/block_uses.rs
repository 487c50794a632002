//! The use of each block of a trace: its accesses, its populated and dirty pages, and its lifetime
//! (figure 5.1).

use std::collections::HashMap;

use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::{Event, Lead, Range, Visit};
use broadleaf_units::SpaceId;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The pages of a block.
const PAGES: usize = 512;
/// The bits of an address inside a page, and inside a block.
const PAGE_SHIFT: u32 = 12;
const BLOCK_SHIFT: u32 = 21;

/// The use of a block, from its first touch until its memory left or the trace ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlockUse {
    pub(super) accesses: u64,
    /// The distinct base pages that the program touched.
    pub(super) populated: u32,
    /// The distinct base pages that the program stored to.
    pub(super) dirty: u32,
    /// The accesses to any memory during its life.
    pub(super) lifetime: u64,
}

/// A set of the pages of a block.
#[derive(Clone, Copy, Debug, Default)]
struct PageSet([u64; PAGES / 64]);

impl PageSet {
    fn add(&mut self, page: u64) {
        self.0[page as usize / 64 % (PAGES / 64)] |= 1 << (page % 64);
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// A block that is alive.
#[derive(Clone, Debug)]
struct LiveBlock {
    first: u64,
    accesses: u64,
    touched: PageSet,
    stored: PageSet,
}

/// The blocks of a trace so far.
#[derive(Debug, Default)]
struct BlockUses {
    /// The low bits of a unit that lie inside a page.
    shift: u32,
    space: SpaceId,
    now: u64,
    live: HashMap<(SpaceId, u64), LiveBlock>,
    /// The block of the last visit, outside of `live`.
    current: Option<((SpaceId, u64), LiveBlock)>,
    ended: Vec<BlockUse>,
}

/// Reads a trace, and returns the use of its blocks: those with the most accesses first.
pub(super) fn block_uses<S: Source>(trace: &mut S) -> Result<Vec<BlockUse>, Failure>
where
    S::Error: std::fmt::Display,
{
    let failed = |error: S::Error| Failure::failed(error.to_string());
    let mut uses = BlockUses {
        shift: PAGE_SHIFT - u32::from(trace.grain().shift()).min(PAGE_SHIFT),
        ..BlockUses::default()
    };
    while let Some(mut part) = trace.next_part().map_err(failed)? {
        while let Some(piece) = part.next().map_err(failed)? {
            match piece {
                SourcePiece::Visits(visits) => visits.iter().for_each(|visit| uses.visit(visit)),
                SourcePiece::Phrased(phrased) => {
                    phrased.visits().for_each(|visit| uses.visit(&visit));
                }
                SourcePiece::Event(event) => uses.event(event),
                SourcePiece::Reduced(..) => {
                    let why = "the reduced form of a trace does not have all accesses";
                    return Err(Failure::failed(why));
                }
            }
        }
        if trace.close(part).map_err(failed)?.is_break() {
            break;
        }
    }
    Ok(uses.finish())
}

impl BlockUses {
    fn visit(&mut self, visit: &Visit) {
        if visit.fetch || visit.lookups() == 0 {
            return;
        }
        let page = visit.unit >> self.shift;
        let key = (self.space, page >> (BLOCK_SHIFT - PAGE_SHIFT));
        if self.current.as_ref().is_none_or(|(known, _)| *known != key) {
            self.put_back();
            let block = self.live.remove(&key).unwrap_or_else(|| LiveBlock {
                first: self.now,
                accesses: 0,
                touched: PageSet::default(),
                stored: PageSet::default(),
            });
            self.current = Some((key, block));
        }
        let accesses = u64::from(visit.loads) + u64::from(visit.stores);
        if let Some((_, block)) = &mut self.current {
            block.accesses += accesses;
            block.touched.add(page);
            if visit.stores > 0 || visit.lead == Lead::Store {
                block.stored.add(page);
            }
        }
        self.now += accesses;
    }

    fn put_back(&mut self) {
        if let Some((key, block)) = self.current.take() {
            self.live.insert(key, block);
        }
    }

    fn event(&mut self, event: &Event) {
        self.put_back();
        match event {
            Event::SpaceSwitch(space) => self.space = *space,
            Event::Unmap(range) => self.end_inside(range),
            Event::Map(mapping) => self.end_inside(&mapping.range),
            Event::SpaceEnd { .. } | Event::Exec { .. } => {
                let space = self.space;
                self.end_where(|(of, _)| *of == space);
            }
            _ => {}
        }
    }

    /// Ends the blocks that lie in a range as a whole.
    fn end_inside(&mut self, range: &Range) {
        let block = 1 << BLOCK_SHIFT;
        let first = range.start.0.div_ceil(block);
        let end = range.start.0.saturating_add(range.len) / block;
        if end.saturating_sub(first) > self.live.len() as u64 {
            let space = self.space;
            self.end_where(|(of, number)| *of == space && (first..end).contains(number));
            return;
        }
        for number in first..end {
            if let Some(block) = self.live.remove(&(self.space, number)) {
                self.end(&block);
            }
        }
    }

    fn end_where(&mut self, is_over: impl Fn(&(SpaceId, u64)) -> bool) {
        let over: Vec<(SpaceId, u64)> = self.live.keys().copied().filter(is_over).collect();
        for key in over {
            if let Some(block) = self.live.remove(&key) {
                self.end(&block);
            }
        }
    }

    fn end(&mut self, block: &LiveBlock) {
        self.ended.push(BlockUse {
            accesses: block.accesses,
            populated: block.touched.count(),
            dirty: block.stored.count(),
            lifetime: self.now - block.first,
        });
    }

    fn finish(mut self) -> Vec<BlockUse> {
        self.put_back();
        self.end_where(|_| true);
        let by_use = |one: &BlockUse| {
            let BlockUse {
                accesses,
                populated,
                dirty,
                lifetime,
            } = *one;
            std::cmp::Reverse((accesses, populated, dirty, lifetime))
        };
        self.ended.sort_unstable_by_key(by_use);
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::generated::{GeneratedTrace, begin, end, map, run, sweep, touch, unmap};

    const BLOCK: u64 = 1 << BLOCK_SHIFT;

    #[test]
    fn accesses_pages_and_lives_of_blocks() {
        let say = || {
            let first = begin(1, "one").chain([map(0, 4 * BLOCK)]);
            // 100 pages are loaded twice each, and 20 of them are stored to.
            let touched = sweep(0, 100 << 12, 2, 0).chain(sweep(0, 20 << 12, 0, 1));
            let other = sweep(2 * BLOCK, BLOCK, 1, 3);
            // The first block leaves as a whole, and another block in its place is another one.
            let again = [unmap(0, BLOCK), map(0, BLOCK), touch(0, 5, 0)];
            let second = [run(2), touch(0, 7, 0), end(), run(1), touch(0, 1, 0)];
            let whole = first.chain(touched).chain(other).chain(again);
            Box::new(whole.chain(second)) as Box<dyn Iterator<Item = _> + Send>
        };
        let mut trace = GeneratedTrace::new(say);
        let accesses = trace.accesses();
        let uses = block_uses(&mut trace).unwrap();
        let block = |accesses, populated, dirty, lifetime| BlockUse {
            accesses,
            populated,
            dirty,
            lifetime,
        };
        let swept = 512 * 4;
        let expected = [
            block(swept, 512, 512, swept + 5 + 7 + 1),
            block(220, 100, 20, 220 + swept),
            block(7, 1, 0, 7),
            block(6, 1, 0, 5 + 7 + 1),
        ];
        assert_eq!(uses, expected);
        let sum: u64 = uses.iter().map(|one| one.accesses).sum();
        assert_eq!(sum, accesses);
    }
}
