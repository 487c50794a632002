//! The rules of a service: a text is refused at a place inside the text, or is a list of rules.
//! Their policies can govern live processes.

use broadleaf_governor::can_decide;
use broadleaf_governor::service::{Rule, ServiceRules, Then, Traits};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let users = |name: &str| (name == "root").then_some(0);
    match ServiceRules::parse(text, &users) {
        Ok(rules) => {
            assert!(!rules.rules.is_empty(), "a file without rules is refused");
            let lines = 1 + text.matches('\n').count();
            for rule in &rules.rules {
                check(rule, lines);
            }
            look_up(&rules);
        }
        Err(wrong) => {
            assert!(
                text.get(wrong.at.clone()).is_some(),
                "{wrong} at {:?}",
                wrong.at
            );
            assert!(!wrong.to_string().is_empty());
        }
    }
}

/// Asserts the invariants of a rule in a file of this number of lines.
fn check(rule: &Rule, lines: usize) {
    assert!((1..=lines).contains(&rule.line));
    if let Then::Govern(care) = &rule.then {
        let policy = broadleaf_policy::parse(&care.policy).expect("the name of a policy");
        can_decide(policy.as_ref()).expect("a policy for live processes");
        assert_eq!(policy.name(), care.policy);
    }
}

/// Asserts that the rule for a process is the first rule that matches the process.
fn look_up(rules: &ServiceRules) {
    let known = Traits {
        command: "postgres",
        first_word: Some("/usr/bin/postgres"),
        uid: Some(0),
        cgroup: Some("/system.slice/postgresql.service"),
    };
    for process in [Traits::default(), known] {
        let first = rules.rules.iter().find(|rule| rule.matches.fits(&process));
        assert_eq!(rules.rule_for(&process), first);
    }
}
