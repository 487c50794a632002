//! Sets of small numbers, a bit for each.

/// The numbers of the bits that are set.
#[inline(always)]
pub(crate) fn numbers(bits: u64) -> impl Iterator<Item = usize> {
    let mut left = bits;
    std::iter::from_fn(move || {
        let number = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (number < u64::BITS).then_some(number as usize)
    })
}
