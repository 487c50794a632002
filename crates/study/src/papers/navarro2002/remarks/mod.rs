//! The slides' remarks: zeroed frames, page colours, programs too small for a large superpage, and
//! very large superpages.

mod coloring;
mod mesa;
mod too_small;
mod very_large;

use crate::failure::Failure;
use crate::papers::generated::{GeneratedTrace, Saying};
use crate::papers::replay::PaperReplay;
use crate::papers::{PaperSetting, Table};
use broadleaf_model::{MemoryLimits, Outcome};

/// The address of the programs' data.
const AT: u64 = 1 << 32;
/// The address of the other mappings.
const OTHER: u64 = 1 << 36;

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    Ok(vec![
        mesa::table(setting)?,
        coloring::table(setting)?,
        too_small::table(setting)?,
        very_large::table(setting)?,
    ])
}

fn replay(
    setting: &PaperSetting,
    doing: &str,
    machine: &str,
    policies: &[&str],
    limits: MemoryLimits,
    trace: impl Fn() -> Saying + Send + Sync + 'static,
) -> Result<Outcome, Failure> {
    let replay = PaperReplay {
        watch: setting.watch,
        doing,
        machine,
        policies,
        limits,
        interim: Vec::new(),
    };
    replay.generated(GeneratedTrace::new(trace))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The claims that agree and the others, with a mechanism turned off.
    fn claims(without: Option<&str>) -> [Vec<String>; 2] {
        let setting = PaperSetting::tiny(1.5, without);
        let tables = run(&setting).expect("replays");
        let claims = tables.into_iter().flat_map(|table| table.claims);
        let (agree, others): (Vec<_>, Vec<_>) = claims.partition(|claim| claim.agrees);
        [agree, others].map(|claims| claims.into_iter().map(|claim| claim.text).collect())
    }

    #[test]
    fn claims_about_superpages_need_promotions() {
        let [_, others] = claims(None);
        assert_eq!(others, [""; 0]);
        let [agree, _] = claims(Some("promotion"));
        // Reservations take frames that are not zeroed, even without a promotion.
        assert_eq!(agree.len(), 1, "{agree:?}");
        assert!(agree[0].starts_with("mesa slows down"), "{agree:?}");
    }

    #[test]
    fn a_mechanism_that_is_off_is_off_in_each_policy_but_base_pages() {
        // The buddy allocator serves base pages too, so the frames of the array differ.
        let rows = |without: Option<&str>| {
            let setting = PaperSetting::tiny(1.5, without);
            coloring::table(&setting).expect("a replay").rows[0].clone()
        };
        assert_ne!(rows(None), rows(Some("coalescing")));
    }
}
