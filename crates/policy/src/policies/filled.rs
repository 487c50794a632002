//! Shared code of the policies that promote a reserved piece without filling pages.

use crate::{Point, Refusal, Verdict, View};

/// The verdict on a reserved piece at a fault or a first store. A full piece becomes a superpage;
/// with `agreeing`, its pages must also be all clean or all dirty.
pub(crate) fn filled(point: Point, view: &View, agreeing: bool) -> Verdict {
    match view.reservation_to_decide_on(point) {
        Ok(_) if view.populated < view.pages => Verdict::Stay(Refusal::TooFewResident),
        Ok(_) => Verdict::promote_if(
            !agreeing || view.dirty == 0 || view.dirty == view.pages,
            Refusal::MixedDirty,
        ),
        Err(verdict) => verdict,
    }
}

/// The verdict at a store that will dirty a clean superpage. Write protection caught the store;
/// memory without the right to write is not protected.
pub(crate) fn stored_to(view: &View) -> Verdict {
    Verdict::demote_if(view.promoted && view.writable)
}
