//! What the policies share that promote a reserved piece of memory when nothing is left to fill.

use crate::{Point, Refusal, Verdict, View};

/// The verdict at a fault or a first store on a reserved piece that becomes a superpage when it is full and, where pages have to agree, all clean or all dirty.
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

/// The verdict where a store is about to dirty a clean superpage that was write-protected to catch it. Memory that cannot be written needs no protection, so there is
/// none to lift.
pub(crate) fn stored_to(view: &View) -> Verdict {
    Verdict::demote_if(view.promoted && view.writable)
}
