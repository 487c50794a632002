//! Sense amplifiers: constants (WRL 93/5, section 6.5).

use super::signal::Signal;

/// The delay of a sense amplifier of the data array.
const DATA: f64 = 0.58e-9;
/// The delay of a sense amplifier of the tag array.
const TAG: f64 = 0.26e-9;
/// The time that the output's edge takes.
const FALL: f64 = 0.7e-9;

/// The output of the data array's amplifiers.
pub(super) const fn data(ready: f64) -> Signal {
    Signal {
        time: ready + DATA,
        ramp: FALL,
    }
}

/// The output of the tag array's amplifiers.
pub(super) const fn tag(ready: f64) -> Signal {
    Signal {
        time: ready + TAG,
        ramp: FALL,
    }
}
