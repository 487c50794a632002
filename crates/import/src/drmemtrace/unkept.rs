//! Records that an import of drmemtrace reads and does not keep.

use crate::import::{LeftOut, OF_NO_BYTES, Taken};

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
    /// Loads and stores whose size is 0, which are kept.
    pub(super) of_no_bytes: u64,
}

impl Unkept {
    /// The records that are left out.
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
            (self.physical, "physical addresses, which --physical keeps"),
            (self.markers, "markers"),
        ])
    }

    /// The references and pages that are taken otherwise than the trace states them. `missing` is
    /// the number of pages whose physical address the trace lacks.
    pub(super) fn taken(&self, missing: u64) -> Vec<Taken> {
        Taken::some(&[
            (self.of_no_bytes, OF_NO_BYTES),
            (
                missing,
                "pages without a physical address, taken to lie at the lower 28 bits of their \
                 virtual address, as drcachesim takes them",
            ),
        ])
    }
}
