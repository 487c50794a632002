//! The examples in the format's description are traces with the described content.

use crate::common::{TestItem, read, read_until_error, write_phrases};
use broadleaf_trace::{Event, Lead, ReadOptions, TraceReader, Visit};
use broadleaf_units::{SpaceId, ThreadId};

const PAGE: &str = include_str!("../../../../docs/book/src/trace-format.md");

/// The bytes of the `hex` block of a version: the text before two blanks on each line.
fn example(version: usize) -> Vec<u8> {
    let code = PAGE.split("```hex\n").nth(version);
    let code = code.expect("the page has an example of each version");
    let (code, _) = code.split_once("```").expect("the example ends");
    let columns = code.lines().filter_map(|line| line.split("  ").next());
    columns
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).expect("two digits"))
        .collect()
}

fn visit(
    unit: u64,
    [loads, stores, loads_before_store, instructions]: [u32; 4],
    lead: Lead,
) -> TestItem {
    TestItem::Visit(Visit {
        unit,
        loads,
        stores,
        loads_before_store,
        instructions,
        lead,
        fetch: false,
        execution: 0,
    })
}

#[test]
fn the_example_of_version_1_has_the_described_content() {
    let expected = [
        TestItem::Event(Event::SpaceSwitch(SpaceId(0))),
        TestItem::Event(Event::ThreadStart(ThreadId(1))),
        visit(0x10, [1, 0, 1, 1], Lead::None),
        visit(0x12, [0, 1, 0, 1], Lead::None),
        visit(0x13, [0, 0, 0, 0], Lead::Store),
        visit(0x10, [6, 6, 1, 12], Lead::None),
    ];
    assert_eq!(read(&example(1)), expected);
}

#[test]
fn the_example_of_version_2_has_the_described_content() {
    let mut expected = vec![
        TestItem::Event(Event::SpaceSwitch(SpaceId(0))),
        TestItem::Event(Event::ThreadStart(ThreadId(1))),
    ];
    for _ in 0..8 {
        expected.push(visit(0x10, [2, 0, 2, 3], Lead::None));
        expected.push(visit(0x12, [0, 1, 0, 1], Lead::None));
    }
    expected.push(visit(0x13, [0, 0, 0, 0], Lead::Store));
    expected.push(TestItem::Event(Event::SpaceEnd { status: Some(0) }));
    assert_eq!(read(&example(2)), expected);
    // Recoding gives the same bytes, except for the index, whose compression depends on the
    // library.
    let bytes = example(2);
    let reader = TraceReader::new(&bytes[..]).expect("a trace");
    let made = write_phrases(reader.header(), &expected);
    let index = u64::from_le_bytes(made[made.len() - 16..][..8].try_into().expect("8 bytes"));
    assert_eq!(made[..index as usize], bytes[..index as usize]);
}

#[test]
fn every_other_byte_of_the_examples_matters() {
    for bytes in [1, 2].map(example) {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                let (_, error) = read_until_error(&bytes, ReadOptions::default());
                assert!(error.is_some(), "bit {bit} of byte {at}");
            }
        }
    }
}
