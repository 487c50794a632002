//! The search for the number of entries with a given area.

/// The largest number of entries of the search.
const MOST_ENTRIES: u32 = 1 << 24;

/// The number of entries whose area is nearest to a target, above or below it. The area must grow
/// with the number of entries.
///
/// Talluri's block counts are the nearest (section 4.2.1), not the largest that fit: the latter
/// gives 20 of the 42 printed counts.
pub fn nearest_entries(target: f64, area: impl Fn(u32) -> f64) -> u32 {
    let (mut below, mut above) = (1, MOST_ENTRIES);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if area(middle) <= target {
            below = middle;
        } else {
            above = middle;
        }
    }
    let distance = |entries: u32| (area(entries) - target).abs();
    if distance(above) < distance(below) {
        above
    } else {
        below
    }
}
