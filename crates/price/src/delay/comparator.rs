//! The comparator, which is also the match line of content-addressable memory (WRL 93/5,
//! section 6.6).

use super::device::{Channel, drain, gate, on_resistance, stacked_drain, switching_resistance};
use super::process::{COMPARE, DRIVER, WORD_WIRE};
use super::signal::{DelayStage, InputEdge, Signal};

/// The widths of the three inverters that time the evaluation: p-channel, then n-channel.
const TIMERS: [(f64, f64); 3] = [(10.0, 6.0), (20.0, 12.0), (40.0, 24.0)];
/// The widths of the inverter that lets the match line discharge.
const EVALUATE_P: f64 = 20.0;
const EVALUATE_N: f64 = 80.0;
/// The threshold of that inverter.
const EVALUATE: f64 = 0.267;
/// The width of the transistor that precharges the match line.
const PRECHARGE: f64 = 30.0;
/// The transistors of a discharge path in series.
const STACK: f64 = 2.0;
/// The widths of the first gate of the multiplexor driver, the comparator's load.
pub(super) const MATCH_P: f64 = 50.0;
pub(super) const MATCH_N: f64 = 30.0;

/// The bits of a comparison.
#[derive(Clone, Copy)]
pub(super) struct ComparedBits {
    /// Tag bits, which discharge the match line by one of two paths.
    pub(super) tags: f64,
    /// Valid bits, which discharge it by one path.
    pub(super) valid: f64,
    /// The cells that the match line passes.
    pub(super) cells: f64,
}

/// The match signal.
pub(super) fn matched(bits: ComparedBits, input: Signal) -> Signal {
    let mut timed = input;
    for (number, (p, n)) in TIMERS.into_iter().enumerate() {
        let (next_p, next_n) = TIMERS
            .get(number + 1)
            .copied()
            .unwrap_or((EVALUATE_P, EVALUATE_N));
        let load = gate(next_n + next_p, 10.0) + drain(p, Channel::P) + drain(n, Channel::N);
        let falling = number % 2 == 0;
        timed = timed.through(DelayStage {
            time_constant: load
                * if falling {
                    on_resistance(p, Channel::P)
                } else {
                    on_resistance(n, Channel::N)
                },
            threshold: DRIVER,
            next_threshold: if number + 1 == TIMERS.len() {
                EVALUATE
            } else {
                DRIVER
            },
            input: if falling {
                InputEdge::Falling
            } else {
                InputEdge::Rising
            },
        });
    }
    let path = (drain(COMPARE, Channel::N) + stacked_drain(COMPARE, Channel::N, STACK)) / 2.0;
    let paths = (2.0 * bits.tags + bits.valid) * path;
    let ground = paths + drain(EVALUATE_P, Channel::P) + drain(EVALUATE_N, Channel::N);
    let line = paths
        + drain(PRECHARGE, Channel::P)
        + gate(MATCH_N + MATCH_P, 20.0)
        + bits.cells * WORD_WIRE;
    let evaluate = switching_resistance(EVALUATE_N);
    let discharge = STACK * on_resistance(COMPARE, Channel::N);
    let step = (evaluate * ground + (discharge + evaluate) * line) * -DRIVER.ln();
    let time = timed.discharges(step, EVALUATE);
    Signal {
        time,
        ramp: (time - timed.time) / (1.0 - DRIVER),
    }
}
