//! Transistors as capacitances and resistances (WRL 93/5, section 4).

use super::process::{
    CHANNEL_LENGTH, ChannelParameters, DIFFUSION_EDGE, GATE, N_CHANNEL, N_SWITCHING, P_CHANNEL,
    PASS_GATE, POLYSILICON,
};

/// The channel of a transistor.
#[derive(Clone, Copy)]
pub(super) enum Channel {
    N,
    P,
}

impl Channel {
    const fn parameters(self) -> &'static ChannelParameters {
        match self {
            Self::N => &N_CHANNEL,
            Self::P => &P_CHANNEL,
        }
    }
}

/// Transistors from this width on are folded, in micrometres.
const FOLDED: f64 = 10.0;

/// The capacitance of gates of this total width, with a polysilicon wire of this length.
pub(super) fn gate(width: f64, wire: f64) -> f64 {
    (width * GATE + wire * POLYSILICON) * CHANNEL_LENGTH
}

/// The capacitance of the gate of a pass transistor, with a polysilicon wire of this length.
pub(super) fn pass_gate(width: f64, wire: f64) -> f64 {
    (width * PASS_GATE + wire * POLYSILICON) * CHANNEL_LENGTH
}

/// The capacitance of the drain of a single transistor.
pub(super) fn drain(width: f64, channel: Channel) -> f64 {
    stacked_drain(width, channel, 1.0)
}

/// The capacitance of the drains of this many transistors in series.
pub(super) fn stacked_drain(width: f64, channel: Channel, stack: f64) -> f64 {
    let of = channel.parameters();
    let below = stack - 1.0;
    let folded = width >= FOLDED;
    // A folded transistor has half of the diffusion for its width, and its edge is a constant.
    let (area, edge, edge_below) = if folded {
        (1.5 * width, 6.0 * CHANNEL_LENGTH, 4.0)
    } else {
        (3.0 * width, 6.0 * CHANNEL_LENGTH + width, 2.0)
    };
    let first = area * CHANNEL_LENGTH * of.diffusion + edge * DIFFUSION_EDGE + width * of.overlap;
    let each_below = CHANNEL_LENGTH * width * of.diffusion
        + edge_below * CHANNEL_LENGTH * DIFFUSION_EDGE
        + 2.0 * width * of.overlap;
    first + below * each_below
}

/// The resistance of a transistor that is on.
pub(super) fn on_resistance(width: f64, channel: Channel) -> f64 {
    channel.parameters().on / width
}

/// The width of a transistor with this resistance when it is on.
pub(super) fn width_for(resistance: f64, channel: Channel) -> f64 {
    channel.parameters().on / resistance
}

/// The resistance of an n-channel transistor while it switches.
pub(super) fn switching_resistance(width: f64) -> f64 {
    N_SWITCHING / width
}
