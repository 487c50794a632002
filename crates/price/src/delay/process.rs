//! The parameters of the process (WRL 93/5, appendix II): CMOS of 0.8 micrometres, in farads, ohms,
//! volts, seconds and micrometres.

/// The effective length of a channel.
pub(super) const CHANNEL_LENGTH: f64 = 0.8;
/// The supply voltage.
pub(super) const SUPPLY: f64 = 5.0;
/// The voltage at which an n-channel transistor begins to conduct.
pub(super) const THRESHOLD: f64 = 1.09;

/// The capacitance of a gate, for each square micrometre.
pub(super) const GATE: f64 = 1.95e-15;
/// The same for pass transistors: the mean of the two states of source and drain.
pub(super) const PASS_GATE: f64 = 1.45e-15;
/// The capacitance of polysilicon wire, for each square micrometre.
pub(super) const POLYSILICON: f64 = 0.25e-15;
/// The capacitance of a diffusion's edge, for each micrometre.
pub(super) const DIFFUSION_EDGE: f64 = 0.275e-15;

/// The parameters of transistors of one channel.
pub(super) struct ChannelParameters {
    /// The capacitance of diffusion, for each square micrometre.
    pub(super) diffusion: f64,
    /// The capacitance of the overlaps of a drain, for each micrometre: that of the diffusion and
    /// that of the oxide, with a quarter of the Miller effect.
    pub(super) overlap: f64,
    /// The resistance of a transistor that is on, in ohms times micrometres of width.
    pub(super) on: f64,
}

/// N-channel transistors.
pub(super) const N_CHANNEL: ChannelParameters = ChannelParameters {
    diffusion: 0.137e-15,
    overlap: 0.138e-15 + 0.263e-15,
    on: 9723.0,
};

/// P-channel transistors.
pub(super) const P_CHANNEL: ChannelParameters = ChannelParameters {
    diffusion: 0.343e-15,
    overlap: 0.138e-15 + 0.338e-15,
    on: 22_400.0,
};

/// The resistance of an n-channel transistor while it switches, in ohms times micrometres.
pub(super) const N_SWITCHING: f64 = 25_800.0;

/// The capacitance of the word line of one cell: 8 micrometres of the third metal.
pub(super) const WORD_WIRE: f64 = 1.8e-15;
/// The resistance of the word line of one cell.
pub(super) const WORD_WIRE_RESISTANCE: f64 = 0.08;
/// The capacitance of the bit line of one cell: 16 micrometres of the second metal.
pub(super) const BIT_WIRE: f64 = 4.4e-15;
/// The resistance of the bit line of one cell.
pub(super) const BIT_WIRE_RESISTANCE: f64 = 0.32;
/// The width of a cell.
pub(super) const CELL_WIDTH: f64 = 8.0;
/// The width of the access transistor of a cell.
pub(super) const ACCESS: f64 = 2.4;
/// The width of each of the two transistors that compare a tag bit in one path.
pub(super) const COMPARE: f64 = 10.0;

/// The threshold of an inverter with the ratio of the word-line drivers, relative to the supply.
pub(super) const INVERTER: f64 = 0.456;
/// The threshold of the inverters and drivers of comparators and multiplexors.
pub(super) const DRIVER: f64 = 0.437;
