//! Something that goes to and fro between who uses it and who works at it: whoever comes first
//! does.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where it is.
enum Place<T> {
    /// Here, to be worked at.
    ToDo(T),
    /// With somebody who does that.
    Away,
    /// Here, worked at.
    Done(T),
    /// Whoever had it panicked.
    Lost,
}

/// Something to be worked at, wherever it is.
pub(crate) struct Slot<T> {
    place: Mutex<Place<T>>,
    came_back: Condvar,
}

/// Says that it is lost, where who works at it panics.
struct Returning<'a, T>(&'a Slot<T>);

impl<T> Drop for Returning<'_, T> {
    fn drop(&mut self) {
        *self.0.place() = Place::Lost;
        self.0.came_back.notify_all();
    }
}

impl<T> Slot<T> {
    pub(crate) const fn new(it: T) -> Self {
        Self {
            place: Mutex::new(Place::ToDo(it)),
            came_back: Condvar::new(),
        }
    }

    fn place(&self) -> MutexGuard<'_, Place<T>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works at it, if nobody does or did. Says whether that was so.
    pub(crate) fn work(&self, work: impl FnOnce(&mut T)) -> bool {
        let mut it = {
            let mut place = self.place();
            match std::mem::replace(&mut *place, Place::Away) {
                Place::ToDo(it) => it,
                other => {
                    *place = other;
                    return false;
                }
            }
        };
        let returning = Returning(self);
        work(&mut it);
        // Once it is done, somebody else may have it: who is away then is nobody's business here.
        std::mem::forget(returning);
        *self.place() = Place::Done(it);
        self.came_back.notify_all();
        true
    }

    /// It, where it was worked at.
    pub(crate) fn take(&self) -> Option<T> {
        let mut place = self.place();
        match std::mem::replace(&mut *place, Place::Away) {
            Place::Done(it) => Some(it),
            other => {
                *place = other;
                None
            }
        }
    }

    /// Waits until somebody who works at it is done.
    ///
    /// # Panics
    /// Where whoever had it panicked.
    pub(crate) fn wait(&self) {
        let mut place = self.place();
        while matches!(*place, Place::Away) {
            let waited = self.came_back.wait(place);
            place = waited.unwrap_or_else(PoisonError::into_inner);
        }
        assert!(
            !matches!(*place, Place::Lost),
            "whoever worked at it panicked"
        );
    }

    /// Gives it back after it was taken, to be worked at once more.
    pub(crate) fn put(&self, it: T) {
        *self.place() = Place::ToDo(it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn whoever_comes_first_works() {
        let slot = Slot::new(1);
        assert_eq!(slot.take(), None, "nobody worked at it");
        assert!(slot.work(|it| *it += 1));
        assert!(!slot.work(|it| *it += 1), "somebody did");
        slot.wait();
        assert_eq!(slot.take(), Some(2));
        assert!(!slot.work(|it| *it += 1), "it was taken");
        slot.put(5);
        assert!(slot.work(|it| *it += 1));
        assert_eq!(slot.take(), Some(6));
    }

    /// Nobody waits for what does not come back.
    #[test]
    fn who_waits_is_told_of_a_panic() {
        let slot = Slot::new(1);
        let failing = || slot.work(|_| panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
        assert_eq!(slot.take(), None);
        assert!(!slot.work(|_| ()));
        assert!(catch_unwind(AssertUnwindSafe(|| slot.wait())).is_err());
    }
}
