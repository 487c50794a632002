//! The edit distance of two names. An unknown name is answered with the nearest known names.

/// The number of bytes of a name that are compared.
const LONGEST: usize = 64;

/// Returns the edit distance: the letters that must be inserted, removed, replaced or swapped with
/// a neighbour to turn `a` into `b`. The source is Damerau 1964, restricted to one change for each
/// place. Compares at most the first 64 bytes of each name.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let cut = |name: &str| name.len().min(LONGEST);
    let (a, b) = (&a.as_bytes()[..cut(a)], &b.as_bytes()[..cut(b)]);
    // Three rows of the table of distances between prefixes: the present row and the two before it.
    let mut before_last = [0; LONGEST + 1];
    let mut last: [usize; LONGEST + 1] = core::array::from_fn(|column| column);
    for (i, from) in a.iter().enumerate() {
        let mut row = [0; LONGEST + 1];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && b[j - 1] == *from {
                row[j + 1] = row[j + 1].min(before_last[j - 1] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn counts_each_kind_of_change_once() {
        for (a, b, distance) in [
            ("greedy", "greedy", 0),
            ("greedy", "gredy", 1),
            ("greedy", "greeedy", 1),
            ("greedy", "greesy", 1),
            ("greedy", "geredy", 1),
            ("", "pop", 3),
            ("pop-64", "dirty-64", 5),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        let long = core::str::from_utf8(&[b'x'; 200]).unwrap();
        assert_eq!(edit_distance(long, long), 0);
        assert_eq!(edit_distance(long, ""), 64);
    }
}
