//! The paper's policies, by the names in its tables, with the paper's costs.

use broadleaf_model::{Costs, Files, MemoryLimits};

/// The machine of the paper.
pub(super) const MACHINE: &str = "romer1995";

/// The paper's policies: their names in tables, and their names here. Sizes that tables 4 and 5
/// lack are in figures 1 and 5.
pub(super) const POLICIES: [(&str, &str); 12] = [
    ("4k", "4k"),
    ("8k", "fixed-8k"),
    ("16k", "fixed-16k"),
    ("32k", "fixed-32k"),
    ("64k", "fixed-64k"),
    ("128k", "fixed-128k"),
    ("256k", "fixed-256k"),
    ("offline", "offline"),
    ("asap", "asap"),
    ("asap-4-64", "asap-4-64"),
    ("online", "online"),
    ("approx-online", "approx-online"),
];

/// The single page sizes, from the smallest.
pub(super) const SIZES: [&str; 7] = ["4k", "8k", "16k", "32k", "64k", "128k", "256k"];

/// Unlimited memory with files in memory, at the paper's costs (section 8.1). A promotion costs
/// 3,000 cycles per KiB that it copies, or would copy from full memory. Nothing else costs, except
/// charges, which policies take anyway.
pub(super) fn memory() -> MemoryLimits {
    MemoryLimits {
        files: Files::InMemory,
        costs: Costs {
            copy_kib: 3000,
            zero_kib: 3000,
            promotion: 0,
            ..Costs::default()
        },
        ..MemoryLimits::none()
    }
}
