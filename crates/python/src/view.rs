//! The view of a block for policies that are Python classes.

use broadleaf_policy::{Coverage, Point, View as BlockView};
use broadleaf_units::BackingKind;
use pyo3::prelude::*;

use crate::words::word_of;

/// The names of decision points.
pub(crate) const POINTS: [(&str, Point); 9] = [
    ("fault", Point::Fault),
    ("first_store", Point::FirstStore),
    ("due", Point::Due),
    ("store_to_clean_superpage", Point::StoreToCleanSuperpage),
    ("scan", Point::Scan),
    ("short", Point::Short),
    ("freed", Point::Freed),
    ("used_again", Point::UsedAgain),
    ("miss", Point::Miss),
];

const BACKINGS: [(&str, BackingKind); 3] = [
    ("anonymous", BackingKind::Anonymous),
    ("shared_memory", BackingKind::SharedMemory),
    ("file", BackingKind::File),
];

const COVERAGES: [(&str, Coverage); 3] = [
    ("covered", Coverage::Covered),
    ("not_covered", Coverage::NotCovered),
    ("mixed_protection", Coverage::MixedProtection),
];

/// The state of one block at a decision point. A policy reads it and changes nothing.
#[pyclass(name = "View", frozen, module = "broadleaf")]
pub(crate) struct PolicyView(pub(crate) BlockView);

/// Getters for the fields of a view.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        #[pymethods]
        impl PolicyView {
            $($(#[$doc])*
            #[getter]
            fn $name(&self) -> $type {
                self.0.$name
            })*

            /// The size of the block in bytes.
            #[getter]
            fn bytes(&self) -> u64 {
                self.0.bytes()
            }

            /// True if the block was empty before this fault.
            #[getter]
            fn was_empty(&self) -> bool {
                self.0.was_empty()
            }

            /// The kind of memory: `anonymous`, `shared_memory` or `file`.
            #[getter]
            fn backing(&self) -> &'static str {
                word_of(&self.0.backing, &BACKINGS)
            }

            /// The coverage by mappings: `covered`, `not_covered` or `mixed_protection`.
            #[getter]
            fn coverage(&self) -> &'static str {
                word_of(&self.0.coverage, &COVERAGES)
            }

            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}

fields! {
    /// Resident base pages, including filled pages.
    populated: u32;
    /// Base pages stored to since they became resident.
    dirty: u32;
    /// Base pages of the block: 512 for 2 MiB on x86-64.
    pages: u32;
    /// The size of a base page in bytes.
    base_bytes: u64;
    /// The place of the block among four neighbours: 0 to 3.
    place: u8;
    /// Accesses of the trace since the block was reserved; `None` without a reservation.
    reservation_age: Option<u64>;
    /// True if the block is a superpage.
    promoted: bool;
    /// True if the program may store to the block.
    writable: bool;
    /// True if the program advised against superpages for any page of the block.
    advised_against: bool;
    /// True if the program advised superpages for every page of the block.
    advised_for: bool;
    /// Base pages referenced since the last round of the daemon; 0 without a daemon.
    referenced: u32;
    /// The moving average of referenced pages over rounds, in sixteenths of a page.
    referenced_on_average: u32;
    /// Base pages in the swap.
    swapped: u32;
    /// Base pages whose frame another mapping uses too.
    shared: u32;
    /// Resident base pages of anonymous memory without a store.
    zero: u32;
    /// True if an extent of the block's size is free, or reserved for the block.
    extent_free: bool;
    /// True if free memory is below the host's reserve.
    memory_short: bool;
    /// TLB misses in the block, at the point `miss`.
    misses: u64;
    /// Misses that a superpage would have prevented, at the point `miss`.
    prefetch_charge: u64;
    /// Misses of other pages that the block's entries displaced, at the point `miss`.
    capacity_charge: u64;
    /// The cycles of a walk that finds a base page.
    miss_cycles: u64;
    /// The cycles of copying the whole block into one page.
    copy_cycles: u64;
}
