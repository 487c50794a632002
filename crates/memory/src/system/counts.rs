//! Counts of pages by state.

use super::pte::Pte;

/// The number of pages of a chunk, or of any piece of memory, in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageCounts {
    pub(crate) present: u32,
    pub(crate) dirty: u32,
    pub(crate) swapped: u32,
    pub(crate) referenced: u32,
    pub(crate) shared: u32,
    /// Present, anonymous and never stored to.
    pub(crate) zero: u32,
    /// In a frame, and not referenced since a promotion or a fault around it brought them.
    pub(crate) unused: u32,
}

impl PageCounts {
    pub(super) fn of(pte: Pte) -> Self {
        let bit = |flags| u32::from(pte.has(flags));
        Self {
            present: bit(Pte::PRESENT),
            dirty: bit(Pte::DIRTY),
            swapped: bit(Pte::SWAPPED),
            referenced: bit(Pte::REFERENCED),
            shared: bit(Pte::SHARED),
            zero: u32::from(pte.is_present() && !pte.has(Pte::CONTENT)),
            unused: u32::from(pte.has_frame() && !pte.has(Pte::USED)),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.present += other.present;
        self.dirty += other.dirty;
        self.swapped += other.swapped;
        self.referenced += other.referenced;
        self.shared += other.shared;
        self.zero += other.zero;
        self.unused += other.unused;
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        self.present -= other.present;
        self.dirty -= other.dirty;
        self.swapped -= other.swapped;
        self.referenced -= other.referenced;
        self.shared -= other.shared;
        self.zero -= other.zero;
        self.unused -= other.unused;
    }
}
