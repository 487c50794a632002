//! The public form of OFFLINE's choice.

use super::choose::Decision;
use super::lives::LifeId;
use super::regions::FaultRegions;
use super::trial::LadderPiece;
use super::{Chosen, OfflineSetting};
use broadleaf_memory::Pages;
use broadleaf_memory::system::{Place, Schedule};
use broadleaf_trace as trace;
use broadleaf_units::{PageSize, SpaceId};
use std::collections::BTreeMap;
use std::ops::Range;

/// The superpages chosen for a policy with foresight on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The policy's name.
    pub policy: String,
    /// The machine's name.
    pub machine: String,
    /// The number of choices tried.
    pub trials: u32,
    /// The cycles that the policy minimizes, as expected with no superpage.
    pub cycles_without: u64,
    /// The cycles that the policy minimizes, as expected with the chosen pieces.
    pub cycles: u64,
    /// The chosen pieces, by address space and address.
    pub pieces: Vec<ChosenPiece>,
    /// The chosen pieces by range: adjacent pieces of one size in one mapping. Empty unless the
    /// plan asks for ranges ([`crate::Plan::with_ranges`]).
    pub ranges: Vec<ChosenRange>,
    /// The charges of the pieces that are no superpages under the best choice. Empty for another
    /// choice.
    pub left: Vec<LeftCharges>,
}

/// The charges of a piece that is not worth being a superpage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftCharges {
    /// The size of the piece.
    pub size: PageSize,
    /// Misses of the piece's own pages that a superpage would have spared.
    pub prefetch: u64,
    /// Misses of other pages that a superpage would have spared.
    pub capacity: u64,
}

/// Adjacent chosen pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenRange {
    /// The indexes of the pieces in [`Choice::pieces`].
    pub pieces: Range<usize>,
    /// Walks that the range would have spared if its pieces alone had been superpages.
    pub walks_spared: u64,
    /// Cycles of the walks spared.
    pub walk_cycles_spared: u64,
    /// Cycles of the promotions in the range if they alone had been superpages, less those of the
    /// faults that they spare.
    pub price: i128,
}

/// A piece that was chosen to be a superpage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPiece {
    /// The piece's address space.
    pub space: SpaceId,
    /// The address of the piece's first byte.
    pub address: u64,
    /// The size of the piece.
    pub size: PageSize,
    /// Bytes of the piece in base pages that were referenced. The other bytes are filled for
    /// nothing.
    pub used_bytes: u64,
    /// Faults of the piece's pages as base pages.
    pub faults: u64,
    /// Promotions of the piece.
    pub promotions: u64,
    /// Walks that the piece would have spared if it alone had been a superpage.
    pub walks_spared: u64,
    /// Cycles of the walks spared.
    pub walk_cycles_spared: u64,
    /// The cycles of the piece's promotions, less those of the faults that they spare, if each had
    /// been the only promotion. Copying, filling and faults count as the policy's `cycles` says.
    /// Less than zero where the faults cost more.
    pub price: i128,
    /// The mapping around the piece. `None` if the trace lists no mapping.
    pub region: Option<MappedRegion>,
}

/// A mapping, as of the last fault in the mapping that a superpage could have held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedRegion {
    /// The address of the mapping's first byte.
    pub start: u64,
    /// The address after the mapping's last byte.
    pub end: u64,
    /// The mapping's backing.
    pub backing: trace::Backing,
}

impl Decision {
    /// Returns the public form of a choice by its index.
    pub(crate) fn to_choice(&self, number: usize, policy: String, machine: String) -> Choice {
        let chosen = self.choices.get(number);
        Choice {
            policy,
            machine,
            trials: self.trials,
            cycles_without: self.without,
            cycles: self.cycles.get(number).copied().unwrap_or(self.without),
            pieces: chosen.map_or_else(Vec::new, |chosen| self.pieces(chosen)),
            ranges: self.ranges.get(number).cloned().unwrap_or_default(),
            left: if number == 0 { self.left() } else { Vec::new() },
        }
    }

    fn left(&self) -> Vec<LeftCharges> {
        let left = self.left.iter();
        left.map(|(level, prefetch, capacity)| LeftCharges {
            size: self.size(*level),
            prefetch: *prefetch,
            capacity: *capacity,
        })
        .collect()
    }

    fn size(&self, level: usize) -> PageSize {
        let OfflineSetting { base, sizes, .. } = self.setting;
        PageSize::from_shift(base.shift() + sizes.order(level)).unwrap_or(base)
    }

    fn pieces(&self, chosen: &Chosen) -> Vec<ChosenPiece> {
        let pieces = by_piece(chosen);
        let pieces = pieces.iter();
        pieces
            .map(|(piece, lives)| self.piece(*piece, lives))
            .collect()
    }

    fn piece(&self, (at, level): LadderPiece, lives: &[LifeId]) -> ChosenPiece {
        let OfflineSetting { base, sizes, .. } = self.setting;
        let used = self.numbers.among(at, sizes.pages(level)).count() as u64;
        let miss = self.setting.walk_cycles.first().copied().unwrap_or(0);
        let spared = lives.iter().filter_map(|life| self.spared.get(life));
        let walks_spared: u64 = spared.sum();
        ChosenPiece {
            space: at.space,
            address: at.page << base.shift(),
            size: self.size(level),
            used_bytes: used << base.shift(),
            faults: lives.iter().map(|life| self.lives.get(*life).faults).sum(),
            promotions: lives.len() as u64,
            walks_spared,
            walk_cycles_spared: walks_spared * miss,
            price: (lives.iter())
                .filter_map(|life| self.prices.get(life))
                .sum(),
            region: region(&self.regions, &self.setting, at, level),
        }
    }

    /// The schedule of promotions of a choice, by the choice's index.
    pub(crate) fn schedule(&self, number: usize) -> Option<Schedule> {
        let chosen = self.choices.get(number)?.iter();
        let spans = chosen.map(|(first, level, life)| (*first, *level, self.lives.get(*life).span));
        Some(Schedule::new(spans, []))
    }
}

/// The chosen lives of each piece.
pub(super) fn by_piece(chosen: &Chosen) -> BTreeMap<LadderPiece, Vec<LifeId>> {
    let mut pieces: BTreeMap<LadderPiece, Vec<LifeId>> = BTreeMap::new();
    for (first, level, life) in chosen {
        pieces.entry((*first, *level)).or_default().push(*life);
    }
    pieces
}

/// Runs of adjacent chosen pieces of one size in one mapping, by the pieces' indexes.
pub(super) fn runs(
    pieces: &BTreeMap<LadderPiece, Vec<LifeId>>,
    setting: &OfflineSetting,
    regions: &FaultRegions,
) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (number, (first, level)) in pieces.keys().enumerate() {
        let found = region(regions, setting, *first, *level);
        let page = first.page + setting.sizes.pages(*level);
        let continues = before.as_ref() == Some(&(*first, *level, found.clone()));
        match runs.last_mut() {
            Some(run) if continues => run.end = number + 1,
            _ => runs.push(number..number + 1),
        }
        before = Some((Place { page, ..*first }, *level, found));
    }
    runs
}

/// The mapping around a piece. If part of the piece changed its mapping since, the mapping that
/// holds all of the piece.
fn region(
    regions: &FaultRegions,
    setting: &OfflineSetting,
    first: Place,
    level: usize,
) -> Option<MappedRegion> {
    let fold = setting.base.shift() - PageSize::SIZE_4K.shift();
    let start = first.page << fold;
    let end = start + (setting.sizes.pages(level) << fold);
    let found: Vec<_> = [start, end - 1]
        .into_iter()
        .filter_map(|unit| regions.around(first.space, unit))
        .collect();
    let holds_all = |(pages, _): &&(Pages, _)| pages.start <= start && end <= pages.end;
    let (pages, backing) = *found.iter().find(holds_all).or(found.first())?;
    let unit = PageSize::SIZE_4K.bytes();
    // Without listed mappings, one assumed mapping covers every address.
    Some(MappedRegion {
        start: pages.start * unit,
        end: pages.end.checked_mul(unit)?,
        backing: crate::events::trace_backing(backing),
    })
}
