//! The paper's policies, by the names that its tables use, and what everything costs there.

use broadleaf_model::{Costs, Files, MemoryLimits};

/// The machine of the paper.
pub(super) const MACHINE: &str = "romer1995";

/// The policies of the paper: what tables call each, and what it is here. The sizes that tables 4 and 5 do not have are in figures 1 and 5.
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

/// The pages of one size, from the smallest.
pub(super) const SIZES: [&str; 7] = ["4k", "8k", "16k", "32k", "64k", "128k", "256k"];

/// Memory that does not run short, with files in it, at the paper's costs (section 8.1): 3,000 cycles for each KiB that a promotion copies, or
/// would copy if anything were there, and nothing else. Of charges it has those that are taken anyway.
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
