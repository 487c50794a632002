//! What was chosen, as it is told.

use super::choose::Decision;
use super::lives::LifeId;
use super::regions::Regions;
use super::trial::Piece;
use super::{Chosen, Setting};
use broadleaf_memory::Pages;
use broadleaf_memory::system::{Place, Schedule};
use broadleaf_trace as trace;
use broadleaf_units::{PageSize, SpaceId};
use std::collections::BTreeMap;
use std::ops::Range;

/// What was chosen for a policy with foresight, on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The policy's name.
    pub policy: String,
    /// The machine's.
    pub machine: String,
    /// How many choices were tried.
    pub trials: u32,
    /// The cycles that there were to be few of, as expected with no superpage.
    pub cycles_without: u64,
    /// The same with the pieces chosen.
    pub cycles: u64,
    /// The chosen pieces, by address space and address.
    pub pieces: Vec<ChosenPiece>,
    /// The same by range: pieces of one size that stand one behind the other in one mapping. Empty
    /// unless it was asked for ([`crate::Plan::telling_ranges`]).
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

/// Chosen pieces that stand one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenRange {
    /// The numbers of the pieces.
    pub pieces: Range<usize>,
    /// Walks that they would have spared together if they alone had been superpages.
    pub walks_spared: u64,
    /// Cycles of these.
    pub walk_cycles_spared: u64,
    /// Cycles of the promotions in the range if they alone had been superpages, less those of the
    /// faults that they spare.
    pub price: i128,
}

/// A piece that was chosen to be a superpage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPiece {
    /// Whose.
    pub space: SpaceId,
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub size: PageSize,
    /// How many bytes of it lie in base pages that were referenced: the others are filled for
    /// nothing.
    pub used_bytes: u64,
    /// How often its pages faulted in as base pages.
    pub faults: u64,
    /// How often it would have become a superpage.
    pub promotions: u64,
    /// Walks that it would have spared if it alone had been a superpage.
    pub walks_spared: u64,
    /// Cycles of these.
    pub walk_cycles_spared: u64,
    /// The cycles of the piece's promotions, less those of the faults that they spare, if each had
    /// been the only promotion. Copying, filling and faults count as the policy's `cycles` says.
    /// Less than zero where the faults cost more.
    pub price: i128,
    /// The mapping that it lies in; `None` where the trace tells none.
    pub region: Option<Region>,
}

/// A mapping, as it was when something of it faulted in last that a superpage could have held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte.
    pub start: u64,
    /// The byte behind its last.
    pub end: u64,
    /// What stands behind it.
    pub backing: trace::Backing,
}

impl Decision {
    /// The choice of that number, for someone else.
    pub(crate) fn told(&self, number: usize, policy: String, machine: String) -> Choice {
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
        let Setting { base, sizes, .. } = self.setting;
        PageSize::from_shift(base.shift() + sizes.order(level)).unwrap_or(base)
    }

    fn pieces(&self, chosen: &Chosen) -> Vec<ChosenPiece> {
        let pieces = by_piece(chosen);
        let pieces = pieces.iter();
        pieces
            .map(|(piece, lives)| self.piece(*piece, lives))
            .collect()
    }

    fn piece(&self, (at, level): Piece, lives: &[LifeId]) -> ChosenPiece {
        let Setting { base, sizes, .. } = self.setting;
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

    /// When the pieces of the choice of that number are to become superpages.
    pub(crate) fn schedule(&self, number: usize) -> Option<Schedule> {
        let chosen = self.choices.get(number)?.iter();
        let spans = chosen.map(|(first, level, life)| (*first, *level, self.lives.get(*life).span));
        Some(Schedule::new(spans, []))
    }
}

/// The chosen lives of each piece.
pub(super) fn by_piece(chosen: &Chosen) -> BTreeMap<Piece, Vec<LifeId>> {
    let mut pieces: BTreeMap<Piece, Vec<LifeId>> = BTreeMap::new();
    for (first, level, life) in chosen {
        pieces.entry((*first, *level)).or_default().push(*life);
    }
    pieces
}

/// Runs of chosen pieces of one size that stand one behind the other in one mapping, by the pieces'
/// numbers.
pub(super) fn runs(
    pieces: &BTreeMap<Piece, Vec<LifeId>>,
    setting: &Setting,
    regions: &Regions,
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

/// What a piece lies in: what holds all of it, where part of that has become another mapping since.
fn region(regions: &Regions, setting: &Setting, first: Place, level: usize) -> Option<Region> {
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
    // Where no mapping is told, one holds whatever an address can name.
    Some(Region {
        start: pages.start * unit,
        end: pages.end.checked_mul(unit)?,
        backing: crate::events::told(backing),
    })
}
