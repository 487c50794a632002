//! Evictions: the translations that a TLB reports as evicted, compared with its content. Also
//! counts of set-associative TLBs of one level and of two.

use broadleaf_charges::{Candidate, Ladder, PrefetchCharges};
use broadleaf_machine::machine;
use broadleaf_oracle::random::Rng;
use broadleaf_tlb::{Evicted, Lookup, Tlb, TlbRequest, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};
use std::collections::BTreeSet;

/// A translation: its space, its first page, the shift of its size.
type Translation = (Asid, u64, u8);

struct EvictionRun {
    tlb: Tlb,
    /// The TLB looked up and filled without reports.
    plain: Tlb,
    /// The content of the TLB by its reports.
    held: BTreeSet<Translation>,
    charges: PrefetchCharges,
    lost: usize,
    second: usize,
}

/// The ladder of a machine with pages of 4 KiB and 2 MiB.
const ORDERS: [u8; 2] = [0, 9];

impl EvictionRun {
    fn refer(&mut self, tag: Asid, page: u64, superpage: bool) {
        let number = PageNumber(page);
        let mut lost = Vec::new();
        let request = TlbRequest::load(tag, number);
        let lookup = (self.tlb).access_evicting(&request, |evicted| lost.push(evicted));
        assert_eq!(lookup, self.plain.lookup(tag, number));
        if lookup == Lookup::Second {
            self.second += 1;
        }
        if lookup == Lookup::Miss {
            let size = if superpage {
                PageSize::SIZE_2M
            } else {
                PageSize::SIZE_4K
            };
            self.charges
                .miss(tag, page, usize::from(superpage), |_, _| {});
            let walk = Walk::plain(tag, number, size);
            (self.tlb).load_evicting(&walk, |evicted| lost.push(evicted));
            self.plain.load(&Walk::plain(tag, number, size));
            let first = page & !((size.bytes() >> 12) - 1);
            assert!(self.held.insert((tag, first, size.shift())));
        }
        self.lost += lost.len();
        for Evicted { tag, page, size } in lost {
            assert!(
                self.held.remove(&(tag, page.0, size.shift())),
                "it was not there"
            );
            self.charges
                .evict(tag, page.0, usize::from(size == PageSize::SIZE_2M));
        }
        assert!(self.tlb.holds_as(&self.plain));
    }

    /// Looks each page up in a copy.
    fn compare(&self, tags: &[Asid], pages: &[u64]) {
        for (tag, page) in tags
            .iter()
            .flat_map(|tag| pages.iter().map(move |page| (*tag, *page)))
        {
            let present = self.tlb.clone().lookup(tag, PageNumber(page)) != Lookup::Miss;
            let superpage = (tag, page & !511, PageSize::SIZE_2M.shift());
            let held = self.held.contains(&(tag, page, PageSize::SIZE_4K.shift()));
            assert_eq!(
                present,
                held || self.held.contains(&superpage),
                "{tag:?} {page:#x}"
            );
            let one = Candidate {
                tag,
                first: page,
                level: 0,
            };
            assert_eq!(self.charges.tlb_count(one), u32::from(held));
        }
    }
}

#[test]
fn what_a_tlb_loses() {
    let tags = [0, 1].map(|number| Asid::new(number).unwrap());
    // Few sets of either level. Odd blocks are superpages.
    let pages: Vec<u64> = (0..24)
        .flat_map(|number| {
            [
                number << 14,
                (number << 14) + 1,
                (number << 16) + 512,
                (number << 16) + 700,
            ]
        })
        .chain((0..6).map(|number| (1 << 52) - 1 - (number << 14)))
        .collect();
    for (name, second) in [("skylake", true), ("skylake-unified-64", false)] {
        let design = machine(name).unwrap().design;
        let mut run = EvictionRun {
            tlb: Tlb::new(&design),
            plain: Tlb::new(&design),
            held: BTreeSet::new(),
            charges: PrefetchCharges::new(Ladder::new(&ORDERS).unwrap()),
            lost: 0,
            second: 0,
        };
        let mut rng = Rng::new(7);
        for step in 0..6000 {
            let page = rng.pick(&pages);
            run.refer(rng.pick(&tags), page, page >> 9 & 1 == 1);
            if step % 16 == 0 {
                run.tlb.check();
                run.charges.check();
                run.compare(&tags, &pages);
            }
        }
        assert!(run.lost > 100, "{name}");
        assert!(run.second > 0 || !second, "{name}");
    }
}
