//! Pipelines whose time is known.

use std::sync::Arc;

use broadleaf_pipeline::{BranchKind, CoreUnit, Flow, Pipeline, PipelineSpec, UNITS};

pub(crate) fn spec() -> PipelineSpec {
    PipelineSpec {
        width: 4,
        window: 64,
        mispredicted: 10,
        load: 4,
        units: [None; UNITS],
    }
}

/// The cycles of `times` executions of a path. Each load takes as long as a hit.
fn cycles(spec: PipelineSpec, path: &[Flow], times: u64) -> u64 {
    let mut pipeline = Pipeline::new(spec);
    let shared: Arc<[Flow]> = path.into();
    for _ in 0..times {
        pipeline.enter(Arc::clone(&shared));
        pipeline.advance(path.len() as u64);
    }
    assert_eq!(pipeline.instructions(), times * path.len() as u64);
    pipeline.end().div_ceil(spec.width)
}

/// An operation of `cycles` cycles from one register to another.
fn operation(from: u32, to: u32, cycles: u8) -> Flow {
    Flow {
        reads: 1 << from,
        writes: 1 << to,
        cycles,
        ..Flow::default()
    }
}

/// A load whose address is in one register, to another.
fn load(from: u32, to: u32) -> Flow {
    Flow {
        addresses: 1 << from,
        writes: 1 << to,
        loads: true,
        ..Flow::default()
    }
}

#[test]
fn a_chain_takes_the_sum_of_its_latencies() {
    assert_eq!(cycles(spec(), &[operation(0, 0, 1)], 1000), 1000 + 1);
    assert_eq!(cycles(spec(), &[operation(0, 0, 3)], 1000), 3000 + 1);
    // A list: each address comes from the load before.
    assert_eq!(cycles(spec(), &[load(0, 0)], 1000), 4000 + 1);
    // Moves that are renamed take nothing.
    let renamed = [operation(0, 1, 0), operation(1, 0, 1)];
    assert_eq!(cycles(spec(), &renamed, 1000), 1000 + 1);
}

#[test]
fn independent_operations_run_at_full_width() {
    let path = [1, 2, 3, 4].map(|to| operation(0, to, 3));
    assert_eq!(cycles(spec(), &path, 1000), 1000 + 3);
    let path = [1, 2, 3, 4].map(|to| load(0, to));
    assert_eq!(cycles(spec(), &path, 1000), 1000 + 4);
}

#[test]
fn loads_of_memory_overlap_in_a_window() {
    let run = |path: Flow| {
        let mut pipeline = Pipeline::new(spec());
        pipeline.enter(Arc::from(vec![path; 6400]));
        for _ in 0..6400 {
            pipeline.advance(1);
            pipeline.memory_ends(pipeline.memory_begins() + pipeline.slots(200));
        }
        pipeline.end() / 4
    };
    let independent = run(load(0, 1));
    assert!(
        (100 * 200..100 * 200 + 300).contains(&independent),
        "{independent}"
    );
    let dependent = run(load(0, 0));
    assert_eq!(dependent, 6400 * 200);
}

#[test]
fn a_store_waits_for_its_data_and_nothing_waits_for_a_store() {
    let store = Flow {
        addresses: 1 << 1,
        reads: 1 << 0,
        cycles: 0,
        ..Flow::default()
    };
    let path = [operation(0, 0, 3), store];
    assert_eq!(cycles(spec(), &path, 1000), 3000 + 1);
}

/// A counter in memory: each load waits for the store before. Another text does not.
#[test]
fn a_load_waits_for_the_store_of_its_operand() {
    let of = |unit: CoreUnit, operand: u64, changes: u64| {
        let load = Flow {
            operand,
            units: 1 << unit as u8,
            ..load(0, 1)
        };
        let store = Flow {
            addresses: 1,
            reads: 1 << 1,
            operand: 7,
            stores: true,
            changes,
            ..Flow::default()
        };
        cycles(spec(), &[load, operation(1, 1, 1), store], 1000)
    };
    // The first load finds nothing stored and takes four cycles.
    assert_eq!(of(CoreUnit::Load, 7, 0), 1000 + 4 + 1);
    assert_eq!(of(CoreUnit::VectorLoad, 7, 0), 999 * 9 + 5 + 1);
    for unit in [CoreUnit::Load, CoreUnit::VectorLoad] {
        assert_eq!(of(unit, 9, 0), 3000 / 4 + 5);
        // The register of the address changed: it is another place.
        assert_eq!(of(unit, 7, 1), 3000 / 4 + 5);
    }
}

#[test]
fn units_bound_what_begins_in_a_cycle() {
    let with = |unit: CoreUnit, count: u8, flow: Flow| {
        let mut narrow = spec();
        narrow.units[unit as usize] = Some(count);
        let flow = Flow {
            units: 1 << unit as u8,
            ..flow
        };
        cycles(narrow, &[flow], 4000)
    };
    let near = |cycles: u64, expected: u64| cycles.abs_diff(expected) <= 8;
    assert!(near(with(CoreUnit::Load, 2, load(0, 1)), 2000));
    assert!(near(with(CoreUnit::Load, 1, load(0, 1)), 4000));
    assert!(near(with(CoreUnit::Addition, 2, operation(0, 1, 3)), 2000));
    // As many as the width are always enough.
    assert!(near(with(CoreUnit::General, 4, operation(0, 1, 1)), 1000));
    // A chain is no quicker with more units.
    assert!(near(with(CoreUnit::General, 1, operation(0, 0, 1)), 4000));
}

#[test]
fn a_mispredicted_branch_costs_its_redirection() {
    let branch = |target: u64| Flow {
        address: 0x1000,
        end: 0x1002,
        branch: BranchKind::Conditional,
        target,
        cycles: 1,
        ..Flow::default()
    };
    let at = |address: u64| Flow {
        address,
        cycles: 1,
        ..Flow::default()
    };
    // The ways do not join again, and one in two goes either way, by chance.
    let run = |target: u64, latency: u64| {
        let mut pipeline = Pipeline::new(spec());
        let mut state = 0x1234_5678_9abc_def1;
        for _ in 0..10_000 {
            let taken = super::branches::random(&mut state) & 1 == 0;
            let next = if taken { target } else { 0x1002 };
            pipeline.enter(Arc::from([branch(target), at(next), load(0, 1)]));
            pipeline.advance(3);
            pipeline.memory_ends(pipeline.memory_begins() + pipeline.slots(latency));
        }
        (pipeline.end() / 4, pipeline.mispredicted())
    };
    let (cycles, mispredicted) = run(0x9000, 4);
    assert!((4_000..6_000).contains(&mispredicted), "{mispredicted}");
    // Its operation, and ten cycles.
    let expected = 7_500 + 11 * mispredicted;
    assert!(
        cycles.abs_diff(expected) < expected / 20,
        "{cycles} {expected}"
    );
    // Loads of the wrong path serve the right one, if both soon join.
    let apart = run(0x9000, 300).0;
    let joined = run(0x1010, 300).0;
    assert!(joined < apart, "{joined} {apart}");
}

#[test]
fn waits_and_missing_instructions_delay_what_comes() {
    let mut pipeline = Pipeline::new(spec());
    pipeline.advance(4);
    pipeline.wait(100);
    pipeline.advance(4);
    assert_eq!(pipeline.now(), 4 + 400 + 4);
    pipeline.begins_at(1000);
    pipeline.advance(1);
    assert_eq!(pipeline.now(), 1001);
    pipeline.begins_at(10);
    assert_eq!(pipeline.now(), 1001);
}
