//! One set of a TLB: entries in the order of their last use, newest first, empty ones last.
//!
//! Sets are short and their hits land anywhere in them, so the usual sizes are written without branches: each size is
//! compiled on its own.

/// A page number with its space's tag and the code of its size. 0 is an empty entry, as no size has the code 0.
pub(crate) type Entry = u64;

/// Looks for an entry, and makes it the newest where it is there.
#[inline]
pub(crate) fn renew(set: &mut [Entry], wanted: Entry) -> bool {
    match set.len() {
        4 => renew_fixed::<4>(set, wanted),
        6 => renew_fixed::<6>(set, wanted),
        8 => renew_fixed::<8>(set, wanted),
        12 => renew_fixed::<12>(set, wanted),
        _ => renew_any(set, wanted),
    }
}

#[inline]
fn renew_fixed<const WAYS: usize>(set: &mut [Entry], wanted: Entry) -> bool {
    let Some(set) = set.first_chunk_mut::<WAYS>() else {
        return renew_any(set, wanted);
    };
    let mut at = WAYS;
    for (way, entry) in set.iter().enumerate() {
        at = if *entry == wanted { way } else { at };
    }
    if at == WAYS {
        return false;
    }
    for way in (1..WAYS).rev() {
        set[way] = if way <= at { set[way - 1] } else { set[way] };
    }
    set[0] = wanted;
    true
}

fn renew_any(set: &mut [Entry], wanted: Entry) -> bool {
    let found = set.iter().position(|entry| *entry == wanted);
    if let Some(at) = found {
        set.copy_within(..at, 1);
        set[0] = wanted;
    }
    found.is_some()
}

/// Puts an entry in as the newest; the oldest goes.
#[inline]
pub(crate) fn insert(set: &mut [Entry], entry: Entry) {
    match set.len() {
        4 => insert_fixed::<4>(set, entry),
        6 => insert_fixed::<6>(set, entry),
        8 => insert_fixed::<8>(set, entry),
        12 => insert_fixed::<12>(set, entry),
        _ => insert_any(set, entry),
    }
}

#[inline]
fn insert_fixed<const WAYS: usize>(set: &mut [Entry], entry: Entry) {
    let Some(set) = set.first_chunk_mut::<WAYS>() else {
        return insert_any(set, entry);
    };
    for way in (1..WAYS).rev() {
        set[way] = set[way - 1];
    }
    set[0] = entry;
}

fn insert_any(set: &mut [Entry], entry: Entry) {
    set.copy_within(..set.len() - 1, 1);
    set[0] = entry;
}

/// Removes entries. What stays keeps its order.
pub(crate) fn remove_where(set: &mut [Entry], unwanted: impl Fn(Entry) -> bool) {
    let mut kept = 0;
    for way in 0..set.len() {
        let entry = set[way];
        if entry != 0 && !unwanted(entry) {
            set[kept] = entry;
            kept += 1;
        }
    }
    set[kept..].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_does_the_same() {
        for ways in 1..=16u64 {
            let mut set = vec![0; ways as usize];
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
