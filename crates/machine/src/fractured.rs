//! Fractured superpages: pages that enter the TLB in pieces.
//!
//! The host of a virtual machine may map a guest's superpage with base pages. The processor then
//! loads a base page of it at a time. Superpages spare no miss there; they make walks shorter.

use crate::structure::page_size;
use crate::{Machine, WalkCosts};
use broadleaf_tlb::Design;
use broadleaf_units::PageSize;
use toml::Spanned;

impl Machine {
    /// The sizes that pages can have, smallest first: those that the TLBs hold, and fractured ones.
    pub fn page_sizes(&self) -> Vec<PageSize> {
        let held = self.design.sizes().iter();
        let mut sizes: Vec<PageSize> = held.chain(&self.fractured).copied().collect();
        sizes.sort_unstable();
        sizes
    }

    /// Returns true if pages of a size enter the TLB in pieces.
    pub fn fractures(&self, size: PageSize) -> bool {
        self.fractured.contains(&size)
    }
}

/// The sizes of the key `fractured`, smallest first.
///
/// # Errors
/// The place in the text, and the reason: a size is unknown or repeated, the TLBs hold it or
/// nothing smaller, or its walks have no cost.
pub(crate) fn fractured(
    names: &[Spanned<String>],
    design: &Design,
    costs: &WalkCosts,
) -> Result<Vec<PageSize>, (usize, String)> {
    let mut sizes = Vec::new();
    for name in names {
        let wrong = |message: String| Err((name.span().start, message));
        if design.wants_tables() {
            let message = "a TLB whose entries depend on the frames of neighbours cannot have \
                           fractured pages: nobody knows the host's frames";
            return wrong(message.to_owned());
        }
        let size = page_size(name.get_ref()).map_err(|message| (name.span().start, message))?;
        let name = size.short_name();
        if sizes.contains(&size) {
            return wrong(format!("{name} is given twice"));
        }
        if design.sizes().contains(&size) {
            let message = format!("pages of {name} are not fractured: a TLB holds them whole");
            return wrong(message);
        }
        if design.sizes().iter().all(|held| *held > size) {
            return wrong(format!("no TLB holds a piece of a page of {name}"));
        }
        if costs.of(size).is_none() {
            let message = format!("walks that find a {name} page have no cost in [walk-cycles]");
            return wrong(message);
        }
        sizes.push(size);
    }
    sizes.sort_unstable();
    Ok(sizes)
}
