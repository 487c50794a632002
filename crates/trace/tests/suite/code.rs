//! The code of blocks.

use crate::common::header;
use broadleaf_trace::{
    BlockCode, BlockDef, BlockItem, CodeInstruction, Grain, MOST_INSTRUCTION_BYTES, ReadOptions,
    TraceReader, TraceWriter, VisitEnds,
};
use proptest::prelude::*;

const EXECUTIONS: ReadOptions = ReadOptions {
    keep_going: false,
    fetches: true,
    ends: VisitEnds::Executions,
};

/// The trace of blocks that nothing executes.
fn written(blocks: &[BlockCode]) -> Vec<u8> {
    let mut options = header(Grain::Line, false);
    options.options.code = true;
    let mut writer = TraceWriter::new(Vec::new(), &options).expect("a writer");
    let defined: Vec<BlockDef> = (blocks.iter())
        .map(|block| BlockDef::new(block.ends.iter().map(|_| BlockItem::Exit)))
        .collect();
    writer.definitions(0, 0, &defined).expect("definitions");
    writer.code(0, 0, blocks).expect("code");
    writer.finish().expect("a trace")
}

fn instruction() -> impl Strategy<Value = CodeInstruction> {
    let bytes = prop::collection::vec(any::<u8>(), 0..=MOST_INSTRUCTION_BYTES);
    (any::<u64>(), bytes).prop_map(|(address, bytes)| CodeInstruction::new(address, &bytes))
}

fn block() -> impl Strategy<Value = BlockCode> {
    let instructions = prop::collection::vec(instruction(), 0..20);
    (
        instructions,
        prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    )
        .prop_map(|(instructions, ends)| BlockCode {
            ends: (ends.iter())
                .map(|end| end.index(instructions.len() + 1) as u32)
                .collect(),
            instructions,
        })
}

proptest! {
    #[test]
    fn code_comes_back_pattern_by_pattern(blocks in prop::collection::vec(block(), 1..8)) {
        let trace = written(&blocks);
        let mut reader = TraceReader::with_options(&trace[..], EXECUTIONS).expect("a trace");
        prop_assert!(reader.header().options.code);
        while reader.next_item().expect("it is whole").is_some() {}
        let code = reader.code();
        let patterns = blocks.iter().flat_map(|block| {
            block.ends.iter().map(|end| &block.instructions[..*end as usize])
        });
        let mut number = 0;
        for expected in patterns {
            number += 1;
            let pattern = code.pattern(number).expect("a pattern");
            prop_assert_eq!(pattern.instructions(), expected);
        }
        prop_assert_eq!(code.len(), number as usize);
        prop_assert!(code.pattern(0).is_none() && code.pattern(number + 1).is_none());
        // Other readers pass the code by.
        let mut reader = TraceReader::new(&trace[..]).expect("a trace");
        while reader.next_item().expect("it is whole").is_some() {}
        prop_assert!(reader.code().is_empty());
    }
}

#[test]
fn code_of_undefined_patterns_is_refused() {
    let block = BlockCode {
        instructions: vec![CodeInstruction::new(0x1000, &[0x90])],
        ends: vec![1],
    };
    let refused = |blocks: &[BlockDef], code: &BlockCode| {
        let options = header(Grain::Line, false);
        let mut writer = TraceWriter::new(Vec::new(), &options).expect("a writer");
        writer.definitions(0, 0, blocks).expect("definitions");
        writer.code(0, 0, std::slice::from_ref(code)).expect("code");
        let trace = writer.finish().expect("a trace");
        let mut reader = TraceReader::with_options(&trace[..], EXECUTIONS).expect("a trace");
        loop {
            match reader.next_item() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it is refused"),
                Err(error) => return error.to_string(),
            }
        }
    };
    let message = refused(&[], &block);
    assert!(message.contains("code of blocks"), "{message}");
    assert!(
        message.contains("a pattern that is not defined"),
        "{message}"
    );
    let short = BlockCode {
        ends: vec![2],
        ..block
    };
    let message = refused(&[BlockDef::new([BlockItem::Exit])], &short);
    assert!(
        message.contains("more instructions than its block"),
        "{message}"
    );
}
