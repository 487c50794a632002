//! The multiplexor driver: the match signal selects a way at the output drivers (WRL 93/5,
//! sections 6.7 and 6.8).

use super::comparator::{MATCH_N, MATCH_P};
use super::device::{Channel, drain, gate, on_resistance, stacked_drain};
use super::output::{NAND_N, NAND_P, NOR_N, NOR_P};
use super::process::{DRIVER, WORD_WIRE, WORD_WIRE_RESISTANCE};
use super::signal::{DelayStage, InputEdge, Signal};

/// The widths of the gates that combine the match signal with the decoded block offset.
const COMBINE_P: f64 = 80.0;
const COMBINE_N: f64 = 20.0;
/// The threshold of these gates.
const COMBINE: f64 = 0.486;
/// The widths of the last stage.
const LAST_P: f64 = 200.0;
const LAST_N: f64 = 120.0;
/// The widths of the inverter of the select signal in an output driver.
const SELECT_P: f64 = 20.0;
const SELECT_N: f64 = 12.0;
/// The threshold of the output driver's NAND gate.
const OUTPUT_NAND: f64 = 0.441;

/// The select signal at the output drivers.
///
/// `inputs` is the number of mappings of a way that the multiplexor can select. With one, the
/// driver has two stages, because nothing is combined with the match signal. `width` is the number
/// of bits of a mapping, and `columns` those of the data array, along which the signal is driven.
pub(super) fn select(inputs: f64, width: f64, columns: f64, matched: Signal) -> Signal {
    let own = drain(MATCH_N, Channel::N) + drain(MATCH_P, Channel::P);
    let last = gate(LAST_N + LAST_P, 15.0);
    let ready = if inputs > 1.0 {
        let inverted = matched.through(DelayStage {
            time_constant: on_resistance(MATCH_P, Channel::P)
                * (inputs * gate(COMBINE_N + COMBINE_P, 15.0) + own),
            threshold: DRIVER,
            next_threshold: COMBINE,
            input: InputEdge::Falling,
        });
        let load =
            last + 2.0 * drain(COMBINE_N, Channel::N) + stacked_drain(COMBINE_P, Channel::P, 2.0);
        inverted.through(DelayStage {
            time_constant: on_resistance(COMBINE_N, Channel::N) * load,
            threshold: COMBINE,
            next_threshold: DRIVER,
            input: InputEdge::Rising,
        })
    } else {
        matched.through(DelayStage {
            time_constant: on_resistance(MATCH_N, Channel::N) * (last + own),
            threshold: DRIVER,
            next_threshold: DRIVER,
            input: InputEdge::Rising,
        })
    };
    let load = width * gate(SELECT_N + SELECT_P + NOR_N + NOR_P, 20.0)
        + drain(LAST_P, Channel::P)
        + drain(LAST_N, Channel::N)
        + WORD_WIRE * columns / 2.0;
    let resistance = WORD_WIRE_RESISTANCE * columns / 4.0 + on_resistance(LAST_P, Channel::P);
    let driven = ready.through(DelayStage {
        time_constant: resistance * load,
        threshold: DRIVER,
        next_threshold: DRIVER,
        input: InputEdge::Falling,
    });
    let load =
        drain(SELECT_N, Channel::N) + drain(SELECT_P, Channel::P) + gate(NAND_N + NAND_P, 10.0);
    driven.through(DelayStage {
        time_constant: on_resistance(SELECT_N, Channel::N) * load,
        threshold: DRIVER,
        next_threshold: OUTPUT_NAND,
        input: InputEdge::Rising,
    })
}
