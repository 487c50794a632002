//! The clock of an out-of-order core: cycles from instructions and latencies.
//!
//! A core of a machine that follows code has a pipeline ([`broadleaf_pipeline`]), where
//! instructions wait for registers and branches. Any other core has an interval model
//! ([`interval`]).

mod code;
mod interval;

use broadleaf_machine::CoreSpec;
use broadleaf_trace::CodeTable;
use code::CodePipeline;
use interval::IntervalClock;
use std::sync::Arc;

/// The clock of one core.
#[derive(Debug)]
pub(crate) struct CoreClock {
    width: u64,
    timing: Timing,
    /// The slot from which each page walker is free.
    walkers: Vec<u64>,
    /// The cycles that no overlap would have hidden.
    serial: u64,
    /// The time when counting began.
    begun: ClockCounts,
}

/// What instructions wait for.
#[derive(Debug)]
enum Timing {
    Interval(IntervalClock),
    Pipeline(Box<CodePipeline>),
}

/// The counts of a clock.
#[derive(Clone, Copy, Debug, Default)]
struct ClockCounts {
    slots: u64,
    instructions: u64,
    serial: u64,
    mispredicted: u64,
}

impl CoreClock {
    /// The clock of an idle core. `load` is the cycles of a load that hits the first cache.
    pub(crate) fn new(spec: &CoreSpec, load: u64) -> Self {
        Self {
            width: spec.width,
            timing: match spec.mispredicted_branch {
                Some(cycles) => Timing::Pipeline(Box::new(CodePipeline::new(spec, cycles, load))),
                None => Timing::Interval(IntervalClock::new(spec.window)),
            },
            walkers: vec![0; spec.walkers],
            serial: 0,
            begun: ClockCounts::default(),
        }
    }

    /// The next visits are of a trace with this code.
    pub(crate) fn follow_code(&mut self, code: Option<&Arc<CodeTable>>) {
        if let Timing::Pipeline(pipeline) = &mut self.timing {
            pipeline.follow(code.map(Arc::clone));
        }
    }

    /// Counts from zero. The clock goes on.
    pub(crate) fn begin(&mut self) {
        self.begun = self.counts();
    }

    fn counts(&self) -> ClockCounts {
        let (slots, instructions, mispredicted) = match &self.timing {
            Timing::Interval(clock) => (clock.end(), clock.instructions(), 0),
            Timing::Pipeline(of) => (
                of.pipeline.end(),
                of.pipeline.instructions(),
                of.pipeline.mispredicted(),
            ),
        };
        ClockCounts {
            slots,
            instructions,
            serial: self.serial,
            mispredicted,
        }
    }

    /// The slot in which the next instruction begins at the earliest.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match &self.timing {
            Timing::Interval(clock) => clock.now(),
            Timing::Pipeline(of) => of.pipeline.now(),
        }
    }

    /// The slot in which an access of the instruction that began last begins, at the earliest.
    #[inline]
    pub(crate) fn memory_begins(&self) -> u64 {
        match &self.timing {
            Timing::Interval(clock) => clock.now(),
            Timing::Pipeline(of) => of.pipeline.memory_begins(),
        }
    }

    /// The cycle of a slot.
    #[inline]
    pub(crate) const fn cycle(&self, slot: u64) -> u64 {
        slot / self.width
    }

    /// The slots of some cycles.
    #[inline]
    pub(crate) const fn slots(&self, cycles: u64) -> u64 {
        cycles.saturating_mul(self.width)
    }

    /// A visit begins with this number of instructions: those up to its first access begin. The
    /// visit begins the execution of a pattern with this number, if it is not 0.
    #[inline]
    pub(crate) fn begin_visit(&mut self, instructions: u64, execution: u32) {
        match &mut self.timing {
            Timing::Interval(clock) => clock.advance(instructions.min(1)),
            // The last of its instructions makes the access.
            Timing::Pipeline(of) => of.advance(instructions, execution),
        }
    }

    /// A visit with this number of instructions ends: those after its first access begin.
    #[inline]
    pub(crate) fn end_visit(&mut self, instructions: u64) {
        if let Timing::Interval(clock) = &mut self.timing
            && instructions > 1
        {
            clock.advance(instructions - 1);
        }
    }

    /// Begins instructions that were fetched. They begin the execution of a pattern with this
    /// number, if it is not 0.
    #[inline]
    pub(crate) fn fetched(&mut self, instructions: u64, execution: u32) {
        match &mut self.timing {
            Timing::Interval(clock) => clock.advance(instructions),
            Timing::Pipeline(of) => of.advance(instructions, execution),
        }
    }

    /// Lets the access of the instruction that began last end no earlier than at this slot.
    #[inline]
    pub(crate) fn memory_ends(&mut self, slot: u64) {
        match &mut self.timing {
            Timing::Interval(clock) => clock.retires_at(slot),
            Timing::Pipeline(of) => of.pipeline.memory_ends(slot),
        }
    }

    /// Lets the next instruction begin no earlier than at this slot: instructions were missing.
    pub(crate) fn begins_at(&mut self, slot: u64) {
        match &mut self.timing {
            Timing::Interval(clock) => clock.begins_at(slot),
            Timing::Pipeline(of) => of.pipeline.begins_at(slot),
        }
    }

    /// Lets the core do nothing for some cycles, such as those of an interrupt.
    pub(crate) fn wait(&mut self, cycles: u64) {
        match &mut self.timing {
            Timing::Interval(clock) => clock.wait(cycles.saturating_mul(self.width)),
            Timing::Pipeline(of) => of.pipeline.wait(cycles),
        }
        self.add_serial(cycles);
    }

    /// The slot at which a page walk can begin, from `slot` on, and the walker that is free then.
    pub(crate) fn free_walker(&self, slot: u64) -> (usize, u64) {
        let walkers = self.walkers.iter().enumerate();
        let first = walkers.min_by_key(|(_, free)| **free);
        first.map_or((0, slot), |(walker, free)| (walker, slot.max(*free)))
    }

    /// Keeps a walker until this slot.
    pub(crate) fn keep_walker(&mut self, walker: usize, until: u64) {
        self.walkers[walker] = until;
    }

    /// Adds cycles that only an overlap could hide.
    #[inline]
    pub(crate) const fn add_serial(&mut self, cycles: u64) {
        self.serial = self.serial.saturating_add(cycles);
    }

    /// The instructions since counting began.
    pub(crate) fn instructions(&self) -> u64 {
        self.counts().instructions - self.begun.instructions
    }

    /// The cycles since counting began, if misses overlap where the window allows.
    pub(crate) fn cycles(&self) -> u64 {
        (self.counts().slots - self.begun.slots).div_ceil(self.width)
    }

    /// The cycles since counting began, if no two misses overlap.
    pub(crate) fn serial_cycles(&self) -> u64 {
        self.instructions().div_ceil(self.width) + (self.serial - self.begun.serial)
    }

    /// The mispredicted branches since counting began. `None` if the core follows no branches.
    pub(crate) fn mispredicted(&self) -> Option<u64> {
        match self.timing {
            Timing::Interval(_) => None,
            Timing::Pipeline(_) => Some(self.counts().mispredicted - self.begun.mispredicted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> CoreClock {
        let spec = CoreSpec {
            width: 4,
            window: 128,
            walkers: 1,
            shootdown_sent: 0,
            shootdown_received: 0,
            mispredicted_branch: None,
            units: [None; 7],
        };
        CoreClock::new(&spec, 0)
    }

    /// A load in each `distance`-th instruction takes `latency` cycles.
    fn loads(distance: u64, latency: u64, count: u64) -> u64 {
        let mut clock = clock();
        for _ in 0..count {
            clock.begin_visit(distance, 0);
            clock.memory_ends(clock.now() + clock.slots(latency));
            clock.end_visit(distance);
        }
        clock.cycles()
    }

    #[test]
    fn without_misses_a_core_runs_at_full_width() {
        let mut clock = clock();
        clock.fetched(4000, 0);
        assert_eq!(clock.cycles(), 1000);
        assert_eq!(clock.serial_cycles(), 1000);
    }

    #[test]
    fn a_window_hides_short_misses() {
        assert_eq!(loads(4, 14, 1000), 1000 + 14, "the last one ends late");
    }

    /// Misses a window apart: the core waits for each, after the 32 cycles of the window.
    #[test]
    fn rare_misses_cost_their_latency_less_the_window() {
        let cycles = loads(1000, 146, 100);
        assert_eq!(cycles, 100 * (250 + 146 - 32));
    }

    /// All misses of a window overlap: one latency for each 128 instructions.
    #[test]
    fn dense_misses_overlap() {
        let cycles = loads(1, 146, 12_800);
        let one_window = 12_800 / 128 * 146;
        assert!((one_window..one_window + 200).contains(&cycles), "{cycles}");
    }

    #[test]
    fn a_slow_model_agrees() {
        use broadleaf_oracle::random::Rng;
        for seed in 0..64 {
            let mut rng = Rng::new(seed);
            let mut clock = clock();
            // By instruction: the slot in which it begins, and the one in which it retires.
            let (mut begins, mut retires) = (vec![0_u64], vec![0_u64]);
            for _ in 0..2000 {
                let number = begins.len();
                let window = number.checked_sub(128).map_or(0, |old| retires[old]);
                let begin = (begins[number - 1] + 1).max(window);
                let latency = if rng.one_in(9) { rng.below(300) } else { 0 };
                clock.begin_visit(1, 0);
                assert_eq!(clock.now(), begin);
                clock.memory_ends(begin + 4 * latency);
                begins.push(begin);
                retires.push(retires[number - 1].max(begin + 4 * latency));
            }
            let last = retires
                .last()
                .copied()
                .unwrap_or(0)
                .max(*begins.last().unwrap());
            assert_eq!(clock.cycles(), last.div_ceil(4));
        }
    }
}
