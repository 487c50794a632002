//! The clock of an out-of-order core: an interval model of its reorder buffer.
//!
//! Instruction `k` begins one slot after instruction `k - 1`, and not before instruction
//! `k - window` has retired. A *slot* is the part of a cycle that one instruction takes at full
//! width. Instructions retire in order. A load retires when its line is there; everything else
//! retires at once. So misses whose instructions lie in one window overlap, as in the interval
//! model of Karkhanis and Smith (2004) and Eyerman and others (2009).
//!
//! Limits: a trace holds no dependences between instructions. A chain of loads that wait for each
//! other, such as a list, takes longer than this clock says: [`CoreClock::serial_cycles`] is the
//! time if no two misses overlap. Neither bounds a real machine. Branch prediction, functional units,
//! store buffers and miss-status registers are not modelled.

use broadleaf_machine::CoreSpec;
use std::collections::VecDeque;

/// The clock of one core.
#[derive(Clone, Debug)]
pub(crate) struct CoreClock {
    width: u64,
    window: u64,
    /// The slots so far.
    now: u64,
    /// The instructions that have begun.
    instructions: u64,
    /// Instructions that retire late, oldest first, each with the slot at which it may retire.
    late: VecDeque<(u64, u64)>,
    /// The slot at which the last of all instructions retires.
    last_retires: u64,
    /// The slot from which each page walker is free.
    walkers: Vec<u64>,
    /// The cycles that no overlap would have hidden.
    serial: u64,
    /// The time when counting began.
    begun: ClockCounts,
}

/// The counts of a clock.
#[derive(Clone, Copy, Debug, Default)]
struct ClockCounts {
    slots: u64,
    instructions: u64,
    serial: u64,
}

impl CoreClock {
    /// The clock of an idle core.
    pub(crate) fn new(spec: &CoreSpec) -> Self {
        Self {
            width: spec.width,
            window: spec.window,
            now: 0,
            instructions: 0,
            late: VecDeque::new(),
            last_retires: 0,
            walkers: vec![0; spec.walkers],
            serial: 0,
            begun: ClockCounts::default(),
        }
    }

    /// Counts from zero. The clock goes on.
    pub(crate) fn begin(&mut self) {
        self.begun = ClockCounts {
            slots: self.end(),
            instructions: self.instructions,
            serial: self.serial,
        };
    }

    /// The slot in which the next instruction begins at the earliest.
    #[inline]
    pub(crate) const fn now(&self) -> u64 {
        self.now
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

    /// Begins this number of instructions. They wait for those that leave the window late.
    #[inline]
    pub(crate) fn advance(&mut self, instructions: u64) {
        let last = self.instructions.saturating_add(instructions);
        if self.late.is_empty() {
            self.now = self.now.saturating_add(last - self.instructions);
            self.instructions = last;
            return;
        }
        self.advance_waiting(last);
    }

    /// Begins the instructions up to this number. Some before them retire late.
    fn advance_waiting(&mut self, last: u64) {
        while let Some(&(late, retires)) = self.late.front()
            && late.saturating_add(self.window) <= last
        {
            let waits = late + self.window;
            self.now = self
                .now
                .saturating_add(waits - self.instructions.min(waits));
            self.instructions = self.instructions.max(waits);
            self.now = self.now.max(retires);
            self.late.pop_front();
        }
        self.now = self.now.saturating_add(last - self.instructions);
        self.instructions = last;
    }

    /// Lets the instruction that began last retire no earlier than at this slot.
    #[inline]
    pub(crate) fn retires_at(&mut self, slot: u64) {
        self.last_retires = self.last_retires.max(slot);
        // The instructions of a window take as many slots to begin.
        if slot <= self.now.saturating_add(self.window) {
            return;
        }
        match self.late.back_mut() {
            Some((instruction, retires)) if *instruction == self.instructions => {
                *retires = (*retires).max(slot);
            }
            _ => self.late.push_back((self.instructions, slot)),
        }
    }

    /// Lets the next instruction begin no earlier than at this slot: instructions were missing.
    pub(crate) const fn begins_at(&mut self, slot: u64) {
        if slot > self.now {
            self.now = slot;
        }
    }

    /// Lets the core do nothing for some cycles, such as those of an interrupt.
    pub(crate) const fn wait(&mut self, cycles: u64) {
        self.now = self.now.saturating_add(self.slots(cycles));
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

    /// The slot at which all instructions have retired.
    fn end(&self) -> u64 {
        self.last_retires.max(self.now)
    }

    /// The instructions since counting began.
    pub(crate) const fn instructions(&self) -> u64 {
        self.instructions - self.begun.instructions
    }

    /// The cycles since counting began, if misses overlap where the window allows.
    pub(crate) fn cycles(&self) -> u64 {
        (self.end() - self.begun.slots).div_ceil(self.width)
    }

    /// The cycles since counting began, if no two misses overlap.
    pub(crate) const fn serial_cycles(&self) -> u64 {
        self.instructions().div_ceil(self.width) + (self.serial - self.begun.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> CoreClock {
        CoreClock::new(&CoreSpec {
            width: 4,
            window: 128,
            walkers: 1,
            shootdown_sent: 0,
            shootdown_received: 0,
        })
    }

    /// A load in each `distance`-th instruction takes `latency` cycles.
    fn loads(distance: u64, latency: u64, count: u64) -> u64 {
        let mut clock = clock();
        for _ in 0..count {
            clock.advance(1);
            clock.retires_at(clock.now() + clock.slots(latency));
            clock.advance(distance - 1);
        }
        clock.cycles()
    }

    #[test]
    fn without_misses_a_core_runs_at_full_width() {
        let mut clock = clock();
        clock.advance(4000);
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
                clock.advance(1);
                assert_eq!(clock.now(), begin);
                clock.retires_at(begin + 4 * latency);
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
