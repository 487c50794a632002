//! The patterns of one process, as a reader uses them: flat arrays indexed by pattern and by
//! reference.

use crate::block::{BlockDef, BlockItem, MOST_BLOCK_REFERENCES, MOST_PATTERNS, MOST_REFERENCES};
use crate::code::{self, CodeTable};
use crate::compress;
use crate::error::{Bad, Section};
use crate::varint::Cursor;

/// The maximum decompressed length of a definitions chunk's body, in bytes.
pub const MOST_DEFINITION_BYTES: usize = 1 << 26;

/// The counts that one reference of a block adds to a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReferenceCounts {
    pub(crate) loads: u32,
    pub(crate) stores: u32,
    pub(crate) loads_before_store: u32,
    /// The instructions that begin between the reference before in the block and this reference's
    /// access.
    pub(crate) instructions: u32,
}

/// Instructions from one unit of code, between two references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) unit: u64,
    pub(crate) count: u32,
    /// The index of the reference that follows the instructions.
    pub(crate) before: u16,
}

/// A basic block up to one of its exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DefinedPattern {
    pub(crate) first_step: u32,
    pub(crate) steps: u16,
    /// The number of references of the whole block.
    pub(crate) block_steps: u16,
    pub(crate) kind: PatternCare,
    /// The instructions after the last reference.
    pub(crate) tail: u32,
}

/// The care that executing a pattern needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PatternCare {
    /// No special care.
    #[default]
    Plain,
    /// The counts may overflow the counts of a visit.
    Large,
    /// The definition was lost.
    Undefined,
}

/// The cost at which a pattern is large. The counts of a visit need an overflow check after each
/// execution of a large pattern.
pub(crate) const LARGE: u64 = 1 << 14;

/// The patterns of one process.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    instruction_pages: bool,
    pub(crate) patterns: Vec<DefinedPattern>,
    pub(crate) steps: Vec<ReferenceCounts>,
    pub(crate) fetches: Vec<Fetch>,
    /// The fetches of each pattern, from index to index. Empty if the trace has no instruction
    /// pages.
    pub(crate) fetches_of: Vec<(u32, u32)>,
    /// The number of each pattern in the reader's code table; 0 if its code is unknown. Empty if
    /// the reader was not asked for code.
    pub(crate) code_of: Vec<u32>,
}

impl Definitions {
    /// Definitions without a pattern. `instruction_pages` comes from the file's head.
    pub fn new(instruction_pages: bool) -> Self {
        Self {
            instruction_pages,
            ..Self::default()
        }
    }

    /// The number of patterns.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// The number of references of all blocks.
    pub fn references(&self) -> usize {
        self.steps.len()
    }

    /// The number of array elements that the definitions occupy.
    pub(crate) fn size(&self) -> usize {
        self.patterns.len() + self.steps.len() + self.fetches.len() + self.code_of.len()
    }

    /// Adds the code in the body of a code chunk to a table.
    ///
    /// # Errors
    /// Returns an error if the body is invalid or is about patterns that are not defined.
    pub(crate) fn add_code(&mut self, body: &[u8], table: &CodeTable) -> Result<(), Bad> {
        let wrong = |reason| Bad::new(Section::BlockCode, reason);
        let raw = compress::unpack_unsized(body, MOST_DEFINITION_BYTES).map_err(wrong)?;
        let (first, blocks) = code::blocks_of(&raw).map_err(wrong)?;
        let mut pattern = first as usize;
        for block in blocks {
            let patterns = block.ends.len();
            if pattern + patterns > self.patterns.len() {
                return Err(wrong("code is about a pattern that is not defined"));
            }
            let number = table.add(block);
            if self.code_of.len() < pattern + patterns {
                self.code_of.resize(pattern + patterns, 0);
            }
            for (of, number) in self.code_of[pattern..].iter_mut().zip(number..) {
                *of = number;
            }
            pattern += patterns;
        }
        Ok(())
    }

    /// Adds the definitions in the body of a definitions chunk. A chunk that begins with pattern 0
    /// replaces all earlier definitions.
    ///
    /// # Errors
    /// Returns an error if the body is invalid or does not continue the earlier definitions. With
    /// `gaps`, missing patterns count as lost; a stream chunk that executes a lost pattern is
    /// invalid.
    pub fn add(&mut self, body: &[u8], gaps: bool) -> Result<(), Bad> {
        let raw = compress::unpack_unsized(body, MOST_DEFINITION_BYTES)
            .map_err(|reason| Bad::new(Section::Definitions, reason))?;
        self.add_raw(&raw, gaps)
            .map_err(|reason| Bad::new(Section::Definitions, reason))
    }

    fn add_raw(&mut self, raw: &[u8], gaps: bool) -> Result<(), &'static str> {
        let mut from = Cursor::new(raw);
        let first = from.number()?;
        if first == 0 {
            *self = Self::new(self.instruction_pages);
        }
        let known = self.patterns.len() as u64;
        if first != known {
            if !gaps || first < known || first > MOST_PATTERNS as u64 {
                return Err("the first pattern does not continue the patterns before");
            }
            let lost = DefinedPattern {
                kind: PatternCare::Undefined,
                ..DefinedPattern::default()
            };
            self.patterns.resize(first as usize, lost);
            if self.instruction_pages {
                self.fetches_of.resize(first as usize, (0, 0));
            }
        }
        let blocks = from.number()?;
        for _ in 0..blocks {
            let mut block = BlockBuilder::at_end_of(self);
            let first = self.patterns.len();
            let taken = BlockDef::take(&mut from, |item| block.item(self, item));
            let steps = (self.steps.len() - block.first_step) as u16;
            for pattern in &mut self.patterns[first..] {
                pattern.block_steps = steps;
            }
            taken?;
        }
        if from.is_empty() {
            Ok(())
        } else {
            Err("there are bytes after the last block")
        }
    }
}

/// The state of adding one block.
struct BlockBuilder {
    first_step: usize,
    first_fetch: usize,
    /// Instructions since the last reference.
    instructions: u32,
    /// The sum of all counts so far.
    cost: u64,
}

impl BlockBuilder {
    fn at_end_of(all: &Definitions) -> Self {
        Self {
            first_step: all.steps.len(),
            first_fetch: all.fetches.len(),
            instructions: 0,
            cost: 1,
        }
    }

    fn item(&mut self, all: &mut Definitions, item: BlockItem) -> Result<(), &'static str> {
        match item {
            BlockItem::Instructions(_) if all.instruction_pages => {
                Err("an instruction without its page in a trace with instruction pages")
            }
            BlockItem::Fetch { .. } | BlockItem::FetchAgain(_) if !all.instruction_pages => {
                Err("a fetch in a trace without instruction pages")
            }
            BlockItem::Instructions(count) => self.instructions(count),
            BlockItem::Fetch { unit } => {
                self.instructions(1)?;
                self.fetch(all, unit, 1)
            }
            BlockItem::FetchAgain(count) => {
                let last = all.fetches[self.first_fetch..].last();
                let unit = last.ok_or("a block fetches again before it fetched")?.unit;
                self.instructions(count)?;
                self.fetch(all, unit, count)
            }
            BlockItem::Load { .. } => self.reference(all, 1, 0, 1),
            BlockItem::Store { .. } => self.reference(all, 0, 1, 0),
            BlockItem::Several {
                loads,
                stores,
                loads_before_store,
            } => {
                if loads == 0 && stores == 0 {
                    return Err("a reference without an access");
                }
                if loads_before_store > loads {
                    return Err("more loads before the first store than loads");
                }
                self.reference(all, loads, stores, loads_before_store)
            }
            BlockItem::Exit => self.exit(all),
        }
    }

    fn instructions(&mut self, count: u32) -> Result<(), &'static str> {
        self.cost += u64::from(count);
        let sum = self.instructions.checked_add(count);
        self.instructions = sum.ok_or("more than 2^32 instructions between two references")?;
        Ok(())
    }

    fn fetch(&self, all: &mut Definitions, unit: u64, count: u32) -> Result<(), &'static str> {
        if all.fetches.len() >= MOST_REFERENCES {
            return Err("more fetches than a process may have");
        }
        let before = (all.steps.len() - self.first_step) as u16;
        all.fetches.push(Fetch {
            unit,
            count,
            before,
        });
        Ok(())
    }

    fn reference(
        &mut self,
        all: &mut Definitions,
        loads: u32,
        stores: u32,
        loads_before_store: u32,
    ) -> Result<(), &'static str> {
        if all.steps.len() - self.first_step >= MOST_BLOCK_REFERENCES {
            return Err("more references than a block may have");
        }
        if all.steps.len() >= MOST_REFERENCES {
            return Err("more references than a process may have");
        }
        self.cost += u64::from(loads) + u64::from(stores);
        all.steps.push(ReferenceCounts {
            loads,
            stores,
            loads_before_store,
            instructions: std::mem::take(&mut self.instructions),
        });
        Ok(())
    }

    fn exit(&self, all: &mut Definitions) -> Result<(), &'static str> {
        if all.patterns.len() >= MOST_PATTERNS {
            return Err("more patterns than a process may have");
        }
        all.patterns.push(DefinedPattern {
            first_step: self.first_step as u32,
            steps: (all.steps.len() - self.first_step) as u16,
            // The end of the block sets this field.
            block_steps: 0,
            kind: if self.cost >= LARGE {
                PatternCare::Large
            } else {
                PatternCare::Plain
            },
            tail: self.instructions,
        });
        if all.instruction_pages {
            let end = all.fetches.len() as u32;
            all.fetches_of.push((self.first_fetch as u32, end));
        }
        Ok(())
    }
}
