//! The TLB that each column of Appendix I is relative to.

use super::names::{TlbFamily, TlbName};

/// The rule for the base of a table's columns.
#[derive(Clone, Copy)]
enum BaseRule {
    /// One TLB for all columns.
    One(&'static str),
    /// One TLB for each table, by the last letter of its name.
    ByLetter(&'static BaseByLetter),
    /// The single-page-size TLB with as many blocks.
    SinglePageSize,
    /// The same TLB without preloading.
    WithoutPreloading,
    /// The superpage TLB with as many blocks, of equal reach. The 4-way one has the superpage
    /// index.
    Superpage,
    /// The complete-subblock TLB that is equal otherwise.
    CompleteSubblock,
}

/// The rules by the beginnings of tables' names. The first that fits applies.
const RULES: &[(&str, BaseRule)] = &[
    ("I2-", BaseRule::One("sp_fa_b64")),
    ("I3-1", BaseRule::SinglePageSize),
    ("I3-3b", BaseRule::One("sp_sa4_b512")),
    ("I3-", BaseRule::One("sp_sa4_b256")),
    ("I4-3", BaseRule::WithoutPreloading),
    ("I5-3", BaseRule::WithoutPreloading),
    ("I4-9", BaseRule::Superpage),
    ("I5-13", BaseRule::Superpage),
    ("I5-15", BaseRule::CompleteSubblock),
    ("I4-1", BaseRule::SinglePageSize),
    ("I5-11", BaseRule::ByLetter(&EQUAL_REACH)),
    ("I5-1", BaseRule::SinglePageSize),
    ("I5-4", BaseRule::SinglePageSize),
    ("I4-6", BaseRule::ByLetter(&EQUAL_REACH)),
    ("I", BaseRule::ByLetter(&EQUAL_AREA)),
];

/// Bases by the last letters of tables' names.
type BaseByLetter = [(char, &'static str); 4];

/// The bases of tables of equal reach.
const EQUAL_REACH: BaseByLetter = [
    ('a', "sp_fa_b256"),
    ('b', "sp_fa_b512"),
    ('c', "sp_sa4_b256"),
    ('d', "sp_sa4_b512"),
];

/// The bases of tables of equal area.
const EQUAL_AREA: BaseByLetter = [
    ('a', "sp_fa_b64"),
    ('b', "sp_fa_b128"),
    ('c', "sp_fa_b256"),
    ('d', "sp_fa_b512"),
];

/// The name of the base of a column of a table of Appendix I.
pub(super) fn base(table: &str, tlb: &str) -> Option<String> {
    let rule = RULES.iter().find(|(start, _)| table.starts_with(start));
    let (_, rule) = rule?;
    let name = TlbName::parse(tlb)?;
    let (organisation, blocks) = (name.organisation, name.blocks);
    match rule {
        BaseRule::One(base) => Some((*base).to_owned()),
        BaseRule::ByLetter(bases) => {
            let last = table.chars().last()?;
            let base = bases.iter().find(|(letter, _)| *letter == last);
            base.map(|(_, base)| (*base).to_owned())
        }
        BaseRule::SinglePageSize => Some(format!("sp_{organisation}_b{blocks}")),
        BaseRule::WithoutPreloading => Some(tlb.replace("_pre", "")),
        BaseRule::Superpage => {
            let (TlbFamily::CompleteSubblock(order) | TlbFamily::PartialSubblock(order)) =
                name.family
            else {
                return None;
            };
            let index = if organisation == "sa4" { "super" } else { "" };
            let kib = 4 << order;
            Some(format!("spg{kib}k_{organisation}{index}_b{blocks}"))
        }
        BaseRule::CompleteSubblock => Some(tlb.replace("psb", "csb")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_by_hand() {
        for (table, tlb, expected) in [
            ("I2-3a", "csb4_fa_b72", "sp_fa_b64"),
            ("I3-1b", "spg8k_fa_b256", "sp_fa_b256"),
            ("I3-2a", "spg8k_sa4super_b256_base", "sp_sa4_b256"),
            ("I3-3b", "sp_fa_b304", "sp_sa4_b512"),
            ("I4-1c", "csb2_sa4_b256_pre", "sp_sa4_b256"),
            ("I4-3a", "csb2_fa_b64_pre", "csb2_fa_b64"),
            ("I4-5d", "csb2_fa_b413_pre", "sp_fa_b512"),
            ("I4-9c", "csb16_sa4_b256", "spg64k_sa4super_b256"),
            ("I5-11d", "psb16_sa4_b32", "sp_sa4_b512"),
            ("I5-15b", "psb4_fa_b128_pre", "csb4_fa_b128_pre"),
            ("I5-4b", "psb2_sa4_b256_pre_noos", "sp_sa4_b256"),
            ("I5-9b", "spg32k_fa_b123_base", "sp_fa_b128"),
        ] {
            assert_eq!(
                base(table, tlb).as_deref(),
                Some(expected),
                "{table}: {tlb}"
            );
        }
        assert_eq!(base("I4-9a", "sp_fa_b64"), None);
        assert_eq!(base("I5-7x", "sp_fa_b64"), None);
    }
}
