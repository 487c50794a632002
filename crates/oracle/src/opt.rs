//! Belady's rule on one set of pages.

/// Returns true for each of `pages` that misses if the page whose next use is farthest makes room
/// (Belady 1966).
pub fn belady(pages: &[u64], ways: usize) -> Vec<bool> {
    let mut held: Vec<u64> = Vec::new();
    let mut missed = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        missed.push(!held.contains(page));
        if held.contains(page) {
            continue;
        }
        if held.len() == ways {
            let next_use = |held: &u64| {
                let later = pages[at..].iter().position(|page| page == held);
                later.unwrap_or(usize::MAX)
            };
            held.sort_by_key(next_use);
            held.pop();
        }
        held.push(*page);
    }
    missed
}
