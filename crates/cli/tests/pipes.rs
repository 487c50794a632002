//! Recordings from pipes: what a file gives, they give.

mod support;

use std::fs::File;
use std::process::Output;

use broadleaf_trace::{Backing, Encoder, Event, Grain, Header, Mapping, Protection, Range, Visit};
use broadleaf_units::VirtAddr;
use serde_json::Value;
use support::{broadleaf, file, folder, run, run_with, succeeded};

fn visits(pages: std::ops::Range<u64>) -> Vec<Visit> {
    let visit = |page| Visit {
        unit: 0x2_0000 + page,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    };
    pages.map(visit).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&succeeded(output)).expect("the answer is JSON")
}

/// A recording that tells a mapping only when it was used.
fn late() -> Vec<u8> {
    let mut header = Header::new(Grain::Page);
    header.options.events = true;
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    encoder.visits(&visits(0..50)).expect("visits");
    let mapping = Mapping {
        range: Range {
            start: VirtAddr(0x2000_0000),
            len: 0x40_0000,
        },
        protection: Protection {
            read: true,
            write: true,
            execute: false,
        },
        shared: false,
        backing: Backing::Anonymous,
    };
    encoder.event(&Event::Map(mapping)).expect("an event");
    encoder.visits(&visits(0..90)).expect("visits");
    encoder.finish().expect("a trace")
}

#[test]
fn a_recording_is_read_from_a_pipe_as_often_as_it_takes() {
    let folder = folder("late");
    let bytes = late();
    let path = file(&folder, "late.bl", &bytes);
    let arguments = |trace| ["compare", trace, "--policy", "4k", "--format", "json"];
    let expected = json(&run(&arguments(&path)));
    assert_eq!(expected["trace"]["accesses"], 140);
    let piped = json(&run_with(&arguments("-"), &bytes));
    let redirected = broadleaf(&arguments("-"))
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    for answer in [piped, json(&redirected)] {
        assert_eq!(answer["results"], expected["results"]);
        assert_eq!(answer["trace"]["hash"], expected["trace"]["hash"]);
    }
}
