//! The page sizes that a machine has.

/// The most sizes that a set of them may hold. Processors have two to five, and Romer (1995)
/// simulated twelve.
pub const MOST_LEVELS: usize = 16;

/// The largest order that a size may have: 64 GiB of 4 KiB pages.
pub const LARGEST_ORDER: u8 = 24;

/// The page sizes of a machine, each as an *order*: the base-two logarithm of its number of base
/// pages. They are in ascending order and the first is the base page. A size is named by its
/// *level*, its place in the set: level 0 is the base page.
///
/// x86-64 has `[0, 9, 18]`, the Alpha `[0, 3, 6, 9]` (8, 64 and 512 KiB and 4 MiB: Navarro 2002),
/// Arm with base pages of 4 KiB `[0, 4, 9]` and more, with those of 16 KiB `[0, 7, 11]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSizes {
    orders: [u8; MOST_LEVELS],
    levels: u8,
}

/// The reason why some orders are no set of page sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSizesError {
    /// The set is empty, or its first order is not 0.
    NoBasePage,
    /// An order that does not exceed the one before it.
    NotAscending(u8),
    /// An order above [`LARGEST_ORDER`].
    TooLarge(u8),
    /// More than [`MOST_LEVELS`] of them.
    TooMany(usize),
}

impl core::fmt::Display for PageSizesError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoBasePage => {
                f.write_str("the first page size has to be the base page, whose order is 0")
            }
            Self::NotAscending(order) => write!(
                f,
                "page sizes have to ascend, and order {order} does not exceed the one before it"
            ),
            Self::TooLarge(order) => write!(f, "order {order} is more than {LARGEST_ORDER}"),
            Self::TooMany(sizes) => write!(f, "{sizes} page sizes are more than {MOST_LEVELS}"),
        }
    }
}

impl core::error::Error for PageSizesError {}

impl PageSizes {
    /// The sizes of these orders.
    ///
    /// # Errors
    /// Returns an error if there are too many orders, one is too large, they do not ascend, or the
    /// first is not 0.
    pub fn new(orders: &[u8]) -> Result<Self, PageSizesError> {
        if orders.first() != Some(&0) {
            return Err(PageSizesError::NoBasePage);
        }
        if orders.len() > MOST_LEVELS {
            return Err(PageSizesError::TooMany(orders.len()));
        }
        for pair in orders.windows(2) {
            if pair[1] <= pair[0] {
                return Err(PageSizesError::NotAscending(pair[1]));
            }
            if pair[1] > LARGEST_ORDER {
                return Err(PageSizesError::TooLarge(pair[1]));
            }
        }
        let mut sizes = Self {
            orders: [0; MOST_LEVELS],
            levels: orders.len() as u8,
        };
        sizes.orders[..orders.len()].copy_from_slice(orders);
        Ok(sizes)
    }

    /// The order of each size, in ascending order.
    pub fn orders(&self) -> &[u8] {
        &self.orders[..usize::from(self.levels)]
    }

    /// The number of sizes.
    pub const fn levels(&self) -> usize {
        self.levels as usize
    }

    /// The level of the largest size.
    pub const fn largest(&self) -> usize {
        self.levels as usize - 1
    }

    /// The order of the size of that level.
    ///
    /// # Panics
    /// Panics if there is no such level, as do all methods with a level.
    pub fn order(&self, level: usize) -> u8 {
        self.orders()[level]
    }

    /// The number of base pages in a piece of `level`.
    pub fn pages(&self, level: usize) -> u64 {
        1 << self.order(level)
    }

    /// The first page of the aligned piece of that level that a page lies in.
    pub fn first_of(&self, level: usize, page: u64) -> u64 {
        page & !(self.pages(level) - 1)
    }

    /// The number of pieces of the next smaller size in a piece of `level`: one for a base page.
    pub fn children(&self, level: usize) -> usize {
        1 << (self.order(level) - self.order(level.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_set_of_sizes() {
        let alpha = PageSizes::new(&[0, 3, 6, 9]).unwrap();
        assert_eq!((alpha.levels(), alpha.largest()), (4, 3));
        assert_eq!(alpha.orders(), [0, 3, 6, 9]);
        assert_eq!((alpha.order(2), alpha.pages(2)), (6, 64));
        assert_eq!(alpha.first_of(1, 30), 24);
        assert_eq!((alpha.children(3), alpha.children(0)), (8, 1));
        assert_eq!(PageSizes::new(&[0]).unwrap().largest(), 0);
        assert_eq!(PageSizes::new(&[0, 24]).unwrap().pages(1), 1 << 24);
    }

    #[test]
    fn what_is_not() {
        for (orders, error) in [
            (&[][..], PageSizesError::NoBasePage),
            (&[1, 2], PageSizesError::NoBasePage),
            (&[0, 0], PageSizesError::NotAscending(0)),
            (&[0, 9, 4], PageSizesError::NotAscending(4)),
            (&[0, 9, 25], PageSizesError::TooLarge(25)),
            (
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
                PageSizesError::TooMany(17),
            ),
        ] {
            assert_eq!(PageSizes::new(orders), Err(error));
        }
        extern crate std;
        use std::string::ToString;
        let said = PageSizesError::TooLarge(25).to_string();
        assert_eq!(said, "order 25 is more than 24");
    }
}
