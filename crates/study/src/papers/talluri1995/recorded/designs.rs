//! The compared TLBs, in the area of 64 single-page-size blocks, and the policies of memory.

use super::worlds::World;

/// A TLB under a policy.
pub(super) struct DesignRun {
    /// The thesis's name of the TLB, with its support by the system.
    pub(super) name: &'static str,
    /// The grid that describes the TLB.
    pub(super) grid: &'static str,
    pub(super) policy: &'static str,
}

/// No support by the system.
pub(super) const RANDOM: &str = "random-frames";
/// Page reservation.
pub(super) const RESERVE: &str = "reserve-64k";
/// Page-size assignment with reservation.
const ASSIGN: &str = "foxtrot(size=32k)";

/// A TLB under a policy.
pub(super) const fn run(name: &'static str, grid: &'static str, policy: &'static str) -> DesignRun {
    DesignRun { name, grid, policy }
}

// A memory reserves blocks of the sizes that its machines have.
const PSB: &str = "partial-subblock:entries=57,block=64k,sizes=4k+64k";
const PSB_PRE: &str = "partial-subblock:entries=57,block=64k,sizes=4k+64k,preload=true";
/// The page table is that of another table of the paper: one TLB serves both.
const SINGLE: &str = "single:entries=64,line=256,table=hashed";
const SUPERPAGE: &str = "superpage:entries=62,sizes=4k+32k";

/// All runs, in the order of the columns. The first is the reference.
pub(super) const DESIGNS: [DesignRun; 12] = [
    run("sp_fa_b64", SINGLE, RANDOM),
    run("spg32k_fa_b62_base", SUPERPAGE, RANDOM),
    run("spg32k_fa_b62_reserve", SUPERPAGE, RESERVE),
    run("spg32k_fa_b62", SUPERPAGE, ASSIGN),
    run(
        "csb4_fa_b35",
        "complete-subblock:entries=35,block=16k",
        RANDOM,
    ),
    run(
        "csb4_fa_b35_pre",
        "complete-subblock:entries=35,block=16k,preload=true",
        RANDOM,
    ),
    run(
        "csb16_fa_b9",
        "complete-subblock:entries=9,block=64k",
        RANDOM,
    ),
    run(
        "csb16_fa_b9_pre",
        "complete-subblock:entries=9,block=64k,preload=true",
        RANDOM,
    ),
    run("psb16_fa_b57_noos", PSB, RANDOM),
    run("psb16_fa_b57_pre_noos", PSB_PRE, RANDOM),
    run("psb16_fa_b57", PSB, RESERVE),
    run("psb16_fa_b57_pre", PSB_PRE, RESERVE),
];

/// The TLBs, each with its world.
pub(super) fn observers() -> impl Iterator<Item = (World, &'static str)> {
    DESIGNS
        .iter()
        .map(|design| (World::plentiful(design.policy), design.grid))
}

#[cfg(test)]
mod tests {
    use super::super::super::names::TlbName;
    use super::*;
    use broadleaf_machine::{machines_of_grid, tlb_plan};
    use broadleaf_price::nearest_entries;

    #[test]
    fn all_have_the_area_of_the_reference() {
        let reference = machines_of_grid(DESIGNS[0].grid).expect("a grid");
        let area = |structure| tlb_plan(structure).expect("a price").area();
        let target = area(&reference[0].design.structures()[0]);
        for design in &DESIGNS {
            let machine = &machines_of_grid(design.grid).expect("a grid")[0];
            let structure = &machine.design.structures()[0];
            let name = TlbName::parse(design.name).expect("a name");
            assert_eq!(name.blocks as usize, structure.entries, "{}", design.name);
            let nearest = nearest_entries(target, |blocks| name.family.plan(None, blocks).area());
            assert_eq!(nearest, name.blocks, "{}", design.name);
        }
    }
}
