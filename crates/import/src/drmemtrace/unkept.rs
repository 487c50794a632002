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
    pub(super) physical: u64,
}

impl Unkept {
    /// The records, and the pages whose physical address is missing.
    pub(super) fn left_out(&self, missing: u64) -> Vec<LeftOut> {
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
            (self.physical, "physical addresses, which --physical keeps"),
            (
                missing,
                "physical addresses that the trace lacks (the lower 28 bits of the virtual \
                 address stand for each, as in drcachesim)",
            ),
            (self.markers, "markers"),
        ])
    }
}
