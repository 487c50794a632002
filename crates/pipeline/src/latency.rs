//! The cycles of operations, without those of their loads.
//!
//! They are those of the server processors of 2020 to 2025.
//!
//! Processors differ by a cycle or two. The values of the common operations are those of chains of
//! dependent instructions on Zen 5. The others are by Agner Fog's instruction tables and the
//! vendors' optimisation guides.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::CoreUnit;

/// An operation that writes memory or registers with a lock.
const LOCKED: u8 = 18;
/// An operation that the processor makes of many steps.
const LONG: u8 = 60;

/// The name of an instruction in small letters, without the letter of vector encodings.
fn name(instruction: &Instruction) -> String {
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    match name.strip_prefix('v') {
        Some(plain) => plain.to_owned(),
        None => name,
    }
}

/// The cycles of an instruction's operation.
pub(crate) fn cycles(instruction: &Instruction) -> u8 {
    let mnemonic = instruction.mnemonic();
    let is_memory = |kind| kind == OpKind::Memory;
    let has_memory = is_memory(instruction.op0_kind()) || is_memory(instruction.op1_kind());
    let locks = instruction.has_lock_prefix() || (mnemonic == Mnemonic::Xchg && has_memory);
    if locks {
        return LOCKED;
    }
    let name = name(instruction);
    if is_move(&name) {
        moved(instruction, &name)
    } else if mnemonic == Mnemonic::Lea {
        address(instruction)
    } else {
        by_name(&name, instruction)
    }
}

/// The cycles by which an instruction's load takes longer than one of a plain general register.
pub(crate) fn longer_load(instruction: &Instruction) -> u8 {
    let scales = instruction.memory_index_scale() > 1;
    let extends = name(instruction).starts_with("movsx");
    u8::from(scales) + u8::from(extends) + u8::from(has_vector(instruction))
}

/// The cycles of an address that is computed: the sum of three parts takes two.
fn address(instruction: &Instruction) -> u8 {
    let has = |register: Register| register != Register::None;
    let parts = u8::from(has(instruction.memory_base()))
        + u8::from(has(instruction.memory_index()))
        + u8::from(instruction.memory_displacement64() != 0);
    if parts == 3 { 2 } else { 1 }
}

/// Returns true if an operand is a register of vectors, masks or the x87 unit.
fn has_vector(instruction: &Instruction) -> bool {
    has_register(instruction, |register| {
        let of_floats = register.is_st() || register.is_mm();
        register.is_vector_register() || register.is_k() || of_floats
    })
}

/// Returns true if an operand is a general register.
fn has_general(instruction: &Instruction) -> bool {
    has_register(instruction, Register::is_gpr)
}

fn has_register(instruction: &Instruction, is_it: impl Fn(Register) -> bool) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && is_it(instruction.op_register(operand))
    })
}

/// Moves between registers of one kind take no cycle: registers are renamed.
fn is_move(name: &str) -> bool {
    let moves = [
        "mov", "movaps", "movups", "movapd", "movupd", "movdqa", "movdqu", "movdqa32", "movdqa64",
        "movdqu8", "movdqu16", "movdqu32", "movdqu64", "movd", "movq", "movsxd", "movsx", "movzx",
        "push", "pop", "movss", "movsd", "movhps", "movlps", "movhpd", "movlpd", "lddqu", "movnti",
        "movntdq", "movntps", "movntpd", "nop", "endbr64",
    ];
    moves.contains(&name)
}

fn moved(instruction: &Instruction, name: &str) -> u8 {
    let register = |operand: u32| {
        let is_register = instruction.op_kind(operand) == OpKind::Register;
        is_register.then(|| instruction.op_register(operand))
    };
    if instruction.op_count() < 2 {
        return 0;
    }
    let (Some(to), Some(from)) = (register(0), register(1)) else {
        // The other half of a vector register stays as it was.
        let merges = ["movhps", "movlps", "movhpd", "movlpd"].contains(&name);
        return if merges && register(0).is_some() {
            2
        } else {
            0
        };
    };
    match (to.is_gpr(), from.is_gpr()) {
        // The rest of the register changes, or stays as it was.
        (true, true) if name != "mov" || to.size() < 4 => 1,
        (false, false) if ["movss", "movsd"].contains(&name) => 2,
        (true, true) | (false, false) => 0,
        // From one register file to the other.
        (true, false) => 4,
        (false, true) => 5,
    }
}

fn by_name(name: &str, instruction: &Instruction) -> u8 {
    let is_any = |all: &[&str]| all.contains(&name);
    let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    let of_floats = is_of_floats(name) && has_vector(instruction);
    if is_any(&[
        "cpuid", "rdtsc", "rdtscp", "xgetbv", "syscall", "rdrand", "rdseed",
    ]) || begins(&[
        "fsin", "fcos", "fptan", "fpatan", "fyl2x", "f2xm1", "xsave", "xrstor",
    ]) {
        LONG
    } else if begins(&[
        "fmadd", "fmsub", "fnmadd", "fnmsub", "pextr", "movmsk", "pmovmsk", "kmov", "aes", "sha",
    ]) && has_vector(instruction)
    {
        4
    } else if begins(&["sqrt"]) && of_floats || name == "fsqrt" {
        if name.ends_with('s') { 14 } else { 20 }
    } else if begins(&["div"]) && of_floats {
        if name.ends_with('s') { 10 } else { 13 }
    } else if begins(&["fdiv", "fidiv"]) {
        15
    } else if is_any(&["div", "idiv"]) {
        12
    } else if begins(&[
        "fadd", "fsub", "fmul", "fimul", "fiadd", "fisub", "comis", "ucomis",
    ]) || begins(&["cvt"]) && has_general(instruction)
    {
        6
    } else if begins(&["dpp", "pinsr"]) {
        5
    } else if begins(&[
        "add", "sub", "mul", "min", "max", "cmp", "hadd", "hsub", "cvt", "round", "rndscale",
    ]) && of_floats
        || begins(&["cvt", "imul", "mul", "pmul", "pmadd", "psadbw", "crc32"])
        || begins(&["pext", "pdep", "pclmul", "shld", "shrd", "perm", "extract"])
        || begins(&["insert", "broadcast", "ptest"])
    {
        3
    } else if begins(&["gather", "pgather"]) {
        8
    } else if has_vector(instruction) {
        2
    } else {
        1
    }
}

/// Returns true if an operation with this name is one of floating-point numbers, if it has vectors.
fn is_of_floats(name: &str) -> bool {
    let ends = ["ss", "sd", "ps", "pd", "sh", "ph"];
    ends.iter().any(|end| name.ends_with(end))
}

/// The unit of an instruction's operation; `None` if it needs none, as moves do.
pub(crate) fn unit(instruction: &Instruction) -> Option<CoreUnit> {
    let name = name(instruction);
    if is_move(&name) && moved(instruction, &name) == 0 {
        return None;
    }
    if !has_vector(instruction) {
        return Some(CoreUnit::General);
    }
    let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    let of_floats = is_of_floats(&name);
    Some(match of_floats {
        true if begins(&["mul", "div", "sqrt", "fm", "fnm"]) => CoreUnit::Multiplication,
        true if begins(&[
            "add", "sub", "min", "max", "cmp", "cvt", "hadd", "comis", "ucomis",
        ]) =>
        {
            CoreUnit::Addition
        }
        _ => CoreUnit::Vector,
    })
}
