//! Word lines and their drivers (WRL 93/5, sections 6.2 and 6.3). The bit lines of
//! content-addressable memory are driven alike.

use super::decoder::{INVERTER_N, INVERTER_P};
use super::device::{Channel, drain, gate, on_resistance, pass_gate, width_for};
use super::process::{
    ACCESS, BIT_WIRE, BIT_WIRE_RESISTANCE, CELL_WIDTH, COMPARE, INVERTER, WORD_WIRE,
    WORD_WIRE_RESISTANCE,
};
use super::signal::{DelayStage, InputEdge, Signal};

/// The rise time of a line is half of this time the natural logarithm of its cells, in seconds.
const RISE: f64 = 0.4e-9;
/// The widest driver.
const WIDEST_DRIVER: f64 = 100.0;

/// A line with a load for each cell.
#[derive(Clone, Copy)]
pub(super) struct DrivenLine {
    /// The number of cells.
    cells: f64,
    /// The capacitance of a cell as it is estimated to size the driver.
    estimate: f64,
    /// The capacitance of a cell, with its wire.
    load: f64,
    /// The resistance of the wire of a cell.
    resistance: f64,
}

impl DrivenLine {
    /// The word line of a row of this many cells, each with two access transistors.
    pub(super) fn word_line(columns: f64) -> Self {
        let wire = (CELL_WIDTH - 2.0 * ACCESS) / 2.0;
        Self {
            cells: columns,
            estimate: 2.0 * pass_gate(ACCESS, 0.0) + WORD_WIRE,
            load: 2.0 * pass_gate(ACCESS, wire) + WORD_WIRE,
            resistance: WORD_WIRE_RESISTANCE,
        }
    }

    /// A bit line of content-addressable memory of this many rows. A cell loads it with the gate of
    /// a compare transistor, and with the access transistor's drain, which two cells share.
    pub(super) fn tag_line(rows: f64) -> Self {
        let load = gate(COMPARE, 0.0) + drain(ACCESS, Channel::N) / 2.0 + BIT_WIRE;
        Self {
            cells: rows,
            estimate: load,
            load,
            resistance: BIT_WIRE_RESISTANCE,
        }
    }

    /// The signal at the cells.
    pub(super) fn drive(self, input: Signal) -> Signal {
        // At least two cells: the rise time of one would be zero.
        let rise = RISE * self.cells.max(2.0).ln() / 2.0;
        let resistance = rise / (self.estimate * self.cells * -INVERTER.ln());
        let p = width_for(resistance, Channel::P).min(WIDEST_DRIVER);
        let n = p * INVERTER_N / INVERTER_P;
        let first =
            drain(INVERTER_N, Channel::N) + drain(INVERTER_P, Channel::P) + gate(n + p, 20.0);
        let inverted = input.through(DelayStage {
            time_constant: on_resistance(INVERTER_N, Channel::N) * first,
            threshold: INVERTER,
            next_threshold: INVERTER,
            input: InputEdge::Rising,
        });
        let line = self.load * self.cells + drain(n, Channel::N) + drain(p, Channel::P);
        inverted.through(DelayStage {
            time_constant: (on_resistance(p, Channel::P) + self.resistance * self.cells / 2.0)
                * line,
            threshold: INVERTER,
            next_threshold: INVERTER,
            input: InputEdge::Falling,
        })
    }
}
