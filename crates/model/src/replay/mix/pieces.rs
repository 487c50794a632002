//! The pieces of a program's trace: visits, and events that change its spaces.

use super::Replay;
use crate::outcome::refused;
use crate::{Error, SourcePiece};
use broadleaf_trace::{Event, Visit};
use broadleaf_units::SpaceId;
use std::collections::BTreeSet;

/// Adds the visits of a piece to `visits`.
pub(super) fn copy_visits(piece: &SourcePiece<'_>, visits: &mut Vec<Visit>) {
    match piece {
        SourcePiece::Visits(some) => visits.extend_from_slice(some),
        SourcePiece::Phrased(phrased) => visits.extend(phrased.visits()),
        SourcePiece::Reduced(..) | SourcePiece::Event(_) => {}
    }
}

impl Replay<'_, '_> {
    /// Applies an event of the program that runs, which has these spaces so far.
    pub(super) fn event_of_program<E>(
        &mut self,
        event: &Event,
        spaces: &mut BTreeSet<SpaceId>,
    ) -> Result<Result<(), crate::stream::TooLate>, Error<E>> {
        let event = self.names.of(event)?;
        if let Event::SpaceSwitch(space) = &*event {
            spaces.insert(*space);
        }
        self.mix_event(&event)
    }

    /// Applies an event. The inner `Err`: a space that was referenced has its first mapping now.
    fn mix_event<E>(
        &mut self,
        event: &Event,
    ) -> Result<Result<(), crate::stream::TooLate>, Error<E>> {
        self.flush();
        self.origins.event(event);
        if let Event::Populate { range, touch, .. } = event {
            let populated = self.populate(*range, *touch);
            populated.map_err(|why| refused(why, 1))?;
            return Ok(Ok(()));
        }
        Ok(self.event(event))
    }
}
