//! The flow of an x86-64 instruction, from its bytes.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use crate::latency::{cycles, longer_load, unit};
use crate::{BranchKind, CoreUnit, Flow, RegisterSet};

/// The bit of the flags.
const FLAGS: RegisterSet = 1 << 57;
/// The bits of the vector registers.
const VECTORS: RegisterSet = 0xffff_ffff << 16;
/// The bit of all registers of the x87 unit.
const STACK_OF_FLOATS: RegisterSet = 1 << 56;

/// A decoder of instructions.
pub struct Decoder {
    infos: InstructionInfoFactory,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            infos: InstructionInfoFactory::new(),
        }
    }
}

impl core::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl Decoder {
    /// The flow of the instruction with these bytes, at an address. Bytes that are no instruction
    /// wait for nothing.
    pub fn flow(&mut self, address: u64, code: &[u8]) -> Flow {
        let end = address.wrapping_add(code.len() as u64);
        let mut flow = Flow {
            address,
            end,
            cycles: 1,
            ..Flow::default()
        };
        let options = iced_x86::DecoderOptions::NONE;
        let mut decoder = iced_x86::Decoder::with_ip(64, code, address, options);
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return flow;
        }
        flow.branch = branch(&instruction);
        if flow.branch == BranchKind::Conditional {
            flow.target = instruction.near_branch_target();
        }
        flow.cycles = cycles(&instruction);
        self.registers(&instruction, &mut flow);
        if flow.loads {
            flow.cycles = flow.cycles.saturating_add(longer_load(&instruction));
        }
        if is_renamed_to_zero(&instruction) {
            (flow.reads, flow.cycles) = (0, 0);
        } else if let Some(unit) = unit(&instruction) {
            flow.units |= 1 << unit as u8;
        }
        flow
    }

    fn registers(&mut self, instruction: &Instruction, flow: &mut Flow) {
        let info = self.infos.info(instruction);
        let mut explicit = 0;
        for operand in 0..instruction.op_count() {
            if instruction.op_kind(operand) == OpKind::Register && reads(info.op_access(operand)) {
                explicit |= bit(instruction.op_register(operand));
            }
        }
        if let [memory] = info.used_memory()
            && !instruction.is_stack_instruction()
        {
            let mut hasher = DefaultHasher::new();
            let place = (memory.base(), memory.index(), memory.scale());
            (place, memory.displacement(), memory.memory_size()).hash(&mut hasher);
            flow.operand = hasher.finish() | 1;
        }
        for memory in info.used_memory() {
            flow.addresses |= bit(memory.base()) | bit(memory.index());
            flow.loads |= reads(memory.access());
            if writes(memory.access()) {
                flow.stores = true;
                flow.units |= 1 << CoreUnit::Store as u8;
            }
        }
        for used in info.used_registers() {
            let register = bit(used.register());
            if reads(used.access()) {
                flow.reads |= register;
            }
            if writes(used.access()) {
                flow.writes |= register;
            }
        }
        if flow.loads {
            let registers = flow.reads | flow.writes;
            let loaded = if registers & (VECTORS | STACK_OF_FLOATS) == 0 {
                CoreUnit::Load
            } else {
                CoreUnit::VectorLoad
            };
            flow.units |= 1 << loaded as u8;
        }
        flow.reads &= !flow.addresses | explicit;
        if instruction.rflags_read() != 0 {
            flow.reads |= FLAGS;
        }
        if instruction.rflags_modified() != 0 {
            flow.writes |= FLAGS;
        }
        flow.changes = flow.writes;
        // The front end keeps track of the stack pointer.
        if instruction.is_stack_instruction() {
            let pointer = bit(Register::RSP);
            flow.reads &= !pointer;
            flow.addresses &= !pointer;
            flow.writes &= !pointer;
        }
    }
}

const fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

const fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// The bit of a register; 0 for those through which no dependence goes.
fn bit(register: Register) -> RegisterSet {
    let register = register.full_register();
    if register.is_gpr() {
        1 << register.number()
    } else if register.is_zmm() {
        1 << (16 + register.number())
    } else if register.is_k() {
        1 << (48 + register.number())
    } else if register.is_st() || register.is_mm() {
        STACK_OF_FLOATS
    } else {
        0
    }
}

fn branch(instruction: &Instruction) -> BranchKind {
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => BranchKind::Conditional,
        FlowControl::IndirectBranch => BranchKind::Indirect,
        FlowControl::Call => BranchKind::Call,
        FlowControl::IndirectCall => BranchKind::IndirectCall,
        FlowControl::Return => BranchKind::Return,
        _ => BranchKind::None,
    }
}

/// Returns true if the instruction sets a register to a constant that the processor knows when it
/// renames registers.
fn is_renamed_to_zero(instruction: &Instruction) -> bool {
    use Mnemonic::{Pxor, Sub, Vpxor, Vpxord, Vpxorq, Vxorpd, Vxorps, Xor, Xorpd, Xorps};
    let zeroes = matches!(
        instruction.mnemonic(),
        Xor | Sub | Pxor | Xorps | Xorpd | Vpxor | Vpxord | Vpxorq | Vxorps | Vxorpd
    );
    let count = instruction.op_count();
    let is_register = |operand| instruction.op_kind(operand) == OpKind::Register;
    zeroes
        && count >= 2
        && is_register(count - 1)
        && is_register(count - 2)
        && instruction.op_register(count - 1) == instruction.op_register(count - 2)
}
