//! A part that goes to and fro between who uses it and who decodes it further: whoever comes first does.

use super::ahead::Ahead;
use crate::source::Part;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where a part is.
enum Place<P: Part> {
    /// Here, to be decoded a step further.
    ToDo(Box<Ahead<P>>),
    /// With somebody who does that.
    Away,
    /// Here, a step further.
    Done(Box<Ahead<P>>),
    /// Whoever had it panicked.
    Lost,
}

/// A part, wherever it is.
pub(super) struct Slot<P: Part> {
    place: Mutex<Place<P>>,
    came_back: Condvar,
}

/// Says that a part is lost, where decoding it panics.
struct Returning<'a, P: Part>(&'a Slot<P>);

impl<P: Part> Drop for Returning<'_, P> {
    fn drop(&mut self) {
        *self.0.place() = Place::Lost;
        self.0.came_back.notify_all();
    }
}

impl<P: Part> Slot<P> {
    pub(super) const fn new(ahead: Box<Ahead<P>>) -> Self {
        Self {
            place: Mutex::new(Place::ToDo(ahead)),
            came_back: Condvar::new(),
        }
    }

    fn place(&self) -> MutexGuard<'_, Place<P>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes a step of about so many visits, if nobody does or did. Says whether that was so.
    pub(super) fn work(&self, most: usize) -> bool {
        let mut ahead = {
            let mut place = self.place();
            match std::mem::replace(&mut *place, Place::Away) {
                Place::ToDo(ahead) => ahead,
                other => {
                    *place = other;
                    return false;
                }
            }
        };
        let returning = Returning(self);
        ahead.step(most);
        // Once it is done, somebody else may have it: who is away then is nobody's business here.
        std::mem::forget(returning);
        *self.place() = Place::Done(ahead);
        self.came_back.notify_all();
        true
    }

    /// The part, where its step is done.
    pub(super) fn take(&self) -> Option<Box<Ahead<P>>> {
        let mut place = self.place();
        match std::mem::replace(&mut *place, Place::Away) {
            Place::Done(ahead) => Some(ahead),
            other => {
                *place = other;
                None
            }
        }
    }

    /// Waits until the step is done of a part that somebody has.
    ///
    /// # Panics
    /// Where whoever had it panicked.
    pub(super) fn wait(&self) {
        let mut place = self.place();
        while matches!(*place, Place::Away) {
            let waited = self.came_back.wait(place);
            place = waited.unwrap_or_else(PoisonError::into_inner);
        }
        assert!(!matches!(*place, Place::Lost), "a part was lost");
    }

    /// Gives a part that was taken back, to be decoded further.
    pub(super) fn put(&self, ahead: Box<Ahead<P>>) {
        *self.place() = Place::ToDo(ahead);
    }
}
