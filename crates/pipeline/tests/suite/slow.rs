//! The pipeline against a slow one that keeps every instruction.

use std::sync::Arc;

use broadleaf_pipeline::{Flow, Pipeline, PipelineSpec, REGISTERS, UNITS};
use proptest::prelude::*;

/// An instruction: its flow, and the cycles of its load.
fn instruction() -> impl Strategy<Value = (Flow, u64)> {
    let registers = || prop_oneof![2 => Just(0_u64), 3 => (0..6_u32).prop_map(|one| 1 << one)];
    let load = prop_oneof![4 => Just(4_u64), 1 => 4..300_u64];
    (
        registers(),
        registers(),
        registers(),
        0..5_u8,
        any::<bool>(),
        load,
    )
        .prop_map(|(reads, addresses, writes, cycles, loads, load)| {
            let flow = Flow {
                reads,
                addresses,
                writes,
                cycles,
                loads,
                ..Flow::default()
            };
            (flow, load)
        })
}

/// The slot at which all instructions have retired, by definition.
fn slow(spec: PipelineSpec, instructions: &[(Flow, u64)]) -> u64 {
    let mut begins: Vec<u64> = Vec::new();
    let mut retires: Vec<u64> = Vec::new();
    let mut ready = [0_u64; REGISTERS];
    for (number, (flow, load)) in instructions.iter().enumerate() {
        let after = begins.last().map_or(1, |last| last + 1);
        let window = number
            .checked_sub(spec.window)
            .map_or(0, |old| retires[old]);
        let begin = after.max(window);
        begins.push(begin);
        let of = |set: u64| {
            let registers = (0..REGISTERS).filter(|one| set >> one & 1 == 1);
            registers
                .map(|one| ready[one])
                .max()
                .unwrap_or(0)
                .max(begin)
        };
        let memory = of(flow.addresses);
        let loaded = match flow.loads {
            true => memory + load * spec.width,
            false => memory,
        };
        let ends = loaded.max(of(flow.reads)) + u64::from(flow.cycles) * spec.width;
        for (one, ready) in ready.iter_mut().enumerate() {
            if flow.writes >> one & 1 == 1 {
                *ready = ends;
            }
        }
        retires.push(retires.last().map_or(ends, |last| ends.max(*last)));
    }
    let last = retires.last().copied().unwrap_or(0);
    last.max(begins.last().copied().unwrap_or(0))
}

proptest! {
    #[test]
    fn the_pipeline_equals_a_slow_one(
        instructions in prop::collection::vec(instruction(), 1..400),
        width in 1..9_u64,
        window in 1..70_usize,
    ) {
        let spec = PipelineSpec { width, window, mispredicted: 7, load: 4, units: [None; UNITS] };
        let mut pipeline = Pipeline::new(spec);
        let path: Vec<Flow> = instructions.iter().map(|(flow, _)| *flow).collect();
        pipeline.enter(Arc::from(path));
        for (flow, load) in &instructions {
            pipeline.advance(1);
            // Loads that hit the first level need not be reported.
            if flow.loads && *load != spec.load {
                pipeline.memory_ends(pipeline.memory_begins() + pipeline.slots(*load));
            }
        }
        prop_assert_eq!(pipeline.end(), slow(spec, &instructions));
    }
}
