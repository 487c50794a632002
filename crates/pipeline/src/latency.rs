//! The cycles of operations, without loads, as on the server processors of 2020 to 2025.
//!
//! Processors differ by a cycle or two. The values are those that most of them share, by Agner
//! Fog's instruction tables and the vendors' optimisation guides.

use iced_x86::{Instruction, Mnemonic, OpKind};

use crate::CoreUnit;

/// An operation that writes memory or registers with a lock.
const LOCKED: u8 = 18;
/// An operation that the processor makes of many steps.
const LONG: u8 = 60;

/// The cycles of an instruction's operation.
pub(crate) fn cycles(instruction: &Instruction) -> u8 {
    let mnemonic = instruction.mnemonic();
    let is_memory = |kind| kind == OpKind::Memory;
    let has_memory = is_memory(instruction.op0_kind()) || is_memory(instruction.op1_kind());
    let locks = instruction.has_lock_prefix() || (mnemonic == Mnemonic::Xchg && has_memory);
    if locks {
        return LOCKED;
    }
    let name = format!("{mnemonic:?}");
    let plain = name.strip_prefix('V').unwrap_or(&name);
    if is_move(plain) {
        return moved(instruction);
    }
    by_name(plain)
}

/// Moves whose operands have one kind take no cycle: registers are renamed.
fn is_move(name: &str) -> bool {
    let moves = [
        "Mov", "Movaps", "Movups", "Movapd", "Movupd", "Movdqa", "Movdqu", "Movdqa32", "Movdqa64",
        "Movdqu8", "Movdqu16", "Movdqu32", "Movdqu64", "Movd", "Movq", "Movsxd", "Movsx", "Movzx",
        "Push", "Pop", "Movss", "Movsd", "Movhps", "Movlps", "Movhpd", "Movlpd", "Lddqu", "Movnti",
        "Movntdq", "Movntps", "Movntpd", "Nop", "Endbr64",
    ];
    moves.contains(&name)
}

fn moved(instruction: &Instruction) -> u8 {
    let is_general = |operand: u32| {
        instruction.op_kind(operand) == OpKind::Register
            && instruction.op_register(operand).is_gpr()
    };
    let is_register = |operand: u32| instruction.op_kind(operand) == OpKind::Register;
    if instruction.op_count() < 2 || !is_register(0) || !is_register(1) {
        return 0;
    }
    match (is_general(0), is_general(1)) {
        (true, true) if instruction.op_register(0).size() < 4 => 1,
        (true, true) | (false, false) => 0,
        // From one register file to the other.
        _ => 3,
    }
}

fn by_name(name: &str) -> u8 {
    let is_any = |all: &[&str]| all.contains(&name);
    let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    let of_floats = ["ss", "sd", "ps", "pd", "sh", "ph"]
        .iter()
        .any(|end| name.ends_with(end));
    if is_any(&[
        "Cpuid", "Rdtsc", "Rdtscp", "Xgetbv", "Syscall", "Rdrand", "Rdseed",
    ]) || begins(&[
        "Fsin", "Fcos", "Fptan", "Fpatan", "Fyl2x", "F2xm1", "Xsave", "Xrstor",
    ]) {
        LONG
    } else if begins(&["Fmadd", "Fmsub", "Fnmadd", "Fnmsub", "Fmaddsub", "Fmsubadd"]) {
        4
    } else if begins(&["Sqrt"]) && of_floats || name == "Fsqrt" {
        if name.ends_with('s') { 14 } else { 20 }
    } else if begins(&["Div"]) && of_floats {
        if name.ends_with('s') { 10 } else { 13 }
    } else if begins(&["Fdiv", "Fidiv"]) {
        15
    } else if is_any(&["Div", "Idiv"]) {
        14
    } else if begins(&["Fadd", "Fsub", "Fmul", "Fimul", "Fiadd", "Fisub"]) {
        6
    } else if begins(&["Cvt", "Dpp", "Round", "Rndscale"]) {
        5
    } else if begins(&["Add", "Sub", "Mul", "Min", "Max", "Cmp", "Hadd", "Hsub"]) && of_floats
        || begins(&[
            "Comis", "Ucomis", "Imul", "Mul", "Pmul", "Pmadd", "Psadbw", "Crc32",
        ])
        || begins(&[
            "Pext", "Pdep", "Pclmul", "Shld", "Shrd", "Perm2", "Perm", "Extract",
        ])
        || begins(&[
            "Insert",
            "Movmsk",
            "Pmovmsk",
            "Pinsr",
            "Broadcast",
            "Kmov",
            "Ptest",
        ])
    {
        3
    } else if begins(&["Aes", "Sha"]) {
        4
    } else if begins(&["Gather", "Pgather"]) {
        8
    } else if begins(&["Popcnt", "Lzcnt", "Tzcnt", "Bsf", "Bsr", "Bswap"]) {
        2
    } else {
        1
    }
}

/// The unit of an instruction's operation; `None` if it needs none, as moves do.
pub(crate) fn unit(instruction: &Instruction) -> Option<CoreUnit> {
    let name = format!("{:?}", instruction.mnemonic());
    let plain = name.strip_prefix('V').unwrap_or(&name);
    if is_move(plain) && moved(instruction) == 0 {
        return None;
    }
    let is_vector = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && !instruction.op_register(operand).is_gpr()
    });
    if !is_vector {
        return Some(CoreUnit::General);
    }
    let begins = |all: &[&str]| all.iter().any(|start| plain.starts_with(start));
    let of_floats = ["ss", "sd", "ps", "pd", "sh", "ph"]
        .iter()
        .any(|end| plain.ends_with(end));
    Some(match of_floats {
        true if begins(&["Mul", "Div", "Sqrt", "Fm", "Fnm"]) => CoreUnit::Multiplication,
        true if begins(&[
            "Add", "Sub", "Min", "Max", "Cmp", "Cvt", "Hadd", "Comis", "Ucomis",
        ]) =>
        {
            CoreUnit::Addition
        }
        _ => CoreUnit::Vector,
    })
}
