//! Free frames by colour.

use super::allocate::Given;
use super::{Buddy, Frame};
use std::ops::Range;

/// The start of the search for a free frame of each colour.
///
/// The colour of a frame is its number modulo the number of colours. No frame of a colour below its
/// mark is free, so searches that find nothing are not repeated.
#[derive(Clone, Debug)]
pub(super) struct ColourMarks {
    marks: Vec<u64>,
}

impl ColourMarks {
    /// The number of colours.
    const fn colours(&self) -> u64 {
        self.marks.len() as u64
    }

    /// Frames became free.
    pub(super) fn freed(&mut self, frames: &Range<u64>) {
        let colours = self.colours();
        for frame in frames.clone().take(self.marks.len()) {
            let mark = &mut self.marks[(frame % colours) as usize];
            *mark = frame.min(*mark);
        }
    }
}

impl Buddy {
    /// Lets [`Self::allocate_colour`] distinguish this number of colours, which is not 0.
    pub fn divide_colours(&mut self, colours: u64) {
        let marks = (0..colours.max(1)).collect();
        self.colours = Some(ColourMarks { marks });
    }

    /// Allocates the lowest free frame of a colour that base pages can have. `None` if there is
    /// none, or if no colours are distinguished.
    pub fn allocate_colour(&mut self, colour: u64) -> Option<Given> {
        let marks = self.colours.as_ref()?;
        let (colours, number) = (marks.colours(), colour % marks.colours());
        let mut frame = marks.marks[number as usize];
        let found = loop {
            // The lowest free frame from there on, and the next one of the colour.
            let Some(Frame(free)) = self.next_free(Frame(frame), 0) else {
                break None;
            };
            let ahead = (number + colours - free % colours) % colours;
            let next = free + ahead;
            if next == free || self.is_free(Frame(next)) {
                if self.serves_pages(Frame(next)) {
                    break Some(Frame(next));
                }
                frame = next + colours;
            } else {
                frame = next;
            }
        };
        let mark = found.map_or(self.frames, |found| found.0);
        let given = found.and_then(|found| {
            let zeroed = self.take_counted(found, 0)?;
            let first = found;
            Some(Given { first, zeroed })
        });
        // Frames that serve no base pages never do, so the mark may pass them.
        if let Some(marks) = &mut self.colours {
            marks.marks[number as usize] = mark;
        }
        given
    }

    /// Asserts that no free frame that serves base pages lies below the mark of its colour.
    pub(super) fn check_colours(&self) {
        let Some(marks) = &self.colours else {
            return;
        };
        let extents = self.iter();
        let free = extents.flat_map(|(first, order)| first.0..first.0 + (1 << order));
        for frame in free.filter(|frame| self.serves_pages(Frame(*frame))) {
            let mark = marks.marks[(frame % marks.colours()) as usize];
            assert!(
                mark <= frame,
                "a free frame lies below the mark of its colour"
            );
        }
    }
}
