//! Measures the speed of writing and reading traces: `cargo run --release -p broadleaf-trace
//! --example speed [TRACE]`.
//!
//! Without a trace, the program generates some. Each figure is of one thread, with data in memory.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros
)]

use std::time::Instant;

use broadleaf_trace::{Encoder, Grain, Header, Item, ReadOptions, TraceReader, Visit, synth};

fn read(name: &str, bytes: &[u8]) {
    let mut best = f64::INFINITY;
    let (mut visits, mut accesses) = (0u64, 0u64);
    for _ in 0..3 {
        let began = Instant::now();
        let options = ReadOptions {
            fetches: false,
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::with_options(bytes, options).expect("a trace");
        (visits, accesses) = (0, 0);
        while let Some(item) = reader.next_item().expect("a whole trace") {
            if let Item::Visits(some) = item {
                visits += some.len() as u64;
                accesses += some.iter().map(Visit::accesses).sum::<u64>();
            }
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    println!(
        "{name}: {} bytes, {accesses} accesses in {visits} visits; \
         {:.3} bytes an access; read at {:.0} M accesses/s, {:.0} M visits/s",
        bytes.len(),
        bytes.len() as f64 / accesses as f64,
        accesses as f64 / best / 1e6,
        visits as f64 / best / 1e6,
    );
}

fn write(name: &str, visits: impl Iterator<Item = Visit>) {
    let visits: Vec<Visit> = visits.collect();
    let began = Instant::now();
    let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    encoder.visits(&visits).expect("visits");
    let bytes = encoder.finish().expect("a trace");
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{name}: written at {:.0} M visits/s",
        visits.len() as f64 / seconds / 1e6
    );
    read(name, &bytes);
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    for path in &paths {
        read(path, &std::fs::read(path).expect("the file can be read"));
    }
    if paths.is_empty() {
        write("sequential", synth::sequential(1 << 20, 1000, 64, 20_000));
        write("updates", synth::updates(1 << 20, 1 << 16, 20_000_000, 1));
        write("zipf", synth::zipf(1 << 20, 1 << 16, 20_000_000, 1));
        // The access pattern of a program: a stack, a heap and a few arrays, in loops.
        let mut random = synth::SplitMix64::new(1);
        let local = (0..20_000_000u64).map(move |at| Visit {
            unit: match at % 4 {
                0 => 0x7fff_fff0,
                1 => 100 + (at >> 14),
                2 => 5000 + (at >> 12) % 64,
                _ => 9000 + random.below(8),
            },
            loads: 1 + (at % 3) as u32,
            stores: (at % 2) as u32,
            loads_before_store: 1 + (at % 3) as u32,
            ..Visit::default()
        });
        write("local", local);
    }
}
