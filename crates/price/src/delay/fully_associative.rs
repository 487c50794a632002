//! The access of a fully associative structure: the tag is driven to all entries, the match line of
//! one drives the word line of its data.

use super::comparator::{ComparedBits, matched};
use super::word_line::DrivenLine;
use super::{SubblockSelector, bit_line, decoder, output, sense, shared_lines};
use crate::TlbPlan;

/// The access time, in seconds.
pub(super) fn access_time(plan: &TlbPlan, selector: SubblockSelector) -> f64 {
    let bits = plan.bits;
    let (rows, columns) = (f64::from(plan.entries), f64::from(bits.data));
    let (sharing, inputs) = shared_lines(plan, selector);
    let compared = ComparedBits {
        tags: f64::from(bits.compared),
        valid: f64::from(bits.valid),
        cells: f64::from(bits.tag()),
    };
    let tag = DrivenLine::tag_line(rows).drive(decoder::address());
    let word_line = DrivenLine::word_line(columns).drive(matched(compared, tag));
    let data = sense::data(bit_line::ready(rows, sharing, word_line));
    output::driven(inputs, columns, data)
}
