//! A modelled TLB whose chases are counted.

use broadleaf_machine::Machine;

use crate::{Chase, ChaseOracle, TlbLevel, Verdict};
use broadleaf_tlb::{
    Design, IndexFunction, Lookup, Organisation, ReferenceKind, Replacement, Role, Structure, Tlb,
    TlbRequest, Translation, Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize, Rights};

/// The lowest of the address bits that no index of a model uses.
const ABOVE: u32 = 40;
/// The rounds after which a chase that fits has settled.
const ROUNDS: usize = 4;
/// The rounds for a random rule, which needs time to find the last unused entries.
const RANDOM_ROUNDS: usize = 600;
/// The most pages of a chase: enough for twice the entries of any machine.
const MOST_PAGES: usize = 1 << 16;

/// The references before a string begins, the rounds that settle it, and the rounds that count.
const STARTING: usize = 64;
const WARM: usize = 64;
const COUNTED: usize = 64;

/// A modelled TLB, and a memory in which every page is mapped and properly placed.
///
/// A chase fits if some round has no miss. That holds for every replacement rule: as many pages as
/// a set has ways settle in it, and one more never does.
#[derive(Clone, Debug)]
pub struct Modelled {
    design: Design,
    size: PageSize,
    kind: ReferenceKind,
    unit: u64,
    rounds: usize,
}

impl Modelled {
    /// One set of base pages with a replacement rule. `None` if the rule refuses the ways.
    pub(crate) fn one_set(rule: &'static Replacement, ways: usize) -> Option<Self> {
        let structure = Structure {
            name: "one-set".to_owned(),
            level: 1,
            entries: ways,
            ways,
            pages: vec![(PageSize::SIZE_4K, IndexFunction::none())],
            organisation: Organisation::set_associative().into(),
            replacement: rule.into(),
            role: Role::default(),
            wired: 0,
            walk_entries: Vec::new(),
        };
        let design = Design::new(vec![structure]).ok()?;
        Self::new(&design, PageSize::SIZE_4K, ReferenceKind::Load)
    }

    /// The TLB of a machine, which loads look up for pages of this size. `None` if no structure
    /// holds such pages.
    pub fn of_machine(machine: &Machine, size: PageSize) -> Option<Self> {
        Self::new(&machine.design, size, ReferenceKind::Load)
    }

    /// A TLB that references of this kind look up for pages of this size. `None` if no structure
    /// holds such pages.
    pub fn new(design: &Design, size: PageSize, kind: ReferenceKind) -> Option<Self> {
        let serves = |of: &&Structure| of.index(size).is_some() && of.role.serves.has(kind);
        let structure = design.structures().iter().find(serves)?;
        let is_random = design.structures().iter().any(is_random);
        Some(Self {
            design: design.clone(),
            size,
            kind,
            unit: unit(structure, size),
            rounds: if is_random { RANDOM_ROUNDS } else { ROUNDS },
        })
    }

    /// A structure without the others, looked up by loads.
    ///
    /// # Panics
    /// Panics if the structure is invalid by itself; those of a design are not.
    pub fn alone(structure: &Structure, size: PageSize) -> Self {
        let mut alone = structure.clone();
        alone.level = 1;
        alone.walk_entries.clear();
        alone.role = Role {
            probes: structure.role.probes,
            ..Role::default()
        };
        let design = Design::new(vec![alone]);
        let design = design.expect("a structure of a design is valid by itself");
        Self {
            design,
            size,
            kind: ReferenceKind::Load,
            unit: unit(structure, size),
            rounds: if is_random(structure) {
                RANDOM_ROUNDS
            } else {
                ROUNDS
            },
        }
    }

    /// The TLB with one page of each unit in chases, for organisations whose entries have several.
    #[must_use]
    pub fn with_single_pages(mut self) -> Self {
        self.unit = self.size.bytes();
        self
    }

    /// The least shares of references that miss the first level, and all levels, in a round of a
    /// chase.
    pub fn least_shares(&self, chase: &[u64]) -> (f64, f64) {
        let mut tlb = Tlb::new(&self.design);
        let pages = chase.len() * (self.unit / self.size.bytes()) as usize;
        let rounds = (0..self.rounds).map(|_| self.round(&mut tlb, chase));
        let least = rounds.fold((usize::MAX, usize::MAX), |least, misses| {
            (least.0.min(misses.0), least.1.min(misses.1))
        });
        let share = |misses: usize| misses as f64 / pages as f64;
        (share(least.0), share(least.1))
    }

    /// Refers to an address, and loads the page after a miss.
    fn refer(&self, tlb: &mut Tlb, address: u64) -> Lookup {
        let page = PageNumber(address >> PageSize::SIZE_4K.shift());
        let (tag, kind) = (Asid::ZERO, self.kind);
        let request = TlbRequest { tag, page, kind };
        let found = tlb.access(&request);
        if found == Lookup::Miss {
            let plain = |page| {
                let plain = Translation::plain(Asid::ZERO, page, self.size);
                Translation {
                    frame: Some(plain.first.0),
                    ..plain
                }
            };
            let translation = Translation {
                rights: Rights::READ_WRITE,
                ..plain(page)
            };
            let walk = Walk {
                request,
                translation,
                read: &|page| Some(plain(page)),
            };
            tlb.load(&walk);
        }
        found
    }

    /// The misses of a round: of the first level, and of all levels. Each unit is referred to once
    /// a page.
    fn round(&self, tlb: &mut Tlb, units: &[u64]) -> (usize, usize) {
        let mut misses = (0, 0);
        for first in units {
            let pages = (*first..first + self.unit).step_by(self.size.bytes() as usize);
            for address in pages {
                let found = self.refer(tlb, address);
                misses.0 += usize::from(found != Lookup::First);
                misses.1 += usize::from(found == Lookup::Miss);
            }
        }
        misses
    }
}

/// The addresses that one entry of a structure covers: a page, or a block of pages.
fn unit(structure: &Structure, size: PageSize) -> u64 {
    let organisation = &structure.organisation;
    let Some(block) = organisation.size("block") else {
        return size.bytes();
    };
    match organisation.word("superpages") {
        "own-blocks" => size.bytes() * (block.bytes() / structure.pages[0].0.bytes()),
        _ => block.bytes().max(size.bytes()),
    }
}

fn is_random(structure: &Structure) -> bool {
    structure.replacement.entry().described.name == "random"
}

fn of_level(level: TlbLevel, (first, all): (usize, usize)) -> usize {
    match level {
        TlbLevel::First => first,
        TlbLevel::All => all,
    }
}

impl ChaseOracle for Modelled {
    fn fits(&mut self, level: TlbLevel, chase: &Chase) -> Option<Verdict> {
        let mut tlb = Tlb::new(&self.design);
        let mut rounds = 0..self.rounds;
        let fits = rounds.any(|_| of_level(level, self.round(&mut tlb, &chase.offsets)) == 0);
        tlb.check();
        Some(Verdict::certain(fits))
    }

    fn miss_ratio(
        &mut self,
        level: TlbLevel,
        string: &[u64],
        _: &[u64],
        start: u64,
    ) -> Option<f64> {
        let mut tlb = Tlb::new(&self.design);
        // References in no order lead to an arbitrary state.
        let mut random = start.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for _ in 0..STARTING {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            self.round(&mut tlb, &[string[random as usize % string.len()]]);
        }
        for _ in 0..WARM {
            self.round(&mut tlb, string);
        }
        let counted = (0..COUNTED).map(|_| of_level(level, self.round(&mut tlb, string)));
        let pages = (self.unit / self.size.bytes()) as usize;
        Some(counted.sum::<usize>() as f64 / (COUNTED * string.len() * pages) as f64)
    }

    fn above(&self) -> u32 {
        ABOVE
    }

    fn unit(&self) -> u64 {
        self.unit
    }

    fn most_pages(&self) -> usize {
        MOST_PAGES
    }

    fn repeats(&self) -> usize {
        1
    }

    fn intruders(&self) -> f64 {
        0.0
    }
}
