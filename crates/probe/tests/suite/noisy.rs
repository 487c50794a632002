//! Times of modelled TLBs with jitter: the analysis by cycles finds what counting finds.

use broadleaf_machine::machine;
use broadleaf_probe::{
    Analysis, CalibrationError, ChaseCosts, ChaseOracle, ChaseReading, Modelled, Timed, TlbLevel,
    analyse, calibrate,
};
use broadleaf_tlb::ReferenceKind;
use broadleaf_units::PageSize;

/// A modelled TLB whose misses cost cycles. Each reading has jitter, and some are disturbed.
struct Jittery {
    modelled: Modelled,
    hit: f64,
    walk: f64,
    jitter: f64,
    counts: bool,
    random: u64,
}

impl Jittery {
    fn of(name: &str) -> Self {
        let design = machine(name).expect("a machine").design;
        let modelled = Modelled::new(&design, PageSize::SIZE_4K, ReferenceKind::Load);
        Self {
            modelled: modelled.expect("base pages"),
            hit: 7.0,
            walk: 30.0,
            jitter: 0.3,
            counts: false,
            random: 7,
        }
    }

    /// A number from 0 to 1.
    fn random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn cost(&mut self, (first, all): (f64, f64)) -> f64 {
        let disturbed = if self.random() < 0.05 { 40.0 } else { 0.0 };
        first * self.hit + all * self.walk + self.random() * self.jitter + disturbed
    }
}

impl ChaseCosts for Jittery {
    fn reading(&mut self, pages: &[u64]) -> Option<ChaseReading> {
        let shares = self.modelled.least_shares(pages);
        Some(ChaseReading {
            extra: self.cost(shares),
            misses: self.counts.then_some(shares.1),
        })
    }

    fn string(&mut self, pages: &[u64]) -> Option<f64> {
        let start = self.random.wrapping_add(1);
        let mut share = |level| self.modelled.miss_ratio(level, pages, pages, start);
        let shares = (share(TlbLevel::First)?, share(TlbLevel::All)?);
        self.random();
        Some(shares.0 * self.hit + shares.1 * self.walk)
    }

    fn above(&self) -> u32 {
        34
    }

    fn unit(&self) -> u64 {
        PageSize::SIZE_4K.bytes()
    }

    fn most_pages(&self) -> usize {
        16 << 10
    }
}

fn analysed(mut costs: Jittery) -> Analysis {
    let calibration = calibrate(&mut costs).expect("a calibration");
    analyse(&mut Timed::new(&mut costs, calibration, 3, 3), &mut || ())
}

/// Entries, ways and index of both levels.
fn figures(found: &Analysis) -> Vec<String> {
    let levels = [Some(&found.first), found.second.as_ref()].into_iter();
    let figures = levels.flatten().map(|level| {
        let index = level.index.value.as_ref().map(ToString::to_string);
        format!(
            "{:?} {:?} {}",
            level.entries.value,
            level.ways.value,
            index.unwrap_or_else(|| "open".to_owned())
        )
    });
    figures.collect()
}

#[test]
fn jitter_hides_no_structure() {
    for (name, wanted) in [
        (
            "skylake",
            [
                "Some(64) Some(4) va[15:12]",
                "Some(1536) Some(12) va[18:12] ^ va[25:19]",
            ],
        ),
        (
            "golden-cove",
            [
                "Some(96) Some(6) va[15:12]",
                "Some(2048) Some(16) va[18:12] ^ va[25:19]",
            ],
        ),
        (
            "gracemont",
            ["Some(48) Some(48) none", "Some(2048) Some(4) va[20:12]"],
        ),
    ] {
        let found = analysed(Jittery::of(name));
        assert_eq!(figures(&found), wanted, "{name}: {found:?}");
    }
}

#[test]
fn a_counter_decides_where_times_cannot() {
    let mut costs = Jittery::of("skylake");
    costs.counts = true;
    let calibration = calibrate(&mut costs).expect("a calibration");
    assert_eq!(calibration.counted, Some(TlbLevel::All));
    // The jitter is as large as half a walk, and the counter is exact.
    costs.jitter = 15.0;
    let mut timed = Timed::new(&mut costs, calibration, 3, 1);
    let row = |count| broadleaf_probe::in_a_row(count, 4096);
    let fits = |answer: Option<broadleaf_probe::Verdict>| answer.expect("an answer").fits;
    assert!(fits(timed.fits(TlbLevel::All, &row(1536))));
    assert!(!fits(timed.fits(TlbLevel::All, &row(1536 + 512))));
}

#[test]
fn too_much_noise_is_refused() {
    let mut costs = Jittery::of("skylake");
    costs.jitter = 30.0;
    let refused = calibrate(&mut costs).expect_err("noise");
    assert!(matches!(refused, CalibrationError::Noisy(_)), "{refused:?}");
    let said = refused.to_string();
    assert!(said.contains("too noisy"), "{said}");
    costs.jitter = 0.1;
    (costs.hit, costs.walk) = (0.0, 0.0);
    assert_eq!(calibrate(&mut costs), Err(CalibrationError::Flat));
}
