//! What the headings of the tables mean, for whoever asks about one.

/// A heading of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// As it stands above its column.
    pub name: &'static str,
    /// What stands below it.
    pub means: Meaning,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The metric of this name, in other units where that reads better.
    Metric(&'static str),
    /// Something that is worked out: in a few sentences.
    Derived(&'static str),
}

use Meaning::{Derived, Metric};

/// Every heading of the comparison's table.
pub const HEADINGS: &[Heading] = &[
    heading(
        "policy",
        Derived(
            "The rule that says when a block becomes a superpage. `broadleaf list policies` names all.",
        ),
    ),
    heading(
        "asked",
        Derived(
            "The policy's name as the user wrote it, in JSON, CSV and Parquet: `life-1000` for the policy life-1e3.",
        ),
    ),
    heading(
        "machine",
        Derived(
            "The TLBs and costs that the trace was replayed on. `broadleaf list machines` names all.",
        ),
    ),
    heading("L1 misses", Metric("l1_misses")),
    heading("L2 misses", Metric("l2_misses")),
    heading("walk cycles", Metric("walk_cycles")),
    heading(
        "of 4k",
        Derived(
            "walk_cycles divided by those of the policy 4k on the same trace and machine: x0.10 is a tenth.",
        ),
    ),
    heading(
        "of freebsd",
        Derived(
            "walk_cycles divided by those of the policy freebsd on the same trace and machine: x0.10 is a tenth.",
        ),
    ),
    heading("faults saved", Metric("faults_saved")),
    heading("resident", Metric("resident_pages")),
    heading("peak", Metric("peak_resident_pages")),
    heading(
        "added",
        Derived(
            "Memory that the policy takes at the peak and the policy 4k does not: peak_resident_pages less those of 4k, \
             in bytes and as a share of what 4k takes. The recommendation goes by it.",
        ),
    ),
    heading("zeroed", Metric("extra_zeroed_pages")),
    heading("disk reads", Metric("extra_disk_read_pages")),
    heading("promotions", Metric("promotions")),
    heading("false dirty", Metric("false_dirty_pages")),
    heading("faults", Metric("page_faults")),
    heading("write faults", Metric("write_faults")),
    heading("fault cycles", Metric("fault_cycles")),
    heading("worst fault", Metric("worst_fault_cycles")),
    heading(
        "in superpages",
        Derived(
            "With --memory: which part of resident memory lay in superpages when most was resident: superpage_pages of at_peak, \
             divided by its resident_pages.",
        ),
    ),
    heading(
        "bloat",
        Derived(
            "With --memory: bloat_pages of at_peak, in bytes: memory that was resident when most was, and that nobody had referenced since \
             a promotion or a fault beside it brought it.",
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

/// Every heading of the table of ranges of `advise`. Some are those of the comparison's table too, and say something else there.
pub const RANGE_HEADINGS: &[Heading] = &[
    heading(
        "process",
        Derived(
            "The process that the range is in, by its number and its program, as far as the trace tells them. Where there is one address space alone, it is left out.",
        ),
    ),
    heading(
        "range",
        Derived(
            "Addresses of adjacent superpages of one size in one mapping: the first byte, and the byte after the last.",
        ),
    ),
    heading(
        "superpages",
        Derived("How many superpages the range has, and of which size."),
    ),
    heading(
        "walks spared",
        Derived(
            "walks_spared: page walks without superpages, less page walks with the superpages of this range alone.",
        ),
    ),
    heading(
        "walk cycles",
        Derived(
            "walk_cycles_spared: cycles of the page walks that the range spares, each at what a walk to a base page costs.",
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
            "added_bytes: bytes of the superpages that the program never touched, and would not hold without them.",
        ),
    ),
    heading(
        "gained",
        Derived(
            "cycles_gained: cycles of the walks that the superpages spare, less their cycles of faults, filling, copying and promotion, plus the cycles of the faults that they spare.",
        ),
    ),
    heading(
        "per KiB",
        Derived("gained_per_kib: the cycles gained for each KiB of the superpages."),
    ),
    heading(
        "per KiB added",
        Derived(
            "gained_per_added_kib: the cycles gained for each KiB that is added; `free` if nothing is added.",
        ),
    ),
    heading(
        "lies in",
        Derived(
            "mapping: what the range lies in, as it was when a page of it last faulted in: its kind or the file and its byte at the start of the range, and the bounds of the mapping.",
        ),
    ),
];

/// Headings of the tables of `report`, `top`, `replay` and `service`.
pub const LIVE_HEADINGS: &[Heading] = &[
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
            "Blocks of 2 MiB that the policy would promote now, if memory had no limit: `would_promote` in JSON.",
        ),
    ),
    heading(
        "memory added",
        Derived(
            "Memory that these promotions would add: pages of the blocks that are not resident yet. `added_bytes` in JSON.",
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
            "Blocks that the policy would not promote, by the reason. `broadleaf list refusals` explains the reasons.",
        ),
    ),
    heading(
        "allowed",
        Derived("The limit on added memory, as --max-added sets it."),
    ),
    heading(
        "broken for memory",
        Derived(
            "Superpages that the governor broke because memory was short or too much was added: `demotions` in JSON.",
        ),
    ),
    heading(
        "broken by the program",
        Derived(
            "Superpages that the program broke, for example by giving back a part: `broken_by_programs` in JSON.",
        ),
    ),
    heading(
        "huge at most",
        Derived(
            "The most memory that lay in superpages of the governor at any one time: `huge_bytes_peak` in JSON.",
        ),
    ),
    heading(
        "added at most",
        Derived(
            "The most memory that superpages had added at any one time: `added_bytes_peak` in JSON.",
        ),
    ),
    heading(
        "at the end",
        Derived("Memory that superpages added at the end: `added_bytes` in JSON."),
    ),
    heading(
        "refused",
        Derived(
            "Blocks that were not promoted, over all reasons. `broadleaf list refusals` explains the reasons.",
        ),
    ),
];

const fn heading(name: &'static str, means: Meaning) -> Heading {
    Heading { name, means }
}

/// The heading of the comparison's table that is written so, in letters of either case and with any of blank, dash and underscore between words.
pub fn heading_named(name: &str) -> Option<&'static Heading> {
    named(HEADINGS, name)
}

/// The heading of the table of ranges that is written so, as for [`heading_named`].
pub fn range_heading_named(name: &str) -> Option<&'static Heading> {
    named(RANGE_HEADINGS, name)
}

/// The heading of the tables of live processes that is written so, as for [`heading_named`].
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
    fn a_heading_is_found_however_it_is_written() {
        for name in ["L1 misses", "l1_misses", " l1-Misses "] {
            assert_eq!(heading_named(name).unwrap().name, "L1 misses");
        }
        assert!(heading_named("L3 misses").is_none());
    }
}
