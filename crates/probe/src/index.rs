//! Index bits: the address bits that select a set, and the pairs that are combined.

use crate::{Chase, ChaseOracle, Finding, TlbLevel, Verdict};
use broadleaf_tlb::{BitField, IndexFunction};

/// The address bits that lead to another set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexBits {
    /// The bits, lowest first.
    pub bits: Vec<u32>,
    /// Pairs of bits that change nothing together: the lower one, and the higher one.
    pub pairs: Vec<(u32, u32)>,
}

impl IndexBits {
    /// The bits in groups. The bits of a group are combined by exclusive or. `None` if the pairs
    /// contradict each other.
    fn groups(&self) -> Option<Vec<Vec<u32>>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for bit in &self.bits {
            let is_paired = |low: &u32| self.pairs.contains(&(*low, *bit));
            match groups.iter_mut().find(|group| group.iter().any(is_paired)) {
                Some(group) if group.iter().all(is_paired) => group.push(*bit),
                Some(_) => return None,
                None => groups.push(vec![*bit]),
            }
        }
        let paired: usize = groups
            .iter()
            .map(|one| one.len() * (one.len() - 1) / 2)
            .sum();
        (paired == self.pairs.len()).then_some(groups)
    }

    /// The number of sets that the bits select. `None` if the pairs contradict each other.
    pub fn sets(&self) -> Option<usize> {
        let groups = u32::try_from(self.groups()?.len()).ok()?;
        1_usize.checked_shl(groups)
    }

    /// The index function with these bits. `None` if it is no exclusive or of ranges of bits.
    pub fn function(&self) -> Option<IndexFunction> {
        let groups = self.groups()?;
        let fields = groups.first().map_or(0, Vec::len);
        let field = |number: usize| {
            let low = groups.first()?.get(number)?;
            let in_order = groups
                .iter()
                .enumerate()
                .all(|(at, group)| group.len() == fields && group[number] == low + at as u32);
            let high = low + groups.len() as u32 - 1;
            in_order.then_some(BitField { high, low: *low })
        };
        let fields: Option<Vec<BitField>> = (0..fields).map(field).collect();
        IndexFunction::new(fields?).ok()
    }
}

/// Finds the bits of an index and their pairs. `chase` returns a chase that fits if and only if
/// the detection bits lead to another set.
pub fn index_bits(
    oracle: &mut dyn ChaseOracle,
    level: TlbLevel,
    chase: &dyn Fn(u64) -> Chase,
) -> Finding<IndexBits> {
    let lowest = oracle.unit().trailing_zeros();
    let mut answers: Vec<Verdict> = Vec::new();
    let mut found = IndexBits::default();
    let cannot = "a chase of the index bits cannot be mapped";
    for bit in lowest..oracle.above() {
        let Some(answer) = oracle.fits(level, &chase(1 << bit)) else {
            return Finding::open(cannot);
        };
        answers.push(answer);
        if answer.fits {
            found.bits.push(bit);
        }
    }
    for (at, high) in found.bits.iter().enumerate() {
        for low in &found.bits[..at] {
            let Some(answer) = oracle.fits(level, &chase(1 << *low | 1 << *high)) else {
                return Finding::open(cannot);
            };
            answers.push(answer);
            if !answer.fits {
                found.pairs.push((*low, *high));
            }
        }
    }
    Finding::of(found, &answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(bits: &[u32], pairs: &[(u32, u32)]) -> Option<String> {
        let found = IndexBits {
            bits: bits.to_vec(),
            pairs: pairs.to_vec(),
        };
        found.function().map(|index| index.to_string())
    }

    #[test]
    fn bits_and_pairs_are_an_index_function() {
        assert_eq!(function(&[], &[]).as_deref(), Some("none"));
        assert_eq!(function(&[12, 13, 14], &[]).as_deref(), Some("va[14:12]"));
        assert_eq!(
            function(&[12, 13, 19, 20], &[(12, 19), (13, 20)]).as_deref(),
            Some("va[13:12] ^ va[20:19]")
        );
        let three = [(12, 14), (12, 16), (14, 16)];
        assert_eq!(
            function(&[12, 14, 16], &three).as_deref(),
            Some("va[12:12] ^ va[14:14] ^ va[16:16]")
        );
    }

    #[test]
    fn bits_that_are_no_ranges_stay_open() {
        assert_eq!(function(&[12, 14], &[]), None);
        assert_eq!(function(&[12, 13, 19], &[(12, 19)]), None);
        assert_eq!(function(&[12, 13, 19, 20], &[(12, 20), (13, 19)]), None);
        // Two of three bits are not paired.
        assert_eq!(function(&[12, 14, 16], &[(12, 14), (14, 16)]), None);
    }
}
