//! The rules of a service: conditions on processes, and actions.

use crate::budget::Budgets;
use crate::view::weighs_use;
use std::time::Duration;
use wildmatch::WildMatch;

/// The traits of a process that rules refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits<'a> {
    /// The name of the program as reported by the kernel, at most 15 letters.
    pub command: &'a str,
    /// The first word of the command line.
    pub first_word: Option<&'a str>,
    /// The user that the process runs as.
    pub uid: Option<u32>,
    /// The path of the process's cgroup.
    pub cgroup: Option<&'a str>,
}

/// The conditions of a rule. A process matches if it meets all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matches {
    /// The name of the program, or the file name in the first word of its command line. `*` matches
    /// any letters, `?` matches one.
    pub command: Option<WildMatch>,
    /// The number of the user.
    pub user: Option<u32>,
    /// The path of the cgroup. `*` matches any letters, including `/`.
    pub cgroup: Option<WildMatch>,
}

/// The action of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The processes are left alone.
    Ignore,
    /// The processes are governed.
    Govern(Care),
}

/// A policy with its budgets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Care {
    /// The policy's name with its parameters. [`broadleaf_policy::parse`] accepts the name, and
    /// [`crate::can_decide_by_use`] accepts the policy.
    pub policy: String,
    /// The budgets for each process.
    pub budgets: Budgets,
}

/// A rule of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The line of the file on which the rule begins, counted from 1.
    pub line: usize,
    /// The conditions.
    pub matches: Matches,
    /// The action.
    pub then: Then,
}

/// The contents of a rules file.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceRules {
    /// The interval between two searches for processes.
    pub discover: Duration,
    /// The share of a processor for searching and observing all processes together, in hundredths
    /// of a percent.
    pub cpu_together: u32,
    /// The rules. The first rule that matches a process counts.
    pub rules: Vec<Rule>,
}

impl Matches {
    /// Returns true if a process matches.
    pub fn fits(&self, process: &Traits<'_>) -> bool {
        let file = process
            .first_word
            .map(|word| word.rsplit('/').next().unwrap_or(word));
        let command = (self.command.as_ref()).is_none_or(|wanted| {
            wanted.matches(process.command) || file.is_some_and(|file| wanted.matches(file))
        });
        let cgroup = (self.cgroup.as_ref())
            .is_none_or(|wanted| process.cgroup.is_some_and(|path| wanted.matches(path)));
        command && cgroup && self.user.is_none_or(|uid| process.uid == Some(uid))
    }
}

impl Rule {
    /// Returns the name of the policy, if the policy depends on which pages were used recently.
    pub fn weighing_use(&self) -> Option<&str> {
        let Then::Govern(care) = &self.then else {
            return None;
        };
        let policy = broadleaf_policy::parse(&care.policy).ok()?;
        weighs_use(policy.as_ref()).then_some(&care.policy)
    }
}

impl ServiceRules {
    /// Returns the rule for a process.
    pub fn rule_for(&self, process: &Traits<'_>) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.matches.fits(process))
    }
}
