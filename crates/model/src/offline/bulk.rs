//! Bulk choices: many pieces at a time, which are worth their price only together.
//!
//! A search that adds one superpage at a time finds no joint gain. If a working set exceeds the TLB
//! by several entries, one superpage alone spares no miss under LRU. So OFFLINE tries all used
//! pieces of one size together. Then OFFLINE drops the superpages that do not earn their price.

use super::Chosen;
use super::OfflineSetting;
use super::accept::Paid;
use super::course::KeptCourse;
use super::lives::{LifeId, Lives};
use super::trial::TrialResult;

/// The parts of a piece's pages that the trace must use.
const USED: [(u64, u64); 2] = [(1, 1), (1, 2)];
/// A superpage stays if its hits earn a quarter of its price. The hits do not include misses that
/// other pages save thanks to the superpage.
const EARNED: i128 = 4;

/// The lives of all pieces of a size whose used part is large enough: one choice for each size and
/// each part of [`USED`]. Choices that cost `most` cycles or more by themselves are left out.
pub(super) fn bulks(
    lives: &Lives,
    alone: &Paid,
    kept: &KeptCourse,
    setting: &OfflineSetting,
    most: u64,
) -> Vec<Chosen> {
    let mut bulks: Vec<Chosen> = Vec::new();
    for level in 1..setting.sizes.levels() {
        let pages = setting.sizes.pages(level);
        for (part, of) in USED {
            let mut price = 0;
            let mut chosen = Chosen::new();
            for (life, about) in lives.all().filter(|(_, life)| life.piece.1 == level) {
                let first = about.piece.0;
                let used = kept.numbers.among(first, pages).count() as u64;
                if used * of >= pages * part {
                    price += alone.get(&life).copied().unwrap_or(0);
                    chosen.insert((first, level, life));
                }
            }
            if price < i128::from(most) && !chosen.is_empty() && bulks.last() != Some(&chosen) {
                bulks.push(chosen);
            }
        }
    }
    bulks
}

/// The chosen lives whose hits earn the wanted part of their price.
pub(super) fn earning(
    chosen: &Chosen,
    found: &TrialResult,
    setting: &OfflineSetting,
    strict: bool,
) -> Chosen {
    let miss = i128::from(setting.walk_cycles.first().copied().unwrap_or(0));
    let factor = if strict { 1 } else { EARNED };
    let earns = |life: LifeId| {
        let hits = found.made.get(&life).copied().unwrap_or(0);
        let price = found.prices.get(&life);
        price.is_some_and(|price| i128::from(hits) * miss * factor >= *price)
    };
    let all = chosen.iter().copied();
    all.filter(|(.., life)| earns(*life)).collect()
}
