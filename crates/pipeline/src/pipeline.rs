//! The pipeline.
//!
//! Instruction `k` begins one slot after instruction `k - 1`, and not before instruction
//! `k - window` has retired. A *slot* is the part of a cycle that one instruction takes at full
//! width. An access to memory begins when the registers of its address are ready. An operation
//! begins when its registers and its loads are ready, and its results are ready after its cycles.
//! Instructions retire in order, each when its results are ready. After a mispredicted branch, the
//! next instruction begins some cycles after the branch's operation.
//!
//! A core has a number of units of each kind. An operation that finds none free waits for the next
//! cycle in which one is.
//!
//! A load of an operand that was stored shortly before waits for what is stored. Operands are equal
//! if their texts are, and no register of their address changed.
//!
//! Limits: a load waits for no store to the same place by another text. Fetches of the wrong path
//! touch nothing.

use std::sync::Arc;

use crate::units::Units;
use crate::{BranchKind, Branches, CoreUnit, Flow, REGISTERS, UNITS, UnitSet};

/// The shape of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineSpec {
    /// The instructions that begin in a cycle at most.
    pub width: u64,
    /// The instructions between the oldest that has not retired and the youngest that has begun.
    pub window: usize,
    /// The cycles from the operation of a mispredicted branch to the instruction after it.
    pub mispredicted: u64,
    /// The cycles of a load that hits the first level of caches.
    pub load: u64,
    /// The units of each kind, in the order of [`CoreUnit::ALL`]; `None` if there are always
    /// enough.
    ///
    /// [`CoreUnit::ALL`]: crate::CoreUnit::ALL
    pub units: [Option<u8>; UNITS],
}

/// A pipeline in its present state. Times are slots.
#[derive(Clone, Debug)]
pub struct Pipeline {
    spec: PipelineSpec,
    /// The slot in which the last instruction began.
    now: u64,
    /// The instructions that have begun.
    begun: u64,
    /// The slots at which the last `window` instructions retire, by number modulo `window`.
    retire: Box<[u64]>,
    last_retires: u64,
    /// The slots at which registers are ready.
    ready: [u64; REGISTERS],
    /// The instruction that began last.
    open: Option<OpenInstruction>,
    /// The code of the execution, and the next instruction of it.
    path: Arc<[Flow]>,
    at: usize,
    /// How often each register changed.
    versions: [u32; REGISTERS],
    /// The operands that were stored lately, and the slots at which their contents are ready.
    stored: Box<[(u64, u64)]>,
    units: Units,
    branches: Branches,
    /// The branch that began last, and the slot after its operation.
    branch: Option<(Flow, u64)>,
    mispredicted: u64,
    /// The slots by which loads began earlier on a wrong path, and the number of the instruction at
    /// which that path was left.
    early: (u64, u64),
}

/// The instruction that began last. Its loads have not ended.
#[derive(Clone, Copy, Debug)]
struct OpenInstruction {
    flow: Flow,
    /// The slot at which its accesses to memory begin.
    memory: u64,
    /// The slot at which the registers of its operation are ready.
    data: u64,
    /// The slot at which its accesses end; 0 if the caller has not said so.
    ends: u64,
}

/// The units of accesses to memory.
const MEMORY_UNITS: UnitSet =
    1 << CoreUnit::Load as u8 | 1 << CoreUnit::VectorLoad as u8 | 1 << CoreUnit::Store as u8;

/// The operands that were stored lately, at most.
const STORED: usize = 256;

/// The bytes that a forward branch skips at most if both of its ways soon join again.
const REJOINS: u64 = 128;

/// Returns true if both ways of a branch soon join again.
const fn rejoins(branch: &Flow) -> bool {
    branch.target > branch.end && branch.target - branch.end <= REJOINS
}

impl Pipeline {
    /// An idle pipeline.
    pub fn new(spec: PipelineSpec) -> Self {
        Self {
            spec,
            now: 0,
            begun: 0,
            retire: vec![0; spec.window.max(1)].into(),
            last_retires: 0,
            ready: [0; REGISTERS],
            open: None,
            path: Arc::from([]),
            at: 0,
            versions: [0; REGISTERS],
            stored: vec![(0, 0); STORED].into(),
            units: Units::new(spec.units),
            branches: Branches::default(),
            branch: None,
            mispredicted: 0,
            early: (0, 0),
        }
    }

    /// The next instructions are those of this path. Without a path, instructions wait for nothing.
    pub fn enter(&mut self, path: Arc<[Flow]>) {
        self.path = path;
        self.at = 0;
    }

    /// Begins this number of instructions.
    #[inline]
    pub fn advance(&mut self, instructions: u64) {
        for _ in 0..instructions {
            self.close();
            let flow = self.path.get(self.at).copied();
            self.at += 1;
            self.begin(flow.unwrap_or(Flow {
                cycles: 1,
                ..Flow::default()
            }));
        }
    }

    fn begin(&mut self, flow: Flow) {
        if let Some((branch, resolved)) = self.branch.take() {
            let wrong = (self.branches).mispredicts(
                branch.branch,
                branch.address,
                branch.end,
                flow.address,
            );
            if wrong {
                self.mispredicted += 1;
                let redirected = resolved + self.slots(self.spec.mispredicted);
                if rejoins(&branch) {
                    let early = redirected.saturating_sub(self.now);
                    self.early = (early, self.begun + self.spec.window as u64);
                }
                self.now = self.now.max(redirected);
            }
        }
        let place = (self.begun % self.retire.len() as u64) as usize;
        self.now = (self.now + 1).max(self.retire[place]);
        self.begun += 1;
        let memory = self.ready_of(flow.addresses);
        self.open = Some(OpenInstruction {
            flow,
            memory: self.take_units(flow.units & MEMORY_UNITS, memory),
            data: self.ready_of(flow.reads).max(self.stored_at(&flow)),
            ends: 0,
        });
    }

    /// The present name of an instruction's operand in memory; 0 if it has none.
    fn operand(&self, flow: &Flow) -> u64 {
        if flow.operand == 0 {
            return 0;
        }
        let mut name = flow.operand;
        let mut registers = flow.addresses;
        while registers != 0 {
            let version = self.versions[registers.trailing_zeros() as usize];
            name = (name ^ u64::from(version)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            name ^= name >> 29;
            registers &= registers - 1;
        }
        name | 1
    }

    /// The slot at which a load of an operand that was stored lately has it; 0 for others.
    fn stored_at(&self, flow: &Flow) -> u64 {
        if !flow.loads {
            return 0;
        }
        let operand = self.operand(flow);
        match self.stored[operand as usize >> 1 & (STORED - 1)] {
            (known, ready) if known == operand => ready + self.slots(self.spec.load),
            _ => 0,
        }
    }

    /// The slot from `slot` on in which units are free. The operation takes them.
    fn take_units(&mut self, units: UnitSet, slot: u64) -> u64 {
        if units == 0 {
            return slot;
        }
        let (now, width) = (self.now / self.spec.width, self.spec.width);
        let ready = slot.div_ceil(width);
        match self.units.take(units, now, ready) {
            begins if begins == ready => slot,
            begins => begins * width,
        }
    }

    /// The slot at which registers are ready, from the present one on.
    fn ready_of(&self, mut registers: u64) -> u64 {
        let mut slot = self.now;
        while registers != 0 {
            slot = slot.max(self.ready[registers.trailing_zeros() as usize]);
            registers &= registers - 1;
        }
        slot
    }

    /// The slot at which the registers and the loads of an instruction's operation are ready.
    fn operates(&self, open: &OpenInstruction) -> u64 {
        let loaded = match (open.flow.loads, open.ends) {
            (true, 0) => open.memory + self.slots(self.spec.load),
            (true, ends) => ends,
            // A buffer takes what is stored, but not before the translation.
            (false, ends) => ends.max(open.memory),
        };
        open.data.max(loaded)
    }

    /// Ends the instruction that began last: its accesses are known.
    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let operates = self.operates(&open);
        let operates = self.take_units(open.flow.units & !MEMORY_UNITS, operates);
        let ends = operates + self.slots(open.flow.cycles.into());
        let mut writes = open.flow.writes;
        while writes != 0 {
            self.ready[writes.trailing_zeros() as usize] = ends;
            writes &= writes - 1;
        }
        if open.flow.stores {
            let operand = self.operand(&open.flow);
            self.stored[operand as usize >> 1 & (STORED - 1)] = (operand, ends);
        }
        let mut changes = open.flow.changes;
        while changes != 0 {
            let version = &mut self.versions[changes.trailing_zeros() as usize];
            *version = version.wrapping_add(1);
            changes &= changes - 1;
        }
        self.last_retires = self.last_retires.max(ends);
        let place = ((self.begun - 1) % self.retire.len() as u64) as usize;
        self.retire[place] = self.last_retires;
        if open.flow.branch != BranchKind::None {
            self.branch = Some((open.flow, ends));
        }
    }

    /// The slots of some cycles.
    #[inline]
    pub const fn slots(&self, cycles: u64) -> u64 {
        cycles.saturating_mul(self.spec.width)
    }

    /// The slot in which the last instruction began.
    #[inline]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The slot at which the accesses to memory of the last instruction begin.
    #[inline]
    pub fn memory_begins(&self) -> u64 {
        self.open.as_ref().map_or(self.now, |open| open.memory)
    }

    /// An access of the last instruction ends at this slot.
    #[inline]
    pub fn memory_ends(&mut self, slot: u64) {
        let load = self.slots(self.spec.load);
        let early = match self.early {
            (early, until) if self.begun <= until => early,
            _ => 0,
        };
        if let Some(open) = &mut self.open {
            let soonest = open.memory + load;
            let slot = slot.saturating_sub(early).max(slot.min(soonest));
            open.ends = open.ends.max(slot);
        }
    }

    /// Lets the next instruction begin no earlier than at this slot: instructions were missing.
    pub const fn begins_at(&mut self, slot: u64) {
        if slot > self.now {
            self.now = slot;
        }
    }

    /// Lets the core do nothing for some cycles.
    pub const fn wait(&mut self, cycles: u64) {
        self.now = self.now.saturating_add(self.slots(cycles));
    }

    /// The slot at which all instructions have retired.
    pub fn end(&self) -> u64 {
        let ends =
            |open: &OpenInstruction| self.operates(open) + self.slots(open.flow.cycles.into());
        let open = self.open.as_ref().map_or(0, ends);
        self.last_retires.max(self.now).max(open)
    }

    /// The instructions that have begun.
    pub const fn instructions(&self) -> u64 {
        self.begun
    }

    /// The branches that were mispredicted.
    pub const fn mispredicted(&self) -> u64 {
        self.mispredicted
    }
}
