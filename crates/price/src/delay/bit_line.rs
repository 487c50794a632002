//! Bit lines of random-access memory, with column multiplexors (WRL 93/5, section 6.4).

use super::device::{Channel, drain, gate, on_resistance};
use super::process::{ACCESS, BIT_WIRE, BIT_WIRE_RESISTANCE};
use super::signal::Signal;

/// The voltage to which a bit line is precharged.
const PRECHARGED: f64 = 3.3;
/// The difference that a sense amplifier needs, in volts.
const SENSED: f64 = 0.1;
/// The widths of the precharging transistors, of a multiplexor's pass transistor and of an input
/// of a sense amplifier.
const PRECHARGE: f64 = 80.0;
const PASS: f64 = 10.0;
const SENSE_INPUT: f64 = 4.0;
/// The pull-down transistor of a cell is wider than the access transistor by this factor.
const PULL_DOWN: f64 = 2.0;

/// The time at which the bit lines of an array differ enough, after the word line's signal. A word
/// line's signal arrives when it passes the threshold of an inverter; cells conduct earlier, so a
/// short bit line is ready before.
///
/// `sharing` bit lines share a sense amplifier. One needs no multiplexor.
pub(super) fn ready(rows: f64, sharing: f64, word_line: Signal) -> f64 {
    // Two cells share a contact.
    let mut line =
        rows * (drain(ACCESS, Channel::N) / 2.0 + BIT_WIRE) + 2.0 * drain(PRECHARGE, Channel::P);
    let mut amplifier = 2.0 * gate(SENSE_INPUT, 10.0);
    let mut wire = BIT_WIRE_RESISTANCE * rows / 2.0;
    if sharing > 1.0 {
        line += drain(PASS, Channel::N);
        amplifier += sharing * drain(PASS, Channel::N);
        wire += on_resistance(PASS, Channel::N);
    }
    let cell = on_resistance(ACCESS, Channel::N) + on_resistance(PULL_DOWN * ACCESS, Channel::N);
    let step =
        (cell * line + (wire + cell) * amplifier) * (PRECHARGED / (PRECHARGED - SENSED)).ln();
    word_line.discharges(step, 0.5)
}
