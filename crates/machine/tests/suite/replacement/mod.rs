//! The replacement rules: chases and probes with known answers, published vectors, and slow rules.

mod chases;
mod closed_forms;
mod differential;
mod opt;
mod opt_elsewhere;
mod probes;
mod text;
mod vectors;

use broadleaf_machine::{Machine, MachineError};
use broadleaf_tlb::{Evicted, Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

/// A machine whose TLB is one set of base pages. `keys` are further lines of the table.
fn one_set(rule: &str, ways: usize, keys: &str) -> Result<Machine, MachineError> {
    Machine::from_toml(&format!(
        "name = \"one-set\"\nsummary = \"one set\"\n[[tlb]]\nname = \"dtlb\"\nlevel = 1\n\
         entries = {ways}\nways = {ways}\nreplacement = \"{rule}\"\n{keys}\n\
         index = {{ 4k = \"none\" }}\n[walk-cycles]\n4k = 30\n"
    ))
}

/// One set with a rule, and the references so far.
pub(crate) struct OneSet {
    tlb: Tlb,
}

impl OneSet {
    pub(crate) fn new(rule: &str, ways: usize) -> Self {
        let machine = one_set(rule, ways, "").expect("a machine");
        Self {
            tlb: Tlb::new(&machine.design),
        }
    }

    /// Refers to a page. Returns true if it missed, and the page that made room.
    fn refer(&mut self, page: u64) -> (bool, Option<u64>) {
        let mut gone = None;
        let found = self.tlb.lookup(Asid::ZERO, PageNumber(page));
        if found == Lookup::Miss {
            let walk = Walk::plain(Asid::ZERO, PageNumber(page), PageSize::SIZE_4K);
            let lost = |lost: Evicted| gone = Some(lost.page.0);
            self.tlb.load_evicting(&walk, lost);
        }
        (found == Lookup::Miss, gone)
    }

    /// Refers to pages in order. Returns the pages that made room.
    fn refer_all(&mut self, pages: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let pages = pages.into_iter();
        pages.filter_map(|page| self.refer(page).1).collect()
    }

    /// The miss ratio of the last `counted` rounds of a string that is repeated.
    pub(crate) fn steady(&mut self, string: &[u64], rounds: usize, counted: usize) -> f64 {
        let mut misses = 0;
        for round in 0..rounds {
            for page in string {
                let (missed, _) = self.refer(*page);
                misses += usize::from(missed && round >= rounds - counted);
            }
        }
        misses as f64 / (counted * string.len()) as f64
    }
}
