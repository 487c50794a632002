//! Parses a rules file. The whole file is checked before anything is done.
//!
//! ```toml
//! keep_free = "512M"
//!
//! [defaults]
//! max_added = "5%"
//!
//! [[rule]]
//! command = "postgres"
//! policy = "pop-461"
//!
//! [[rule]]
//! cgroup = "/user.slice/*"
//! ignore = true
//! ```

use super::fault::{Fault, Wrong};
use super::keys::{at_top, in_defaults, in_rule};
use super::reader::{TableReader, invalid, whole};
use super::rules::{Care, Matches, Rule, ServiceRules, Then};
use crate::budget::{Budgets, percent};
use crate::stalls::StallLimit;
use crate::view::can_decide_by_use;
use broadleaf_units::{plain_toml, size};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use wildmatch::WildMatch;

/// A function that returns the number of a user by name.
pub type Users<'a> = dyn Fn(&str) -> Option<u32> + 'a;

/// The default policy.
const POLICY: &str = "pop-256";
/// The default interval between two searches for processes, in seconds.
const DISCOVER: u64 = 2;
/// The default share of a processor for all observations together, in hundredths of a percent.
const TOGETHER: u32 = 200;

impl ServiceRules {
    /// Parses a rules file.
    ///
    /// # Errors
    /// Returns the first fault with its place: invalid TOML, an unknown key, an invalid value, an
    /// unknown user or policy, or a rule without a condition.
    pub fn parse(text: &str, users: &Users<'_>) -> Result<Self, Wrong> {
        let parsed = DeTable::parse(text)
            .map_err(|error| invalid(error.span().unwrap_or(0..0), plain_toml(error.message())))?;
        let top = TableReader::of(parsed.get_ref(), at_top())?;
        let discover = top.number("discover", 1..=3600, "seconds")?;
        let mut care = Care {
            policy: POLICY.to_owned(),
            budgets: Budgets::DEFAULT,
        };
        let keep = top.parsed("keep_free", |text| {
            size(text).ok_or_else(|| format!("\"{text}\" is no size; write it as 256M or 2G"))
        })?;
        if let Some(bytes) = keep {
            care.budgets.keep_available = bytes;
        }
        if let Some(pressure) = top.parsed("max_pressure", percent)? {
            care.budgets.pressure = pressure;
        }
        let cpu_together = top.parsed("max_cpu_together", percent)?;
        if let Some(defaults) = top.get("defaults") {
            let table = table_of(defaults, "defaults has to be a table: [defaults]")?;
            care = care_of(&TableReader::of(table, in_defaults())?, &care)?;
        }
        let rules = match top.get("rule") {
            None => {
                return Err(Wrong {
                    at: 0..0,
                    fault: Fault::NoRule,
                });
            }
            Some(rules) => array_of(rules)?
                .iter()
                .map(|rule| rule_of(text, rule, &care, users))
                .collect::<Result<Vec<_>, _>>()?,
        };
        Ok(Self {
            discover: Duration::from_secs(discover.unwrap_or(DISCOVER)),
            cpu_together: cpu_together.unwrap_or(TOGETHER),
            rules,
        })
    }
}

fn table_of<'a>(
    value: &'a Spanned<DeValue<'a>>,
    otherwise: &str,
) -> Result<&'a DeTable<'a>, Wrong> {
    let table = value.get_ref().as_table();
    table.ok_or_else(|| invalid(value.span(), otherwise))
}

fn array_of<'a>(rules: &'a Spanned<DeValue<'a>>) -> Result<&'a DeArray<'a>, Wrong> {
    let array = rules.get_ref().as_array().filter(|array| !array.is_empty());
    array.ok_or_else(|| invalid(rules.span(), "rules are tables of a list: [[rule]]"))
}

/// Reads a policy and budgets from a table. Missing values come from `otherwise`.
fn care_of(table: &TableReader<'_>, otherwise: &Care) -> Result<Care, Wrong> {
    let mut care = otherwise.clone();
    if let Some((text, at)) = table.text("policy")? {
        care.policy = policy(text, at)?;
    }
    let budgets = &mut care.budgets;
    let added = table.parsed("max_added", |text| {
        text.parse()
            .map_err(|no: crate::NotAnAllowance| no.to_string())
    })?;
    if let Some(added) = added {
        budgets.added = added;
    }
    if let Some(cpu) = table.parsed("max_cpu", percent)? {
        budgets.cpu = cpu;
    }
    if let Some(limit) = table.parsed("max_stall", str::parse::<StallLimit>)? {
        budgets.stall = limit.share;
        budgets.longest_stall = limit.longest;
    }
    if let Some(interval) = table.number("interval", 1..=3_600_000, "milliseconds")? {
        budgets.interval = Duration::from_millis(interval);
    }
    Ok(care)
}

/// Returns the name of a policy that can decide on live processes, by the use of blocks as well.
fn policy(text: &str, at: Range<usize>) -> Result<String, Wrong> {
    let text = text.to_owned();
    let policy = match broadleaf_policy::parse(&text) {
        Ok(policy) => policy,
        Err(error) => {
            let fault = Fault::NoPolicy { text, error };
            return Err(Wrong { at, fault });
        }
    };
    match can_decide_by_use(policy.as_ref()) {
        Ok(()) => Ok(policy.name()),
        Err(no) => Err(Wrong {
            at,
            fault: no.into(),
        }),
    }
}

fn rule_of(
    text: &str,
    value: &Spanned<DeValue<'_>>,
    defaults: &Care,
    users: &Users<'_>,
) -> Result<Rule, Wrong> {
    let rule = TableReader::of(table_of(value, "a rule is a table: [[rule]]")?, in_rule())?;
    let glob = |key| match rule.text(key)? {
        Some(("", at)) => Err(invalid(at, format!("{key} is empty, and fits nothing"))),
        Some((glob, _)) => Ok(Some(WildMatch::new(glob))),
        None => Ok(None),
    };
    let matches = Matches {
        command: glob("command")?,
        user: rule.get("user").map(|user| uid(user, users)).transpose()?,
        cgroup: glob("cgroup")?,
    };
    if matches == Matches::default() {
        let message = "this rule does not say which processes it is for: \
                       by command, user or cgroup. command = \"*\" is for all";
        return Err(invalid(value.span(), message));
    }
    let then = if rule.flag("ignore")? {
        let mut idle = in_defaults().into_iter().filter_map(|key| rule.key(key));
        if let Some(at) = idle.next() {
            return Err(invalid(at, "means nothing where processes are ignored"));
        }
        Then::Ignore
    } else {
        Then::Govern(care_of(&rule, defaults)?)
    };
    let before = text.get(..value.span().start).unwrap_or(text);
    Ok(Rule {
        line: before.matches('\n').count() + 1,
        matches,
        then,
    })
}

/// Returns the number of a user, given by name or number.
fn uid(user: &Spanned<DeValue<'_>>, users: &Users<'_>) -> Result<u32, Wrong> {
    if let Some(name) = user.get_ref().as_str() {
        return users(name).ok_or_else(|| Wrong {
            at: user.span(),
            fault: Fault::UnknownUser(name.to_owned()),
        });
    }
    let number = whole(user.get_ref()).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| invalid(user.span(), "user has to be a name, in quotes, or a number"))
}
