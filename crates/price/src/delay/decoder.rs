//! The row decoder: drivers, 3-to-8 decoders of NAND gates, and a NOR gate for each row
//! (WRL 93/5, section 6.1).

use super::device::{Channel, drain, gate, on_resistance, stacked_drain};
use super::process::{BIT_WIRE, BIT_WIRE_RESISTANCE, INVERTER, WORD_WIRE, WORD_WIRE_RESISTANCE};
use super::signal::{DelayStage, InputEdge, Signal};

/// The widths of the address drivers.
const DRIVER_P: f64 = 100.0;
const DRIVER_N: f64 = 60.0;
/// The widths of the NAND gates, each of three inputs.
const NAND_P: f64 = 60.0;
const NAND_N: f64 = 90.0;
const NAND_INPUTS: f64 = 3.0;
/// The widths of the NOR gates.
const NOR_P: f64 = 12.0;
const NOR_N: f64 = 2.4;
/// The widths of the inverter that follows a NOR gate, and begins the word-line driver.
pub(super) const INVERTER_P: f64 = 10.0;
pub(super) const INVERTER_N: f64 = 5.0;

/// The threshold of an address driver.
const DRIVER: f64 = 0.438;
/// The threshold of a NAND gate.
const NAND: f64 = 0.561;
/// The thresholds of NOR gates of one to four inputs. Larger gates have the last one.
const NOR: [f64; 4] = [0.503, 0.452, 0.417, 0.390];

/// An address bit after two inverters, which give its edge a ramp. Time begins here.
pub(super) fn address() -> Signal {
    let load =
        drain(DRIVER_P, Channel::P) + drain(DRIVER_N, Channel::N) + gate(DRIVER_P + DRIVER_N, 0.0);
    let inverter = |input| DelayStage {
        time_constant: load * on_resistance(DRIVER_N, Channel::N),
        threshold: DRIVER,
        next_threshold: DRIVER,
        input,
    };
    let driven = Signal::START.through(inverter(InputEdge::Falling));
    let Signal { ramp, .. } = driven.through(inverter(InputEdge::Rising));
    Signal { time: 0.0, ramp }
}

/// The output of the decoder of an array.
pub(super) fn row_decoder(rows: f64, columns: f64) -> Signal {
    // The wires reach an eighth of the way to each of the array's four decoders.
    let load = drain(DRIVER_P, Channel::P)
        + drain(DRIVER_N, Channel::N)
        + 4.0 * gate(NAND_N + NAND_P, 10.0)
        + WORD_WIRE * 0.25 * columns;
    let resistance = WORD_WIRE_RESISTANCE * 0.125 * columns + on_resistance(DRIVER_P, Channel::P);
    let driven = address().through(DelayStage {
        time_constant: resistance * load,
        threshold: DRIVER,
        next_threshold: NAND,
        input: InputEdge::Falling,
    });
    let inputs = (rows.log2() / 3.0).ceil().clamp(1.0, 5.0);
    let nor = NOR[(inputs as usize).min(NOR.len()) - 1];
    // A line of a 3-to-8 decoder ends at the NOR gates of an eighth of the rows.
    let load = NAND_INPUTS * drain(NAND_P, Channel::P)
        + stacked_drain(NAND_N, Channel::N, NAND_INPUTS)
        + gate(NOR_N + NOR_P, inputs * 40.0 + 20.0) * rows / 8.0
        + BIT_WIRE * rows;
    let resistance =
        BIT_WIRE_RESISTANCE * rows / 2.0 + NAND_INPUTS * on_resistance(NAND_N, Channel::N);
    let decoded = driven.through(DelayStage {
        time_constant: resistance * load,
        threshold: NAND,
        next_threshold: nor,
        input: InputEdge::Rising,
    });
    let load = gate(INVERTER_N + INVERTER_P, 20.0)
        + inputs * drain(NOR_N, Channel::N)
        + stacked_drain(NOR_P, Channel::P, inputs);
    decoded.through(DelayStage {
        time_constant: inputs * on_resistance(NOR_P, Channel::P) * load,
        threshold: nor,
        next_threshold: INVERTER,
        input: InputEdge::Falling,
    })
}
