//! A branch predictor.
//!
//! Conditional branches have a perceptron over hashes of the global history (Jiménez and Lin 2001;
//! hashed by Tarjan and Skadron 2005). Computed targets have tables by the paths that led to them,
//! of several lengths, of which the longest that knows the path predicts (Seznec and Michaud 2006).
//! Returns have a stack.

use crate::BranchKind;

/// The lengths of the histories that a conditional branch is predicted by.
const HISTORIES: [u32; 10] = [0, 2, 4, 7, 12, 19, 30, 47, 75, 120];
/// The weights of one history.
const WEIGHTS: usize = 1 << 12;
/// A prediction whose sum is smaller than this is trained even if it was right.
const THRESHOLD: i32 = 36;
/// The greatest weight.
const MOST: i8 = 63;
/// The taken branches of the path by which each table knows a computed target, shortest first.
const PATHS: [u32; 4] = [0, 2, 5, 12];
/// The bits of a path that each taken branch adds.
const PATH_BITS: u32 = 5;
/// The targets of each table.
const TARGETS: usize = 1 << 12;
/// The greatest confidence of a target.
const CONFIDENT: u8 = 3;
/// The calls that the stack of returns holds.
const RETURNS: usize = 32;

/// A computed target that a table knows.
#[derive(Clone, Copy, Debug, Default)]
struct KnownTarget {
    tag: u16,
    confidence: u8,
    target: u64,
}

/// A branch predictor in its present state.
#[derive(Clone, Debug)]
pub struct Branches {
    weights: Box<[[i8; WEIGHTS]]>,
    /// The outcomes of the last conditional branches, the last one lowest.
    history: u128,
    /// The targets of the last taken branches, hashed, the last one lowest.
    path: u64,
    targets: Box<[[KnownTarget; TARGETS]]>,
    returns: [u64; RETURNS],
    depth: usize,
}

impl Default for Branches {
    fn default() -> Self {
        Self {
            weights: vec![[0; WEIGHTS]; HISTORIES.len()].into(),
            history: 0,
            path: 0,
            targets: vec![[KnownTarget::default(); TARGETS]; PATHS.len()].into(),
            returns: [0; RETURNS],
            depth: 0,
        }
    }
}

impl Branches {
    /// Predicts a branch and learns where it went. Returns true if the prediction was wrong.
    pub fn mispredicts(&mut self, kind: BranchKind, at: u64, end: u64, went: u64) -> bool {
        let wrong = match kind {
            BranchKind::None => return false,
            BranchKind::Conditional => self.conditional(at, went != end),
            BranchKind::Call => {
                self.push(end);
                false
            }
            BranchKind::IndirectCall => {
                self.push(end);
                self.target(at, went)
            }
            BranchKind::Indirect => self.target(at, went),
            BranchKind::Return => self.pop() != went,
        };
        if went != end {
            let hash = mixed(went, 0) >> (64 - PATH_BITS);
            self.path = self.path << PATH_BITS | hash;
        }
        wrong
    }

    fn conditional(&mut self, at: u64, taken: bool) -> bool {
        let mut places = [0; HISTORIES.len()];
        let mut sum = 0;
        for ((place, length), weights) in places.iter_mut().zip(HISTORIES).zip(self.weights.iter())
        {
            let seen = self.history & ((1 << length) - 1);
            *place = place_of(at ^ u64::from(length) << 56, seen);
            sum += i32::from(weights[*place]);
        }
        let wrong = (sum >= 0) != taken;
        if wrong || sum.abs() < THRESHOLD {
            for (weights, place) in self.weights.iter_mut().zip(places) {
                let weight = &mut weights[place];
                *weight = match taken {
                    true => (*weight + 1).min(MOST),
                    false => (*weight - 1).max(-MOST - 1),
                };
            }
        }
        self.history = self.history << 1 | u128::from(taken);
        wrong
    }

    fn target(&mut self, at: u64, went: u64) -> bool {
        let places = PATHS.map(|length| {
            let path = self.path & ((1 << (length * PATH_BITS)) - 1);
            let mixed = mixed(at ^ u64::from(length) << 56, path.into());
            ((mixed >> 52) as usize, mixed as u16)
        });
        let knows = |table: &usize| {
            let (place, tag) = places[*table];
            let known = &self.targets[*table][place];
            known.tag == tag && known.target != 0
        };
        let provider = (0..PATHS.len()).rev().find(knows);
        let predicted = provider.map(|table| self.targets[table][places[table].0].target);
        let wrong = predicted != Some(went);
        if let Some(table) = provider {
            let known = &mut self.targets[table][places[table].0];
            match (wrong, known.confidence) {
                (false, confidence) => known.confidence = (confidence + 1).min(CONFIDENT),
                (true, 0) => known.target = went,
                (true, _) => known.confidence -= 1,
            }
        }
        if wrong {
            // A table that knows longer paths learns the target.
            let longer = provider.map_or(0, |table| table + 1);
            for (table, (place, tag)) in places.into_iter().enumerate().skip(longer) {
                let known = &mut self.targets[table][place];
                if known.confidence == 0 {
                    *known = KnownTarget {
                        tag,
                        confidence: 0,
                        target: went,
                    };
                    break;
                }
                known.confidence -= 1;
            }
        }
        wrong
    }

    fn push(&mut self, to: u64) {
        self.returns[self.depth % RETURNS] = to;
        self.depth += 1;
    }

    fn pop(&mut self) -> u64 {
        let Some(depth) = self.depth.checked_sub(1) else {
            return 0;
        };
        self.depth = depth;
        self.returns[depth % RETURNS]
    }
}

/// The place of a branch after a history, below [`WEIGHTS`].
fn place_of(at: u64, history: u128) -> usize {
    (mixed(at, history) >> 52) as usize
}

/// A hash of a branch and a history.
fn mixed(at: u64, history: u128) -> u64 {
    let folded = (history as u64) ^ ((history >> 64) as u64).rotate_left(29);
    let both = at ^ folded.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (both ^ both >> 31).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

const _: () = assert!(WEIGHTS == 1 << 12 && TARGETS == 1 << 12);
const _: () = assert!(PATHS[PATHS.len() - 1] * PATH_BITS < 64);
