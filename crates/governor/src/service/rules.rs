//! What a file says: which processes, and what is done for each.

use crate::budget::Budgets;
use std::time::Duration;
use wildmatch::WildMatch;

/// What is known of a process that rules go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits<'a> {
    /// The name of the program as the kernel has it, of 15 letters at most.
    pub command: &'a str,
    /// The first word of the command line.
    pub first_word: Option<&'a str>,
    /// The user that it runs as.
    pub uid: Option<u32>,
    /// The path of its cgroup.
    pub cgroup: Option<&'a str>,
}

/// Which processes a rule is for: those of which everything holds that it asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matches {
    /// The name of the program, or the name of the file in the first word of its command line. `*` stands for any letters, `?` for one.
    pub command: Option<WildMatch>,
    /// The number of the user.
    pub user: Option<u32>,
    /// The path of the cgroup. `*` stands for any letters, also for `/`.
    pub cgroup: Option<WildMatch>,
}

/// What is done for the processes of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Ignore,
    /// They are looked after.
    Govern(Care),
}

/// A policy with what it is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Care {
    /// The policy's name with its parameters. [`broadleaf_policy::parse`] takes it, and [`crate::can_decide`] has nothing against it.
    pub policy: String,
    /// What is allowed for each process.
    pub budgets: Budgets,
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The line of the file on which it begins, from 1.
    pub line: usize,
    /// Which processes it is for.
    pub matches: Matches,
    /// What is done for them.
    pub then: Then,
}

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// How often processes are looked for.
    pub discover: Duration,
    /// How much of a processor looking may take for all processes together and for finding them, in hundredths of a percent.
    pub cpu_together: u32,
    /// The rules, of which the first that fits a process counts.
    pub rules: Vec<Rule>,
}

impl Matches {
    /// Whether a process is one of those.
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

impl Service {
    /// The rule that a process falls under.
    pub fn rule_for(&self, process: &Traits<'_>) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.matches.fits(process))
    }
}
