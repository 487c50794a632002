//! The policies of a comparison, with the spellings of the user.

use std::path::Path;

use broadleaf_accel::{WhyNot, covers_all};
use broadleaf_machine::Machine;
use broadleaf_policy::{Foresight, GivenPolicy, Policy};
use broadleaf_trace::Header;

use crate::answer::kernel::{SETTINGS, policy_of};
use crate::failure::Failure;
use crate::names;
use crate::policies_file::Named;

/// Returns the reason why a comparison needs memory that is modelled down to the frame, if there is
/// one.
pub(super) fn covered(
    restarts: bool,
    head: Option<&Header>,
    policies: &[Box<dyn Policy>],
    machines: &[Machine],
) -> Result<(), WhyNot> {
    match head {
        _ if restarts => Err(WhyNot::Restarts),
        Some(head) if head.options.system => Err(WhyNot::System),
        _ => covers_all(policies, machines),
    }
}

/// The policy of the recorded kernel.
const RECORDED: &str = "guest";

/// Policies with the user's spelling of each: `life-1000` for the policy `life-1e3`.
#[derive(Default)]
pub struct AskedPolicies {
    /// The policies.
    pub policies: Vec<Box<dyn Policy>>,
    /// One for each policy, in the same order.
    pub(super) spellings: Vec<String>,
    /// Linux's policy with the settings of this machine, if the user chose no policy.
    pub(super) kernel: Option<String>,
    /// The policies that were given as values.
    pub(super) given: Vec<GivenPolicy>,
    /// The user chose no policy.
    pub(super) by_default: bool,
}

/// A choice of policies.
#[derive(Clone)]
pub enum PolicyChoice {
    /// Names and expressions, separated by commas.
    Named(String),
    /// A policy as a value.
    Given(GivenPolicy),
}

/// Returns the chosen policies, in order. Without a choice, returns those of [`policies`].
///
/// # Errors
/// [`Failure::Wrong`] if a name is unknown, a parameter is wrong, or two values have one name.
pub fn chosen_policies(choices: &[PolicyChoice]) -> Result<AskedPolicies, Failure> {
    if choices.is_empty() {
        return policies(&[], &[], true);
    }
    let mut asked = AskedPolicies::default();
    for choice in choices {
        match choice {
            PolicyChoice::Named(names) => {
                for name in names::apart(names) {
                    asked.add(name, names::policy(name)?, true);
                }
            }
            PolicyChoice::Given(policy) => {
                let name = policy.name();
                if asked.policies.iter().any(|other| other.name() == name) {
                    return Err(Failure::Wrong(format!(
                        "two policies are called {name:?}: give one of them another name"
                    )));
                }
                asked.given.push(policy.clone());
                asked.add(&name, Box::new(policy.clone()), true);
            }
        }
    }
    Ok(asked)
}

impl AskedPolicies {
    /// The names of the policies as the user wrote them.
    pub fn names(self) -> Vec<String> {
        self.spellings
    }

    /// The policies for a trace with this header. Where the user chose none, a recording of a whole
    /// system is replayed under the recorded kernel's own policy, and under none with foresight.
    ///
    /// # Errors
    /// The catalogue lacks that policy.
    pub(super) fn for_trace(mut self, head: Option<&Header>) -> Result<Self, Failure> {
        if !self.by_default || !head.is_some_and(|head| head.options.system) {
            return Ok(self);
        }
        let sees = |policy: &dyn Policy| policy.needs().foresight != Foresight::None;
        self.policies.retain(|policy| !sees(policy.as_ref()));
        self.policies.insert(0, names::policy(RECORDED)?);
        self.spellings = self.policies.iter().map(|policy| policy.name()).collect();
        Ok(self)
    }

    /// Adds a policy. A second copy of a policy would give equal results, so it is left out.
    fn add(&mut self, spelling: &str, policy: Box<dyn Policy>, warns: bool) {
        let name = policy.name();
        if self.policies.iter().all(|other| other.name() != name) {
            self.policies.push(policy);
            self.spellings.push(spelling.trim().to_owned());
        } else if warns {
            log::warn!("{}", repeated(spelling.trim(), &name));
        }
    }
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
            given: Vec::new(),
            by_default: true,
        });
    }
    let mut asked: Vec<&str> = names.iter().flat_map(|names| names::apart(names)).collect();
    if names.is_empty() {
        asked = named.iter().map(|named| &*named.name).collect();
    }
    let mut policies = AskedPolicies::default();
    for name in asked {
        policies.add(name, names::policy_or(name, named)?, warns);
    }
    Ok(policies)
}

/// The warning for a policy that was named before.
fn repeated(written: &str, name: &str) -> String {
    let is = match written == name {
        true => String::new(),
        false => format!(" is {name}, which"),
    };
    format!("{written}{is} is named more than once, and compared once")
}
