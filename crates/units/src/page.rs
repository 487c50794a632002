//! Addresses, page numbers and page sizes.

/// A virtual address in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtAddr(pub u64);

/// The number of a base page: a virtual address divided by the base-page size of the geometry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u64);

/// The number of a superpage-aligned block: a virtual address divided by the superpage size of the
/// geometry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockNumber(pub u64);

/// The number of a line of 64 bytes: a virtual address divided by 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNumber(pub u64);

impl LineNumber {
    /// The base-two logarithm of a line's bytes.
    pub const SHIFT: u8 = 6;

    /// Returns the address of the line's first byte.
    pub const fn start(self) -> VirtAddr {
        VirtAddr(self.0 << Self::SHIFT)
    }
}

/// A page size: a power of two of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize {
    shift: u8,
}

impl PageSize {
    /// 4 KiB, the base page of x86-64.
    pub const SIZE_4K: Self = Self { shift: 12 };
    /// 2 MiB, the superpage of x86-64 that this project's first models use.
    pub const SIZE_2M: Self = Self { shift: 21 };
    /// 1 GiB, the larger superpage of x86-64.
    pub const SIZE_1G: Self = Self { shift: 30 };

    /// The page size of `1 << shift` bytes, or `None` if an address cannot express that size.
    pub const fn from_shift(shift: u8) -> Option<Self> {
        if shift < 64 {
            Some(Self { shift })
        } else {
            None
        }
    }

    /// The page size of `bytes` bytes, or `None` if `bytes` is not a power of two.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() {
            Some(Self {
                shift: bytes.trailing_zeros() as u8,
            })
        } else {
            None
        }
    }

    /// The number of low address bits inside a page.
    #[inline]
    pub const fn shift(self) -> u8 {
        self.shift
    }

    /// Returns the size in bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Returns the size as people write it: `4k`, `64k`, `2m`, `1g`.
    ///
    /// ```
    /// assert_eq!(broadleaf_units::PageSize::SIZE_2M.short_name().to_string(), "2m");
    /// ```
    pub const fn short_name(self) -> ShortName {
        ShortName(self)
    }

    /// Reads a short name: a power of two and an optional letter `k`, `m`, `g` or `t`. Returns
    /// `None` for any other text.
    pub fn from_short_name(name: &str) -> Option<Self> {
        let (digits, factor) = match name.as_bytes().last()? {
            b'k' | b'K' => (&name[..name.len() - 1], 10),
            b'm' | b'M' => (&name[..name.len() - 1], 20),
            b'g' | b'G' => (&name[..name.len() - 1], 30),
            b't' | b'T' => (&name[..name.len() - 1], 40),
            _ => (name, 0),
        };
        let number: u64 = digits.parse().ok()?;
        Self::from_bytes(number.checked_mul(1 << factor)?)
    }
}

/// The short name of a page size, such as `4k` or `2m`.
#[derive(Clone, Copy, Debug)]
pub struct ShortName(PageSize);

impl core::fmt::Display for ShortName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let thousands = (self.0.shift / 10).min(4);
        let letter = ["", "k", "m", "g", "t"][usize::from(thousands)];
        write!(f, "{}{letter}", 1u64 << (self.0.shift - 10 * thousands))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_round_trip() {
        extern crate std;
        use std::string::ToString;
        for shift in 0..64 {
            let size = PageSize::from_shift(shift).unwrap();
            let name = size.short_name().to_string();
            assert_eq!(PageSize::from_short_name(&name), Some(size), "{name}");
        }
        for wrong in ["", "k", "3k", "4q", "-4k", "99999999999999999999", "0"] {
            assert_eq!(PageSize::from_short_name(wrong), None, "{wrong}");
        }
    }
}
