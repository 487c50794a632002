//! Chases: pages that are visited again and again.

/// Pages that are visited in one cycle, again and again, each once a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chase {
    /// The addresses of the pages. The tested pages come first.
    pub offsets: Vec<u64>,
    /// The number of pages that compete for one place. The others only push translations out of
    /// the first level.
    pub tested: usize,
    /// True for pages in a row, which overflow one set after the other.
    pub is_row: bool,
}

impl Chase {
    /// A chase whose pages are all tested.
    pub const fn of(offsets: Vec<u64>) -> Self {
        let tested = offsets.len();
        Self {
            offsets,
            tested,
            is_row: false,
        }
    }
}

/// Pages one after the other, of `unit` bytes each.
pub fn in_a_row(count: usize, unit: u64) -> Chase {
    Chase {
        is_row: true,
        ..Chase::of((0..count as u64).map(|number| number * unit).collect())
    }
}

/// Pages that differ only in the bits from `above` up, which no index uses.
pub fn far_apart(count: usize, above: u32) -> Chase {
    Chase::of((0..count as u64).map(|number| number << above).collect())
}

/// Twice `part` pages that differ in bits from `above` up, and half of them in the detection bits
/// too. They fit if a set holds one part, and the detection bits lead the other to another set.
pub fn with_detection(part: usize, detection: u64, above: u32) -> Chase {
    let part = part as u64;
    let stays = (0..part).map(|number| number << above);
    let moved = (part..2 * part).map(|number| number << above | detection);
    Chase::of(stays.chain(moved).collect())
}

/// The pages of a part of the first level: fewer than the ways, so that other translations do not
/// matter, and enough pages that two parts exceed one set.
pub(crate) fn part_of(ways: usize) -> usize {
    (ways * 3 / 4).max(ways / 2 + 1).min(ways)
}

/// Pages in a row of `unit` bytes with `copies` copies of the row that differ in the bits from
/// `above` up.
pub(crate) fn copies_of_row(
    row: std::ops::Range<u64>,
    copies: u64,
    unit: u64,
    above: u32,
) -> Chase {
    let copy = |copy: u64| row.clone().map(move |page| (copy << above) | (page * unit));
    Chase::of((0..copies).flat_map(copy).collect())
}
