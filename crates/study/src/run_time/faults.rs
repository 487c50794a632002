//! The system time of page faults and huge pages under a policy, from costs that were measured.

use broadleaf_metrics::{CellResult, FaultSeconds};
use broadleaf_policy::parse;
use broadleaf_trace::FaultCosts;
use broadleaf_units::PageSize;

use crate::answer::kernel::files_of;

/// The part of the page faults and huge pages of a policy by which the model may be wrong.
const UNSURE_FAULTS: f64 = 0.1;

/// Returns the system time that page sizes change: at the least system time that is likely, in
/// the middle, and at the most. Returns `None` if a cost was not measured.
pub(super) fn fault_seconds(result: &CellResult, costs: &FaultCosts) -> Option<[FaultSeconds; 3]> {
    let seconds = |count: f64, nanos: u64| match (count == 0.0, nanos) {
        (true, _) => Some(0.0),
        (false, 0) => None,
        (false, nanos) => Some(count * nanos as f64 * 1e-9),
    };
    if result.promotions > 0 && makes_pieces(result) {
        // The costs are those of huge pages of 2 MiB.
        return None;
    }
    let huge = result.promotions as f64;
    let saved = seconds(result.faults_saved as f64, costs.base_nanos)?;
    let unsure = UNSURE_FAULTS * saved.abs();
    let copied = seconds(huge, costs.collapse_nanos);
    let at_faults = || seconds(huge, costs.huge_nanos);
    let maker = maker(result);
    let (least_paid, paid, saved_there) = match maker {
        Maker::Faults => (at_faults()?, at_faults()?, saved),
        Maker::Daemon => (copied?, copied?, saved),
        // It comes some milliseconds after the first touch. Most programs have then touched the
        // whole block, so it saves no fault. At best it saves as many as the model.
        Maker::Governor { at_first: true } => (at_faults()?, copied?, 0.0),
        Maker::Governor { at_first: false } => (copied?, copied?, 0.0),
    };
    let most_paid = copied.map_or(paid, |copied| copied.max(paid));
    let saved_at_least = match maker {
        Maker::Governor { .. } => saved.min(0.0),
        Maker::Faults | Maker::Daemon => saved - unsure,
    };
    Some([
        FaultSeconds {
            saved: saved + unsure,
            paid: least_paid * (1.0 - UNSURE_FAULTS),
        },
        FaultSeconds {
            saved: saved_there.min(saved),
            paid,
        },
        FaultSeconds {
            saved: saved_at_least,
            paid: most_paid * (1.0 + UNSURE_FAULTS),
        },
    ])
}

/// The maker of a policy's huge pages where the policy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    /// The kernel's page faults.
    Faults,
    /// The kernel's daemon, which copies the pages that were touched before.
    Daemon,
    /// Broadleaf's governor, which copies too. `at_first`: the policy wants huge pages at first
    /// touches.
    Governor { at_first: bool },
}

/// Returns true if a policy makes superpages of other sizes than 2 MiB too.
fn makes_pieces(result: &CellResult) -> bool {
    let is_piece = |shift: u8| (13..PageSize::SIZE_2M.shift()).contains(&shift);
    let has_walks = result.walks.iter().any(|(size, _)| is_piece(size.shift()));
    let allocates = parse(&result.policy).is_ok_and(|policy| {
        let needs = policy.needs();
        needs.allocates_sizes && (0..64).any(|shift| is_piece(shift) && needs.sizes.holds(shift))
    });
    has_walks || allocates
}

/// Returns the maker of most huge pages of a policy.
fn maker(result: &CellResult) -> Maker {
    let filled = i128::from(result.extra_zeroed_pages) + i128::from(result.extra_disk_read_pages);
    let huge = i128::from(result.promotions);
    // The pages of huge pages that were touched before.
    let touched = 512 * huge - i128::from(result.faults_saved) - filled;
    if files_of(&result.policy).is_none() {
        // A first touch is one page.
        let at_first = touched <= huge;
        return Maker::Governor { at_first };
    }
    match touched < 256 * huge {
        true => Maker::Faults,
        false => Maker::Daemon,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maker_is_found_by_the_pages_that_were_touched_before() {
        let of = |policy: &str, saved: i64, filled: u64| {
            maker(&CellResult {
                policy: policy.to_owned(),
                promotions: 4,
                faults_saved: saved,
                extra_zeroed_pages: filled,
                ..CellResult::default()
            })
        };
        let governor = |at_first| Maker::Governor { at_first };
        assert_eq!(of("linux", 2044, 0), Maker::Faults);
        // Half of the pages were never touched.
        assert_eq!(of("linux", 1020, 1024), Maker::Faults);
        assert_eq!(of("linux", 0, 0), Maker::Daemon);
        assert_eq!(of("linux", 0, 1024), Maker::Daemon);
        assert_eq!(of("greedy", 2044, 0), governor(true));
        assert_eq!(of("greedy", 1020, 1024), governor(true));
        assert_eq!(of("pop-256", 1024, 0), governor(false));
    }

    #[test]
    fn superpages_of_other_sizes_have_no_cost() {
        let of = |policy: &str| {
            makes_pieces(&CellResult {
                policy: policy.to_owned(),
                ..CellResult::default()
            })
        };
        assert!(of("linux(sizes=64k)") && of("linux(sizes=64k+2m)"));
        assert!(!of("linux") && !of("greedy") && !of("pop-256"));
    }
}
