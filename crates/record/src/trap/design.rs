//! The TLBs that traps can count.

use broadleaf_tlb::Design;

/// The fewest entries of a first level for pages of 4 KiB. One instruction may need more pages than
/// a smaller TLB holds, and would begin again for ever.
const FEWEST_ENTRIES: usize = 8;

/// The reason why the misses of a TLB cannot be counted by traps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedDesign {
    /// The replacement rule of the first level depends on hits.
    #[error(
        "{structure}: traps see misses alone, and the replacement rule {rule} depends on hits: use \
         fifo or random"
    )]
    Rule {
        /// The structure's name.
        structure: String,
        /// The rule's name.
        rule: &'static str,
    },
    /// The first level has too few entries.
    #[error(
        "{structure}: {entries} entries are too few: one instruction may need {FEWEST_ENTRIES}"
    )]
    Small {
        /// The structure's name.
        structure: String,
        /// The number of its entries.
        entries: usize,
    },
    /// Stores and loads look different structures up.
    #[error(
        "{structure}: loads and stores have TLBs of their own, and an open page is open to both"
    )]
    Parts {
        /// The structure's name.
        structure: String,
    },
    /// Stores that hit change the structure.
    #[error("no structure of the first level serves data")]
    NoData,
}

/// Checks that the misses of a TLB can be counted by traps.
///
/// # Errors
/// The first reason why they cannot.
pub fn check(design: &Design) -> Result<(), RefusedDesign> {
    let mut first = design
        .structures()
        .iter()
        .filter(|of| of.level == 1 && of.role.serves.loads);
    if first.clone().next().is_none() {
        return Err(RefusedDesign::NoData);
    }
    first.try_for_each(|of| {
        let structure = of.name.clone();
        let rule = of.replacement.entry();
        if !rule.ignores_hits {
            return Err(RefusedDesign::Rule {
                structure,
                rule: rule.described.name,
            });
        }
        if of.role.serves.loads != of.role.serves.stores {
            return Err(RefusedDesign::Parts { structure });
        }
        if of.entries < FEWEST_ENTRIES {
            return Err(RefusedDesign::Small {
                structure,
                entries: of.entries,
            });
        }
        Ok(())
    })
}
