//! The paper's policies, by the names that its tables use, and what everything costs there.

use broadleaf_engine::{Costs, Files, Limits};

/// The machine of the paper.
pub(super) const MACHINE: &str = "romer1995";

/// A policy of the paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// What tables call it.
    pub(super) name: &'static str,
    /// What it is here.
    pub(super) policy: &'static str,
    /// Whether pages are of one size and nothing is copied. What filling large ones takes is not counted, as in the paper.
    pub(super) is_fixed: bool,
}

const fn fixed(name: &'static str, policy: &'static str) -> Compared {
    Compared {
        name,
        policy,
        is_fixed: true,
    }
}

const fn promoting(name: &'static str, policy: &'static str) -> Compared {
    Compared {
        name,
        policy,
        is_fixed: false,
    }
}

/// All of them. The sizes that tables 4 and 5 do not have are in figures 1 and 5.
const ALL: [Compared; 12] = [
    fixed("4k", "4k"),
    fixed("8k", "fixed(size=8k)"),
    fixed("16k", "fixed(size=16k)"),
    fixed("32k", "fixed(size=32k)"),
    fixed("64k", "fixed(size=64k)"),
    fixed("128k", "fixed(size=128k)"),
    fixed("256k", "fixed(size=256k)"),
    promoting("offline", "offline"),
    promoting("asap", "asap"),
    promoting("asap-4-64", "asap(sizes=64k,part=50)"),
    promoting("online", "online"),
    promoting("approx-online", "approx-online"),
];

/// Those that there are.
pub(super) fn compared() -> Vec<Compared> {
    // While the catalogue has no policy `offline`, its column is a dash. Once it has one, this is `ALL` without the condition.
    let there_is = |compared: &Compared| broadleaf_policy::parse(compared.policy).is_ok();
    ALL.into_iter().filter(there_is).collect()
}

/// The pages of one size, from the smallest.
pub(super) const SIZES: [&str; 7] = ["4k", "8k", "16k", "32k", "64k", "128k", "256k"];

/// Memory that does not run short, with files in it, at the paper's costs (section 8.1): 3,000 cycles for each KiB that a promotion copies, or
/// would copy if anything were there, and nothing else. Of charges it has those that are taken anyway.
pub(super) fn memory() -> Limits {
    Limits {
        files: Files::InMemory,
        costs: Costs {
            copy_kib: 3000,
            zero_kib: 3000,
            promotion: 0,
            ..Costs::default()
        },
        ..Limits::none()
    }
}
