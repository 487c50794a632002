//! The example that the format's description spells out byte by byte is a trace, and the one that it says.

mod common;

use broadleaf_trace::{Event, Lead, ReadOptions, Visit};
use broadleaf_units::{SpaceId, ThreadId};
use common::{Piece, read, read_until_error};

const PAGE: &str = include_str!("../../../docs/book/src/trace-format.md");

/// The bytes of the block of code that is marked `hex`: what stands before two blanks on each line.
fn example() -> Vec<u8> {
    let (_, code) = PAGE
        .split_once("```hex\n")
        .expect("the page has an example");
    let (code, _) = code.split_once("```").expect("the example ends");
    let columns = code.lines().filter_map(|line| line.split("  ").next());
    columns
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).expect("two digits"))
        .collect()
}

#[test]
fn the_example_is_what_the_page_says() {
    let visit = |unit, loads, stores, loads_before_store, instructions, lead| {
        Piece::Visit(Visit {
            unit,
            loads,
            stores,
            loads_before_store,
            instructions,
            lead,
            fetch: false,
        })
    };
    let expected = [
        Piece::Event(Event::SpaceSwitch(SpaceId(0))),
        Piece::Event(Event::ThreadStart(ThreadId(1))),
        visit(0x10, 1, 0, 1, 1, Lead::None),
        visit(0x12, 0, 1, 0, 1, Lead::None),
        visit(0x13, 0, 0, 0, 0, Lead::Store),
        visit(0x10, 6, 6, 1, 12, Lead::None),
    ];
    assert_eq!(read(&example()), expected);
}

#[test]
fn every_other_byte_of_the_example_matters() {
    let bytes = example();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let (_, error) = read_until_error(&bytes, ReadOptions::default());
            assert!(error.is_some(), "bit {bit} of byte {at}");
        }
    }
}
