//! The schemes that the paper compares: policies on machines.

use broadleaf_machine::Machine;
use broadleaf_report::BASELINE;

use super::published::{COLORING, PublishedGains, SCATTERED, SUPERPAGE};
use crate::failure::Failure;
use crate::machines;
use crate::papers::Scale;

/// The system without scattered superpages.
const MACHINE: &str = "chen2014-4core";

/// A scheme.
pub(super) struct Scheme {
    pub(super) name: &'static str,
    machine: &'static str,
    /// The policy's name. Owners have shares of the cache if the policy takes some.
    policy: &'static str,
    takes_shares: bool,
    only_full: bool,
    /// The paper's averages; `None` for the original, and for variants without figures.
    pub(super) published: Option<&'static PublishedGains>,
}

/// The place of the original among the schemes.
pub(super) const ORIGINAL: usize = 0;
/// The place of page colouring.
pub(super) const COLORED: usize = 1;
/// The place of superpages.
pub(super) const SUPERPAGES: usize = 2;
/// The place of scattered superpages.
pub(super) const SCATTERS: usize = 3;

const SCHEMES: [Scheme; 5] = [
    Scheme {
        name: "original",
        machine: MACHINE,
        policy: BASELINE,
        takes_shares: false,
        only_full: false,
        published: None,
    },
    Scheme {
        name: "page colouring",
        machine: MACHINE,
        policy: "coloured",
        takes_shares: true,
        only_full: false,
        published: Some(&COLORING),
    },
    Scheme {
        name: "superpage",
        machine: MACHINE,
        policy: "fixed-2m",
        takes_shares: false,
        only_full: false,
        published: Some(&SUPERPAGE),
    },
    Scheme {
        name: "scattered superpage",
        machine: "chen2014-4core-scattered",
        policy: "scattered",
        takes_shares: true,
        only_full: false,
        published: Some(&SCATTERED),
    },
    Scheme {
        name: "scattered, by set",
        machine: "chen2014-4core-scattered-sets",
        policy: "scattered",
        takes_shares: true,
        only_full: true,
        published: None,
    },
];

/// The schemes of a scale.
pub(super) fn schemes(scale: Scale) -> impl Iterator<Item = &'static Scheme> {
    SCHEMES
        .iter()
        .filter(move |scheme| scale == Scale::Full || !scheme.only_full)
}

/// The machine of the original system.
pub(super) fn original_machine() -> Result<Machine, Failure> {
    machine(MACHINE)
}

fn machine(name: &str) -> Result<Machine, Failure> {
    let mut machines = machines::machines(&[name.to_owned()])?;
    machines
        .pop()
        .ok_or_else(|| Failure::failed(format!("no machine {name}")))
}

impl Scheme {
    /// The machine of the scheme.
    pub(super) fn machine(&self) -> Result<Machine, Failure> {
        machine(self.machine)
    }

    /// The policy for programs with these needs, in eighths of the last level.
    pub(super) fn policy(&self, needs: &[u32]) -> String {
        if !self.takes_shares {
            return self.policy.to_owned();
        }
        let shares: Vec<String> = needs.iter().map(|eighths| share(*eighths)).collect();
        format!("{}(by=core,shares={})", self.policy, shares.join("+"))
    }
}

/// A share of the last level, as the policies write it.
pub(super) fn share(eighths: u32) -> String {
    match eighths {
        8 => "1".to_owned(),
        _ => format!("1/{}", 8 / eighths.max(1)),
    }
}

/// The policy of a program alone in a share of the last level.
pub(super) fn alone_in(eighths: u32) -> String {
    format!("coloured(by=core,shares={})", share(eighths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_schemes_are_policies() {
        for scheme in schemes(Scale::Full) {
            let policy = scheme.policy(&[1, 2, 4, 8]);
            crate::names::policy(&policy).unwrap();
            scheme.machine().unwrap();
        }
        assert_eq!(alone_in(1), "coloured(by=core,shares=1/8)");
        for eighths in [1, 2, 4, 8] {
            crate::names::policy(&alone_in(eighths)).unwrap();
        }
    }
}
