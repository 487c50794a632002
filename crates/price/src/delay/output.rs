//! The output drivers (WRL 93/5, section 6.8).

use super::device::{Channel, drain, gate, on_resistance, stacked_drain};
use super::process::{WORD_WIRE, WORD_WIRE_RESISTANCE};
use super::signal::{DelayStage, InputEdge, Signal};

/// The widths of the gates of an output driver.
pub(super) const NAND_P: f64 = 10.0;
pub(super) const NAND_N: f64 = 24.0;
pub(super) const NOR_P: f64 = 40.0;
pub(super) const NOR_N: f64 = 6.0;
/// The widths of the driver itself.
const DRIVER_P: f64 = 80.0;
const DRIVER_N: f64 = 48.0;
/// The thresholds of the NOR gate and of the driver.
const NOR: f64 = 0.431;
const DRIVER: f64 = 0.425;
/// The load outside the structure, in farads.
const OUTSIDE: f64 = 0.5e-12;

/// The time at which the mapping is valid outside. `drivers` drivers share a line as long as the
/// columns of the data array.
pub(super) fn driven(drivers: f64, columns: f64, input: Signal) -> f64 {
    let load = 2.0 * drain(NOR_N, Channel::N)
        + stacked_drain(NOR_P, Channel::P, 2.0)
        + gate(DRIVER_N, 10.0);
    let selected = input.through(DelayStage {
        time_constant: load * 2.0 * on_resistance(NOR_P, Channel::P),
        threshold: NOR,
        next_threshold: DRIVER,
        input: InputEdge::Falling,
    });
    let load = (drain(DRIVER_N, Channel::N) + drain(DRIVER_P, Channel::P)) * drivers
        + WORD_WIRE * columns
        + OUTSIDE;
    let resistance = on_resistance(DRIVER_P, Channel::P) + WORD_WIRE_RESISTANCE * columns / 2.0;
    let output = selected.through(DelayStage {
        time_constant: load * resistance,
        threshold: DRIVER,
        next_threshold: 0.5,
        input: InputEdge::Rising,
    });
    output.time
}
