//! The lives of pieces: the times between which a piece can be a superpage without being broken.
//!
//! A life begins at the first fault in a piece that one mapping covers, and ends when the trace
//! removes a part of the piece. Lives depend on the trace alone: the same events break a piece
//! under any choice of superpages. OFFLINE chooses lives, so it may promote a piece late, and need
//! not promote it again.

use super::course::{Event, KeptCourse};
use super::trial::LadderPiece;
use super::{OfflineSetting, Work};
use broadleaf_charges::Ladder;
use broadleaf_memory::system::{Appraisal, Place, Span};
use std::collections::BTreeMap;

/// The number of a life.
pub(super) type LifeId = u32;

/// A life of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceLife {
    pub(super) piece: LadderPiece,
    pub(super) span: Span,
    /// Faults in the piece where there are no superpages.
    pub(super) faults: u64,
    /// Cycles of filling one base page of the piece.
    pub(super) page_cycles: u64,
}

/// The lives of all pieces, in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives {
    all: Vec<PieceLife>,
    by_piece: BTreeMap<LadderPiece, Vec<LifeId>>,
}

impl Lives {
    /// The lives that a trace has.
    pub(super) fn of(kept: &KeptCourse, ladder: &Ladder) -> Self {
        let mut lives = Self::default();
        let mut open = BTreeMap::new();
        for (time, event) in kept.course.events() {
            match event {
                Event::Fault(number, appraisal) => {
                    let at = kept.numbers.place(*number);
                    lives.chance(&mut open, ladder, *time, at, appraisal, 1);
                }
                Event::Chance(number, appraisal) => {
                    let at = kept.numbers.place(*number);
                    lives.chance(&mut open, ladder, *time, at, appraisal, 0);
                }
                Event::Moved(..) => {}
                Event::ShotDown(first, pages) | Event::Gone(first, pages) => {
                    let gone = matches!(event, Event::Gone(..));
                    for piece in ended(&open, ladder, *first, *pages, gone) {
                        if let Some(life) = open.remove(&piece) {
                            lives.all[life as usize].span.to = *time;
                        }
                    }
                }
            }
        }
        lives
    }

    fn chance(
        &mut self,
        open: &mut BTreeMap<LadderPiece, LifeId>,
        ladder: &Ladder,
        time: u64,
        at: Place,
        appraisal: &Appraisal,
        faults: u64,
    ) {
        for level in 1..=ladder.largest() {
            if appraisal.covered >> level & 1 == 0 {
                continue;
            }
            let page = ladder.first_of(level, at.page);
            let piece = (Place { page, ..at }, level);
            let life = *open.entry(piece).or_insert_with(|| {
                let new = self.all.len() as LifeId;
                self.all.push(PieceLife {
                    piece,
                    span: Span {
                        from: time,
                        to: u64::MAX,
                    },
                    faults: 0,
                    page_cycles: 0,
                });
                self.by_piece.entry(piece).or_default().push(new);
                new
            });
            let life = &mut self.all[life as usize];
            life.faults += faults;
            life.page_cycles = appraisal.page_cycles;
        }
    }

    pub(super) fn get(&self, life: LifeId) -> &PieceLife {
        &self.all[life as usize]
    }

    /// All lives, in the order in which they begin.
    pub(super) fn all(&self) -> impl Iterator<Item = (LifeId, &PieceLife)> {
        (0..).zip(&self.all)
    }

    /// The life that a piece has at a time.
    pub(super) fn at(&self, piece: LadderPiece, time: u64) -> Option<LifeId> {
        let lives = self.by_piece.get(&piece)?;
        let next = lives.partition_point(|life| self.get(*life).span.from <= time);
        let life = lives[next.checked_sub(1)?];
        self.get(life).span.holds(time).then_some(life)
    }

    /// Cycles of a promotion in a life, at a fault or at a miss, less the cycles of the faults that
    /// the superpage spares.
    pub(super) fn price(
        &self,
        setting: &OfflineSetting,
        life: LifeId,
        work: Work,
        faults: bool,
    ) -> i128 {
        let life = self.get(life);
        let promotion = i128::from(setting.promotion(life.piece.1, work, life.page_cycles));
        let fault = |filled| i128::from(setting.fault(filled));
        let paid = match (faults, work.copied) {
            (false, _) => 0,
            (true, 0) => fault(0),
            (true, _) => fault(life.page_cycles),
        };
        promotion + paid - i128::from(life.faults) * fault(life.page_cycles)
    }
}

/// The open pieces that an event breaks: those partly in the range and, if `gone`, those wholly in
/// it.
pub(super) fn ended<T>(
    open: &BTreeMap<LadderPiece, T>,
    ladder: &Ladder,
    first: Place,
    pages: u64,
    gone: bool,
) -> Vec<LadderPiece> {
    let end = first.page.saturating_add(pages);
    let inside = |(at, level): LadderPiece| {
        at.page >= first.page && at.page.saturating_add(ladder.pages(level)) <= end
    };
    let mut ended: Vec<LadderPiece> = Vec::new();
    if gone {
        let range = (first, 0)..(Place { page: end, ..first }, 0);
        let all = open.range(range).map(|(piece, _)| *piece);
        ended.extend(all.filter(|piece| inside(*piece)));
    }
    for level in 1..=ladder.largest() {
        for page in [first.page, end.saturating_sub(1)] {
            let page = ladder.first_of(level, page);
            let piece = (Place { page, ..first }, level);
            if !inside(piece) && open.contains_key(&piece) {
                ended.push(piece);
            }
        }
    }
    ended
}
