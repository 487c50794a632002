//! Benchmarks of the decoder alone: from a trace's bytes in memory to visits, with checksums.

use broadleaf_bench::generated::{encode, short};
use broadleaf_bench::walk::{Walked, walk};
use broadleaf_trace::{Visit, synth};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::path::Path;

/// Returns a program's recording, whose contents change every few bytes.
fn recorded() -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sort.bl");
    std::fs::read(golden).expect("a golden recording")
}

fn decoder(criterion: &mut Criterion) {
    let visits: Vec<Visit> = synth::updates(0, 1 << 20, 1 << 17, 1).collect();
    let updates = encode(Vec::new(), visits.iter().copied()).expect("a trace");
    let zipf = short(Vec::new()).expect("a trace");
    let mut group = criterion.benchmark_group("decoder");
    for (name, bytes, accesses) in [
        ("recorded", recorded(), 200_406),
        ("updates", updates, 2 << 17),
        ("zipf", zipf, 524_101),
    ] {
        let read = || walk(bytes.as_slice()).expect("a whole trace");
        let seen: Walked = read();
        assert_eq!(seen.accesses, accesses, "{name}");
        group.throughput(Throughput::Elements(seen.visits));
        group.bench_function(name, |bencher| bencher.iter(read));
    }
    group.finish();
}

criterion_group!(benches, decoder);
criterion_main!(benches);
