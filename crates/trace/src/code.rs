//! The code of a program's blocks: the bytes of their instructions, for models of processors that
//! follow dependences and branches.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::block::MOST_PATTERNS;
use crate::varint::{self, Cursor};

/// The maximum number of bytes of one instruction.
pub const MOST_INSTRUCTION_BYTES: usize = 15;

/// An instruction: its address and its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeInstruction {
    /// The address of its first byte.
    pub address: u64,
    /// The number of its bytes, at most [`MOST_INSTRUCTION_BYTES`].
    pub length: u8,
    /// Its bytes, and zeros.
    pub bytes: [u8; MOST_INSTRUCTION_BYTES],
}

impl CodeInstruction {
    /// The instruction with these bytes at an address. Bytes above the maximum are left out.
    pub fn new(address: u64, code: &[u8]) -> Self {
        let length = code.len().min(MOST_INSTRUCTION_BYTES);
        let mut bytes = [0; MOST_INSTRUCTION_BYTES];
        bytes[..length].copy_from_slice(&code[..length]);
        Self {
            address,
            length: length as u8,
            bytes,
        }
    }

    /// The bytes.
    pub fn code(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The address after the instruction.
    pub const fn end(&self) -> u64 {
        self.address.wrapping_add(self.length as u64)
    }
}

/// The code of a basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockCode {
    /// The instructions of the block, in order.
    pub instructions: Vec<CodeInstruction>,
    /// The number of instructions of each of its patterns.
    pub ends: Vec<u32>,
}

impl BlockCode {
    /// Appends the code in the encoding of a code chunk.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.ends.len() as u64);
        for &end in &self.ends {
            varint::put(out, end.into());
        }
        varint::put(out, self.instructions.len() as u64);
        let mut expected = 0;
        for instruction in &self.instructions {
            let distance = instruction.address.wrapping_sub(expected);
            let sign = (distance.cast_signed() >> 63).cast_unsigned();
            varint::put(out, distance << 1 ^ sign);
            out.push(instruction.length);
            out.extend_from_slice(instruction.code());
            expected = instruction.end();
        }
    }

    fn take(from: &mut Cursor<'_>) -> Result<Self, &'static str> {
        let mut block = Self::default();
        for _ in 0..from.number()? {
            block.ends.push(from.number32()?);
        }
        let mut expected = 0_u64;
        for _ in 0..from.number()? {
            let zigzag = from.number()?;
            let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
            let length = from.byte()?;
            if usize::from(length) > MOST_INSTRUCTION_BYTES {
                return Err("an instruction has more than 15 bytes");
            }
            let address = expected.wrapping_add(distance);
            let instruction = CodeInstruction::new(address, from.bytes(length.into())?);
            expected = instruction.end();
            block.instructions.push(instruction);
        }
        match block.ends.iter().max() {
            Some(&most) if most as usize > block.instructions.len() => {
                Err("a pattern has more instructions than its block has code for")
            }
            _ => Ok(block),
        }
    }
}

/// The body of a code chunk, unpacked: the number of its first pattern, and its blocks.
pub(crate) fn blocks_of(raw: &[u8]) -> Result<(u64, Vec<BlockCode>), &'static str> {
    let mut from = Cursor::new(raw);
    let (first, count) = (from.number()?, from.number()?);
    if first > MOST_PATTERNS as u64 {
        return Err("the first pattern is above the limit of a process");
    }
    let mut blocks = Vec::new();
    for _ in 0..count {
        blocks.push(BlockCode::take(&mut from)?);
    }
    match from.is_empty() {
        true => Ok((first, blocks)),
        false => Err("there are bytes after the last block"),
    }
}

/// The code of a pattern.
#[derive(Clone, Debug)]
pub struct PatternCode {
    block: Arc<[CodeInstruction]>,
    length: u32,
}

impl PatternCode {
    /// The instructions that an execution of the pattern executes, in order.
    pub fn instructions(&self) -> &[CodeInstruction] {
        &self.block[..self.length as usize]
    }
}

/// The code of all patterns that a reader has met. Its numbers are those of
/// [`Visit::execution`](crate::Visit::execution). The table only grows, so all parts of a trace
/// share it.
#[derive(Debug, Default)]
pub struct CodeTable {
    patterns: RwLock<Vec<PatternCode>>,
    /// The instructions of all blocks.
    instructions: AtomicUsize,
}

impl CodeTable {
    /// Adds a block. Returns the number of its first pattern; its patterns have consecutive ones.
    pub(crate) fn add(&self, block: BlockCode) -> u32 {
        let code: Arc<[CodeInstruction]> = block.instructions.into();
        self.instructions.fetch_add(code.len(), Ordering::Relaxed);
        let mut patterns = self
            .patterns
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Number 0 means that an execution has no code.
        let first = patterns.len() as u32 + 1;
        patterns.extend(block.ends.iter().map(|&length| PatternCode {
            block: Arc::clone(&code),
            length,
        }));
        first
    }

    /// The code of a pattern, by its number from 1.
    pub fn pattern(&self, number: u32) -> Option<PatternCode> {
        let patterns = self.patterns.read().unwrap_or_else(PoisonError::into_inner);
        let index = number.checked_sub(1)?;
        patterns.get(index as usize).cloned()
    }

    /// The number of instructions of all blocks.
    pub(crate) fn instructions(&self) -> usize {
        self.instructions.load(Ordering::Relaxed)
    }

    /// The number of patterns.
    pub fn len(&self) -> usize {
        let patterns = self.patterns.read().unwrap_or_else(PoisonError::into_inner);
        patterns.len()
    }

    /// Returns true if the table has no pattern.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
