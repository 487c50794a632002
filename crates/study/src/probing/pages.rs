//! The analyses of pages of each size on this processor.

use std::time::{Duration, Instant};

use broadleaf_governor::ChaseTimer;
use broadleaf_metrics::{ProbedFigure, ProbedValue};
use broadleaf_probe::{
    Analysis, Calibration, ChaseCosts, IndexBits, LevelFound, Timed, analyse, calibrate,
};
use broadleaf_units::PageSize;

use super::hardware::{ABOVE, HardwareChases};
use super::{Effort, costs, values};

fn analysed(
    chases: &mut HardwareChases<'_>,
    calibration: Calibration,
    effort: Effort,
    step: &mut dyn FnMut(),
) -> Analysis {
    let mut timed = Timed::new(chases, calibration, effort.groups, effort.orders);
    analyse(&mut timed, step)
}

/// The time after which no other bits are tried.
const LONG: Duration = Duration::from_secs(90);
/// The most ways of a level's set that index bits may leave.
const PLAUSIBLE_WAYS: std::ops::RangeInclusive<usize> = 2..=32;
/// The score of a level that is determined.
const DETERMINED: usize = 3;

/// The findings on base pages: the first that determine the entries of both levels, or those that
/// determine most. Index bits without contradiction are better than others.
pub(super) fn base_pages(
    chases: &mut HardwareChases<'_>,
    calibration: Calibration,
    effort: Effort,
    step: &mut dyn FnMut(),
) -> Analysis {
    let determined = |found: &Analysis| {
        let of_level = |level: &LevelFound| {
            let sets = level.bits.value.as_ref().and_then(IndexBits::sets);
            let ways = level
                .capacity
                .value
                .zip(sets)
                .map(|(most, sets)| most / sets);
            let is_plausible = ways.is_some_and(|ways| PLAUSIBLE_WAYS.contains(&ways));
            2 * usize::from(level.entries.value.is_some()) + usize::from(is_plausible)
        };
        let of_second = found.second.as_ref().map_or(DETERMINED, of_level);
        (
            2 * usize::from(found.first.entries.value.is_some()),
            of_second,
        )
    };
    let began = Instant::now();
    chases.set_above(ABOVE[0]);
    let mut best = analysed(chases, calibration, effort, step);
    for above in &ABOVE[1..] {
        // A busy machine takes longer, and the last bits are worth no third attempt then.
        if determined(&best) >= (2, 2) || began.elapsed() > LONG {
            break;
        }
        chases.set_above(*above);
        let found = analysed(chases, calibration, effort, &mut || ());
        if determined(&found) > determined(&best) {
            best = found;
        }
    }
    best
}

/// The findings on pages of 2 MiB.
pub(super) struct HugeFindings {
    pub values: Vec<ProbedValue>,
    pub analysis: Option<Analysis>,
}

/// The name of the cost of a walk to a fractured page of 2 MiB.
pub(super) const SHORTER: &str = "walk 2m, of a walk 4k";

/// Measures pages of 2 MiB. Their structures are left open if such pages enter the TLB in pieces.
pub(super) fn huge_pages(
    timer: &mut ChaseTimer,
    of_base: Calibration,
    effort: Effort,
    enters_as: Option<(&str, f64)>,
    reach: usize,
    step: &mut dyn FnMut(),
) -> HugeFindings {
    let open = |reason: &str| values::measured("L1 2m entries", Vec::new(), "entries", reason);
    let mut values = Vec::new();
    let Some((size, confidence)) = enters_as else {
        values.push(open("the kernel gives no pages of 2 MiB"));
        return HugeFindings {
            values,
            analysis: None,
        };
    };
    values.push(ProbedValue {
        name: "2 MiB page enters the TLB as".to_owned(),
        value: Some(ProbedFigure::Words(size.to_owned())),
        unit: String::new(),
        confidence: Some(confidence),
        note: String::new(),
    });
    if size == "4k" {
        values.push(open("such pages enter the TLB in pieces of 4 KiB"));
        values.push(values::measured(
            SHORTER,
            costs::shortened(timer, reach),
            "percent",
            "no loads of both sizes could be timed",
        ));
        return HugeFindings {
            values,
            analysis: None,
        };
    }
    let mut chases = HardwareChases::new(timer, PageSize::SIZE_2M, effort.samples);
    // Pages of both sizes hit the same second level, and a ladder of huge pages may be too short.
    let calibration = calibrate(&mut chases).unwrap_or(of_base);
    let analysis = analysed(&mut chases, calibration, effort, step);
    values.extend(values::of_analysis(&analysis, "2m"));
    let walks = costs::walks(&mut chases, "2m", calibration, Some(&analysis));
    values.extend(walks);
    HugeFindings {
        values,
        analysis: Some(analysis),
    }
}

/// Measures walks of pages of 1 GiB, if the administrator has reserved one.
pub(super) fn giant_pages(
    timer: &mut ChaseTimer,
    of_base: Calibration,
    samples: usize,
) -> Vec<ProbedValue> {
    let mut chases = HardwareChases::new(timer, PageSize::SIZE_1G, samples);
    match chases.most_pages() {
        0 => vec![values::measured(
            "walk 1g",
            Vec::new(),
            "cycles more than an L2 hit",
            "no page of 1 GiB is reserved",
        )],
        _ => costs::walks(&mut chases, "1g", of_base, None),
    }
}

/// The entries of page-walk caches. Chases show the walks that they shorten, and no step that is
/// theirs alone.
pub(super) fn walk_caches() -> ProbedValue {
    values::measured(
        "walk cache entries",
        Vec::new(),
        "entries",
        "far walks show the cost alone, since caches of data shorten them too",
    )
}
