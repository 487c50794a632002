//! The use of blocks, as a ward knows it.

use super::WardProcess;
use crate::heat::BlockHeat;
use broadleaf_policy::View;

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsedPages {
    /// The used pages in the latest measurement.
    latest: u16,
    /// The moving average, in sixteenths of a page. The latest measurement has half the weight.
    average: u32,
}

impl WardProcess {
    /// Takes in a measurement. Blocks that it lacks have no known use any more.
    pub(super) fn take_in_used(&mut self, measured: &[BlockHeat]) {
        let before = std::mem::take(&mut self.used);
        let each = measured.iter().map(|heat| {
            let now = 16 * u32::from(heat.used);
            let average = match before.get(&heat.block) {
                Some(before) => (before.average + now) / 2,
                // Nothing is known about the time before the first measurement.
                None => now,
            };
            let latest = heat.used;
            (heat.block, UsedPages { latest, average })
        });
        self.used = each.collect();
    }
}

/// Returns the view with the use of its block.
pub(super) fn view(view: View, used: Option<&UsedPages>) -> View {
    View {
        referenced: used.map_or(0, |used| used.latest.into()),
        referenced_on_average: used.map_or(0, |used| used.average),
        ..view
    }
}
