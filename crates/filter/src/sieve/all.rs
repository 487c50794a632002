//! Keeping all visits, while the sieve compares none.

use crate::sifted::Sifted;
use broadleaf_trace::reduced::{KeptVisit, Manner, Sums};
use broadleaf_trace::{Lead, Visit};

/// Keeps all visits if each accesses data and none leads. Otherwise returns false and keeps none.
pub(super) fn keep_all(visits: &[Visit], shift: u32, sifted: &mut Sifted, sums: &mut Sums) -> bool {
    let before = sifted.kept.len();
    let (mut loads, mut stores) = (sums.loads, sums.stores);
    let mut instructions = sums.instructions;
    let mut odd = false;
    sifted.kept.extend(visits.iter().map(|visit| {
        odd |= visit.fetch | (visit.lead != Lead::None) | (visit.loads | visit.stores == 0);
        let time = loads + stores;
        loads += u64::from(visit.loads);
        stores += u64::from(visit.stores);
        instructions += u64::from(visit.instructions);
        KeptVisit {
            page: visit.unit >> shift,
            time,
            loads_before_store: visit.loads_before_store.min(visit.loads),
            manner: if visit.stores == 0 {
                Manner::LOAD
            } else {
                Manner::STORE
            },
        }
    }));
    if odd {
        sifted.kept.truncate(before);
        return false;
    }
    sums.data |= !visits.is_empty();
    (sums.loads, sums.stores, sums.instructions) = (loads, stores, instructions);
    true
}
