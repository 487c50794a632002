//! Prefetching of sequential streams.
//!
//! A level that prefetches watches the accesses of data that reach it. Two short steps in one
//! direction inside a base page make a *stream*, and so do three long ones of one length. The level
//! then asks for the lines ahead of the stream, up to a distance and to the end of the page. Ahead
//! of long steps it asks for the lines at such steps alone.
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
    /// The lines of a short step, at most. Longer steps make a stream if they are equally long.
    pub step: u64,
}

/// A region that the level follows: its last access and its stream.
#[derive(Clone, Copy, Debug, Default)]
struct FollowedRegion {
    region: u64,
    /// The last line of it that was accessed, plus 1; 0 if the entry is free.
    last: u64,
    downwards: bool,
    steps: u8,
    /// The lines from `last` on that were asked for, at distances of `unit` lines.
    ahead: u64,
    /// The lines of the last step if it was long, and 1 if it was short.
    unit: u64,
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
            unit: u64::from(downwards.is_some()),
            ..FollowedRegion::default()
        };
        downwards.map(|_| oldest)
    }

    /// An access to a line reaches the level. Returns the lines to ask for.
    pub(crate) fn pass(&mut self, line: u64) -> AskedLines {
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
                None => return AskedLines::NONE,
            },
        };
        let stream = &mut self.entries[number];
        stream.used = self.accesses;
        let last = stream.last - 1;
        let step = line.abs_diff(last);
        if step == 0 && known.is_some() {
            return AskedLines::NONE;
        }
        let in_region = line & ((1 << self.region_shift) - 1);
        let after = (1 << self.region_shift) - 1 - in_region;
        let downwards = match step {
            0 => stream.downwards,
            _ => line < last,
        };
        let most = if downwards { in_region } else { after };
        stream.pass(line, downwards, self.spec);
        if stream.steps < SURE {
            return AskedLines::NONE;
        }
        stream.leaves = stream.unit == 1 && most < BORDER;
        stream.ask(line, self.spec.distance.min(most))
    }
}

impl FollowedRegion {
    /// A step to a line.
    fn pass(&mut self, line: u64, downwards: bool, spec: StreamSpec) {
        let step = line.abs_diff(self.last - 1);
        let is_short = step <= spec.step;
        let unit = if is_short { 1 } else { step };
        let goes_on = unit == self.unit && downwards == self.downwards;
        if goes_on && (is_short || step <= spec.distance) {
            self.steps = (self.steps + 1).min(SURE);
            self.ahead = self.ahead.saturating_sub(step);
        } else {
            self.steps = u8::from(is_short);
            self.ahead = 0;
            self.leaves = false;
        }
        (self.last, self.downwards, self.unit) = (line + 1, downwards, unit);
    }

    /// The lines ahead that were not asked for, at most this number of lines away.
    fn ask(&mut self, line: u64, most: u64) -> AskedLines {
        let unit = self.unit;
        let count = most.saturating_sub(self.ahead) / unit;
        let nearest = self.ahead + unit;
        self.ahead += count * unit;
        let (first, step) = match self.downwards {
            true => (line.wrapping_sub(nearest), unit.wrapping_neg()),
            false => (line + nearest, unit),
        };
        AskedLines { first, step, count }
    }
}

/// Lines that a stream asks for, the nearest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedLines {
    first: u64,
    /// From each to the next, modulo 2^64.
    step: u64,
    count: u64,
}

impl AskedLines {
    const NONE: Self = Self {
        first: 0,
        step: 0,
        count: 0,
    };

    /// The numbers of the lines.
    pub(crate) fn lines(self) -> impl Iterator<Item = u64> {
        let line = move |number: u64| self.first.wrapping_add(number.wrapping_mul(self.step));
        (0..self.count).map(line)
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
