//! Benchmarks of the TLB alone: lookups, and fills after a miss.

use broadleaf_bench::MACHINE;
use broadleaf_machine::machine;
use broadleaf_oracle::{AgedTlb, FoundIn, OracleMachine, PageSizeKind};
use broadleaf_tlb::{Lookup, Tlb, Walk};
use broadleaf_trace::synth;
use broadleaf_units::{Asid, PageNumber, PageSize, SpaceId};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const LOOKUPS: u64 = 1 << 16;

/// Looks up the pages. Returns the lookups that missed the first level, and those that missed both
/// levels.
fn look_up(tlb: &mut Tlb, pages: &[u64], size: PageSize) -> (u64, u64) {
    let tag = Asid::default();
    let (mut missed, mut walks) = (0, 0);
    for page in pages {
        let page = PageNumber(*page);
        match tlb.lookup(tag, page) {
            Lookup::First => continue,
            Lookup::Second | Lookup::Third => {}
            Lookup::Miss => {
                walks += 1;
                tlb.load(&Walk::plain(tag, page, size));
            }
        }
        missed += 1;
    }
    (missed, walks)
}

/// Returns the counts of the slow model.
fn counted(pages: &[u64], size: PageSizeKind) -> (u64, u64) {
    let mut tlb = AgedTlb::new(OracleMachine::Skylake);
    let (mut missed, mut walks) = (0, 0);
    for page in pages {
        let found = tlb.lookup(SpaceId(0), *page, size);
        missed += u64::from(found != FoundIn::FirstLevel);
        walks += u64::from(found == FoundIn::Walk);
    }
    (missed, walks)
}

fn tlb(criterion: &mut Criterion) {
    assert_eq!(MACHINE, OracleMachine::Skylake.to_string());
    let design = machine(MACHINE).expect("a machine").design;
    let base = (PageSize::SIZE_4K, PageSizeKind::Base);
    let large = (PageSize::SIZE_2M, PageSizeKind::Super);
    let pages = |visits: &mut dyn Iterator<Item = broadleaf_trace::Visit>| -> Vec<u64> {
        visits.map(|visit| visit.unit).collect()
    };
    // The first level holds the few pages of the first case. The second level holds those of the
    // second case. Zipf's law exceeds both levels. The last two cases hardly ever hit, with base
    // pages and with superpages.
    let cases = [
        (
            "first level",
            pages(&mut synth::updates(0, 32, LOOKUPS, 1)),
            base,
        ),
        (
            "second level",
            pages(&mut synth::updates(0, 1024, LOOKUPS, 1)),
            base,
        ),
        (
            "zipf",
            pages(&mut synth::zipf(0, 1 << 14, LOOKUPS, 1)),
            base,
        ),
        (
            "misses",
            pages(&mut synth::updates(0, 1 << 20, LOOKUPS, 1)),
            base,
        ),
        (
            "superpages",
            pages(&mut synth::updates(0, 1 << 20, LOOKUPS, 1)),
            large,
        ),
    ];
    let mut group = criterion.benchmark_group("tlb");
    group.throughput(Throughput::Elements(LOOKUPS));
    for (name, pages, (size, kind)) in cases {
        let mut tlb = Tlb::new(&design);
        assert_eq!(
            look_up(&mut tlb, &pages, size),
            counted(&pages, kind),
            "{name}"
        );
        group.bench_function(name, |bencher| {
            bencher.iter(|| look_up(&mut tlb, &pages, size));
        });
    }
    group.finish();
}

criterion_group!(benches, tlb);
criterion_main!(benches);
