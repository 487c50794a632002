//! Sets of page sizes that do not depend on a machine.

/// A set of page sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeSet {
    /// The smallest superpage of at least 2 MiB.
    #[default]
    Block,
    /// All sizes.
    All,
    /// The sizes of `1 << n` bytes for each set bit `n`. The base page may be a member, and is not
    /// a superpage.
    These(u64),
}

impl SizeSet {
    /// Returns true if the set holds pages of `1 << shift` bytes. The host resolves
    /// [`SizeSet::Block`].
    pub const fn holds(self, shift: u8) -> bool {
        match self {
            Self::Block => shift >= 21,
            Self::All => true,
            Self::These(shifts) => shift < 64 && shifts >> shift & 1 != 0,
        }
    }

    /// Returns true if the set holds no superpages.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::These(0))
    }

    /// Returns true if the set holds one size.
    pub const fn is_one(self) -> bool {
        matches!(self, Self::These(shifts) if shifts.is_power_of_two())
    }
}
