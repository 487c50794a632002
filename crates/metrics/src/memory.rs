//! The results of the frame-level model.

use crate::Tlbmcpi;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The size of a block for `--fragmentation`, in bytes.
const BLOCK: u64 = 2 << 20;

/// The memory of a comparison, and its initial state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryAsked {
    /// The size of memory, in bytes; `None` if memory never runs short.
    pub bytes: Option<u64>,
    /// The program's peak memory with base pages and unlimited memory, in bytes; `None` if it was
    /// not measured.
    pub footprint_bytes: Option<u64>,
    /// The size of the swap, in bytes; `None` if the swap is never full.
    pub swap_bytes: Option<u64>,
    /// The initial place of file pages: `disk` or `memory`.
    pub files: String,
    /// The state of memory before the trace began: `empty`, `grouped`, `recorded` or `recorded by
    /// type`.
    pub start: String,
    /// The part of memory that was occupied, if the user set one.
    pub occupied: f64,
    /// The share of free memory that lay in free blocks of 2 MiB, if the user set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragmentation: Option<f64>,
    /// The part of the occupied memory that was movable.
    pub movable: f64,
    /// The seed of the random places of occupied memory.
    pub seed: u64,
    /// The rule that chose frames, if it was not the buddy allocator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// The share of memory that was divided among superpage sizes, if the allocator divides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<f64>,
    /// The traces replayed before in the same memory, in order.
    pub after: Vec<RanBefore>,
    /// The assumed number of accesses per second: the time scale of daemons.
    pub accesses_per_second: u64,
    /// The costs, in cycles, by the names of `--costs`.
    pub costs: BTreeMap<String, u64>,
    /// The names of the costs that differ from the defaults.
    pub costs_changed: Vec<String>,
}

/// A trace replayed before another, in the same memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanBefore {
    /// The path of the trace.
    pub path: String,
    /// The hash of the trace, as in `broadleaf info`; empty if there is none.
    pub hash: String,
}

impl MemoryAsked {
    /// Describes the memory in one sentence.
    pub fn sentence(&self, size: impl Fn(u64) -> String) -> String {
        let memory = self.bytes.map_or("unlimited".to_owned(), &size);
        let share = |part: f64| format!("{}%", (part * 1e4).round() / 1e2);
        let start = match self.start.as_str() {
            "empty" => "empty at first".to_owned(),
            "grouped" if self.occupied == 0.0 && self.holds_no_block() => {
                "empty at first, as it holds no block of 2 MiB for --fragmentation".to_owned()
            }
            "grouped" => format!(
                "{} ({} of that movable, seed {})",
                self.occupied_at_first(share),
                share(self.movable),
                self.seed
            ),
            "recorded by type" => {
                format!(
                    "at first as recorded for each migrate type (seed {})",
                    self.seed
                )
            }
            _ => format!(
                "at first as recorded ({} of what is occupied movable, seed {})",
                share(self.movable),
                self.seed
            ),
        };
        let swap = match self.swap_bytes {
            None => "unlimited swap".to_owned(),
            Some(0) => "no swap".to_owned(),
            Some(bytes) => format!("{} of swap", size(bytes)),
        };
        format!(
            "Memory: {memory}, {start}{}{}; {swap}; files begin {}{}.",
            self.what_ran(),
            self.chosen_by(share),
            if self.files == "memory" {
                "in memory that is not counted"
            } else {
                "on the disk"
            },
            self.changed_costs()
        )
    }

    /// Returns true if `--fragmentation` finds no block to break.
    fn holds_no_block(&self) -> bool {
        self.fragmentation.is_some() && self.bytes.is_some_and(|bytes| bytes < BLOCK)
    }

    /// Describes the occupied memory before the trace, and the resulting fragmentation.
    fn occupied_at_first(&self, share: impl Fn(f64) -> String) -> String {
        let occupied = match self.occupied {
            0.0 => "one page in each broken block occupied at first".to_owned(),
            part => format!("{} of it occupied at first", share(part)),
        };
        match self.fragmentation {
            None => occupied,
            Some(_) if self.holds_no_block() => {
                format!("{occupied}, without --fragmentation, as it holds no block of 2 MiB")
            }
            Some(part) => format!(
                "{occupied} so that {} of what is free lies in free blocks of 2 MiB, to the \
                 nearest block",
                share(part)
            ),
        }
    }

    /// Names the allocator, if it is not the usual one.
    fn chosen_by(&self, share: impl Fn(f64) -> String) -> String {
        let pools = self.pools.map(|part| format!(", {}", share(part)));
        let name = self.allocator.as_ref();
        name.map_or_else(String::new, |name| {
            format!(
                "; frames chosen by {name}{}",
                pools
                    .map(|pools| format!("{pools} of memory for superpages"))
                    .unwrap_or_default()
            )
        })
    }

    /// Names the traces before, if there were any.
    fn what_ran(&self) -> String {
        let names: Vec<&str> = self.after.iter().map(|trace| &*trace.path).collect();
        if names.is_empty() {
            return String::new();
        }
        format!(", after {}", names.join(", "))
    }

    /// Lists the costs that the user changed.
    fn changed_costs(&self) -> String {
        let of = |name: &String| {
            let cycles = self.costs.get(name).copied().unwrap_or(0);
            format!("{name}={cycles}")
        };
        let changed: Vec<String> = self.costs_changed.iter().map(of).collect();
        if changed.is_empty() {
            return String::new();
        }
        format!("; costs in cycles: {}", changed.join(", "))
    }
}

/// The results of the frame-level model. Pages and frames have the base-page size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryResult {
    /// The size of a base page, in bytes.
    pub base_page_bytes: u64,
    /// The number of mapped pages at the end, by size in bytes.
    #[serde(deserialize_with = "number_keys")]
    pub page_sizes: BTreeMap<u64, u64>,
    /// Stores to resident pages that were shared, a file's or the page of zeroes.
    pub write_faults: u64,
    /// The peak of pages inside superpages.
    pub peak_superpage_pages: u64,
    /// Pages written to the swap.
    pub swapped_out_pages: u64,
    /// Pages read back from the swap.
    pub swapped_in_pages: u64,
    /// Pages read from files.
    pub file_pages_read: u64,
    /// Of these, pages that were read in the background around a page that faulted.
    #[serde(default)]
    pub read_around_pages: u64,
    /// Pages written back to files.
    pub file_pages_written: u64,
    /// Pages of files that still had to be written back at the end.
    pub unsaved_file_pages: u64,
    /// File pages found again in free frames.
    pub cache_hits: u64,
    /// Reservations made.
    pub reservations: u64,
    /// Reservations broken for other allocations.
    pub reservations_broken: u64,
    /// Extent allocations that failed.
    pub extents_refused: u64,
    /// Lookups of the kernel's addresses that missed the first level; absent unless the trace holds
    /// a whole system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_l1_misses: Option<u64>,
    /// Of these, lookups that missed all levels; absent unless the trace holds a whole system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_walks: Option<u64>,
    /// Superpages that the recorded kernel broke with their reservation, and that had pages which
    /// no reference had used; absent unless the reservations are the recorded kernel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_filled_superpages_broken: Option<u64>,
    /// Pages that got another colour than theirs; absent if the policy places pages without regard
    /// to colours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_colour_pages: Option<u64>,
    /// Pages that got any colour; absent if the policy places pages without regard to colours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_colour_pages: Option<u64>,
    /// Scattered superpages that were made; absent if the policy makes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scattered_superpages: Option<u64>,
    /// Free frames at the end in physical superpages that scattered superpages use in part; absent
    /// if the policy makes no scattered superpages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_beside_scattered: Option<u64>,
    /// Bytes copied.
    pub copied_bytes: u64,
    /// Pages moved out of the way of an extent.
    pub migrated_pages: u64,
    /// Pages zeroed while the program waited.
    pub zeroed_pages: u64,
    /// Used frames that had been zeroed ahead of time.
    pub zeroed_ahead_pages: u64,
    /// Cycles that the program waited in faults.
    pub fault_cycles: u64,
    /// The longest wait of the program in one fault, in cycles.
    pub worst_fault_cycles: u64,
    /// Cycles of daemons, during which the program did not wait.
    pub daemon_cycles: u64,
    /// Cycles of promotions, at faults and in daemons.
    pub promotion_cycles: u64,
    /// The part of `promotion_cycles` for promotions that copy.
    pub copy_cycles: u64,
    /// Cycles of charging TLB misses.
    pub bookkeeping_cycles: u64,
    /// Cycles of walks, bookkeeping and copying per instruction; absent if the trace does not count
    /// instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tlbmcpi: Option<Tlbmcpi>,
    /// The ratio to the cycles of OFFLINE; absent if no policy with foresight was compared on the
    /// machine, or if memory was used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_offline: Option<f64>,
    /// Free extents at the end, by order.
    #[serde(deserialize_with = "number_keys")]
    pub free_contiguity: BTreeMap<u8, u64>,
    /// Pages in the swap at the end.
    pub in_swap_pages: u64,
    /// The access at which memory was used up; absent if memory sufficed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_memory_after: Option<u64>,
    /// The state of memory at the peak of residency, to within a sixty-fourth.
    pub at_peak: MemorySample,
    /// The state of memory at intervals, and at the end.
    pub over_time: Vec<MemorySample>,
}

/// The state of memory at one time. Event counts begin at the start of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySample {
    /// Accesses since the trace began.
    pub time: u64,
    /// Mapped pages.
    pub resident_pages: u64,
    /// Pages brought in by a promotion or a neighbour's fault, and not referenced since.
    pub bloat_pages: u64,
    /// Pages inside superpages.
    pub superpage_pages: u64,
    /// Free frames without reusable pages.
    pub free_frames: u64,
    /// Mapped frames, each counted once, even if several processes map it.
    pub mapped_frames: u64,
    /// Frames that were occupied before the trace began.
    pub occupied_frames: u64,
    /// Frames that reservations keep for later pages.
    pub reserved_frames: u64,
    /// Frames of page tables, and frames kept for more page tables.
    pub wired_frames: u64,
    /// Frames with file pages that no process maps, including free frames with reusable file pages.
    pub file_cache_frames: u64,
    /// The number of available extents of each order.
    #[serde(deserialize_with = "number_keys")]
    pub free_contiguity: BTreeMap<u8, u64>,
    /// Page faults.
    pub page_faults: u64,
    /// Promotions.
    pub promotions: u64,
    /// Reservations broken.
    pub reservations_broken: u64,
    /// Pages written to the swap.
    pub swapped_out_pages: u64,
    /// Pages read back from the swap.
    pub swapped_in_pages: u64,
    /// Pages read from files.
    pub file_pages_read: u64,
    /// Pages written back to files.
    pub file_pages_written: u64,
    /// Cycles that the program waited in faults.
    pub fault_cycles: u64,
}

/// Reads a map whose keys are numbers. Inside a flattened structure, serde hands keys over as text.
fn number_keys<'de, K, D>(deserializer: D) -> Result<BTreeMap<K, u64>, D::Error>
where
    K: FromStr<Err: Display> + Ord,
    D: Deserializer<'de>,
{
    let texts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let parsed = texts.into_iter().map(|(key, count)| {
        let key = key.parse().map_err(D::Error::custom)?;
        Ok((key, count))
    });
    parsed.collect()
}
