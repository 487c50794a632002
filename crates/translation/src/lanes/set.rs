//! One set of a TLB whose entries have 32 bits: in the order of their last use, newest first, empty ones last.

/// An empty entry.
const EMPTY: u32 = u32::MAX;

/// Looks for an entry, and makes it the newest where it is there.
#[inline]
pub(crate) fn renew(set: &mut [u32], wanted: u32) -> bool {
    match set.len() {
        12 => renew_fixed::<12>(set, wanted),
        8 => renew_fixed::<8>(set, wanted),
        16 => renew_fixed::<16>(set, wanted),
        _ => renew_any(set, wanted),
    }
}

#[inline]
fn renew_fixed<const WAYS: usize>(set: &mut [u32], wanted: u32) -> bool {
    let Some(set) = set.first_chunk_mut::<WAYS>() else {
        return false;
    };
    let mut any = 0;
    for entry in &*set {
        any |= u32::from(*entry == wanted);
    }
    if any == 0 {
        return false;
    }
    renew_any(set, wanted)
}

fn renew_any(set: &mut [u32], wanted: u32) -> bool {
    let found = set.iter().position(|entry| *entry == wanted);
    if let Some(at) = found {
        set.copy_within(..at, 1);
        set[0] = wanted;
    }
    found.is_some()
}

/// Puts an entry in as the newest; the oldest goes.
#[inline]
pub(crate) fn insert(set: &mut [u32], entry: u32) {
    match set.len() {
        12 => insert_fixed::<12>(set, entry),
        8 => insert_fixed::<8>(set, entry),
        16 => insert_fixed::<16>(set, entry),
        _ => insert_any(set, entry),
    }
}

#[inline]
fn insert_fixed<const WAYS: usize>(set: &mut [u32], entry: u32) {
    if let Some(set) = set.first_chunk_mut::<WAYS>() {
        set.copy_within(..WAYS - 1, 1);
        set[0] = entry;
    }
}

fn insert_any(set: &mut [u32], entry: u32) {
    set.copy_within(..set.len() - 1, 1);
    set[0] = entry;
}

/// Removes entries. What stays keeps its order.
pub(crate) fn remove_where(set: &mut [u32], unwanted: &mut dyn FnMut(u32) -> bool) {
    let mut kept = 0;
    for way in 0..set.len() {
        let entry = set[way];
        if entry != EMPTY && !unwanted(entry) {
            set[kept] = entry;
            kept += 1;
        }
    }
    set[kept..].fill(EMPTY);
}

/// Asserts that no entry is there twice, and empty ones stand last.
pub(crate) fn check(set: &[u32]) {
    let used = set.iter().take_while(|entry| **entry != EMPTY).count();
    assert!(
        set[used..].iter().all(|entry| *entry == EMPTY),
        "an empty entry before one in use"
    );
    for (at, entry) in set[..used].iter().enumerate() {
        assert!(!set[..at].contains(entry), "one entry twice in a set");
    }
}
