//! Access times by delay equations, for a process of 0.8 micrometres.
//!
//! The equations are those of Wilton and Jouppi, "An Enhanced Access and Cycle Time Model for
//! On-Chip Caches" (WRL Research Report 93/5, 1994; IEEE JSSC 31(5), 1996), after Wada 1992 and
//! Horowitz 1983. The order of the stages and the constants were read in the program that belongs
//! to the report, and the code here is written anew. Talluri (1995, section 2.3) describes how the
//! model is used for TLBs:
//!
//! - Each array is one rectangle: it is not divided.
//! - The word-line drivers of tag arrays have the sizes that the report gives those of data arrays.
//! - Valid bits are compared with the tag. A valid cell discharges the match line by one path; a
//!   tag cell has two.
//! - A don't-care cell has the drains of a tag cell, and the match line passes two cells.
//! - The multiplexor driver of a set-associative structure has two stages if a set yields exactly
//!   the bits of one mapping for each way, and three otherwise.
//! - Column multiplexors select a subblock in the data array ([`SubblockSelector`]).
//! - The bit lines of content-addressable memory are driven like word lines. Its match line is the
//!   comparator of a set-associative structure, and drives the word line of the data array.
//!
//! Talluri published no equation of the content-addressable memory. Here each of its cells loads a
//! bit line with the gate of a compare transistor, the drain of its access transistor and the wire.
//! This load, and the one discharge path of a valid cell, were chosen after a comparison with the
//! printed ratios.

mod bit_line;
mod comparator;
mod decoder;
mod device;
mod fully_associative;
mod multiplexor;
mod output;
mod process;
mod sense;
mod set_associative;
mod signal;
mod word_line;

use crate::TlbPlan;

/// The place that selects one subblock of a complete-subblock entry (Talluri 1995, appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubblockSelector {
    /// Pass transistors between the bit lines and the sense amplifiers of the data array.
    ColumnMultiplexor,
    /// The multiplexor at the output drivers, with an input for each subblock.
    OutputMultiplexor,
}

/// The time from an address to a mapping, in seconds.
pub fn access_time(plan: &TlbPlan, selector: SubblockSelector) -> f64 {
    match plan.ways {
        None => fully_associative::access_time(plan, selector),
        Some(ways) => set_associative::access_time(plan, ways, selector),
    }
}

/// The bit lines that share a sense amplifier, and the inputs of the output multiplexor for each
/// way.
fn shared_lines(plan: &TlbPlan, selector: SubblockSelector) -> (f64, f64) {
    let words = f64::from(plan.bits.words);
    match selector {
        SubblockSelector::ColumnMultiplexor => (words, 1.0),
        SubblockSelector::OutputMultiplexor => (1.0, words),
    }
}
