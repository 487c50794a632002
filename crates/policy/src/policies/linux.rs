//! `linux`: transparent huge pages with their settings, khugepaged, and the shrinker of underused
//! superpages.

mod entry;
#[cfg(test)]
mod tests;

use crate::parameter::GivenParameters;
use crate::{
    Beyond, Copies, Effort, Needs, Placement, Point, Policy, PromotionOrder, Refusal, Scan,
    Verdict, View,
};
use alloc::string::String;
use broadleaf_units::{BackingKind, SizeSet};

pub(crate) use entry::ENTRY;

/// The value of a kernel setting `enabled`: the memory that may become superpages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enabled {
    Always,
    /// Memory that the program advised.
    Madvise,
    Never,
}

pub(super) struct LinuxPolicy {
    given: GivenParameters,
    enabled: Enabled,
    /// The sizes that inherit `enabled`.
    inherit: SizeSet,
    /// The sizes with settings that override `enabled`.
    always: SizeSet,
    madvise: SizeSet,
    defrag: &'static str,
    max_ptes_none: u32,
    max_ptes_swap: u32,
    max_ptes_shared: u32,
    /// True if khugepaged runs.
    collapses: bool,
    /// True if the shrinker runs.
    shrinks: bool,
}

impl LinuxPolicy {
    fn new(given: GivenParameters) -> Self {
        let linux = Self {
            enabled: match given.word("enabled") {
                "always" => Enabled::Always,
                "madvise" => Enabled::Madvise,
                _ => Enabled::Never,
            },
            inherit: given.sizes("sizes"),
            always: given.sizes("sizes_always"),
            madvise: given.sizes("sizes_madvise"),
            defrag: given.word("defrag"),
            max_ptes_none: given.small("max_ptes_none"),
            max_ptes_swap: given.small("max_ptes_swap"),
            max_ptes_shared: given.small("max_ptes_shared"),
            collapses: false,
            shrinks: false,
            given,
        };
        let makes_any = shifts(linux.always) | shifts(linux.madvise) != 0
            || shifts(linux.inherit) != 0 && linux.enabled != Enabled::Never;
        Self {
            collapses: makes_any && linux.given.is_on("khugepaged"),
            // `thp_underused` gives up if all pages of a superpage except one may be empty.
            shrinks: makes_any
                && linux.given.is_on("shrink_underused")
                && linux.max_ptes_none < MOST_NONE,
            ..linux
        }
    }

    /// The setting for pages of `bytes` bytes. A size has its own setting or inherits the general
    /// one; the more generous one wins.
    fn enabled_for(&self, bytes: u64) -> Enabled {
        let shift = bytes.trailing_zeros() as u8;
        let inherits = self.inherit.holds(shift);
        if self.always.holds(shift) || inherits && self.enabled == Enabled::Always {
            Enabled::Always
        } else if self.madvise.holds(shift) || inherits && self.enabled == Enabled::Madvise {
            Enabled::Madvise
        } else {
            Enabled::Never
        }
    }

    /// The refusal of a block that may never be a superpage, in the order of
    /// `thp_vma_allowable_orders`.
    fn forbidden(&self, view: &View) -> Option<Refusal> {
        if view.backing == BackingKind::Anonymous {
            match self.enabled_for(view.bytes()) {
                Enabled::Never => return Some(Refusal::Disabled),
                Enabled::Madvise if !view.advised_for => return Some(Refusal::NotAdvised),
                _ => {}
            }
        }
        if view.advised_against {
            return Some(Refusal::AdvisedAgainst);
        }
        let refusal = view.coverage.refusal();
        refusal.or(match view.backing {
            BackingKind::Anonymous => None,
            BackingKind::SharedMemory => Some(Refusal::SharedMemory),
            BackingKind::File => Some(Refusal::FileBacked),
        })
    }

    /// The verdict of khugepaged (`hpage_collapse_scan_pmd`). The kernel scans page by page and
    /// stops at the first page that exceeds a limit. Here the limits are in the kernel's order for
    /// one page.
    fn collapse(&self, view: &View) -> Verdict {
        // Pages of zeroes share a frame, and count as empty.
        let zero = if self.given.is_on("zero_page") {
            view.zero
        } else {
            0
        };
        let none = (view.pages + zero).saturating_sub(view.populated.saturating_add(view.swapped));
        let refusal = if view.swapped > self.max_ptes_swap {
            Refusal::TooManySwapped
        } else if none > self.max_ptes_none {
            Refusal::TooManyEmpty
        } else if view.shared > self.max_ptes_shared {
            Refusal::TooManyShared
        } else if view.dirty == 0 {
            Refusal::NothingStored
        } else if view.referenced == 0 || view.swapped > 0 && view.referenced < view.pages / 2 {
            Refusal::RarelyReferenced
        } else {
            return Verdict::Promote;
        };
        Verdict::Stay(refusal)
    }
}

/// The maximum of `max_ptes_none`: all pages of 2 MiB except one.
const MOST_NONE: u32 = 511;

/// The set of sizes as a bit mask.
const fn shifts(sizes: SizeSet) -> u64 {
    match sizes {
        SizeSet::These(shifts) => shifts,
        SizeSet::All | SizeSet::Block => u64::MAX,
    }
}

/// Returns true if a whole page table maps a block of this size. khugepaged and the shrinker handle
/// this size only. A page table entry has eight bytes.
const fn is_pmd(view: &View) -> bool {
    view.pages as u64 == view.base_bytes / 8
}

impl Policy for LinuxPolicy {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let all = shifts(self.inherit) | shifts(self.always) | shifts(self.madvise);
        let scan = Scan {
            period: self.given.number("scan_period"),
            pages: self.given.number("pages_to_scan"),
            promotions: 0,
            order: PromotionOrder::ByAddress,
        };
        Needs {
            placement: Placement::AtFault,
            sizes: match all {
                u64::MAX => SizeSet::All,
                shifts => SizeSet::These(shifts),
            },
            allocates_sizes: true,
            copies: Copies::Scattered,
            scan: self.collapses.then_some(scan),
            asked_when_short: self.shrinks,
            fault_around: self.given.small("fault_around"),
            beyond_looking: Some(Beyond::References),
            zero_page: self.given.is_on("zero_page"),
            obeys_collapse: true,
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match (point, view.promoted) {
            (Point::Fault, false) => match self.forbidden(view) {
                Some(refusal) => Verdict::Stay(refusal),
                None => Verdict::promote_if(view.was_empty(), Refusal::AlreadyPopulated),
            },
            (Point::Scan, false) if self.collapses && is_pmd(view) => match self.forbidden(view) {
                Some(refusal) => Verdict::Stay(refusal),
                None => self.collapse(view),
            },
            (Point::Short, true) if is_pmd(view) => {
                Verdict::demote_if(self.shrinks && view.zero > self.max_ptes_none)
            }
            _ => Verdict::Pass,
        }
    }

    /// The effort: `vma_thp_gfp_mask` at faults, `alloc_hugepage_khugepaged_gfpmask` in the daemon.
    fn effort(&self, point: Point, view: &View) -> Effort {
        if point == Point::Scan {
            return if self.given.is_on("khugepaged_defrag") {
                Effort::Now
            } else {
                Effort::None
            };
        }
        match (self.defrag, view.advised_for) {
            ("always", _) | ("madvise" | "defer+madvise", true) => Effort::Now,
            ("defer" | "defer+madvise", _) => Effort::Later,
            _ => Effort::None,
        }
    }
}
