//! The counts of a replay.

use std::collections::BTreeMap;

/// The figures of one policy on one machine, named as `compare` prints them. `faults_saved` is
/// missing, because it needs the replay of another policy: it is the `page_faults` of `4k` less
/// these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OracleCounts {
    /// Loads plus stores; a straddling access counts once.
    pub accesses: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Lookups that missed both first-level TLBs.
    pub l1_misses: u64,
    /// Lookups that also missed the second level.
    pub l2_misses: u64,
    /// Walks that ended at a base page.
    pub walks_4k: u64,
    /// Walks that ended at a superpage.
    pub walks_2m: u64,
    /// Cycles of all walks: 35 for a base page, 21 for a superpage (Zhu 2018, section 6).
    pub walk_cycles: u64,
    /// References to a page that was not resident.
    pub page_faults: u64,
    /// Promotions of blocks to superpages.
    pub promotions: u64,
    /// Superpages broken while some of their pages stayed.
    pub demotions: u64,
    /// Decision points at which policy or host refused, by the reason's name.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Pages of anonymous blocks that a promotion filled and that were never touched while they
    /// were resident.
    pub extra_zeroed_pages: u64,
    /// Pages of file-backed blocks that a promotion filled and that were never touched while they
    /// were resident.
    pub extra_disk_read_pages: u64,
    /// Clean pages in superpages that exist at the end and hold at least one dirty page.
    pub false_dirty_pages: u64,
    /// Clean pages of anonymous memory in superpages that hold a dirty page.
    pub false_dirty_pages_anonymous: u64,
    /// Clean pages of files in superpages that hold a dirty page.
    pub false_dirty_pages_file: u64,
    /// Clean pages inside superpages that exist at the end.
    pub clean_pages_in_superpages: u64,
    /// Clean pages of anonymous memory inside superpages.
    pub clean_pages_in_superpages_anonymous: u64,
    /// Clean pages of files inside superpages.
    pub clean_pages_in_superpages_file: u64,
    /// Distinct pages referenced.
    pub touched_pages: u64,
    /// Distinct pages that mapped no file at their first reference.
    pub touched_pages_anonymous: u64,
    /// Distinct pages that mapped a file at their first reference.
    pub touched_pages_file: u64,
    /// Pages resident at the end.
    pub resident_pages: u64,
    /// The peak of resident pages.
    pub peak_resident_pages: u64,
    /// Distinct blocks referenced.
    pub regions: u64,
    /// Distinct blocks whose first referenced page mapped no file at that time.
    pub regions_anonymous: u64,
    /// Distinct blocks whose first referenced page mapped a file at that time.
    pub regions_file: u64,
}
