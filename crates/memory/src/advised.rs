//! Advice about superpages, as `madvise(2)` gives it.

use crate::Pages;
use crate::pages::PageSet;

/// The ranges for which a program advised superpages, and those against which. No page is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advised {
    pub(crate) for_them: PageSet,
    pub(crate) against: PageSet,
}

impl Advised {
    /// Forgets the advice on a range.
    pub(crate) fn forget(&mut self, pages: Pages) {
        self.for_them.remove(pages);
        self.against.remove(pages);
    }

    /// The advice on a range.
    pub(crate) fn taken_out(&self, pages: Pages) -> [Vec<Pages>; 2] {
        [self.for_them.within(pages), self.against.within(pages)]
    }

    /// Gives the advice again on ranges `distance` pages further on.
    pub(crate) fn put_down(&mut self, advice: &[Vec<Pages>; 2], distance: u64) {
        for (set, parts) in [&mut self.for_them, &mut self.against]
            .into_iter()
            .zip(advice)
        {
            for part in parts {
                let start = part.start.wrapping_add(distance);
                let end = start + part.len();
                set.add(Pages { start, end });
            }
        }
    }
}
