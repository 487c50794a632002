//! A trace that several replays read at the same time, so that each part is decoded once.
//!
//! The readers go through the trace side by side. The first reader that needs a part decodes it,
//! and the others find it in a window of a few parts. A reader that begins again waits until no
//! other reader is in the pass.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use broadleaf_model::Source as _;
use broadleaf_trace::CodeTable;

use super::shared_part::{PartsDecoder, SharedPart};
use super::{ReadError, Trace, TraceReading, Whole};
use crate::failure::Failure;

/// The message of a reader that ends because another one panicked.
const OTHER_PANICKED: &str = "another reader of the trace panicked";

/// Returns true if a reader panicked because another one did.
pub(crate) fn is_of_another_reader(panic: &(dyn Any + Send)) -> bool {
    panic
        .downcast_ref::<String>()
        .is_some_and(|text| text == OTHER_PANICKED)
        || panic
            .downcast_ref::<&str>()
            .is_some_and(|text| *text == OTHER_PANICKED)
}

/// The maximum number of decoded parts that wait for the slowest reader.
const MOST_WAITING: usize = 8;

/// A trace with readers.
pub(crate) struct SharedTrace {
    state: Mutex<SharedState>,
    moved: Condvar,
    /// The maximum number of readers that work at the same time.
    most_working: usize,
}

struct SharedState {
    /// `None` while a reader decodes a part.
    decoder: Option<PartsDecoder>,
    /// The decoded parts, and the number of the first one in this pass.
    window: VecDeque<Arc<SharedPart>>,
    first: u64,
    /// True if no part follows the window.
    ended: bool,
    readers: BTreeMap<usize, ReaderState>,
    next_reader: usize,
    working: usize,
    passes: u64,
    error: Option<Arc<ReadError>>,
    /// True if a reader panicked. It may have taken the decoder with it.
    has_panicked: bool,
    content: SharedContent,
    /// The code of the trace's blocks, of one of the passes: all passes number it alike.
    code: Arc<CodeTable>,
}

/// The state of a reader.
#[derive(Clone, Copy, Debug)]
struct ReaderState {
    /// The number of the next part; `None` if the reader waits for the next pass.
    next: Option<u64>,
    works: bool,
}

/// The bytes of a trace; known after the first pass.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedContent {
    pub(super) hash: Option<String>,
    pub(super) bytes: u64,
    /// The hash and the number of bytes, if the trace was read whole in one pass.
    pub(super) keepable: Option<(String, u64)>,
}

impl SharedTrace {
    /// Opens the trace at `path` for readers of which `threads` work at the same time.
    ///
    /// # Errors
    /// Those of [`Trace::open`].
    pub(crate) fn open(
        path: &Path,
        reading: TraceReading,
        threads: usize,
    ) -> Result<Arc<Self>, Failure> {
        let trace = Trace::open(path, reading, Whole::Memory)?;
        let code = trace.code().unwrap_or_default();
        Ok(Arc::new(Self {
            state: Mutex::new(SharedState {
                decoder: Some(PartsDecoder::new(trace)),
                window: VecDeque::new(),
                first: 0,
                ended: false,
                readers: BTreeMap::new(),
                next_reader: 0,
                working: 0,
                passes: 1,
                error: None,
                has_panicked: false,
                content: SharedContent::default(),
                code,
            }),
            moved: Condvar::new(),
            most_working: threads.max(1),
        }))
    }

    /// Adds a reader. All readers are added before the first of them reads.
    pub(crate) fn reader(self: &Arc<Self>) -> SharedReader {
        let mut state = self.lock();
        let number = state.next_reader;
        state.next_reader += 1;
        let next = Some(0);
        state
            .readers
            .insert(number, ReaderState { next, works: false });
        SharedReader {
            shared: Arc::clone(self),
            number,
        }
    }

    /// The number of passes in which the trace was decoded.
    pub(crate) fn passes(&self) -> u64 {
        self.lock().passes
    }

    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedState {
    /// Ends the work of a reader, until it has its next part.
    fn rest(&mut self, number: usize) {
        if let Some(reader) = self.readers.get_mut(&number)
            && std::mem::take(&mut reader.works)
        {
            self.working -= 1;
        }
    }

    /// Drops the parts that all readers have taken.
    fn forget(&mut self) {
        let least = self.readers.values().filter_map(|reader| reader.next).min();
        while !self.window.is_empty() && least.is_none_or(|least| self.first < least) {
            self.window.pop_front();
            self.first += 1;
        }
    }

    /// Begins the next pass if all readers wait for it.
    fn begin_pass(&mut self) -> Result<(), ReadError> {
        let all_wait = self.readers.values().all(|reader| reader.next.is_none());
        if let Some(decoder) = self.decoder.as_mut().filter(|_| all_wait) {
            decoder.rewind()?;
            self.window.clear();
            (self.first, self.ended) = (0, false);
            self.passes += 1;
            for reader in self.readers.values_mut() {
                reader.next = Some(0);
            }
        }
        Ok(())
    }

    /// Takes the next part of a reader, if it is decoded. `Some(None)` is the end of the trace.
    fn take(&mut self, number: usize) -> Option<Option<Arc<SharedPart>>> {
        let reader = self.readers.get_mut(&number)?;
        let next = reader.next?;
        let at = usize::try_from(next - self.first).ok()?;
        let part = match self.window.get(at) {
            Some(part) => {
                reader.next = Some(next + 1);
                Some(Arc::clone(part))
            }
            None if self.ended => None,
            None => return None,
        };
        reader.works = true;
        self.working += 1;
        self.forget();
        Some(part)
    }
}

/// A reader of a shared trace.
pub(crate) struct SharedReader {
    shared: Arc<SharedTrace>,
    number: usize,
}

impl SharedReader {
    /// The next part; `None` at the end of the trace. Waits while other readers work, or are far
    /// behind.
    pub(super) fn next_part(&self) -> Result<Option<Arc<SharedPart>>, ReadError> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        state.rest(self.number);
        shared.moved.notify_all();
        loop {
            // The others would wait for ever for a decoder that is lost.
            assert!(!state.has_panicked, "{OTHER_PANICKED}");
            if let Some(error) = &state.error {
                return Err(ReadError::Shared(Arc::clone(error)));
            }
            if let Err(error) = state.begin_pass() {
                state.error = Some(Arc::new(error));
                shared.moved.notify_all();
                continue;
            }
            let may_work = state.working < shared.most_working;
            if may_work && let Some(part) = state.take(self.number) {
                shared.moved.notify_all();
                return Ok(part);
            }
            let reads = state.readers.get(&self.number).is_some_and(|reader| {
                let behind = state.first + state.window.len() as u64;
                reader.next == Some(behind) && !state.ended
            });
            let has_room = state.window.len() < MOST_WAITING;
            if may_work
                && reads
                && has_room
                && let Some(mut decoder) = state.decoder.take()
            {
                drop(state);
                let decoded = decoder.next();
                let ended = matches!(decoded, Ok(None));
                let content = ended.then(|| decoder.finish());
                state = shared.lock();
                state.decoder = Some(decoder);
                match (decoded, content) {
                    (Ok(Some(part)), _) => state.window.push_back(Arc::new(part)),
                    (_, Some(Ok(content))) => {
                        state.ended = true;
                        if state.content.hash.is_none() {
                            state.content = content;
                        }
                    }
                    (Err(error), _) | (_, Some(Err(error))) => state.error = Some(Arc::new(error)),
                    (Ok(None), None) => state.ended = true,
                }
                shared.moved.notify_all();
                continue;
            }
            let waited = shared.moved.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Begins again: the next part is the first one.
    pub(super) fn rewind(&self) {
        let mut state = self.shared.lock();
        if let Some(reader) = state.readers.get_mut(&self.number) {
            reader.next = None;
        }
        state.forget();
        self.shared.moved.notify_all();
    }

    /// The code of the trace's blocks.
    pub(super) fn code(&self) -> Arc<CodeTable> {
        Arc::clone(&self.shared.lock().code)
    }

    /// The bytes of the trace; known after the first pass.
    pub(super) fn content(&self) -> SharedContent {
        self.shared.lock().content.clone()
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.rest(self.number);
        state.readers.remove(&self.number);
        state.forget();
        state.has_panicked |= std::thread::panicking();
        self.shared.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use broadleaf_trace::VisitEnds;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::origin::PassCount;
    use super::*;

    #[test]
    fn a_reader_that_panics_ends_the_others() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/sort.bl");
        let reading = TraceReading {
            passes: PassCount::One,
            keep_going: false,
            fetches: false,
            ends: VisitEnds::Units,
            max_accesses: None,
        };
        let shared = SharedTrace::open(Path::new(path), reading, 2).expect("the trace opens");
        let [one, other] = [shared.reader(), shared.reader()];
        let panicked = std::thread::spawn(move || {
            let part = one.next_part().expect("the trace is whole");
            panic!("a reader panics with a part: {}", part.is_some());
        });
        assert!(panicked.join().is_err());
        let ended = catch_unwind(AssertUnwindSafe(|| other.next_part().is_ok()));
        let panic = ended.expect_err("the other reader ends too");
        assert!(is_of_another_reader(panic.as_ref()));
    }
}
