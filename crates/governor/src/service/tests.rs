//! Valid and invalid rules files.

use super::*;
use crate::budget::{Allowance, Budgets};
use std::time::Duration;

fn users(name: &str) -> Option<u32> {
    (name == "postgres").then_some(26)
}

fn service(text: &str) -> ServiceRules {
    ServiceRules::parse(text, &users).unwrap_or_else(|wrong| panic!("{wrong}: {text}"))
}

/// Returns the refused part of a file and the message.
fn refused(text: &str) -> (&str, String) {
    let wrong = ServiceRules::parse(text, &users).expect_err(text);
    (&text[wrong.at.clone()], wrong.to_string())
}

const ALL: &str = r#"
discover = 5
max_cpu_together = "1%"
keep_free = "1G"
max_pressure = "5%"

[defaults]
policy = "pop-461"
max_added = "5%"

[[rule]]
command = "postgres*"
user = "postgres"
cgroup = "/system.slice/*"
policy = "promote if populated >= 50%"
max_added = "512M"
interval = 1000
max_cpu = "0.1%"
max_stall = "10%,5ms"

[[rule]]
user = 0
ignore = true

[[rule]]
command = "*"
"#;

#[test]
fn every_key_is_read() {
    let read = service(ALL);
    assert_eq!(read.discover, Duration::from_secs(5));
    assert_eq!(read.cpu_together, 100);
    assert_eq!(read.rules.len(), 3);
    let [first, second, third] = &read.rules[..] else {
        panic!("three rules")
    };
    assert_eq!([first.line, second.line, third.line], [11, 21, 25]);
    let budgets = Budgets {
        added: Allowance::Bytes(512 << 20),
        keep_available: 1 << 30,
        pressure: 500,
        cpu: 10,
        stall: 1000,
        longest_stall: Some(Duration::from_millis(5)),
        interval: Duration::from_secs(1),
    };
    let Then::Govern(care) = &first.then else {
        panic!("{first:?}")
    };
    assert_eq!(care.budgets, budgets);
    assert!(care.policy.starts_with("promote if"), "{}", care.policy);
    assert_eq!(second.then, Then::Ignore);
    assert_eq!(second.matches.user, Some(0));
    let of_defaults = Care {
        policy: "pop-461".to_owned(),
        budgets: Budgets {
            added: Allowance::Share(500),
            keep_available: 1 << 30,
            pressure: 500,
            ..Budgets::DEFAULT
        },
    };
    assert_eq!(third.then, Then::Govern(of_defaults));
}

#[test]
fn missing_values_are_those_of_run() {
    let read = service("[[rule]]\ncommand = \"redis-server\"\n");
    assert_eq!(read.discover, Duration::from_secs(2));
    assert_eq!(read.cpu_together, 200);
    let care = Care {
        policy: "pop-256".to_owned(),
        budgets: Budgets::DEFAULT,
    };
    assert_eq!(read.rules[0].then, Then::Govern(care));
}

#[test]
fn the_first_rule_that_fits_counts_and_all_of_it_has_to_fit() {
    let read = service(ALL);
    let line = |process: Traits<'_>| read.rule_for(&process).map(|rule| rule.line);
    let postgres = Traits {
        command: "postgres",
        first_word: Some("/usr/lib/postgresql/15/bin/postgres"),
        uid: Some(26),
        cgroup: Some("/system.slice/postgresql.service"),
    };
    assert_eq!(line(postgres), Some(11));
    for other in [
        Traits {
            uid: Some(27),
            ..postgres
        },
        Traits {
            uid: None,
            ..postgres
        },
        Traits {
            cgroup: Some("/user.slice"),
            ..postgres
        },
        Traits {
            cgroup: None,
            ..postgres
        },
        Traits {
            command: "psql",
            first_word: None,
            ..postgres
        },
    ] {
        assert_eq!(line(other), Some(25), "{other:?}");
    }
    let of_root = Traits {
        uid: Some(0),
        ..postgres
    };
    assert_eq!(line(of_root), Some(21));
    let only_redis = service("[[rule]]\ncommand = \"redis-?erver\"\n");
    assert_eq!(only_redis.rule_for(&postgres), None);
}

#[test]
fn a_command_is_its_short_name_or_the_file_of_its_first_word() {
    let read = service("[[rule]]\ncommand = \"a-very-long-name-of-a-server\"\n");
    let fits = |command, first_word| {
        let process = Traits {
            command,
            first_word,
            ..Traits::default()
        };
        read.rule_for(&process).is_some()
    };
    assert!(fits(
        "a-very-long-nam",
        Some("/opt/a-very-long-name-of-a-server")
    ));
    assert!(fits("x", Some("a-very-long-name-of-a-server")));
    assert!(!fits(
        "a-very-long-nam",
        Some("/a-very-long-name-of-a-server/x")
    ));
    assert!(!fits("a-very-long-nam", None));
}

#[test]
fn faults_are_refused_with_their_place() {
    let rule = |line: &str| format!("[[rule]]\ncommand = \"x\"\n{line}\n");
    for (line, meant, words) in [
        ("polcy = \"4k\"", "polcy", "no key is called \"polcy\""),
        ("policy = \"pup-64\"", "\"pup-64\"", "no policy is called"),
        ("policy = \"life-1e6\"", "\"life-1e6\"", "counts accesses"),
        ("policy = \"online\"", "\"online\"", "misses"),
        ("policy = 64", "64", "policy has to be a text"),
        (
            "policy = \"promote if populatd > 1\"",
            "\"promote if populatd > 1\"",
            "populatd",
        ),
        (
            "max_added = \"much\"",
            "\"much\"",
            "neither a size nor a percentage",
        ),
        ("max_cpu = \"0\"", "\"0\"", "more than 0"),
        ("max_stall = \"101%\"", "\"101%\"", "at most 100"),
        ("interval = 0", "0", "1 to 3600000 milliseconds"),
        ("interval = -1", "-1", "1 to 3600000 milliseconds"),
        ("interval = 1.5", "1.5", "a whole number"),
        (
            "user = \"nobody-here\"",
            "\"nobody-here\"",
            "no user of this machine",
        ),
        (
            "user = 4294967296",
            "4294967296",
            "a name, in quotes, or a number",
        ),
        ("cgroup = \"\"", "\"\"", "fits nothing"),
        ("ignore = \"yes\"", "\"yes\"", "true or false"),
        (
            "ignore = true\nmax_cpu = \"1%\"",
            "max_cpu",
            "means nothing",
        ),
        ("[defaults]\ncommand = \"x\"", "command", "no key is called"),
        ("command = \"y\"", "command", "duplicate key"),
    ] {
        let text = rule(line);
        let (at, message) = refused(&text);
        assert_eq!(at, meant, "{message}");
        assert!(message.contains(words), "{line}: {message}");
    }
    for (text, words) in [
        ("", "the file holds no rule"),
        ("rule = 3", "[[rule]]"),
        ("rule = []", "[[rule]]"),
        ("rule = [4]", "a rule is a table"),
        ("defaults = 3\n[[rule]]\ncommand = \"x\"", "[defaults]"),
        ("[[rule]]\n", "does not say which processes"),
        (
            "[[rule]]\npolicy = \"4k\"\n",
            "does not say which processes",
        ),
        ("discover = 0\n", "1 to 3600 seconds"),
        ("keep_free = \"x\"\n", "no size"),
        ("max_pressure = \"x\"\n", "no percentage"),
        ("max_cpu_together = 1\n", "a text"),
        ("discover 3\n", "="),
        ("rules = []\n", "no key is called \"rules\""),
    ] {
        let (_, message) = refused(text);
        assert!(message.contains(words), "{text}: {message}");
    }
}

#[test]
fn rules_name_the_policies_that_weigh_use() {
    let text = "[defaults]\npolicy = \"hawkeye\"\n\
                [[rule]]\ncommand = \"a\"\npolicy = \"pop-64\"\n\
                [[rule]]\ncommand = \"b\"\nignore = true\n\
                [[rule]]\ncommand = \"c\"\n\
                [[rule]]\ncommand = \"d\"\npolicy = \"promote(scan=1e6) if referenced > 9\"\n";
    let read = service(text);
    let weighing = read.rules.iter().map(Rule::weighing_use);
    let weighing: Vec<bool> = weighing.map(|policy| policy.is_some()).collect();
    assert_eq!(weighing, [false, false, true, true]);
    assert_eq!(read.rules[2].weighing_use(), Some("hawkeye"));
}

proptest::proptest! {
    /// Any text is either parsed or refused with a place inside it.
    #[test]
    fn no_text_is_too_much(
        text in "(\\[\\[rule\\]\\]|command|user|policy|=|\"|\n|\
                 [0-9.]|[a-z*%-]| |\\PC){0,60}"
    ) {
        if let Err(wrong) = ServiceRules::parse(&text, &users) {
            proptest::prop_assert!(text.get(wrong.at.clone()).is_some(), "{:?}", wrong);
        }
    }
}
