//! Cycles that memory management takes for each instruction, as Romer and others measured policies.

use serde::Serialize;

/// TLB memory cycles per instruction (Romer 1995, section 3), in the three parts that make it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tlbmcpi {
    /// Cycles of walks, for each instruction of the program.
    pub miss: f64,
    /// Cycles of charging misses.
    pub bookkeeping: f64,
    /// Cycles of promotions that copy.
    pub copy: f64,
}

impl Tlbmcpi {
    /// What so many cycles of walks, of bookkeeping and of copying are for each of so many instructions; `None` where nobody counted instructions.
    pub fn new([miss, bookkeeping, copy]: [u64; 3], instructions: u64) -> Option<Self> {
        let each = |cycles: u64| cycles as f64 / instructions as f64;
        (instructions > 0).then(|| Self {
            miss: each(miss),
            bookkeeping: each(bookkeeping),
            copy: each(copy),
        })
    }

    /// The measure itself.
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
