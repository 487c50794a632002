//! What a promotion costs, in misses.

use broadleaf_units::PageSize;

/// `R` of Romer 1995 (section 6.1): how many TLB misses cost as much as copying a superpage of that size does. To promote when so many could have
/// been prevented costs at most twice what it would have cost to know.
///
/// Without end where a miss costs nothing.
///
/// ```
/// use broadleaf_translation::charges::promotion_ratio;
/// use broadleaf_units::PageSize;
/// // Section 8.1: 3000 cycles for each KiB copied, 30 for a miss.
/// assert_eq!(promotion_ratio(PageSize::from_bytes(8 << 10).unwrap(), 3000, 30), 800.0);
/// ```
pub fn promotion_ratio(size: PageSize, copy_cycles_per_kib: u64, miss_cycles: u64) -> f64 {
    let kib = size.bytes() as f64 / 1024.0;
    kib * copy_cycles_per_kib as f64 / miss_cycles as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_of_section_7() {
        // An eighth of R, of which APPROX-ONLINE makes its threshold: misses for each size in KiB.
        for (kib, threshold) in [(8, 100), (64, 800), (128, 1600), (8192, 102_400)] {
            let size = PageSize::from_bytes(kib << 10).unwrap();
            let ratio = promotion_ratio(size, 3000, 30);
            assert_eq!(0.125 * ratio, f64::from(threshold), "{kib} KiB");
        }
        assert_eq!(promotion_ratio(PageSize::SIZE_4K, 3000, 0), f64::INFINITY);
    }
}
