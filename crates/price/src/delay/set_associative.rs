//! The access of a set-associative structure: tags and data of a set are read side by side, and the
//! match signal of a way selects its mapping.

use super::comparator::{ComparedBits, matched};
use super::word_line::DrivenLine;
use super::{SubblockSelector, bit_line, decoder, multiplexor, output, sense, shared_lines};
use crate::TlbPlan;

/// The access time, in seconds.
pub(super) fn access_time(plan: &TlbPlan, ways: u32, selector: SubblockSelector) -> f64 {
    let bits = plan.bits;
    let (sets, ways) = (f64::from(plan.sets()), f64::from(ways));
    let columns = f64::from(bits.data) * ways;
    let (sharing, inputs) = shared_lines(plan, selector);
    let data = sense::data(lines_ready(sets, columns, sharing));

    // The bits that choose the set are not compared, and not stored.
    let index = plan.index_bits();
    let compared = ComparedBits {
        tags: f64::from(bits.compared.saturating_sub(index)),
        valid: f64::from(bits.valid),
        cells: f64::from(bits.tag().saturating_sub(index)),
    };
    let stored = compared.cells + f64::from(bits.status);
    let tag = sense::tag(lines_ready(sets, stored * ways, 1.0));
    let width = f64::from(bits.word());
    let selected = multiplexor::select(inputs, width, columns, matched(compared, tag));
    let later = if selected.time > data.time {
        selected
    } else {
        data
    };
    output::driven(ways * inputs, columns, later)
}

/// The time at which the bit lines of an array can be sensed.
fn lines_ready(rows: f64, columns: f64, sharing: f64) -> f64 {
    let decoded = decoder::row_decoder(rows, columns);
    bit_line::ready(rows, sharing, DrivenLine::word_line(columns).drive(decoded))
}
