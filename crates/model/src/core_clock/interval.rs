//! The clock of an out-of-order core: an interval model of its reorder buffer.
//!
//! Instruction `k` begins one slot after instruction `k - 1`, and not before instruction
//! `k - window` has retired. A *slot* is the part of a cycle that one instruction takes at full
//! width. Instructions retire in order. A load retires when its line is there; everything else
//! retires at once. So misses whose instructions lie in one window overlap, as in the interval
//! model of Karkhanis and Smith (2004) and Eyerman and others (2009).
//!
//! Limits: a trace holds no dependences between instructions. A chain of loads that wait for each
//! other, such as a list, takes longer than this clock says: [`super::CoreClock::serial_cycles`] is
//! the time if no two misses overlap. Neither bounds a real machine. Branch prediction, functional
//! units, store buffers and miss-status registers are not modelled.

use std::collections::VecDeque;

/// The clock of one core.
#[derive(Clone, Debug)]
pub(super) struct IntervalClock {
    window: u64,
    /// The slots so far.
    now: u64,
    /// The instructions that have begun.
    instructions: u64,
    /// Instructions that retire late, oldest first, each with the slot at which it may retire.
    late: VecDeque<(u64, u64)>,
    /// The slot at which the last of all instructions retires.
    last_retires: u64,
}

impl IntervalClock {
    /// The clock of an idle core with this window.
    pub(super) const fn new(window: u64) -> Self {
        Self {
            window,
            now: 0,
            instructions: 0,
            late: VecDeque::new(),
            last_retires: 0,
        }
    }

    /// The slot in which the next instruction begins at the earliest.
    #[inline]
    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// Begins this number of instructions. They wait for those that leave the window late.
    #[inline]
    pub(super) fn advance(&mut self, instructions: u64) {
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
    pub(super) fn retires_at(&mut self, slot: u64) {
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
    pub(super) const fn begins_at(&mut self, slot: u64) {
        if slot > self.now {
            self.now = slot;
        }
    }

    /// Lets the core do nothing for some slots, such as those of an interrupt.
    pub(super) const fn wait(&mut self, slots: u64) {
        self.now = self.now.saturating_add(slots);
    }

    /// The slot at which all instructions have retired.
    pub(super) fn end(&self) -> u64 {
        self.last_retires.max(self.now)
    }

    /// The instructions that have begun.
    pub(super) const fn instructions(&self) -> u64 {
        self.instructions
    }
}
