//! Miss-ratio curves: TLBs of every geometry under one policy.

use broadleaf_memory::{GEOMETRY, Shootdown};
use broadleaf_metrics::CurvePoint;
use broadleaf_model::shared::curve_points;
use broadleaf_tlb::Stacks;
use broadleaf_units::{BlockNumber, PageNumber, PageSize, SpaceId};

/// TLBs of every geometry under one policy, with separate TLBs for each page size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    base_pages: Stacks,
    superpages: Stacks,
}

impl Curve {
    /// Looks up a base page, as part of a superpage or not.
    #[inline]
    pub(crate) fn look_up(&mut self, space: SpaceId, page: PageNumber, superpage: bool) {
        if superpage {
            let block = GEOMETRY.block_of(page);
            self.superpages.reference(space, block.0);
        } else {
            self.base_pages.reference(space, page.0);
        }
    }

    /// Removes entries.
    pub(crate) fn shoot_down(&mut self, shootdown: &Shootdown) {
        match *shootdown {
            Shootdown::Nothing => {}
            Shootdown::Superpage { space, run } => {
                self.superpages
                    .remove(space, GEOMETRY.block_of(run.first).0);
            }
            Shootdown::Range { space, pages } => {
                self.base_pages
                    .remove_range(space, pages.start, pages.len());
                if !pages.is_empty() {
                    let block = |page| GEOMETRY.block_of(PageNumber(page));
                    let (BlockNumber(first), BlockNumber(last)) =
                        (block(pages.start), block(pages.end - 1));
                    self.superpages.remove_range(space, first, last - first + 1);
                }
            }
            Shootdown::Space(space) => {
                self.base_pages.remove_space(space);
                self.superpages.remove_space(space);
            }
        }
    }

    /// The misses of each geometry.
    pub(crate) fn points(&self) -> Vec<CurvePoint> {
        let sizes = [
            (PageSize::SIZE_4K, &self.base_pages),
            (PageSize::SIZE_2M, &self.superpages),
        ];
        curve_points(sizes)
    }
}
