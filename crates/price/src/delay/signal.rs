//! A signal on its way through stages, and the two equations of its delay.

use super::process::{SUPPLY, THRESHOLD};

/// The direction of the edge at the input of a stage.
#[derive(Clone, Copy)]
pub(super) enum InputEdge {
    Rising,
    Falling,
}

/// A stage: a gate that charges or discharges a capacitance.
#[derive(Clone, Copy)]
pub(super) struct DelayStage {
    /// Resistance times capacitance, in seconds.
    pub(super) time_constant: f64,
    /// The voltage at which the stage switches, relative to the supply.
    pub(super) threshold: f64,
    /// The voltage at which the next stage switches.
    pub(super) next_threshold: f64,
    /// The edge at the input.
    pub(super) input: InputEdge,
}

/// A signal: the time of its arrival, and the time that its edge takes, in seconds.
#[derive(Clone, Copy)]
pub(super) struct Signal {
    pub(super) time: f64,
    pub(super) ramp: f64,
}

impl Signal {
    /// The start of an access, with an edge that takes no time.
    pub(super) const START: Self = Self {
        time: 0.0,
        ramp: 0.0,
    };

    /// The signal at the output of a stage, by the approximation of Horowitz (1983) with the
    /// report's constants: half of a rising input's swing and 0.4 of a falling one's.
    pub(super) fn through(self, stage: DelayStage) -> Self {
        let DelayStage {
            time_constant,
            threshold,
            next_threshold,
            input,
        } = stage;
        let slope = self.ramp / time_constant;
        let (step, slowed, rest) = match input {
            InputEdge::Rising => (
                threshold.ln(),
                2.0 * slope * 0.5 * (1.0 - threshold),
                threshold.ln() - next_threshold.ln(),
            ),
            InputEdge::Falling => (
                (1.0 - threshold).ln(),
                2.0 * slope * 0.4 * threshold,
                (1.0 - threshold).ln() - (1.0 - next_threshold).ln(),
            ),
        };
        let delay = time_constant * ((step * step + slowed).sqrt() + rest);
        // The output passes this part of the swing before the next stage switches.
        let part = match input {
            InputEdge::Rising => 1.0 - next_threshold,
            InputEdge::Falling => next_threshold,
        };
        Self {
            time: self.time + delay,
            ramp: delay / part,
        }
    }

    /// The time of a discharge that this signal starts by an n-channel transistor. `step` is the
    /// time that it takes after an edge without a ramp; the transistor's driver switches at
    /// `threshold`. The charge that flows during the ramp is that of Wilton 1996, section 5.6.
    pub(super) fn discharges(self, step: f64, threshold: f64) -> f64 {
        let slope = SUPPLY / self.ramp;
        let over = SUPPLY * threshold - THRESHOLD;
        let delay = if step <= 0.5 * (SUPPLY - THRESHOLD) / slope {
            let half = 2.0 * over;
            let rest = over * over / slope - 2.0 * step * (SUPPLY - THRESHOLD);
            ((half * half - 4.0 * slope * rest).sqrt() - half) / (2.0 * slope)
        } else {
            step + (SUPPLY + THRESHOLD) / (2.0 * slope) - SUPPLY * threshold / slope
        };
        self.time + delay
    }
}
