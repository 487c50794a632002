//! The choice of the machine that fits a processor, from records of facts.

use broadleaf_machine::{
    Contradiction, CoreFacts, CoreIdentity, CoreType, CpuidRegisters, Machine, TranslationLeaf,
    Unfit, cpuid_facts, machine_names, machine_text, native_machine,
};
use std::collections::BTreeMap;

const INTEL: &str = "GenuineIntel";
const AMD: &str = "AuthenticAMD";

fn x86(vendor: &str, family: u32, model: u32) -> CoreFacts {
    CoreFacts::of(CoreIdentity::Cpuid {
        vendor: vendor.to_owned(),
        family,
        model,
        stepping: 1,
    })
}

fn arm(implementer: u64, part: u64) -> CoreFacts {
    CoreFacts::of(CoreIdentity::Midr(
        implementer << 24 | 0xf << 16 | part << 4 | 1,
    ))
}

fn named(name: &str) -> CoreFacts {
    CoreFacts::of(CoreIdentity::Name(name.to_owned()))
}

fn hybrid(model: u32, core_type: CoreType) -> CoreFacts {
    CoreFacts {
        core_type: Some(core_type),
        ..x86(INTEL, 6, model)
    }
}

fn fit(facts: &CoreFacts) -> Result<&'static str, Vec<Unfit>> {
    let fit = native_machine(facts).map(|fit| fit.machine);
    fit.map_err(|none| none.reasons)
}

#[test]
fn cores_are_recognised_by_their_numbers() {
    let unknown = Err(vec![Unfit::UnknownModel]);
    for (facts, wanted) in [
        (x86(INTEL, 6, 0x5e), Ok("skylake-plru")),
        (x86(INTEL, 6, 0x9e), Ok("skylake-plru")),
        (x86(INTEL, 6, 0x7e), Ok("ice-lake")),
        (x86(INTEL, 6, 0xa7), Ok("ice-lake")),
        (x86(INTEL, 6, 0x8f), Ok("golden-cove")),
        (x86(INTEL, 6, 0x97), Ok("golden-cove")),
        (hybrid(0x97, CoreType::Performance), Ok("golden-cove")),
        (hybrid(0x97, CoreType::Efficiency), Ok("gracemont")),
        (hybrid(0xbe, CoreType::Efficiency), Ok("gracemont")),
        // The efficiency cores of Meteor Lake are others.
        (hybrid(0xaa, CoreType::Efficiency), unknown.clone()),
        (x86(INTEL, 6, 0xbd), unknown.clone()),
        (x86(INTEL, 15, 0x5e), unknown.clone()),
        (x86(AMD, 6, 0x5e), unknown.clone()),
        (x86(AMD, 0x17, 0x71), Ok("zen2")),
        (x86(AMD, 0x17, 0x01), unknown.clone()),
        (x86(AMD, 0x19, 0x21), Ok("zen3")),
        (x86(AMD, 0x19, 0x61), Ok("zen4")),
        (x86(AMD, 0x1a, 0x44), Ok("zen5")),
        (arm(0x41, 0xd0c), Ok("neoverse-n1-aggregating")),
        (arm(0x41, 0xd49), Ok("neoverse-n2")),
        (arm(0x41, 0xd40), Ok("neoverse-v1")),
        (arm(0x41, 0xd4f), Ok("neoverse-v2")),
        (arm(0x41, 0xd03), unknown.clone()),
        (arm(0x61, 0xd0c), unknown.clone()),
        (named("POWER9"), Ok("power9-radix")),
        (named("thead,c910"), Ok("c910")),
        (named("sifive,u74-mc"), unknown),
    ] {
        assert_eq!(fit(&facts), wanted, "{facts:?}");
    }
}

#[test]
fn facts_that_contradict_the_model_number_mean_none() {
    let feature = |feature: &str| {
        Unfit::Contradiction(Contradiction::Feature {
            machine: "ice-lake".to_owned(),
            feature: feature.to_owned(),
        })
    };
    let cache = |cache, bytes, below| {
        Unfit::Contradiction(Contradiction::Cache {
            machine: "ice-lake".to_owned(),
            cache,
            bytes,
            below,
        })
    };
    let mut facts = x86(INTEL, 6, 0xa7);
    facts.features = ["avx512-f"].into();
    facts.l1i_bytes = Some(32 << 10);
    facts.l2_bytes = Some(512 << 10);
    facts.translation_leaf = TranslationLeaf::Lists(8);
    assert_eq!(fit(&facts), Ok("ice-lake"));
    for (change, wanted) in [
        (
            (|facts| facts.features = ["amx-tile"].into()) as fn(&mut CoreFacts),
            feature("amx-tile"),
        ),
        (
            |facts| facts.features = ["avx512-fp16"].into(),
            feature("avx512-fp16"),
        ),
        (
            |facts| facts.l1i_bytes = Some(64 << 10),
            cache("L1 instruction cache", 64 << 10, 64 << 10),
        ),
        (
            |facts| facts.l2_bytes = Some(2 << 20),
            cache("L2 cache", 2 << 20, 2 << 20),
        ),
        (
            |facts| facts.translation_leaf = TranslationLeaf::Empty,
            Unfit::EmptyTranslationLeaf,
        ),
    ] {
        let mut wrong = facts.clone();
        change(&mut wrong);
        assert_eq!(fit(&wrong), Err(vec![wanted]));
    }
}

#[test]
fn all_reasons_are_named() {
    let mut facts = x86(INTEL, 6, 0xa7);
    facts.features = ["amx-tile", "avx512-f", "avx512-fp16"].into();
    facts.l1i_bytes = Some(64 << 10);
    facts.l2_bytes = Some(2 << 20);
    facts.translation_leaf = TranslationLeaf::Empty;
    let none = native_machine(&facts).expect_err("no machine");
    assert_eq!(none.reasons.len(), 5);
    let said = none.to_string();
    for part in [
        "GenuineIntel family 0x6 model 0xa7 stepping 1: ",
        "it has amx-tile, which no ice-lake core has, so the model number is wrong",
        "avx512-fp16",
        "its L1 instruction cache has 64 KiB, and that of every ice-lake core has less than 64 KiB",
        "its L2 cache has 2048 KiB",
        "CPUID leaf 0x18, which lists the TLBs, is empty",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // An unknown model with an empty leaf has two reasons too.
    let mut facts = x86(INTEL, 6, 0xfe);
    facts.translation_leaf = TranslationLeaf::Empty;
    let both = vec![Unfit::UnknownModel, Unfit::EmptyTranslationLeaf];
    assert_eq!(fit(&facts), Err(both));
}

#[test]
fn the_reason_of_a_choice_names_core_type_and_hypervisor() {
    let mut facts = hybrid(0x97, CoreType::Efficiency);
    let reason = native_machine(&facts).expect("a machine").reason;
    assert_eq!(
        reason,
        "GenuineIntel family 0x6 model 0x97 stepping 1, an efficiency core"
    );
    facts.under_hypervisor = true;
    let reason = native_machine(&facts).expect("a machine").reason;
    assert!(
        reason.ends_with("the host may break large pages"),
        "{reason}"
    );
}

/// The leaves of a processor, by leaf and subleaf; all others are zero.
fn leaves(known: &[(u32, u32, CpuidRegisters)]) -> CoreFacts {
    let known: BTreeMap<(u32, u32), CpuidRegisters> = known
        .iter()
        .map(|(leaf, sub, all)| ((*leaf, *sub), *all))
        .collect();
    cpuid_facts(&|leaf, sub| known.get(&(leaf, sub)).copied().unwrap_or_default())
}

const GENUINE_INTEL: [u32; 3] = [0x756e_6547, 0x6c65_746e, 0x4965_6e69];

/// CPUID leaf 0 of an Intel processor. `highest` is the number of the last leaf.
fn leaf_zero(highest: u32) -> (u32, u32, CpuidRegisters) {
    let [b, c, d] = GENUINE_INTEL;
    (0, 0, [highest, b, c, d])
}

#[test]
fn a_rented_machine_with_a_false_model_number_fits_none() {
    // Measured: a core of the class of Redwood Cove says that it is Rocket Lake, and leaf 2 refers
    // to an empty leaf 0x18.
    let facts = leaves(&[
        leaf_zero(0x20),
        (1, 0, [0x000a_0671, 0, 1 << 31, 0]),
        (2, 0, [0x00fe_ff01, 0x0000_00f0, 0, 0]),
        (7, 0, [0, 1 << 16, 0, 1 << 24 | 1 << 23]),
        // L1 for data, L1 for instructions of 64 KiB, L2 of 2 MiB.
        (4, 0, [0x21, 11 << 22 | 63, 63, 0]),
        (4, 1, [0x22, 15 << 22 | 63, 63, 0]),
        (4, 2, [0x43, 15 << 22 | 63, 2047, 0]),
    ]);
    assert_eq!(
        facts,
        CoreFacts {
            identity: CoreIdentity::Cpuid {
                vendor: INTEL.to_owned(),
                family: 6,
                model: 0xa7,
                stepping: 1
            },
            core_type: None,
            features: ["amx-tile", "avx512-f", "avx512-fp16"].into(),
            under_hypervisor: true,
            translation_leaf: TranslationLeaf::Empty,
            l1i_bytes: Some(64 << 10),
            l2_bytes: Some(2 << 20),
        }
    );
    let reasons = native_machine(&facts).expect_err("no machine").reasons;
    assert_eq!(reasons.len(), 5);
}

#[test]
fn leaves_are_decoded() {
    // Skylake has no leaf 0x18, and its leaf 2 does not refer to one.
    let skylake = leaves(&[
        leaf_zero(0x16),
        (1, 0, [0x0005_06e3, 0, 0, 0]),
        (2, 0, [0x7603_6301, 0x00f0_b5ff, 0, 0x00c3_0000]),
    ]);
    assert_eq!(skylake.translation_leaf, TranslationLeaf::Absent);
    assert_eq!(fit(&skylake), Ok("skylake-plru"));
    // Null subleaves may come between valid ones.
    let alder = leaves(&[
        leaf_zero(0x20),
        (1, 0, [0x0009_0672, 0, 0, 0]),
        (2, 0, [0x00fe_ff01, 0xf0, 0, 0]),
        (0x18, 0, [3, 0, 0, 0]),
        (0x18, 1, [0, 0x0008_0001, 32, 0x22]),
        (0x18, 3, [0, 0x0004_0001, 16, 0x24]),
        (0x1a, 0, [0x2000_0001, 0, 0, 0]),
    ]);
    assert_eq!(alder.translation_leaf, TranslationLeaf::Lists(2));
    assert_eq!(fit(&alder), Ok("gracemont"));
    // A reference to a leaf that is missing is an empty list. A register with bit 31 holds none.
    for (registers, wanted) in [
        ([0x00fe_ff01, 0, 0, 0], TranslationLeaf::Empty),
        ([0x0000_00fe, 0, 0, 0], TranslationLeaf::Absent),
        ([1, 0x8000_00fe, 0, 0], TranslationLeaf::Absent),
        ([1, 0, 0, 0xfe00], TranslationLeaf::Empty),
    ] {
        let facts = leaves(&[leaf_zero(0x16), (2, 0, registers)]);
        assert_eq!(facts.translation_leaf, wanted, "{registers:x?}");
    }
    // AMD: family 15 with an extension, and caches in another leaf.
    let zen4 = leaves(&[
        (0, 0, [0x10, 0x6874_7541, 0x444d_4163, 0x6974_6e65]),
        (1, 0, [0x00a6_0f12, 0, 0, 0]),
        (7, 0, [0, 1 << 16, 0, 0]),
        (0x8000_0000, 0, [0x8000_0028, 0, 0, 0]),
        (0x8000_001d, 0, [0x121, 7 << 22 | 63, 63, 0]),
        (0x8000_001d, 1, [0x122, 7 << 22 | 63, 63, 0]),
        (0x8000_001d, 2, [0x143, 7 << 22 | 63, 2047, 0]),
    ]);
    assert_eq!(
        (zen4.l1i_bytes, zen4.l2_bytes),
        (Some(32 << 10), Some(1 << 20))
    );
    assert_eq!(zen4.translation_leaf, TranslationLeaf::Absent);
    assert_eq!(fit(&zen4), Ok("zen4"));
    // Nothing at all.
    assert_eq!(fit(&leaves(&[])), Err(vec![Unfit::UnknownModel]));
}

#[test]
fn no_two_machines_are_for_one_core() {
    let machine = |name| Machine::from_toml(machine_text(name).expect("a text")).expect(name);
    let (mut claimed, mut with_processors) = (Vec::new(), 0);
    for name in machine_names() {
        let processors = machine(name).processors;
        with_processors += usize::from(!processors.is_empty());
        claimed.extend(processors.into_iter().map(|processor| (name, processor)));
    }
    assert!(with_processors > 10);
    let mut cores = Vec::new();
    for model in 0..=0xff {
        for (vendor, families) in [(INTEL, vec![6]), (AMD, vec![0x17, 0x19, 0x1a])] {
            for family in families {
                let facts = x86(vendor, family, model);
                let typed = |core_type| CoreFacts {
                    core_type: Some(core_type),
                    ..facts.clone()
                };
                cores.extend([typed(CoreType::Performance), typed(CoreType::Efficiency)]);
                cores.push(facts);
            }
        }
    }
    cores.extend((0..0x1000).map(|part| arm(0x41, part)));
    let mut recognised = std::collections::BTreeSet::new();
    for core in cores {
        let of_core = claimed
            .iter()
            .filter(|(_, processor)| processor.names_core(&core));
        let names: std::collections::BTreeSet<&str> = of_core.map(|(name, _)| *name).collect();
        assert!(names.len() <= 1, "{core:?}: {names:?}");
        recognised.extend(names);
    }
    // Some are recognised by a name in /proc/cpuinfo.
    let by_name = ["POWER9", "thead,c910"].map(|name| fit(&named(name)).expect("a machine"));
    recognised.extend(by_name);
    assert_eq!(recognised.len(), with_processors);
}

#[test]
fn a_wrong_processor_table_is_refused() {
    for (table, message) in [
        (
            "vendor = \"GenuineIntel\"",
            "vendor and family, or implementer and parts",
        ),
        (
            "names = [\"a\"]\nimplementer = 1\nparts = [1]",
            "vendor and family",
        ),
        (
            "vendor = \"a\"\nfamily = 1\nwithout = [\"amx\"]",
            "no feature is called \"amx\"; did you mean amx-tile?",
        ),
        (
            "vendor = \"a\"\nfamily = 1\nl2-below = \"3m\"",
            "not a power of two",
        ),
        ("names = [\"a\"]\nmodels = [1]", "with names has no models"),
        (
            "names = [\"a\"]\nwithout = [\"avx512-f\"]",
            "with names has no without",
        ),
        (
            "names = [\"a\"]\nl1i-below = \"64k\"",
            "with names has no l1i-below",
        ),
        (
            "implementer = 1\nparts = [1]\ncore-type = \"performance\"",
            "implementer and parts has no core-type",
        ),
        (
            "vendor = \"a\"\nfamily = 1\nparts = [1]",
            "vendor and family has no parts",
        ),
        ("names = [\"a\"]\nsize = 3", "no key is called \"size\""),
    ] {
        let text = machine_text("skylake").expect("a text");
        let text = format!("{text}\n[[processor]]\n{table}\n");
        let error = Machine::from_toml(&text).expect_err(table);
        assert!(error.message.contains(message), "{error}");
        assert!(error.line > 38, "{error}");
    }
}
