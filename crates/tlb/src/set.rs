//! One set of a TLB: entries in the order of their last use, newest first, empty ones last.
//!
//! Sets are short, so the usual sizes are compiled on their own.

/// An entry of a set.
pub trait SetEntry: Copy + Eq + std::fmt::Debug {
    /// No entry.
    const EMPTY: Self;
}

/// A page number with its space's tag and the code of its size. No size has the code 0.
impl SetEntry for u64 {
    const EMPTY: Self = 0;
}

/// The number of a block or a page, as the lanes of the accelerators hold it. No block has the
/// highest number.
impl SetEntry for u32 {
    const EMPTY: Self = Self::MAX;
}

/// Looks an entry up. Returns true and makes it the newest if it is there.
#[inline]
pub fn renew<T: SetEntry>(set: &mut [T], wanted: T) -> bool {
    match set.len() {
        4 => renew_fixed::<T, 4>(set, wanted),
        12 => renew_fixed::<T, 12>(set, wanted),
        8 => renew_fixed::<T, 8>(set, wanted),
        16 => renew_fixed::<T, 16>(set, wanted),
        _ => renew_any(set, wanted),
    }
}

#[inline]
fn renew_fixed<T: SetEntry, const WAYS: usize>(set: &mut [T], wanted: T) -> bool {
    set.first_chunk_mut::<WAYS>()
        .is_some_and(|set| renew_any(set, wanted))
}

/// Any position is equally likely, so a branch on the position would be mispredicted most of the
/// time.
#[inline(always)]
fn renew_any<T: SetEntry>(set: &mut [T], wanted: T) -> bool {
    let mut found = 0;
    for (way, entry) in set.iter().enumerate() {
        found |= u32::from(*entry == wanted).wrapping_neg() & (way as u32 + 1);
    }
    if found == 0 {
        return false;
    }
    let mut before = wanted;
    for (way, entry) in set.iter_mut().enumerate() {
        let old = *entry;
        *entry = if (way as u32) < found { before } else { old };
        before = old;
    }
    true
}

/// Inserts an entry as the newest. The oldest is pushed out.
#[inline]
pub fn insert<T: SetEntry>(set: &mut [T], entry: T) {
    match set.len() {
        4 => insert_fixed::<T, 4>(set, entry),
        12 => insert_fixed::<T, 12>(set, entry),
        8 => insert_fixed::<T, 8>(set, entry),
        16 => insert_fixed::<T, 16>(set, entry),
        _ => insert_any(set, entry),
    }
}

#[inline]
fn insert_fixed<T: SetEntry, const WAYS: usize>(set: &mut [T], entry: T) {
    if let Some(set) = set.first_chunk_mut::<WAYS>() {
        set.copy_within(..WAYS - 1, 1);
        set[0] = entry;
    }
}

fn insert_any<T: SetEntry>(set: &mut [T], entry: T) {
    set.copy_within(..set.len() - 1, 1);
    set[0] = entry;
}

/// Removes entries. The others keep their order.
pub fn remove_where<T: SetEntry>(set: &mut [T], mut unwanted: impl FnMut(T) -> bool) {
    let mut kept = 0;
    for way in 0..set.len() {
        let entry = set[way];
        if entry != T::EMPTY && !unwanted(entry) {
            set[kept] = entry;
            kept += 1;
        }
    }
    set[kept..].fill(T::EMPTY);
}

/// Asserts that no entry is there twice, and that empty entries come last.
pub fn check<T: SetEntry>(set: &[T]) {
    let used = set.iter().take_while(|entry| **entry != T::EMPTY).count();
    assert!(
        set[used..].iter().all(|entry| *entry == T::EMPTY),
        "an empty entry before one in use"
    );
    for (at, entry) in set[..used].iter().enumerate() {
        assert!(!set[..at].contains(entry), "one entry twice in a set");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_does_the_same() {
        for ways in 1..=16u64 {
            let mut set = vec![0u64; ways as usize];
            for entry in 1..=ways + 1 {
                assert!(!renew(&mut set, entry));
                insert(&mut set, entry);
            }
            // The first one was pushed out by the last.
            let mut expected: Vec<u64> = (2..=ways + 1).rev().collect();
            assert_eq!(set, expected);
            assert!(!renew(&mut set, 1));
            for at in 0..ways as usize {
                let entry = expected.remove(at);
                expected.insert(0, entry);
                assert!(renew(&mut set, entry));
                assert_eq!(set, expected, "{ways} ways, at {at}");
            }
            remove_where(&mut set, |entry| entry % 2 == 0);
            expected.retain(|entry| entry % 2 != 0);
            expected.resize(ways as usize, 0);
            assert_eq!(set, expected);
        }
    }
}
