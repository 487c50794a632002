//! The record of an instruction.

/// Bytes of a record.
pub const CHAMPSIM_BYTES: usize = 64;
/// Loads of a record.
pub(super) const MOST_LOADS: usize = 4;
/// Stores of a record.
pub(super) const MOST_STORES: usize = 2;

/// The offset of the store addresses: after the instruction pointer, two bytes about a branch, two
/// destination and four source registers.
const STORES_AT: usize = 16;
const LOADS_AT: usize = STORES_AT + 8 * MOST_STORES;

/// The part of a record that a trace of ours keeps. Address 0 means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChampSimRecord {
    /// The instruction pointer.
    pub ip: u64,
    /// Addresses that are loaded from.
    pub loads: [u64; MOST_LOADS],
    /// Addresses that are stored to.
    pub stores: [u64; MOST_STORES],
}

impl ChampSimRecord {
    /// The record that these bytes hold.
    ///
    /// # Errors
    /// A byte that is 0 or 1 in every trace (the instruction is a branch, the branch was taken) is
    /// neither.
    #[inline]
    pub fn from_bytes(bytes: &[u8; CHAMPSIM_BYTES]) -> Result<Self, &'static str> {
        if bytes[8] > 1 {
            return Err(
                "byte 8, which says whether it is a branch, is neither 0 nor 1: the input \
                        is not a trace of ChampSim, or is damaged before this record",
            );
        }
        if bytes[9] > 1 {
            return Err(
                "byte 9, which says whether the branch was taken, is neither 0 nor 1: the \
                        input is not a trace of ChampSim, or is damaged before this record",
            );
        }
        let words = bytes.as_chunks().0;
        let number = |at: usize| u64::from_le_bytes(words[at / 8]);
        Ok(Self {
            ip: number(0),
            loads: std::array::from_fn(|i| number(LOADS_AT + 8 * i)),
            stores: std::array::from_fn(|i| number(STORES_AT + 8 * i)),
        })
    }

    /// True if the record has an address of data.
    #[inline]
    pub(super) fn refers(&self) -> bool {
        let all = self.loads.iter().chain(&self.stores);
        all.fold(0, |all, address| all | address) != 0
    }

    /// The record's bytes, with no registers and no branch.
    pub fn to_bytes(&self) -> [u8; CHAMPSIM_BYTES] {
        let mut bytes = [0; CHAMPSIM_BYTES];
        bytes[..8].copy_from_slice(&self.ip.to_le_bytes());
        let addresses = self.stores.iter().chain(&self.loads);
        for (into, address) in bytes[STORES_AT..].chunks_exact_mut(8).zip(addresses) {
            into.copy_from_slice(&address.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_champsim_has_them() {
        // By hand, from the structure's declaration.
        let mut bytes = [0; CHAMPSIM_BYTES];
        bytes[..8].copy_from_slice(&0x40_1000_u64.to_le_bytes());
        bytes[8] = 1;
        bytes[9] = 1;
        bytes[10..16].fill(0xee);
        bytes[24..32].copy_from_slice(&0x2000_u64.to_le_bytes());
        bytes[32..40].copy_from_slice(&0x3000_u64.to_le_bytes());
        bytes[56..64].copy_from_slice(&0x4000_u64.to_le_bytes());
        let record = ChampSimRecord::from_bytes(&bytes).unwrap();
        let expected = ChampSimRecord {
            ip: 0x40_1000,
            loads: [0x3000, 0, 0, 0x4000],
            stores: [0, 0x2000],
        };
        assert_eq!(record, expected);
        bytes[8..16].fill(0);
        assert_eq!(record.to_bytes(), bytes);
    }

    #[test]
    fn other_bytes_are_no_record() {
        let text = b"I  04010173,3\nI  04010176,5\n S 1ffefffff8,8\nI  04010ec0,1\n L 1ff";
        assert!(ChampSimRecord::from_bytes(text).is_err());
    }
}
