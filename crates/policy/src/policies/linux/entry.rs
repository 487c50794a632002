//! The catalogue entry of the policy `linux`.

use super::LinuxPolicy;
use crate::{Parameter, PolicyEntry};
use alloc::boxed::Box;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "linux",
    syntax: "linux(...)",
    summary: "Linux's transparent huge pages: superpages at first faults, khugepaged, and the \
              shrinker of underused superpages",
    explanation: "A fault in an empty anonymous block makes it a superpage if the settings and the \
                  program's advice allow it and the effort that defrag names obtains an extent. \
                  Otherwise the fault tries the next smaller size, and at last takes a base page. \
                  khugepaged visits the address spaces in turn. It copies blocks of 2 MiB together \
                  that were stored to and referenced, as long as not too many of their pages are \
                  empty, in the swap or shared. When memory is short, superpages with more than \
                  max_ptes_none pages of zeroes are broken, unless that is 511, as it is by \
                  default. The settings have the kernel's names and defaults, but enabled defaults \
                  to Debian's choice. The kernel's seconds become accesses, 1e9 in a second by \
                  default (--rate). Refusals are in the kernel's order. Files and shared memory \
                  get no superpages, as without CONFIG_READ_ONLY_THP_FOR_FS and with shmem_enabled \
                  at never. Differences: a load of an empty block gets its own superpage, where \
                  LinuxPolicy maps a shared one of zeroes until the first store; pages of zeroes \
                  are \
                  those without a store, where the kernel reads the pages; referenced superpages \
                  are not examined for zeroes; khugepaged takes a page with a store as writable, \
                  does not rest for a minute after finding no extent, and does not visit an \
                  address space before its turn.",
    source: "Linux 6.12, mm/huge_memory.c (thp_vma_allowable_orders, do_huge_pmd_anonymous_page, \
             vma_thp_gfp_mask, thp_underused), mm/memory.c (alloc_anon_folio, do_fault_around), \
             mm/khugepaged.c \
             (hpage_collapse_scan_pmd, alloc_hugepage_khugepaged_gfpmask), \
             Documentation/admin-guide/mm/transhuge.rst",
    parameters: &[
        Parameter::word(
            "enabled",
            &["always", "madvise", "never"],
            "always",
            "The anonymous memory that may become superpages: all, the memory that the program \
             advised (MADV_HUGEPAGE), or none.",
        ),
        Parameter::word(
            "defrag",
            &["always", "defer", "defer+madvise", "madvise", "never"],
            "madvise",
            "The faults at which the program waits for an extent, and those that wake the \
             compacting daemon instead.",
        ),
        Parameter::sizes(
            "sizes",
            SizeSet::These(1 << 21),
            "The page sizes that follow enabled (inherit); 64k+2m is multi-size THP with 64 KiB. \
             Sizes that the TLB lacks are allocated too, and translated as smaller pages.",
        ),
        Parameter::sizes(
            "sizes_always",
            SizeSet::These(0),
            "The page sizes that are always enabled, by their own setting.",
        ),
        Parameter::sizes(
            "sizes_madvise",
            SizeSet::These(0),
            "The page sizes that are enabled for memory that the program advised, by their own \
             setting.",
        ),
        Parameter::switch("khugepaged", true, "The daemon that collapses base pages."),
        Parameter::switch(
            "khugepaged_defrag",
            true,
            "Compaction by khugepaged if no extent is free.",
        ),
        Parameter::period(
            "scan_period",
            1,
            10_000_000_000,
            "The time between two turns of khugepaged (scan_sleep_millisecs). Accesses are those \
             of a program that makes 1e9 per second; --rate gives another rate.",
        ),
        Parameter::number(
            "pages_to_scan",
            "base pages",
            (1, 1_000_000_000),
            4096,
            "The number of pages that khugepaged examines in a turn.",
        ),
        Parameter::number(
            "max_ptes_none",
            "base pages",
            (0, super::MOST_NONE as u64),
            super::MOST_NONE as u64,
            "The maximum number of empty pages or pages of zeroes: in a block that khugepaged \
             collapses, and in a superpage that the shrinker keeps.",
        ),
        Parameter::number(
            "max_ptes_swap",
            "base pages",
            (0, 511),
            64,
            "The maximum number of pages in the swap of a block that khugepaged collapses.",
        ),
        Parameter::number(
            "max_ptes_shared",
            "base pages",
            (0, 511),
            256,
            "The maximum number of shared pages of a block that khugepaged collapses.",
        ),
        Parameter::switch(
            "shrink_underused",
            true,
            "The shrinker, which breaks superpages with too many pages of zeroes when memory is \
             short.",
        ),
        Parameter::number(
            "fault_around",
            "base pages",
            (1, 512),
            16,
            "The number of pages that a fault in a mapped file maps if they are in memory \
             (fault_around_bytes).",
        ),
        Parameter::switch(
            "zero_page",
            true,
            "A shared page of zeroes for loads of memory without a store.",
        ),
    ],
    examples: &[
        "linux",
        "linux(enabled=madvise)",
        "linux(enabled=never)",
        "linux(defrag=defer)",
        "linux(defrag=defer+madvise)",
        "linux(max_ptes_none=0)",
        "linux(sizes=64k+2m)",
    ],
    by_default: false,
    build: |given| Box::new(LinuxPolicy::new(given)),
};
