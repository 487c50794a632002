//! The cache lines that walks read.

use broadleaf_units::PageSize;
use serde::Deserialize;
use toml::Spanned;

/// The cache lines that walks read, and what each costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkLines {
    /// The bytes of a line, as a power of two.
    pub shift: u32,
    /// The cycles of each line that a walk reads. `None`: a walk costs what its page size says.
    pub cycles: Option<u64>,
}

impl Default for WalkLines {
    fn default() -> Self {
        Self {
            shift: 6,
            cycles: None,
        }
    }
}

/// The table of a description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalkLinesText {
    bytes: Spanned<u64>,
    cycles: Option<Spanned<u64>>,
}

impl WalkLinesText {
    /// The place in the text.
    pub(crate) fn place(&self) -> usize {
        self.bytes.span().start
    }
}

/// The sizes of lines.
const BYTES: std::ops::RangeInclusive<u64> = 8..=PageSize::SIZE_4K.bytes();
/// The maximum cost of one line, in cycles.
const MOST_CYCLES: u64 = 100_000;

/// Reads the table.
///
/// # Errors
/// The place in the text, and the reason.
pub(crate) fn lines(text: &WalkLinesText) -> Result<WalkLines, (usize, String)> {
    let bytes = *text.bytes.get_ref();
    if !bytes.is_power_of_two() || !BYTES.contains(&bytes) {
        let message = "a line has 8 to 4096 bytes, a power of two".to_string();
        return Err((text.bytes.span().start, message));
    }
    if let Some(cycles) = &text.cycles
        && *cycles.get_ref() > MOST_CYCLES
    {
        return Err((
            cycles.span().start,
            format!("a line costs at most {MOST_CYCLES} cycles"),
        ));
    }
    Ok(WalkLines {
        shift: bytes.trailing_zeros(),
        cycles: text.cycles.as_ref().map(|cycles| *cycles.get_ref()),
    })
}
