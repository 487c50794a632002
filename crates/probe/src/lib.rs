//! The structure of a TLB, found by pointer chases.
//!
//! A [`ChaseOracle`] answers whether the pages of a [`Chase`] fit a level. [`analyse`] asks it and
//! finds capacities, ways, index bits, inclusion and replacement. [`Modelled`] counts the misses of
//! a modelled TLB, and [`Timed`] decides by the cycles that a chase costs. The analysis is one code
//! for both, and it never guesses: a value that the answers do not determine stays open.
#![forbid(unsafe_code)]

mod analysis;
mod chase;
mod finding;
mod inclusion;
mod index;
mod modelled;
mod oracle;
mod replacement;
mod second;
mod timed;

pub use analysis::{Analysis, LevelFound, STEPS, analyse, first_level};
pub use chase::{Chase, far_apart, in_a_row, with_detection};
pub use finding::Finding;
pub use inclusion::Inclusion;
pub use index::{IndexBits, index_bits};
pub use modelled::Modelled;
pub use oracle::{ChaseOracle, TlbLevel, Verdict};
pub use replacement::{RuleSignature, signature};
pub use timed::{
    Calibration, CalibrationError, ChaseCosts, ChaseReading, Timed, calibrate, ladder,
};
