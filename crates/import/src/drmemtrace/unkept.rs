//! Records that an import of drmemtrace reads and does not keep.

use crate::import::LeftOut;

/// Counts of records that have no place in a trace of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unkept {
    pub(super) prefetches: u64,
    pub(super) flushes: u64,
    pub(super) encodings: u64,
    pub(super) iterations: u64,
    pub(super) kernel: u64,
    pub(super) markers: u64,
    pub(super) pointers: u64,
}

impl Unkept {
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        LeftOut::some(&[
            (self.prefetches, "prefetches"),
            (self.flushes, "cache flushes"),
            (self.encodings, "encodings of instructions"),
            (
                self.iterations,
                "repeated iterations of string instructions",
            ),
            (self.kernel, "references and instructions of the kernel"),
            (self.pointers, "instruction pointers without a fetch"),
            (self.markers, "markers"),
        ])
    }
}
