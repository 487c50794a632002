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
//! A load of an operand that was stored shortly before waits for what is stored. A general register
//! then has it at once, and a vector register after some cycles. Operands are equal if their texts
//! are, and no register of their address changed.
//!
//! Limits: a load waits for no store to the same place by another text. Fetches of the wrong path
//! touch nothing.

use std::sync::Arc;

use crate::stored::StoredOperands;
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
    /// The bits of a slot's place in its cycle; `None` if the width is no power of two.
    shift: Option<u32>,
    /// The slot in which the last instruction began.
    now: u64,
    /// The instructions that have begun.
    begun: u64,
    /// The slots at which the last `window` instructions retire, by number modulo `window`.
    retire: Box<[u64]>,
    /// The place of the next instruction there.
    place: usize,
    last_retires: u64,
    /// The slots at which registers are ready.
    ready: [u64; REGISTERS],
    /// The instruction that began last.
    open: Option<OpenInstruction>,
    /// The code of the execution, and the next instruction of it.
    path: Arc<[Flow]>,
    at: usize,
    stored: StoredOperands,
    units: Units,
    branches: Branches,
    branch: Option<OpenBranch>,
    mispredicted: u64,
    /// The slots by which loads began earlier on a wrong path, and the number of the instruction at
    /// which that path was left.
    early: (u64, u64),
}

/// The instruction that began last. Its loads have not ended.
#[derive(Clone, Copy, Debug)]
struct OpenInstruction {
    /// The place of its flow in the path.
    at: usize,
    /// The slot at which its accesses to memory begin.
    memory: u64,
    /// The slot at which the registers of its operation are ready.
    data: u64,
    /// The slot at which its accesses end; 0 if the caller has not said so.
    ends: u64,
}

/// The branch that began last.
#[derive(Clone, Copy, Debug)]
struct OpenBranch {
    kind: BranchKind,
    address: u64,
    /// The address after its last byte.
    end: u64,
    /// Both of its ways soon join again.
    rejoins: bool,
    /// The slot after its operation.
    resolved: u64,
}

/// An instruction that waits for nothing.
const INDEPENDENT: Flow = Flow {
    address: 0,
    end: 0,
    reads: 0,
    addresses: 0,
    writes: 0,
    cycles: 1,
    loads: false,
    changes: 0,
    operand: 0,
    stores: false,
    units: 0,
    branch: BranchKind::None,
    target: 0,
};

/// The units of accesses to memory.
const MEMORY_UNITS: UnitSet =
    1 << CoreUnit::Load as u8 | 1 << CoreUnit::VectorLoad as u8 | 1 << CoreUnit::Store as u8;

/// Loads of vector registers.
const VECTOR_LOAD: UnitSet = 1 << CoreUnit::VectorLoad as u8;

/// The cycles from a store to the operation of a load of its operand into a vector register, as on
/// Zen 5.
const FORWARDED_VECTOR: u64 = 8;

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
            shift: (spec.width.is_power_of_two()).then(|| spec.width.trailing_zeros()),
            now: 0,
            begun: 0,
            retire: vec![0; spec.window.max(1)].into(),
            place: 0,
            last_retires: 0,
            ready: [0; REGISTERS],
            open: None,
            path: Arc::from([]),
            at: 0,
            stored: StoredOperands::new(),
            units: Units::new(spec.units, spec.window),
            branches: Branches::default(),
            branch: None,
            mispredicted: 0,
            early: (0, 0),
        }
    }

    /// The next instructions are those of this path. Without a path, instructions wait for nothing.
    #[inline]
    pub fn enter(&mut self, path: Arc<[Flow]>) {
        self.close();
        self.path = path;
        self.at = 0;
    }

    /// Begins this number of instructions.
    #[inline]
    pub fn advance(&mut self, instructions: u64) {
        for _ in 0..instructions {
            self.close();
            self.begin();
            self.at += 1;
        }
    }

    /// The flow of an instruction of the path.
    #[inline]
    fn flow(&self, at: usize) -> &Flow {
        self.path.get(at).unwrap_or(&INDEPENDENT)
    }

    fn begin(&mut self) {
        if let Some(branch) = self.branch.take() {
            self.resolve(&branch);
        }
        self.now = (self.now + 1).max(self.retire[self.place]);
        self.begun += 1;
        let flow = self.flow(self.at);
        let (reads, units) = (flow.reads, flow.units & MEMORY_UNITS);
        let memory = self.ready_of(flow.addresses);
        let stored = if flow.loads { self.stored_at(flow) } else { 0 };
        self.open = Some(OpenInstruction {
            at: self.at,
            memory: self.take_units(units, memory),
            data: self.ready_of(reads).max(stored),
            ends: 0,
        });
    }

    /// The next instruction shows where a branch went.
    fn resolve(&mut self, branch: &OpenBranch) {
        let went = self.flow(self.at).address;
        let predictor = &mut self.branches;
        if !predictor.mispredicts(branch.kind, branch.address, branch.end, went) {
            return;
        }
        self.mispredicted += 1;
        let redirected = branch.resolved + self.slots(self.spec.mispredicted);
        if branch.rejoins {
            let early = redirected.saturating_sub(self.now);
            self.early = (early, self.begun + self.spec.window as u64);
        }
        self.now = self.now.max(redirected);
    }

    /// The slot at which the load of an operand that was stored lately has it; 0 for others.
    fn stored_at(&self, flow: &Flow) -> u64 {
        match self.stored.ready(self.stored.name(flow)) {
            Some(ready) if flow.units & VECTOR_LOAD != 0 => ready + self.slots(FORWARDED_VECTOR),
            // The register of the load is another name of what was stored.
            Some(ready) => ready,
            None => 0,
        }
    }

    /// The cycle of a slot.
    #[inline]
    const fn cycle(&self, slot: u64) -> u64 {
        match self.shift {
            Some(shift) => slot >> shift,
            None => slot / self.spec.width,
        }
    }

    /// The slot from `slot` on in which units are free. The operation takes them.
    fn take_units(&mut self, units: UnitSet, slot: u64) -> u64 {
        if units == 0 {
            return slot;
        }
        let width = self.spec.width;
        let (now, ready) = (
            self.cycle(self.now),
            self.cycle(slot.saturating_add(width - 1)),
        );
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
    fn operates(&self, open: &OpenInstruction, loads: bool) -> u64 {
        let loaded = match (loads, open.ends) {
            (true, 0) => open.memory + self.slots(self.spec.load),
            (true, ends) => ends,
            // A buffer takes what is stored, but not before the translation.
            (false, ends) => ends.max(open.memory),
        };
        open.data.max(loaded)
    }

    /// Ends the instruction that began last: its accesses are known.
    #[inline]
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.end_of(&open);
        }
    }

    fn end_of(&mut self, open: &OpenInstruction) {
        let flow = self.flow(open.at);
        let (units, cycles) = (flow.units & !MEMORY_UNITS, flow.cycles);
        let (mut writes, changes) = (flow.writes, flow.changes);
        let operand = if flow.stores {
            self.stored.name(flow)
        } else {
            0
        };
        let (kind, address, end) = (flow.branch, flow.address, flow.end);
        let rejoins = kind != BranchKind::None && rejoins(flow);
        let operates = self.operates(open, flow.loads);
        let ends = self.take_units(units, operates) + self.slots(cycles.into());
        while writes != 0 {
            self.ready[writes.trailing_zeros() as usize] = ends;
            writes &= writes - 1;
        }
        if operand != 0 {
            self.stored.store(operand, ends);
        }
        self.stored.change(changes);
        self.last_retires = self.last_retires.max(ends);
        self.retire[self.place] = self.last_retires;
        self.place += 1;
        if self.place == self.retire.len() {
            self.place = 0;
        }
        if kind != BranchKind::None {
            self.branch = Some(OpenBranch {
                kind,
                address,
                end,
                rejoins,
                resolved: ends,
            });
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
        let ends = |open: &OpenInstruction| {
            let flow = self.flow(open.at);
            self.operates(open, flow.loads) + self.slots(flow.cycles.into())
        };
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
