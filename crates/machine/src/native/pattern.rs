//! Patterns of processors: the processors that a machine's description is for.

use super::{CPUID_FEATURES, CoreFacts, CoreIdentity, CoreType};
use broadleaf_units::{PageSize, did_you_mean};
use serde::Deserialize;

/// A `[[processor]]` table: processors that a machine's description is for, and what they never
/// have. A processor with such a thing reports a wrong model number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessorPattern {
    /// The vendor that CPUID reports.
    #[serde(default)]
    vendor: Option<String>,
    /// The family that CPUID reports.
    #[serde(default)]
    family: Option<u32>,
    /// The model numbers that CPUID reports. Empty means all models of the family.
    #[serde(default)]
    models: Vec<u32>,
    /// The type of core of a hybrid processor.
    #[serde(default)]
    core_type: Option<CoreType>,
    /// Features of CPUID that these processors never have.
    #[serde(default)]
    without: Vec<String>,
    /// A size that their first-level instruction cache never reaches.
    #[serde(default)]
    l1i_below: Option<String>,
    /// A size that their second-level cache never reaches.
    #[serde(default)]
    l2_below: Option<String>,
    /// The implementer of an Arm core: bits 31 to 24 of MIDR.
    #[serde(default)]
    implementer: Option<u32>,
    /// The part numbers of Arm cores: bits 15 to 4 of MIDR.
    #[serde(default)]
    parts: Vec<u32>,
    /// Names in /proc/cpuinfo.
    #[serde(default)]
    names: Vec<String>,
}

/// A fact of a core that contradicts its model number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A feature that no such core has.
    #[error("it has {feature}, which no {machine} core has")]
    Feature {
        /// The machine with that model number.
        machine: String,
        /// The feature.
        feature: String,
    },
    /// A cache that is larger than in any such core.
    #[error(
        "its {cache} has {} KiB, and that of every {machine} core has less than {} KiB",
        bytes >> 10,
        below >> 10
    )]
    Cache {
        /// The machine with that model number.
        machine: String,
        /// The cache, in words.
        cache: &'static str,
        /// Its size.
        bytes: u64,
        /// The size that no such core reaches.
        below: u64,
    },
}

impl ProcessorPattern {
    /// The reason why the table describes no processor, if there is one.
    pub(crate) fn refuses(&self) -> Option<String> {
        let by_cpuid = self.vendor.is_some() && self.family.is_some();
        let by_midr = self.implementer.is_some() && !self.parts.is_empty();
        let ways = [by_cpuid, by_midr, !self.names.is_empty()];
        if ways.into_iter().filter(|given| *given).count() != 1 {
            let message = "a processor has vendor and family, or implementer and parts, or names";
            return Some(message.to_owned());
        }
        let of_cpuid = [
            ("vendor", self.vendor.is_some()),
            ("family", self.family.is_some()),
            ("models", !self.models.is_empty()),
            ("core-type", self.core_type.is_some()),
            ("without", !self.without.is_empty()),
            ("l1i-below", self.l1i_below.is_some()),
            ("l2-below", self.l2_below.is_some()),
        ];
        let of_midr = [
            ("implementer", self.implementer.is_some()),
            ("parts", !self.parts.is_empty()),
        ];
        let others = [(by_cpuid, &of_cpuid[..]), (by_midr, &of_midr[..])];
        let mut others = others.into_iter().filter(|(is_own, _)| !is_own);
        if let Some((key, _)) = others.find_map(|(_, keys)| keys.iter().find(|key| key.1)) {
            let identity = match (by_cpuid, by_midr) {
                (true, _) => "vendor and family",
                (_, true) => "implementer and parts",
                _ => "names",
            };
            return Some(format!("a processor with {identity} has no {key}"));
        }
        let known = |name: &&String| CPUID_FEATURES.iter().all(|of| of.name != **name);
        if let Some(unknown) = self.without.iter().find(known) {
            let names = CPUID_FEATURES.iter().map(|feature| feature.name);
            let names: Vec<&str> = names.collect();
            let near = did_you_mean(unknown, names.iter().copied());
            let names = names.join(", ");
            return Some(format!(
                "no feature is called {unknown:?}{near} (there are {names})"
            ));
        }
        let sizes = [&self.l1i_below, &self.l2_below];
        let wrong = |text: &&String| PageSize::from_short_name(text).is_none();
        let wrong = sizes.into_iter().flatten().find(wrong);
        wrong.map(|text| format!("{text:?} is not a power of two such as \"64k\""))
    }

    /// Returns true if the numbers or the name of a core are of this pattern.
    pub fn names_core(&self, facts: &CoreFacts) -> bool {
        match &facts.identity {
            CoreIdentity::Cpuid {
                vendor,
                family,
                model,
                ..
            } => {
                let is_model = self.models.is_empty() || self.models.contains(model);
                // Processors with cores of one type report none.
                let found = facts.core_type.unwrap_or(CoreType::Performance);
                self.vendor.as_ref() == Some(vendor)
                    && self.family == Some(*family)
                    && is_model
                    && self.core_type.is_none_or(|wanted| wanted == found)
            }
            CoreIdentity::Midr(midr) => {
                let (implementer, part) = super::midr_fields(*midr);
                self.implementer == Some(implementer) && self.parts.contains(&part)
            }
            CoreIdentity::Name(name) => self.names.contains(name),
        }
    }

    /// The facts of a core that contradict its model number.
    pub(crate) fn contradictions(&self, machine: &str, facts: &CoreFacts) -> Vec<Contradiction> {
        let features = self.without.iter();
        let features = features.filter(|feature| facts.features.contains(feature.as_str()));
        let mut found: Vec<Contradiction> = features
            .map(|feature| Contradiction::Feature {
                machine: machine.to_owned(),
                feature: feature.clone(),
            })
            .collect();
        let caches = [
            ("L1 instruction cache", facts.l1i_bytes, &self.l1i_below),
            ("L2 cache", facts.l2_bytes, &self.l2_below),
        ];
        for (cache, bytes, below) in caches {
            let below = below.as_deref().and_then(PageSize::from_short_name);
            let (Some(bytes), Some(below)) = (bytes, below.map(PageSize::bytes)) else {
                continue;
            };
            if bytes >= below {
                found.push(Contradiction::Cache {
                    machine: machine.to_owned(),
                    cache,
                    bytes,
                    below,
                });
            }
        }
        found
    }
}
