//! Replays recordings in segments that all begin with a guess, and compares each count with that of
//! a replay in order. A guess of empty TLBs is the worst one, so this is no measure of speed.
#![forbid(unsafe_code)]

use broadleaf_bench::replay::{plan, replay};
use broadleaf_bench::{Failed, ONE, eighteen};
use broadleaf_model::{Guesses, SegmentRules};
use std::fs::File;

/// The lookups of a segment, and the threads that share the segments.
const RULES: [(usize, usize); 3] = [(1 << 12, 2), (1 << 16, 3), (1 << 19, 2)];

fn main() -> Result<(), Failed> {
    let traces: Vec<String> = std::env::args().skip(1).collect();
    if traces.is_empty() {
        return Err("give recordings: segments TRACE...".into());
    }
    for trace in &traces {
        for policies in [vec![ONE.to_owned()], eighteen()?] {
            let in_order = replay(|| File::open(trace), &plan(&policies)?)?;
            for (lookups, threads) in RULES {
                let rules = SegmentRules {
                    lookups,
                    guesses: Guesses::FromEmpty,
                    least_threads: 2,
                };
                let in_segments = plan(&policies)?.on_threads(threads).in_segments(rules);
                if replay(|| File::open(trace), &in_segments)? != in_order {
                    let why = format!("{trace}: other counts in segments of {lookups} lookups");
                    return Err(why.into());
                }
            }
            let count = policies.len();
            println!("{trace}: equal counts in segments, {count} policies");
        }
    }
    Ok(())
}
