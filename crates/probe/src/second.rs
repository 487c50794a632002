//! The second level, which chases reach only while they miss the first.

use crate::analysis::{capacity, closed, largest, open};
use crate::chase::{Chase, copies_of_row, with_detection};
use crate::index::index_bits;
use crate::{ChaseOracle, Finding, IndexBits, LevelFound, TlbLevel};

/// The pages that push others out of the first level, as a share of its entries.
const PUSH: f64 = 1.15;
/// The length of the longest row at least, as a power of two.
const LONGEST_ROW: u32 = 4;
/// The number of shorter rows that are tried.
const SHORTER_ROWS: usize = 4;

/// A row of pages that lie in different sets of the second level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpreadRow {
    /// The pages, as a power of two.
    pub shift: u32,
}

impl SpreadRow {
    /// The pages but the last. Structures that take turns get the copies of a page in turn only if
    /// a row has an odd number of pages.
    fn pages(self) -> std::ops::Range<u64> {
        0..(1 << self.shift) - 1
    }
}

/// Finds the second level. `None` if no more pages fit all levels than fit the first.
pub(crate) fn second_level(oracle: &mut dyn ChaseOracle, first: &LevelFound) -> Option<LevelFound> {
    let capacity = capacity(oracle, TlbLevel::All);
    let (Some(most), Some(of_first)) = (capacity.value, first.capacity.value) else {
        let reason = "the capacity of a level is open";
        return Some(open(capacity, Finding::open(reason), reason));
    };
    if most as f64 <= of_first as f64 * (1.0 + oracle.intruders()) {
        return None;
    }
    let found = by_sets(oracle, first, of_first, capacity);
    match found.index.value {
        Some(_) => Some(found),
        None => Some(by_halves(oracle, most, found)),
    }
}

/// Finds the ways and the index by pages of single sets.
fn by_sets(
    oracle: &mut dyn ChaseOracle,
    first: &LevelFound,
    of_first: usize,
    capacity: Finding<usize>,
) -> LevelFound {
    let (row, ways) = ways(oracle, of_first);
    let (Some(row), Some(found)) = (row, ways.value) else {
        return open(capacity, ways, "the ways are open");
    };
    let Some(pushers) = Pushers::new(oracle, first, row, found) else {
        let reason = "no chase reaches the second level's sets one at a time";
        return open(capacity, Finding::open(reason), reason);
    };
    let above = oracle.above();
    let chase = |bits| pushers.chase(bits, above);
    let bits = index_bits(oracle, TlbLevel::All, &chase);
    closed(oracle, TlbLevel::All, capacity, ways, bits)
}

/// The pages of a chase that leaves an index bit out, as a share of the capacity: more than half
/// of it fits only if the bit is in no index, or in one that another bit serves too.
const LEFT_OUT: f64 = 0.7;
/// The bits above those of the capacity's pages that are tried.
const HIGHER_BITS: u32 = 4;

/// Finds the bits that halve the capacity if pages do not differ in them. They are less exact than
/// pages of single sets, since combined bits stay hidden, and need no ways.
fn by_halves(oracle: &mut dyn ChaseOracle, most: usize, found: LevelFound) -> LevelFound {
    let lowest = oracle.unit().trailing_zeros();
    let highest = lowest + most.next_power_of_two().trailing_zeros() + HIGHER_BITS;
    let count = (most as f64 * LEFT_OUT) as u64;
    let (mut bits, mut answers) = (Vec::new(), Vec::new());
    for bit in lowest..highest.min(oracle.above()) {
        let page = |number: u64| {
            let below = (1_u64 << (bit - lowest)) - 1;
            (number & below) << lowest | (number & !below) << (lowest + 1)
        };
        let chase = Chase {
            is_row: true,
            ..Chase::of((0..count).map(page).collect())
        };
        let Some(answer) = oracle.fits(TlbLevel::All, &chase) else {
            return found;
        };
        answers.push(answer);
        if !answer.fits {
            bits.push(bit);
        }
    }
    let sets = 1_usize << bits.len();
    let ways = (most + sets / 2) / sets;
    if !PLAUSIBLE_WAYS.contains(&ways) {
        return found;
    }
    let list: Vec<String> = bits.iter().map(u32::to_string).collect();
    let reason = format!(
        "the bits {} each halve the capacity, which leaves about {ways} ways",
        list.join(" ")
    );
    let pairs = Vec::new();
    let bits = Finding::of(IndexBits { bits, pairs }, &answers);
    LevelFound {
        entries: Finding::open(reason.as_str()),
        ways: Finding::open(reason.as_str()),
        index: Finding::open(reason),
        bits,
        ..found
    }
}

/// The ways that a level may have by its capacity and its bits.
const PLAUSIBLE_WAYS: std::ops::RangeInclusive<usize> = 2..=32;

/// The ways: the most copies of a row that fit, if a row half as long has as many. Then the pages
/// of the longer row lie in different sets. The copies of both rows miss the first level.
fn ways(oracle: &mut dyn ChaseOracle, of_first: usize) -> (Option<SpreadRow>, Finding<usize>) {
    let (above, unit) = (oracle.above(), oracle.unit());
    let longest = (of_first as u64 + 1).next_power_of_two();
    let longest = longest.trailing_zeros().max(LONGEST_ROW);
    let mut copies = |shift: u32| {
        largest(oracle, TlbLevel::All, &|count| {
            copies_of_row(SpreadRow { shift }.pages(), count as u64, unit, above)
        })
    };
    let mut long = copies(longest);
    for shift in (1..longest).rev().take(SHORTER_ROWS) {
        let short = copies(shift);
        let (Some(of_short), Some(of_long)) = (short.value, long.value) else {
            return (None, Finding::open(short.reason + &long.reason));
        };
        let pages = of_short as f64 * ((1_u64 << shift) - 1) as f64;
        if of_short == of_long && of_short > 1 && pages > of_first as f64 * PUSH {
            let confidence = short.confidence.min(long.confidence);
            let row = SpreadRow { shift: shift + 1 };
            return (
                Some(row),
                Finding {
                    confidence,
                    ..short
                },
            );
        }
        long = short;
    }
    let reason = "rows of different lengths have different numbers of copies that fit";
    (None, Finding::open(reason))
}

/// The pages that push the tested pages out of the first level, and the parts of the tested pages.
///
/// A part is as large as the ways allow: walk entries and code may hide some ways, and two parts
/// still have to exceed a set.
pub(crate) struct Pushers {
    pages: Vec<u64>,
    part: usize,
}

impl Pushers {
    /// Pages that miss the first level whatever the detection bits are. `None` if a set of the
    /// second level cannot hold both the tested pages and such pages.
    pub(crate) fn new(
        oracle: &dyn ChaseOracle,
        first: &LevelFound,
        row: SpreadRow,
        ways: usize,
    ) -> Option<Self> {
        if let Some(part) = Self::misses_alone(first.ways.value?, ways) {
            let pages = Vec::new();
            return Some(Self { pages, part });
        }
        let of_first = first.capacity.value? as f64;
        let in_row = (1_u64 << row.shift) - 1;
        let copies = (of_first * PUSH / in_row as f64).ceil().max(1.0) as u64;
        let part = ways.checked_sub(copies as usize)?;
        let (above, unit) = (oracle.above(), oracle.unit());
        let pages = copies_of_row(1..in_row + 1, copies, unit, above).offsets;
        (2 * part > ways).then_some(Self { pages, part })
    }

    /// The pages of a part, if both parts push themselves out of a set of the first level.
    pub(crate) fn misses_alone(of_first: usize, ways: usize) -> Option<usize> {
        (ways > of_first).then_some(ways)
    }

    /// A chase that fits if and only if the detection bits lead to another set.
    pub(crate) fn chase(&self, detection: u64, above: u32) -> Chase {
        let mut chase = with_detection(self.part, detection, above);
        let tested = chase.offsets.clone();
        let others = self.pages.iter().filter(|page| !tested.contains(page));
        chase.offsets.extend(others);
        chase
    }
}
