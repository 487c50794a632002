//! Flows of instructions, from their bytes.

use broadleaf_pipeline::{BranchKind, CoreUnit, Decoder, Flow};

/// The bits of registers by number: general ones, vectors from 16, flags.
const RAX: u64 = 1;
const RCX: u64 = 1 << 1;
const RDX: u64 = 1 << 2;
const RSP: u64 = 1 << 4;
const XMM0: u64 = 1 << 16;
const XMM1: u64 = 1 << 17;
const FLAGS: u64 = 1 << 57;

fn flow(code: &[u8]) -> Flow {
    Decoder::default().flow(0x1000, code)
}

const fn units(units: &[CoreUnit]) -> u8 {
    let (mut set, mut at) = (0, 0);
    while at < units.len() {
        set |= 1 << units[at] as u8;
        at += 1;
    }
    set
}

#[test]
fn an_addition_reads_both_operands_and_sets_flags() {
    let add = flow(&[0x48, 0x01, 0xc8]); // add rax, rcx
    assert_eq!((add.reads, add.writes), (RAX | RCX, RAX | FLAGS));
    assert_eq!((add.addresses, add.loads, add.cycles), (0, false, 1));
    assert_eq!(add.units, units(&[CoreUnit::General]));
    assert_eq!((add.address, add.end), (0x1000, 0x1003));
}

#[test]
fn the_registers_of_an_address_are_no_operands() {
    let load = flow(&[0x48, 0x8b, 0x04, 0x0a]); // mov rax, [rdx+rcx]
    assert_eq!(
        (load.addresses, load.reads, load.writes),
        (RDX | RCX, 0, RAX)
    );
    assert!(load.loads);
    assert_eq!(load.units, units(&[CoreUnit::Load]));
    let store = flow(&[0x48, 0x89, 0x02]); // mov [rdx], rax
    assert_eq!((store.addresses, store.reads, store.writes), (RDX, RAX, 0));
    assert!(!store.loads);
    assert_eq!(store.units, units(&[CoreUnit::Store]));
    let both = flow(&[0x48, 0x01, 0x12]); // add [rdx], rdx
    assert_eq!((both.addresses, both.reads, both.writes), (RDX, RDX, FLAGS));
    assert!(both.loads);
}

#[test]
fn vectors_have_registers_latencies_and_units_of_their_own() {
    let multiply = flow(&[0xf2, 0x0f, 0x59, 0xc1]); // mulsd xmm0, xmm1
    assert_eq!((multiply.reads, multiply.writes), (XMM0 | XMM1, XMM0));
    assert_eq!(multiply.cycles, 3);
    assert_eq!(multiply.units, units(&[CoreUnit::Multiplication]));
    let add = flow(&[0xf2, 0x0f, 0x58, 0x02]); // addsd xmm0, [rdx]
    assert_eq!(
        add.units,
        units(&[CoreUnit::VectorLoad, CoreUnit::Addition])
    );
    let divide = flow(&[0xf2, 0x0f, 0x5e, 0xc1]); // divsd xmm0, xmm1
    assert!(divide.cycles > 10);
}

#[test]
fn loads_and_addresses_take_longer_if_there_is_more_to_do() {
    let cycles = |code: &[u8]| flow(code).cycles;
    assert_eq!(cycles(&[0x48, 0x8b, 0x04, 0x0a]), 0); // mov rax, [rdx+rcx]
    assert_eq!(cycles(&[0x48, 0x8b, 0x04, 0xca]), 1); // mov rax, [rdx+rcx*8]
    assert_eq!(cycles(&[0x48, 0x63, 0x04, 0x0a]), 1); // movsxd rax, [rdx+rcx]
    assert_eq!(cycles(&[0x48, 0x63, 0x04, 0xca]), 2); // movsxd rax, [rdx+rcx*8]
    assert_eq!(cycles(&[0x0f, 0xb6, 0x04, 0x0a]), 0); // movzx eax, byte [rdx+rcx]
    assert_eq!(cycles(&[0xf3, 0x0f, 0x10, 0x02]), 1); // movss xmm0, [rdx]
    assert_eq!(cycles(&[0x48, 0x89, 0x04, 0xca]), 0); // mov [rdx+rcx*8], rax
    assert_eq!(cycles(&[0x48, 0x01, 0x04, 0xca]), 2); // add [rdx+rcx*8], rax
    assert_eq!(cycles(&[0x48, 0x0f, 0xbe, 0xc0]), 1); // movsx rax, al
    assert_eq!(cycles(&[0x48, 0x8d, 0x04, 0xca]), 1); // lea rax, [rdx+rcx*8]
    assert_eq!(cycles(&[0x48, 0x8d, 0x44, 0xca, 0x10]), 2); // lea rax, [rdx+rcx*8+16]
    assert_eq!(cycles(&[0x0f, 0xc6, 0xc1, 0xe1]), 2); // shufps xmm0, xmm1, 0xe1
    assert_eq!(cycles(&[0xf3, 0x0f, 0x10, 0xc1]), 2); // movss xmm0, xmm1
    assert_eq!(cycles(&[0x66, 0x48, 0x0f, 0x7e, 0xc0]), 4); // movq rax, xmm0
    assert_eq!(cycles(&[0x66, 0x48, 0x0f, 0x6e, 0xc0]), 5); // movq xmm0, rax
    assert_eq!(cycles(&[0x0f, 0x16, 0x02]), 2 + 1); // movhps xmm0, [rdx]
}

/// Vector encodings of an instruction take as long as others.
#[test]
fn vector_encodings_have_the_same_latencies_and_units() {
    let same = |plain: &[u8], encoded: &[u8]| {
        let (plain, encoded) = (flow(plain), flow(encoded));
        assert_eq!((plain.cycles, plain.units), (encoded.cycles, encoded.units));
    };
    same(&[0x0f, 0x28, 0xc1], &[0xc5, 0xf8, 0x28, 0xc1]); // movaps xmm0, xmm1
    same(&[0xf2, 0x0f, 0x5e, 0xc1], &[0xc5, 0xfb, 0x5e, 0xc1]); // divsd xmm0, xmm1
    same(&[0x0f, 0x58, 0xc1], &[0xc5, 0xf8, 0x58, 0xc1]); // addps xmm0, xmm1
    let fused = flow(&[0xc4, 0xe2, 0xf9, 0x99, 0xc1]); // vfmadd132sd xmm0, xmm0, xmm1
    assert_eq!(fused.cycles, 4);
    assert_eq!(fused.units, units(&[CoreUnit::Multiplication]));
}

#[test]
fn moves_and_zeroes_are_renamed() {
    let moved = flow(&[0x48, 0x89, 0xc8]); // mov rax, rcx
    assert_eq!((moved.reads, moved.writes), (RCX, RAX));
    assert_eq!((moved.cycles, moved.units), (0, 0));
    let zero = flow(&[0x31, 0xc0]); // xor eax, eax
    assert_eq!((zero.reads, zero.cycles, zero.units), (0, 0, 0));
    assert_eq!(zero.writes & RAX, RAX);
    let zeroes = flow(&[0x66, 0x0f, 0xef, 0xc0]); // pxor xmm0, xmm0
    assert_eq!((zeroes.reads, zeroes.writes), (0, XMM0));
    let mixed = flow(&[0x31, 0xc8]); // xor eax, ecx
    assert_eq!(mixed.reads, RAX | RCX);
}

#[test]
fn operands_in_memory_are_named_by_their_text() {
    let store = flow(&[0x48, 0x89, 0x44, 0x24, 0x08]); // mov [rsp+8], rax
    let load = flow(&[0x48, 0x8b, 0x4c, 0x24, 0x08]); // mov rcx, [rsp+8]
    let other = flow(&[0x48, 0x8b, 0x4c, 0x24, 0x10]); // mov rcx, [rsp+16]
    assert!(store.stores && load.loads && store.operand != 0);
    assert_eq!(store.operand, load.operand);
    assert_ne!(load.operand, other.operand);
    let push = flow(&[0x50]);
    assert_eq!((push.operand, push.changes & RSP), (0, RSP));
}

#[test]
fn the_front_end_keeps_the_stack_pointer() {
    for code in [&[0x50][..], &[0x58], &[0xc3], &[0xe8, 0, 0, 0, 0]] {
        let flow = flow(code); // push rax; pop rax; ret; call
        assert_eq!((flow.reads | flow.addresses | flow.writes) & RSP, 0);
    }
    // Other uses are dependences.
    let moved = flow(&[0x48, 0x8b, 0x04, 0x24]); // mov rax, [rsp]
    assert_eq!(moved.addresses, RSP);
}

#[test]
fn branches_have_their_kinds() {
    let kind = |code: &[u8]| flow(code).branch;
    assert_eq!(kind(&[0x74, 0x10]), BranchKind::Conditional);
    assert_eq!(flow(&[0x74, 0x10]).target, 0x1012);
    assert_eq!(flow(&[0x74, 0x10]).reads, FLAGS);
    assert_eq!(kind(&[0xeb, 0x10]), BranchKind::None);
    assert_eq!(kind(&[0xff, 0xe0]), BranchKind::Indirect);
    assert_eq!(kind(&[0xff, 0xd0]), BranchKind::IndirectCall);
    assert_eq!(kind(&[0xe8, 0, 0, 0, 0]), BranchKind::Call);
    assert_eq!(kind(&[0xc3]), BranchKind::Return);
    assert_eq!(kind(&[0x90]), BranchKind::None);
}

#[test]
fn bytes_that_are_no_instruction_wait_for_nothing() {
    for code in [&[][..], &[0x06], &[0xff, 0xff], &[0x0f]] {
        let flow = flow(code);
        assert_eq!((flow.reads, flow.writes, flow.cycles), (0, 0, 1));
    }
    // Every pair of bytes decodes to something.
    let mut decoder = Decoder::default();
    for first in 0..=255 {
        for second in 0..=255 {
            let code = [first, second, 0x24, 0x05, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
            let flow = decoder.flow(0, &code);
            assert!(flow.target == 0 || flow.branch == BranchKind::Conditional);
        }
    }
}
