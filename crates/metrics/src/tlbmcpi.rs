//! TLBMCPI: the cycles of memory management per instruction (Romer 1995).

use serde::{Deserialize, Serialize};

/// TLB memory cycles per instruction (Romer 1995, section 3), in three parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tlbmcpi {
    /// Cycles of walks, per instruction of the program.
    pub miss: f64,
    /// Cycles of charging misses, per instruction.
    pub bookkeeping: f64,
    /// Cycles of copying promotions, per instruction.
    pub copy: f64,
}

impl Tlbmcpi {
    /// Divides the cycles of walks, of bookkeeping and of copying by the instructions. Returns
    /// `None` if the trace has no instruction counts.
    pub fn new([miss, bookkeeping, copy]: [u64; 3], instructions: u64) -> Option<Self> {
        let each = |cycles: u64| cycles as f64 / instructions as f64;
        (instructions > 0).then(|| Self {
            miss: each(miss),
            bookkeeping: each(bookkeeping),
            copy: each(copy),
        })
    }

    /// The sum of the parts.
    pub fn total(&self) -> f64 {
        self.miss + self.bookkeeping + self.copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_divided_by_instructions_where_there_are_any() {
        let parts = Tlbmcpi::new([300, 50, 1], 1000).unwrap();
        assert_eq!(
            (parts.miss, parts.bookkeeping, parts.copy),
            (0.3, 0.05, 0.001)
        );
        assert!((parts.total() - 0.351).abs() < 1e-12);
        let json = serde_json::to_string(&parts).unwrap();
        assert_eq!(json, r#"{"miss":0.3,"bookkeeping":0.05,"copy":0.001}"#);
        assert_eq!(Tlbmcpi::new([300, 50, 1], 0), None);
    }
}
