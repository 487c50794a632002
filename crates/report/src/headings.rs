//! The meanings of the tables' headings, for `broadleaf explain`.

/// A heading of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The name, as written above the column.
    pub name: &'static str,
    /// The meaning of the column.
    pub means: Meaning,
}

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The metric of this name, possibly in another unit.
    Metric(&'static str),
    /// A derived figure, explained in a few sentences.
    Derived(&'static str),
}

use Meaning::{Derived, Metric};

/// The headings of the comparison's table.
pub const HEADINGS: &[Heading] = &[
    heading(
        "policy",
        Derived(
            "The rule that says when a block becomes a superpage. \
            `broadleaf list policies` names all.",
        ),
    ),
    heading(
        "asked",
        Derived(
            "The policy's name as the user wrote it, in JSON, CSV and Parquet: \
            `life-1000` for the policy life-1e3.",
        ),
    ),
    heading(
        "machine",
        Derived(
            "The TLBs and costs that the trace was replayed on. \
            `broadleaf list machines` names all.",
        ),
    ),
    heading("L1 misses", Metric("l1_misses")),
    heading("L2 misses", Metric("l2_misses")),
    heading("L3 misses", Metric("l3_misses")),
    heading("walk cycles", Metric("walk_cycles")),
    heading("cycles", Metric("cycles")),
    heading("serial cycles", Metric("cycles_serial")),
    heading("IPC", Metric("ipc")),
    heading("cache MPKI", Metric("llc_mpki")),
    heading("TLB MPKI", Metric("tlb_mpki")),
    heading("lines read", Metric("memory_reads")),
    heading("lines written", Metric("memory_writes")),
    heading(
        "of 4k",
        Derived(
            "walk_cycles divided by those of the policy 4k on the same trace and machine: \
            x0.10 is a tenth.",
        ),
    ),
    heading(
        "vs freebsd",
        Derived(
            "walk_cycles divided by those of the policy freebsd on the same trace and machine: \
            x0.10 is a tenth.",
        ),
    ),
    heading(
        "run time",
        Derived(
            "The class of the user time that the policy saves over 4k, estimated from a table: \
            none (under 3 percent), some, large (15 percent or more).",
        ),
    ),
    heading(
        "user time",
        Derived(
            "The range of the user time under the policy, from the times that the recording holds \
            of runs with 4 KiB pages and with huge pages: `run_time` in JSON has the middle.",
        ),
    ),
    heading(
        "system time",
        Derived(
            "The range of the system time under the policy: that of the runs with 4 KiB pages, \
            less the page faults saved, plus the huge pages made, at the costs that were measured \
            on the same machine.",
        ),
    ),
    heading(
        "trace",
        Derived("The path of the trace, as it was given: a column of CSV and Parquet."),
    ),
    heading(
        "trace hash",
        Derived("The BLAKE3 hash of the trace's bytes: a column of CSV and Parquet."),
    ),
    heading(
        "version",
        Derived("The version of Broadleaf that counted: a column of CSV and Parquet."),
    ),
    heading(
        "samples",
        Derived(
            "yes if each reference of the trace is a sample, one of many, so that counts are not \
            those of the program, or no: a column of CSV and Parquet.",
        ),
    ),
    heading("faults saved", Metric("faults_saved")),
    heading("resident at end", Metric("resident_pages")),
    heading("peak", Metric("peak_resident_pages")),
    heading(
        "added",
        Derived(
            "Memory that the policy takes at the peak and the policy 4k does not: \
            peak_resident_pages less those of 4k, in bytes. The recommendation depends on it.",
        ),
    ),
    heading(
        "added %",
        Derived("The added memory as a share of the memory that the policy 4k takes at its peak."),
    ),
    heading("zeroed", Metric("extra_zeroed_pages")),
    heading("disk reads", Metric("extra_disk_read_pages")),
    heading("promotions", Metric("promotions")),
    heading("clean, marked dirty", Metric("false_dirty_pages")),
    heading("faults", Metric("page_faults")),
    heading("write faults", Metric("write_faults")),
    heading("fault cycles", Metric("fault_cycles")),
    heading("worst fault", Metric("worst_fault_cycles")),
    heading(
        "in superpages",
        Derived(
            "With --memory: the share of resident memory that lay in superpages when most was \
            resident: superpage_pages of at_peak, divided by its resident_pages.",
        ),
    ),
    heading(
        "bloat",
        Derived(
            "With --memory: bloat_pages of at_peak, in bytes: memory that was resident when most \
            was, and that no access had touched since a promotion or a neighbouring fault brought \
            it.",
        ),
    ),
    heading("swapped out", Metric("swapped_out_pages")),
    heading("swapped in", Metric("swapped_in_pages")),
    heading("file reads", Metric("file_pages_read")),
    heading("file writes", Metric("file_pages_written")),
    heading("TLBMCPI", Metric("tlbmcpi")),
    heading("x offline", Metric("times_offline")),
    heading("reservations", Metric("reservations")),
    heading("broken", Metric("reservations_broken")),
];

/// The headings of the table of ranges of `advise`. Some have another meaning in the comparison's
/// table.
pub const RANGE_HEADINGS: &[Heading] = &[
    heading(
        "process",
        Derived(
            "The process of the range, by its number and its program, as far as the trace records \
            them. The column is left out if there is one address space alone.",
        ),
    ),
    heading(
        "range",
        Derived(
            "Addresses of adjacent superpages of one size in one mapping: \
            the first byte, and the byte after the last.",
        ),
    ),
    heading(
        "superpages",
        Derived("The number of superpages in the range, and their size."),
    ),
    heading(
        "walks spared",
        Derived(
            "walks_spared: page walks without superpages, \
            less page walks with the superpages of this range alone.",
        ),
    ),
    heading(
        "walk cycles",
        Derived(
            "walk_cycles_spared: cycles of the page walks that the range spares, \
            each at the cost of a walk to a base page.",
        ),
    ),
    heading(
        "of 4k",
        Derived("walk_cycles_spared as a share of all cycles of walks under the policy 4k."),
    ),
    heading(
        "faults spared",
        Derived(
            "faults_spared: page faults without superpages, less page faults of the superpages.",
        ),
    ),
    heading(
        "added",
        Derived(
            "added_bytes: bytes of the superpages that the program never touched, \
            and would not hold without them.",
        ),
    ),
    heading(
        "gained",
        Derived(
            "cycles_gained: cycles of the walks that the superpages spare, less their cycles of \
            faults, filling, copying and promotion, plus the cycles of the faults that they spare.",
        ),
    ),
    heading(
        "per KiB",
        Derived("gained_per_kib: the cycles gained for each KiB of the superpages."),
    ),
    heading(
        "per KiB added",
        Derived(
            "gained_per_added_kib: the cycles gained for each KiB that is added; `free` if nothing \
             is added.",
        ),
    ),
    heading(
        "lies in",
        Derived(
            "mapping: the mapping of the range at the latest fault of a page in it: its kind or \
             the file, the file's byte at the start of the range, and the bounds of the mapping.",
        ),
    ),
];

/// The headings of the tables of `report`, `top`, `replay` and `service`.
pub const LIVE_HEADINGS: &[Heading] = &[
    heading(
        "resident",
        Derived("Memory of the process that is in memory now: `rss_bytes` in JSON."),
    ),
    heading(
        "blocks",
        Derived("Blocks of 2 MiB that lie wholly in one mapping. Each may become a superpage."),
    ),
    heading(
        "candidates",
        Derived("Blocks of 2 MiB that the policy would promote now: `would_promote` in JSON."),
    ),
    heading(
        "would promote",
        Derived(
            "Blocks of 2 MiB that the policy would promote now, if memory had no limit: \
            `would_promote` in JSON.",
        ),
    ),
    heading(
        "memory added",
        Derived(
            "Memory that these promotions would add: pages of the blocks that are not resident \
            yet. `added_bytes` in JSON.",
        ),
    ),
    heading(
        "of resident",
        Derived("The added memory as a share of the memory that is resident now."),
    ),
    heading(
        "then in superpages",
        Derived(
            "The share of resident memory that would lie in superpages after these promotions.",
        ),
    ),
    heading(
        "in superpages then",
        Derived(
            "The share of resident memory that would lie in superpages after these promotions.",
        ),
    ),
    heading(
        "blocks that stay",
        Derived(
            "Blocks that the policy would not promote, by the reason. \
            `broadleaf list refusals` explains the reasons.",
        ),
    ),
    heading(
        "allowed",
        Derived("The limit on added memory, as --max-added sets it."),
    ),
    heading(
        "promoted",
        Derived("Blocks that were promoted: `promotions` in JSON."),
    ),
    heading(
        "demoted",
        Derived(
            "Superpages that the governor demoted because memory was short or too much was added: \
            `demotions` in JSON.",
        ),
    ),
    heading(
        "demoted by the program",
        Derived(
            "Superpages that the program broke, for example by returning a part: \
            `broken_by_programs` in JSON.",
        ),
    ),
    heading(
        "huge at most",
        Derived(
            "The most memory that lay in superpages of the governor at any one time: \
            `huge_bytes_peak` in JSON.",
        ),
    ),
    heading(
        "added at most",
        Derived(
            "The most memory that superpages had added at any one time: \
            `added_bytes_peak` in JSON.",
        ),
    ),
    heading(
        "added at the end",
        Derived("Memory that superpages added at the end: `added_bytes` in JSON."),
    ),
    heading(
        "refused",
        Derived(
            "Blocks that were not promoted, over all reasons. \
            `broadleaf list refusals` explains the reasons.",
        ),
    ),
];

const fn heading(name: &'static str, means: Meaning) -> Heading {
    Heading { name, means }
}

/// Returns the heading of the comparison's table with this name. Case is ignored, and words may be
/// separated by blanks, dashes or underscores.
pub fn heading_named(name: &str) -> Option<&'static Heading> {
    named(HEADINGS, name)
}

/// Returns the heading of the table of ranges with this name, as [`heading_named`] does.
pub fn range_heading_named(name: &str) -> Option<&'static Heading> {
    named(RANGE_HEADINGS, name)
}

/// Returns the heading of the tables of live processes with this name, as [`heading_named`] does.
pub fn live_heading_named(name: &str) -> Option<&'static Heading> {
    named(LIVE_HEADINGS, name)
}

fn named(headings: &'static [Heading], name: &str) -> Option<&'static Heading> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], " ");
    headings
        .iter()
        .find(|heading| plain(heading.name) == plain(name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_those_of_the_catalogue() {
        for heading in HEADINGS {
            if let Metric(name) = heading.means {
                assert!(broadleaf_metrics::metric(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn a_heading_is_found_in_any_spelling() {
        for name in ["L1 misses", "l1_misses", " l1-Misses "] {
            assert_eq!(heading_named(name).unwrap().name, "L1 misses");
        }
        assert!(heading_named("L4 misses").is_none());
    }
}
