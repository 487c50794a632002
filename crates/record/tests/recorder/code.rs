//! Recordings with the code of blocks.

use broadleaf_trace::{Grain, Item, ReadOptions, TraceReader, VisitEnds};

use crate::support::{can_record, compiled, folder, options, trace_with};

/// Each execution names its code, which has as many instructions as the visits of the execution.
/// The code is that of the program's file, and counts are those of a recording without code.
#[test]
fn each_execution_names_its_code() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("mixed", &["-static", "-no-pie"], place.path()) else {
        return;
    };
    let file = std::fs::read(&program).expect("the program is there");
    for instructions in [false, true] {
        let mut what = options(&[&program]);
        what.grain = Grain::Line;
        what.instructions = instructions;
        let without = trace_with(&what).expect("the recording works");
        what.code = true;
        let with = trace_with(&what).expect("the recording works");
        assert_eq!(with.totals, without.totals);
        let reading = ReadOptions {
            ends: VisitEnds::Executions,
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::with_options(&with.bytes[..], reading).expect("a trace");
        // By pattern: the instructions of the code, and those of each execution.
        let (mut executions, mut found) = (Vec::new(), 0_u64);
        while let Some(item) = reader.next_item().expect("it is whole") {
            let Item::Visits(visits) = item else { continue };
            for visit in visits {
                if visit.execution != 0 {
                    executions.push((visit.execution, 0_u64));
                }
                found += u64::from(visit.instructions);
                if let Some((_, counted)) = executions.last_mut() {
                    *counted += u64::from(visit.instructions);
                }
            }
        }
        assert_eq!(found, with.totals.instructions);
        assert_eq!(executions.len() as u64, with.totals.executions);
        let code = reader.code();
        let mut checked = 0;
        for (number, counted) in &executions {
            let pattern = code.pattern(*number).expect("code");
            assert_eq!(pattern.instructions().len() as u64, *counted);
        }
        for number in 1..=code.len() as u32 {
            let pattern = code.pattern(number).expect("code");
            for one in pattern.instructions() {
                assert!((1..=15).contains(&one.length), "{one:?}");
                // A program that is not moved has its text at 0x400000 plus the place in its file.
                let at = (one.address as usize).wrapping_sub(0x40_0000);
                if let Some(bytes) = file.get(at..at + usize::from(one.length)) {
                    checked += usize::from(bytes == one.code());
                    assert!(bytes == one.code(), "{one:x?}");
                }
            }
        }
        assert!(checked > 1000, "{checked}");
    }
}
