//! The facts that CPUID reports about a core, from its raw leaves.

use super::{CoreFacts, CoreIdentity, CoreType, TranslationLeaf};
use std::collections::BTreeSet;

/// The four registers of a leaf: EAX, EBX, ECX and EDX.
pub type CpuidRegisters = [u32; 4];

/// A feature that can contradict a model number: a bit of leaf 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuidFeature {
    /// The name in a machine's description.
    pub name: &'static str,
    /// The number of the register of leaf 7, subleaf 0.
    register: usize,
    /// The bit.
    bit: u32,
}

const fn feature(name: &'static str, register: usize, bit: u32) -> CpuidFeature {
    CpuidFeature {
        name,
        register,
        bit,
    }
}

/// The features that a machine's description can name (Intel SDM, volume 2, CPUID leaf 7).
pub const CPUID_FEATURES: &[CpuidFeature] = &[
    feature("avx512-f", 1, 16),
    feature("avx512-fp16", 3, 23),
    feature("amx-tile", 3, 24),
];

const INTEL: &str = "GenuineIntel";
const TRANSLATION: u32 = 0x18;
/// The descriptor of leaf 2 that refers to leaf 0x18.
const SEE_TRANSLATION_LEAF: u8 = 0xfe;
/// The most subleaves that are read, so that wrong answers end.
const MOST_SUBLEAVES: u32 = 64;

/// The facts of the core whose leaves `read` returns, by leaf and subleaf.
pub fn cpuid_facts(read: &dyn Fn(u32, u32) -> CpuidRegisters) -> CoreFacts {
    let [highest, b, c, d] = read(0, 0);
    let vendor: Vec<u8> = [b, d, c].into_iter().flat_map(u32::to_le_bytes).collect();
    let vendor = String::from_utf8_lossy(&vendor).into_owned();
    let leaf = |number: u32, sub| match number <= highest {
        true => read(number, sub),
        false => [0; 4],
    };
    let [version, _, flags, _] = leaf(1, 0);
    let seven = leaf(7, 0);
    let has = |feature: &&CpuidFeature| seven[feature.register] >> feature.bit & 1 == 1;
    let features: BTreeSet<&'static str> = CPUID_FEATURES
        .iter()
        .filter(has)
        .map(|feature| feature.name)
        .collect();
    let caches = match vendor == INTEL {
        true => 4,
        false => 0x8000_001d,
    };
    let has_caches = caches < 0x8000_0000 || read(0x8000_0000, 0)[0] >= caches;
    let cache = |level, kinds: &[u32]| match has_caches {
        // The numbers of AMD's leaves have a limit of their own.
        true => match caches < 0x8000_0000 {
            true => cache_bytes(&|sub| leaf(caches, sub), level, kinds),
            false => cache_bytes(&|sub| read(caches, sub), level, kinds),
        },
        false => None,
    };
    CoreFacts {
        identity: CoreIdentity::Cpuid {
            family: family(version),
            model: model(version),
            stepping: version & 0xf,
            vendor: vendor.clone(),
        },
        core_type: match leaf(0x1a, 0)[0] >> 24 {
            0x40 if vendor == INTEL => Some(CoreType::Performance),
            0x20 if vendor == INTEL => Some(CoreType::Efficiency),
            _ => None,
        },
        features,
        under_hypervisor: flags >> 31 == 1,
        translation_leaf: match vendor == INTEL {
            true => translation_leaf(highest, &leaf),
            false => TranslationLeaf::Absent,
        },
        l1i_bytes: cache(1, &[2]),
        l2_bytes: cache(2, &[3]),
    }
}

fn family(version: u32) -> u32 {
    match version >> 8 & 0xf {
        0xf => 0xf + (version >> 20 & 0xff),
        family => family,
    }
}

fn model(version: u32) -> u32 {
    let low = version >> 4 & 0xf;
    match version >> 8 & 0xf {
        6 | 0xf => (version >> 16 & 0xf) << 4 | low,
        _ => low,
    }
}

/// What leaf 0x18 lists. A leaf 2 that refers to a missing leaf 0x18 counts as an empty one.
fn translation_leaf(highest: u32, leaf: &dyn Fn(u32, u32) -> CpuidRegisters) -> TranslationLeaf {
    let last = leaf(TRANSLATION, 0)[0].min(MOST_SUBLEAVES);
    // Null subleaves may come between valid ones.
    let valid = |sub: &u32| leaf(TRANSLATION, *sub)[3] & 0x1f != 0;
    let structures = match highest >= TRANSLATION {
        true => (0..=last).filter(valid).count(),
        false => 0,
    };
    let refers = leaf(2, 0).into_iter().enumerate().any(|(at, register)| {
        let bytes = register.to_le_bytes();
        // The lowest byte of EAX is no descriptor, and bit 31 marks a register without any.
        let descriptors = &bytes[usize::from(at == 0)..];
        register >> 31 == 0 && descriptors.contains(&SEE_TRANSLATION_LEAF)
    });
    match structures {
        0 if refers || highest >= TRANSLATION => TranslationLeaf::Empty,
        0 => TranslationLeaf::Absent,
        structures => TranslationLeaf::Lists(structures),
    }
}

/// The size of the cache of a level whose kind is one of these (leaf 4, or AMD's 0x8000001D).
fn cache_bytes(read: &dyn Fn(u32) -> CpuidRegisters, level: u32, kinds: &[u32]) -> Option<u64> {
    let leaves = (0..MOST_SUBLEAVES).map(read);
    let mut caches = leaves.take_while(|[a, ..]| a & 0x1f != 0);
    let found = caches.find(|[a, ..]| kinds.contains(&(a & 0x1f)) && a >> 5 & 7 == level);
    found.map(|[_, b, sets, _]| {
        let field = |shift: u32, mask: u32| u64::from(b >> shift & mask) + 1;
        field(22, 0x3ff) * field(12, 0x3ff) * field(0, 0xfff) * (u64::from(sets) + 1)
    })
}
