//! Chases: pages that are visited again and again.

/// Pages that are visited in one cycle, again and again, each once a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chase {
    /// The addresses of the pages. The tested pages come first.
    pub offsets: Vec<u64>,
    /// The number of pages that compete for one place. The others only push translations out of
    /// the first level.
    pub tested: usize,
}

impl Chase {
    /// A chase whose pages are all tested.
    pub const fn of(offsets: Vec<u64>) -> Self {
        let tested = offsets.len();
        Self { offsets, tested }
    }

    /// The chase with other pages that are not tested.
    pub fn among(mut self, fillers: &[u64]) -> Self {
        self.offsets.extend(fillers);
        self
    }
}

/// Pages one after the other, of `unit` bytes each.
pub fn in_a_row(count: usize, unit: u64) -> Chase {
    Chase::of((0..count as u64).map(|number| number * unit).collect())
}

/// Pages that differ only in the bits from `above` up, which no index uses.
pub fn far_apart(count: usize, above: u32) -> Chase {
    Chase::of((0..count as u64).map(|number| number << above).collect())
}

/// Pages one more than the ways: they differ in bits from `above` up, and `moved` of them in
/// `detection` too. They fit if the detection bits lead those to another set.
pub fn with_detection(ways: usize, moved: usize, detection: u64, above: u32) -> Chase {
    let stays = (ways + 1 - moved) as u64;
    let page = |number: u64| match number < stays {
        true => number << above,
        false => (number - stays) << above | detection,
    };
    Chase::of((0..=ways as u64).map(page).collect())
}

/// Pages in a row of `unit` bytes with `copies` copies of the row that differ in the bits from
/// `above` up.
pub(crate) fn copies_of_row(
    row: std::ops::Range<u64>,
    copies: u64,
    unit: u64,
    above: u32,
) -> Chase {
    let copy = |copy: u64| row.clone().map(move |page| copy << above | page * unit);
    Chase::of((0..copies).flat_map(copy).collect())
}
