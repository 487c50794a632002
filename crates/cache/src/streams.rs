//! Prefetching of sequential streams.
//!
//! A level that prefetches watches the accesses of data that reach it. Two steps in one direction
//! inside a base page make a *stream*. The level then asks for the lines ahead of the stream, up to
//! a distance and to the end of the page. A longer step than that distance makes no stream.
//!
//! A stream that reached the end of a page can continue in another page. It does so at the first
//! access to the beginning of that page, in the stream's direction.
//!
//! A line that was asked for arrives later. An access that comes before it arrives waits.

use alloc::boxed::Box;
use alloc::vec;

/// The lines of a stream lie in one region of this many bytes: a base page.
const REGION_SHIFT: u32 = 12;
/// The steps in one direction that make a stream.
const SURE: u8 = 2;
/// The lines at either end of a page at which a stream leaves it or enters the next one.
const BORDER: u64 = 4;
/// The lines on their way that are remembered.
const ARRIVING: usize = 1 << 10;

/// The prefetching of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSpec {
    /// The streams of a core that are followed at a time.
    pub streams: usize,
    /// The lines ahead of a stream that are asked for.
    pub distance: u64,
}

/// A region that the level follows: its last access and its stream.
#[derive(Clone, Copy, Debug, Default)]
struct FollowedRegion {
    region: u64,
    /// The last line of it that was accessed, plus 1; 0 if the entry is free.
    last: u64,
    downwards: bool,
    steps: u8,
    /// The lines from `last` on that were asked for.
    ahead: u64,
    /// The number of the last access.
    used: u64,
    /// A stream that left the region may go on in another one.
    leaves: bool,
}

/// The streams of one core at one level.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    spec: StreamSpec,
    entries: Box<[FollowedRegion]>,
    region_shift: u32,
    accesses: u64,
}

impl Streams {
    /// No streams. Lines have `1 << line_shift` bytes.
    pub(crate) fn new(spec: StreamSpec, line_shift: u32) -> Self {
        Self {
            spec,
            entries: vec![FollowedRegion::default(); spec.streams].into(),
            region_shift: REGION_SHIFT.saturating_sub(line_shift),
            accesses: 0,
        }
    }

    /// Follows a region of which no access is known. Returns its number if a stream goes on in it.
    fn enter(&mut self, line: u64, region: u64) -> Option<usize> {
        let in_region = line & ((1 << self.region_shift) - 1);
        let begins = in_region < BORDER;
        let ends = in_region + BORDER >= 1 << self.region_shift;
        let goes_on =
            |one: &FollowedRegion| one.leaves && if one.downwards { ends } else { begins };
        // The stream that left its page last.
        let before = self.entries.iter_mut().filter(|one| goes_on(one));
        let before = before.max_by_key(|one| one.used);
        let downwards = before.map(|before| {
            before.leaves = false;
            before.downwards
        });
        let numbered = self.entries.iter().enumerate();
        let (oldest, _) = numbered.min_by_key(|(_, one)| one.used)?;
        self.entries[oldest] = FollowedRegion {
            region,
            last: line + 1,
            used: self.accesses,
            downwards: downwards.unwrap_or(false),
            steps: if downwards.is_some() { SURE } else { 0 },
            ..FollowedRegion::default()
        };
        downwards.map(|_| oldest)
    }

    /// An access to a line reaches the level. Returns the lines to ask for: the first of them, how
    /// many, and true if they go downwards.
    pub(crate) fn pass(&mut self, line: u64) -> (u64, u64, bool) {
        self.accesses += 1;
        let region = line >> self.region_shift;
        let known = self
            .entries
            .iter()
            .position(|one| one.last != 0 && one.region == region);
        let number = match known {
            Some(number) => number,
            None => match self.enter(line, region) {
                Some(number) => number,
                None => return (0, 0, false),
            },
        };
        let distance = self.spec.distance;
        let stream = &mut self.entries[number];
        stream.used = self.accesses;
        let last = stream.last - 1;
        let step = line.abs_diff(last);
        if step == 0 && known.is_some() {
            return (0, 0, false);
        }
        stream.last = line + 1;
        let downwards = match step {
            0 => stream.downwards,
            _ => line < last,
        };
        if step > distance || downwards != stream.downwards {
            stream.downwards = downwards;
            stream.steps = u8::from(step <= distance);
            stream.ahead = 0;
            return (0, 0, false);
        }
        stream.steps = (stream.steps + 1).min(SURE);
        stream.ahead = stream.ahead.saturating_sub(step);
        if stream.steps < SURE {
            return (0, 0, false);
        }
        let in_region = line & ((1 << self.region_shift) - 1);
        let most = match downwards {
            true => in_region,
            false => (1 << self.region_shift) - 1 - in_region,
        };
        stream.leaves = most < BORDER;
        let until = distance.min(most);
        let from = stream.ahead;
        stream.ahead = stream.ahead.max(until);
        let count = until.saturating_sub(from);
        let first = match downwards {
            true => line.wrapping_sub(from + 1),
            false => line + from + 1,
        };
        (first, count, downwards)
    }
}

/// The lines that were asked for lately, and the times at which they arrive.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals(Box<[(u64, u64)]>);

impl Arrivals {
    /// None.
    pub(crate) fn new() -> Self {
        Self(vec![(u64::MAX, 0); ARRIVING].into())
    }

    /// A line arrives at this time.
    pub(crate) fn note(&mut self, line: u64, time: u64) {
        self.0[line as usize % ARRIVING] = (line, time);
    }

    /// The cycles until a line has arrived.
    pub(crate) fn wait(&self, line: u64, time: u64) -> u64 {
        match self.0[line as usize % ARRIVING] {
            (arriving, at) if arriving == line => at.saturating_sub(time),
            _ => 0,
        }
    }
}
