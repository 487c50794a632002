//! The machine that fits the processor of this computer, decided from facts.
//!
//! CPUID and MIDR recognise a core. They do not describe its TLBs: CPUID disagrees with
//! measurements on half of the cores. Reading the facts is the work of the caller.

mod cpuid;
mod pattern;

pub use cpuid::{CPUID_FEATURES, CpuidFeature, CpuidRegisters, cpuid_facts};
pub use pattern::{Contradiction, ProcessorPattern};

use crate::{machine, machine_names};
use serde::Deserialize;
use std::collections::BTreeSet;

/// The numbers or the name by which a core is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoreIdentity {
    /// CPUID leaves 0 and 1.
    Cpuid {
        /// The vendor.
        vendor: String,
        /// The family.
        family: u32,
        /// The model.
        model: u32,
        /// The stepping.
        stepping: u32,
    },
    /// Arm's main ID register.
    Midr(u64),
    /// A name in /proc/cpuinfo.
    Name(String),
}

/// The type of a core of a hybrid processor (CPUID leaf 0x1A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreType {
    /// A Core.
    Performance,
    /// An Atom.
    Efficiency,
}

/// What CPUID leaf 0x18 lists: the structures of the TLBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranslationLeaf {
    /// The processor has no such leaf.
    Absent,
    /// The leaf is there, or leaf 2 refers to it, and it lists nothing.
    Empty,
    /// The number of structures.
    Lists(usize),
}

/// The facts of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreFacts {
    /// Its numbers or its name.
    pub identity: CoreIdentity,
    /// Its type, if the processor has several.
    pub core_type: Option<CoreType>,
    /// Those of [`CPUID_FEATURES`] that it has.
    pub features: BTreeSet<&'static str>,
    /// True if a hypervisor reports these facts.
    pub under_hypervisor: bool,
    /// The structures of the TLBs that CPUID lists.
    pub translation_leaf: TranslationLeaf,
    /// The size of its first-level instruction cache.
    pub l1i_bytes: Option<u64>,
    /// The size of its second-level cache.
    pub l2_bytes: Option<u64>,
}

impl CoreFacts {
    /// The facts of a core that has no CPUID.
    pub const fn of(identity: CoreIdentity) -> Self {
        Self {
            identity,
            core_type: None,
            features: BTreeSet::new(),
            under_hypervisor: false,
            translation_leaf: TranslationLeaf::Absent,
            l1i_bytes: None,
            l2_bytes: None,
        }
    }
}

/// The implementer and the part number of an MIDR value.
pub(crate) const fn midr_fields(midr: u64) -> (u32, u32) {
    ((midr >> 24 & 0xff) as u32, (midr >> 4 & 0xfff) as u32)
}

impl std::fmt::Display for CoreIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpuid {
                vendor,
                family,
                model,
                stepping,
            } => write!(
                f,
                "{vendor} family {family:#x} model {model:#x} stepping {stepping}"
            ),
            Self::Midr(midr) => {
                let (implementer, part) = midr_fields(*midr);
                write!(f, "Arm implementer {implementer:#x} part {part:#x}")
            }
            Self::Name(name) => write!(f, "processor {name:?}"),
        }
    }
}

/// The machine that fits a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFit {
    /// The name of the machine.
    pub machine: &'static str,
    /// The reason, in words.
    pub reason: String,
}

/// The reasons why no machine fits a core.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{core}: {}", join(reasons))]
pub struct NoFit {
    /// The core.
    pub core: CoreIdentity,
    /// The reasons, of which there is at least one.
    pub reasons: Vec<Unfit>,
}

fn join(reasons: &[Unfit]) -> String {
    let reasons: Vec<String> = reasons.iter().map(Unfit::to_string).collect();
    reasons.join("; ")
}

/// A reason why no machine fits a core.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// No machine has such numbers or such a name.
    #[error("no built-in machine is for this model")]
    UnknownModel,
    /// A fact contradicts the model number.
    #[error("{0}, so the model number is wrong")]
    Contradiction(Contradiction),
    /// CPUID lists no TLBs where it has to.
    #[error("CPUID leaf 0x18, which lists the TLBs, is empty")]
    EmptyTranslationLeaf,
}

/// The built-in machine that fits a core.
///
/// # Errors
/// Returns an error with all reasons if no machine fits: an unknown model, facts that contradict
/// the model number, or an empty list of TLBs.
pub fn native_machine(facts: &CoreFacts) -> Result<NativeFit, NoFit> {
    let mut reasons = Vec::new();
    let mut fit = None;
    for name in machine_names() {
        // A test reads each description.
        let Ok(known) = machine(name) else {
            continue;
        };
        let mut patterns = known.processors.iter();
        if let Some(pattern) = patterns.find(|pattern| pattern.names_core(facts)) {
            let contradictions = pattern.contradictions(name, facts).into_iter();
            reasons.extend(contradictions.map(Unfit::Contradiction));
            fit = Some(name);
            break;
        }
    }
    if fit.is_none() {
        reasons.push(Unfit::UnknownModel);
    }
    if facts.translation_leaf == TranslationLeaf::Empty {
        reasons.push(Unfit::EmptyTranslationLeaf);
    }
    match fit {
        Some(machine) if reasons.is_empty() => Ok(NativeFit {
            machine,
            reason: reason(facts),
        }),
        _ => Err(NoFit {
            core: facts.identity.clone(),
            reasons,
        }),
    }
}

/// The reason for a choice: the core's numbers and its type. A warning follows if a hypervisor
/// reports the numbers.
fn reason(facts: &CoreFacts) -> String {
    let core = match facts.core_type {
        Some(CoreType::Performance) => ", a performance core",
        Some(CoreType::Efficiency) => ", an efficiency core",
        None => "",
    };
    let host = match facts.under_hypervisor {
        true => "; a hypervisor reports that, and the host may break large pages",
        false => "",
    };
    format!("{}{core}{host}", facts.identity)
}
