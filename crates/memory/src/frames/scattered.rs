//! Free places of scattered superpages.

use super::{Buddy, Frame};
use broadleaf_units::{PageSize, Scattering};
use std::ops::Range;

/// The base-two logarithm of the base pages of a physical superpage.
const ORDER: u8 = PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift();

/// The start of the search for a place, by the configuration of the superpage. No place begins at a
/// lower physical superpage.
#[derive(Clone, Debug, Default)]
pub(super) struct PlaceMarks {
    marks: Vec<(Scattering, u64)>,
}

impl PlaceMarks {
    /// Frames became free: a place may begin as many superpages lower as it has parts.
    pub(super) fn freed(&mut self, frames: &Range<u64>) {
        for (scattering, mark) in &mut self.marks {
            let first = (frames.start >> ORDER).saturating_sub(scattering.parts() - 1);
            *mark = first.min(*mark);
        }
    }

    fn mark(&mut self, scattering: Scattering) -> &mut u64 {
        let found = self
            .marks
            .iter()
            .position(|(known, _)| *known == scattering);
        let at = found.unwrap_or_else(|| {
            self.marks.push((scattering, 0));
            self.marks.len() - 1
        });
        &mut self.marks[at].1
    }
}

impl Buddy {
    /// Allocates the frames of a scattered superpage: those of the lowest consecutive physical
    /// superpages in which all regions of the share are free (Chen 2014, section III.A). Returns
    /// the frame of its first page, and the number of its frames that held zeroes. `None` if there
    /// is no such place.
    pub fn allocate_scattered(&mut self, scattering: Scattering) -> Option<super::Given> {
        let (runs, order) = scattering.runs();
        let runs: Vec<u64> = runs.collect();
        let of_part = |superpage: u64| runs.iter().map(move |run| (superpage << ORDER) + run);
        let parts = scattering.parts();
        let is_free = |buddy: &Self, superpage: u64| {
            let mut firsts = of_part(superpage);
            firsts.all(|first| {
                let frames = first..first + (1 << order);
                buddy.whole(&frames, order).is_some()
            })
        };
        let superpages = self.frames >> ORDER;
        let mut base = *self.places.mark(scattering);
        // The part that is not free decides where the next place can begin.
        while base + parts <= superpages {
            let taken = (base..base + parts)
                .rev()
                .find(|part| !is_free(self, *part));
            match taken {
                None => break,
                Some(part) => base = part + 1,
            }
        }
        let found = base + parts <= superpages;
        *self.places.mark(scattering) = base;
        if !found {
            return None;
        }
        let mut zeroed = 0;
        for first in (base..base + parts).flat_map(of_part) {
            let taken = self.take_counted(Frame(first), order);
            debug_assert!(taken.is_some(), "all regions of the place are free");
            zeroed += taken.unwrap_or_default();
        }
        let first = Frame(scattering.first_frame(base));
        Some(super::Given { first, zeroed })
    }

    /// The free frames of these physical superpages, which are numbered from 0.
    pub fn free_in_superpages(&self, superpages: impl Iterator<Item = u64>) -> u64 {
        superpages
            .map(|number| self.free_frames_in(Frame(number << ORDER), ORDER))
            .sum()
    }
}
