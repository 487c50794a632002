//! Values that a comparison finds beside its results, as entries of the cache.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::folder::TraceCache;
use super::results::{ResultRequest, TraceContent};
use super::warn;
use crate::source::origin::can_be_opened_again;

/// A value that depends on a trace and on a request alone.
pub(crate) struct KeptValue<'a> {
    path: &'a Path,
    content: &'a TraceContent,
    accesses: u64,
    request: ResultRequest<'a>,
}

impl<'a> KeptValue<'a> {
    /// The value for the trace at `path`, whose bytes are `content`. `accesses` is the number of
    /// its accesses. `request` describes everything else that the value depends on. `of` describes
    /// the value for people.
    pub(crate) fn new(
        cache: &'a TraceCache,
        path: &'a Path,
        content: &'a TraceContent,
        accesses: u64,
        request: &str,
        of: String,
    ) -> Self {
        Self {
            path,
            content,
            accesses,
            request: ResultRequest::described(cache, request, of),
        }
    }

    /// The value, if the cache has it. A damaged entry is removed.
    pub(crate) fn find<T: DeserializeOwned>(&self) -> Option<T> {
        let read = |body: &[u8]| serde_json::from_slice(body).map_err(io::Error::from);
        self.request.body(self.content, &self.name(), read)
    }

    /// Keeps the value. A failure costs speed only, and is named in a warning.
    pub(crate) fn keep(&self, value: &impl Serialize) {
        // No later command finds a trace from a pipe by its path.
        if !can_be_opened_again(self.path) {
            return;
        }
        let body = serde_json::to_vec(value).map_err(io::Error::from);
        let kept = body.and_then(|body| {
            self.request
                .write(self.path, self.content, self.accesses, None, &body)
        });
        warn(self.request.cache(), &self.name(), kept);
    }

    fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}
