//! What became of memory, where it was modelled down to the frame.

use crate::Tlbmcpi;
use serde::Serialize;
use std::collections::BTreeMap;

/// The size of a block that `--fragmentation` counts, in bytes.
const BLOCK: u64 = 2 << 20;

/// How much memory a comparison had, and how it stood at first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryAsked {
    /// How large memory is, in bytes; `None` where it never runs short.
    pub bytes: Option<u64>,
    /// What the program holds at its peak where all pages are base pages and there is as much memory as it wants, in bytes; `None` where nobody had to look.
    pub footprint_bytes: Option<u64>,
    /// How large the swap is, in bytes; `None` where it is never full.
    pub swap_bytes: Option<u64>,
    /// Where pages of files are at first: `disk` or `memory`.
    pub files: String,
    /// The state of memory before the trace began: `empty`, `grouped`, `recorded` or `recorded by
    /// type`.
    pub start: String,
    /// Which part of it was occupied, where that was asked for.
    pub occupied: f64,
    /// The share of free memory that lay in free blocks of 2 MiB, if the user set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragmentation: Option<f64>,
    /// Which part of what was occupied could be moved.
    pub movable: f64,
    /// What the places of what was occupied were drawn from.
    pub seed: u64,
    /// The traces that were replayed before in the same memory, in order.
    pub after: Vec<RanBefore>,
    /// The assumed number of accesses per second: the time scale of daemons.
    pub accesses_per_second: u64,
    /// What things cost, in cycles, by the names that `--costs` knows.
    pub costs: BTreeMap<String, u64>,
    /// The names of those that are not what they are unless one says otherwise.
    pub costs_changed: Vec<String>,
}

/// A trace that was replayed before another, in the same memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RanBefore {
    /// Where it was read from.
    pub path: String,
    /// Its hash, as `broadleaf info` has it; empty where it has none.
    pub hash: String,
}

impl MemoryAsked {
    /// The same for a reader, as one sentence.
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
            "Memory: {memory}, {start}{}; {swap}; files begin {}{}.",
            self.what_ran(),
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

    /// What is occupied before the trace begins, and the resulting fragmentation.
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
                "{occupied} so that {} of what is free lies in free blocks of 2 MiB, to the nearest block",
                share(part)
            ),
        }
    }

    /// What ran before, as far as there was anything.
    fn what_ran(&self) -> String {
        let names: Vec<&str> = self.after.iter().map(|trace| &*trace.path).collect();
        if names.is_empty() {
            return String::new();
        }
        format!(", after {}", names.join(", "))
    }

    /// What things cost, as far as that was asked for.
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

/// What became of memory, where it was modelled down to the frame. Pages and frames are those of the base page size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryResult {
    /// How large a base page is, in bytes.
    pub base_page_bytes: u64,
    /// Mappings that stand at the end, by size in bytes.
    pub page_sizes: BTreeMap<u64, u64>,
    /// Stores to resident pages that were shared, a file's or the page of zeroes.
    pub write_faults: u64,
    /// The most pages that ever lay inside superpages at a time.
    pub peak_superpage_pages: u64,
    /// Pages written to the swap.
    pub swapped_out_pages: u64,
    /// Pages read back from it.
    pub swapped_in_pages: u64,
    /// Pages read from files.
    pub file_pages_read: u64,
    /// Pages written back to files.
    pub file_pages_written: u64,
    /// Pages of files that still had to be written back at the end.
    pub unsaved_file_pages: u64,
    /// Pages that were found in free frames after they had left.
    pub cache_hits: u64,
    /// Reservations that were made.
    pub reservations: u64,
    /// Reservations that were broken for somebody else.
    pub reservations_broken: u64,
    /// Extents that were wanted and not free.
    pub extents_refused: u64,
    /// Bytes copied.
    pub copied_bytes: u64,
    /// Pages moved out of the way of an extent.
    pub migrated_pages: u64,
    /// Pages zeroed while the program waited.
    pub zeroed_pages: u64,
    /// Pages used that had been zeroed before.
    pub zeroed_ahead_pages: u64,
    /// Cycles that the program waited in faults.
    pub fault_cycles: u64,
    /// The longest that it waited in one.
    pub worst_fault_cycles: u64,
    /// Cycles of daemons, for which it did not wait.
    pub daemon_cycles: u64,
    /// Cycles of promotions, whoever waited.
    pub promotion_cycles: u64,
    /// Of these, cycles of promotions that copy.
    pub copy_cycles: u64,
    /// Cycles of charging TLB misses.
    pub bookkeeping_cycles: u64,
    /// Cycles of walks, bookkeeping and copying for each instruction; absent where the trace does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tlbmcpi: Option<Tlbmcpi>,
    /// How many times the cycles of OFFLINE; absent where no policy with foresight was compared on the machine, or memory was used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_offline: Option<f64>,
    /// Free extents at the end, by order.
    pub free_contiguity: BTreeMap<u8, u64>,
    /// Pages in the swap at the end.
    pub in_swap_pages: u64,
    /// Where memory was used up, after so many accesses; absent where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_memory_after: Option<u64>,
    /// How memory stood when most was resident, to within a sixty-fourth.
    pub at_peak: MemorySample,
    /// How memory stood from time to time, and at the end.
    pub over_time: Vec<MemorySample>,
}

/// How memory stood at one time. Counts of what happened are since the trace began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemorySample {
    /// Accesses since the trace began.
    pub time: u64,
    /// Pages that are mapped.
    pub resident_pages: u64,
    /// Pages that nobody has referenced since a promotion, or a fault beside them, brought them.
    pub bloat_pages: u64,
    /// Pages inside superpages.
    pub superpage_pages: u64,
    /// Free frames without pages that could be found again.
    pub free_frames: u64,
    /// Frames that are mapped, each once however many processes map it.
    pub mapped_frames: u64,
    /// Frames that were occupied before the trace began.
    pub occupied_frames: u64,
    /// Frames that reservations keep for pages to come.
    pub reserved_frames: u64,
    /// Frames that page tables take, with what is kept together with them.
    pub wired_frames: u64,
    /// Frames with pages of files that no process maps, including free frames in which the pages
    /// can be found again.
    pub file_cache_frames: u64,
    /// How many extents of each order could be given out.
    pub free_contiguity: BTreeMap<u8, u64>,
    /// Page faults.
    pub page_faults: u64,
    /// Promotions.
    pub promotions: u64,
    /// Reservations that were broken.
    pub reservations_broken: u64,
    /// Pages written to the swap.
    pub swapped_out_pages: u64,
    /// Pages read back from it.
    pub swapped_in_pages: u64,
    /// Pages read from files.
    pub file_pages_read: u64,
    /// Pages written back to files.
    pub file_pages_written: u64,
    /// Cycles that the program waited in faults.
    pub fault_cycles: u64,
}
