//! The policies of a comparison, with the spellings of the user.

use std::path::Path;

use broadleaf_policy::Policy;

use crate::answer::kernel::{SETTINGS, policy_of};
use crate::failure::Failure;
use crate::names;
use crate::policies_file::Named;

/// Policies with the user's spelling of each: `life-1000` for the policy `life-1e3`.
#[derive(Default)]
pub struct AskedPolicies {
    /// The policies.
    pub policies: Vec<Box<dyn Policy>>,
    /// One for each policy, in the same order.
    pub(super) spellings: Vec<String>,
    /// Linux's policy with the settings of this machine, if the user chose no policy.
    pub(super) kernel: Option<String>,
}

/// Returns the policies with these names; `named` holds the user's named expressions. Without
/// names, returns all of `named`, or else the catalogue's default policies and Linux's policy with
/// the settings of this machine.
///
/// Warns of repeated names if `warns` is set.
///
/// # Errors
/// [`Failure::Wrong`] if a name is unknown or a parameter is wrong.
pub fn policies(names: &[String], named: &[Named], warns: bool) -> Result<AskedPolicies, Failure> {
    if names.is_empty() && named.is_empty() {
        let policies = broadleaf_policy::examples().map_err(Failure::failed)?;
        let spellings = policies.iter().map(|policy| policy.name()).collect();
        return Ok(AskedPolicies {
            policies,
            spellings,
            kernel: policy_of(Path::new(SETTINGS)),
        });
    }
    let mut asked: Vec<&str> = names.iter().flat_map(|names| names::apart(names)).collect();
    if names.is_empty() {
        asked = named.iter().map(|named| &*named.name).collect();
    }
    let mut policies: Vec<Box<dyn Policy>> = Vec::new();
    let mut spellings = Vec::new();
    for name in asked {
        let policy = names::policy_or(name, named)?;
        // A second copy of a policy would give equal results.
        if policies.iter().any(|other| other.name() == policy.name()) {
            if warns {
                log::warn!("{}", repeated(name.trim(), &policy.name()));
            }
        } else {
            policies.push(policy);
            spellings.push(name.trim().to_owned());
        }
    }
    Ok(AskedPolicies {
        policies,
        spellings,
        kernel: None,
    })
}

/// The warning for a policy that was named before.
fn repeated(written: &str, name: &str) -> String {
    let is = match written == name {
        true => String::new(),
        false => format!(" is {name}, which"),
    };
    format!("{written}{is} is named more than once, and compared once")
}
