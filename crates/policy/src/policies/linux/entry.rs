//! What Linux's policy is called and can be told.

use super::Linux;
use crate::{Entry, Parameter, Sizes};
use alloc::boxed::Box;

pub(crate) const ENTRY: Entry = Entry {
    name: "linux",
    syntax: "linux(...)",
    summary: "Linux's transparent huge pages: superpages at first faults, khugepaged, and what shrinks the underused",
    explanation: "A fault in an empty anonymous block makes it a superpage where the settings and the program's advice allow it and an extent can be had with the effort that \
                  defrag names; else the next smaller size is tried, and a base page is what remains. khugepaged goes round the address spaces and copies blocks of 2 MiB together that \
                  were stored to and referenced, as long as not too many of their pages are empty, in the swap or shared. When memory is short, \
                  superpages with more than max_ptes_none pages of zeroes are broken, unless that is 511, as it is by default. The settings have the \
                  kernel's names and defaults, but enabled defaults to Debian's choice. The kernel's seconds become accesses, 1e9 in a second unless \
                  --rate says otherwise. Refusals are asked for in the kernel's order. Files and shared memory get no superpages, as without \
                  CONFIG_READ_ONLY_THP_FOR_FS and with shmem_enabled at never. Differences: a load of an empty block gets a superpage of its own, where Linux maps a shared one of \
                  zeroes until the first store; pages of zeroes are those never stored to, where the kernel reads them, and superpages that are referenced are not looked at for them; khugepaged takes a page \
                  for writable when it was stored to, does not rest for a minute where it finds no extent, and does not turn to an address space before its \
                  turn.",
    source: "Linux 6.12, mm/huge_memory.c (thp_vma_allowable_orders, do_huge_pmd_anonymous_page, vma_thp_gfp_mask, thp_underused), mm/memory.c (alloc_anon_folio, do_fault_around), mm/khugepaged.c \
             (hpage_collapse_scan_pmd, alloc_hugepage_khugepaged_gfpmask), Documentation/admin-guide/mm/transhuge.rst",
    parameters: &[
        Parameter::word(
            "enabled",
            &["always", "madvise", "never"],
            "always",
            "Which anonymous memory becomes superpages: all, what the program advised (MADV_HUGEPAGE), or none.",
        ),
        Parameter::word(
            "defrag",
            &["always", "defer", "defer+madvise", "madvise", "never"],
            "madvise",
            "For which faults the program waits while an extent is made, or for which the daemon that compacts is woken instead.",
        ),
        Parameter::sizes(
            "sizes",
            Sizes::These(1 << 21),
            "The page sizes that follow enabled (inherit); 64k+2m is multi-size THP with 64 KiB. Sizes that the TLB lacks are allocated too, and translated as smaller pages.",
        ),
        Parameter::sizes(
            "sizes_always",
            Sizes::These(0),
            "Which page sizes are enabled always, by their own setting.",
        ),
        Parameter::sizes(
            "sizes_madvise",
            Sizes::These(0),
            "Which page sizes are enabled where the program advised it, by their own setting.",
        ),
        Parameter::switch(
            "khugepaged",
            true,
            "Whether the daemon runs that collapses base pages.",
        ),
        Parameter::switch(
            "khugepaged_defrag",
            true,
            "Whether khugepaged makes an extent where none is free.",
        ),
        Parameter::period(
            "scan_period",
            1,
            10_000_000_000,
            "The time between two turns of khugepaged (scan_sleep_millisecs). Accesses are those of a program that makes 1e9 per second; --rate gives another rate.",
        ),
        Parameter::number(
            "pages_to_scan",
            "base pages",
            (1, 1_000_000_000),
            4096,
            "How many pages khugepaged looks at in a turn.",
        ),
        Parameter::number(
            "max_ptes_none",
            "base pages",
            (0, super::MOST_NONE as u64),
            super::MOST_NONE as u64,
            "How many pages of a block may be empty or zeroes for khugepaged to fill them, and of a superpage for it not to be broken.",
        ),
        Parameter::number(
            "max_ptes_swap",
            "base pages",
            (0, 511),
            64,
            "How many pages of a block may stand in the swap for khugepaged to read them back.",
        ),
        Parameter::number(
            "max_ptes_shared",
            "base pages",
            (0, 511),
            256,
            "How many pages of a block may be shared for khugepaged to copy them.",
        ),
        Parameter::switch(
            "shrink_underused",
            true,
            "Whether superpages with too many zeroes are broken when memory is short.",
        ),
        Parameter::number(
            "fault_around",
            "base pages",
            (1, 512),
            16,
            "Into how many pages a fault in a file that is mapped looks for what is in memory already (fault_around_bytes).",
        ),
        Parameter::switch(
            "zero_page",
            true,
            "Whether loads of memory never stored to find one page of zeroes that all share.",
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
    build: |given| Box::new(Linux::new(given)),
};
