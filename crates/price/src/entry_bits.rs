//! The bits of a TLB entry.

/// The bits of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryBits {
    /// The data bits, valid bits of subblocks included where they are in the data array.
    pub data: u32,
    /// The number of equal parts of the data, of which a lookup needs one.
    pub words: u32,
    /// The tag bits that are compared: context and page number.
    pub compared: u32,
    /// The compared bits that can be "don't care". Each takes the room of two tag bits.
    pub dont_care: u32,
    /// The valid bits in the tag.
    pub valid: u32,
    /// The status bits: the used bit of the replacement rule.
    pub status: u32,
}

impl EntryBits {
    /// The tag bits, with two for each "don't care" bit.
    pub const fn tag(&self) -> u32 {
        self.compared + self.dont_care + self.valid
    }

    /// The bits that a lookup reads from the data.
    pub const fn word(&self) -> u32 {
        self.data / self.words
    }

    /// The entry with this many valid bits in the tag. A subblock TLB whose tag comparators select
    /// among subblocks has one for each subblock.
    #[must_use]
    pub const fn with_valid_in_tag(self, valid: u32) -> Self {
        Self { valid, ..self }
    }
}
