//! `service` on the kernel that the tests run on. What this kernel or this user's rights do not
//! allow is skipped with a reason.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use broadleaf_study::answer::kernel::{SETTINGS, enabled};

use crate::support::live::{
    Python, SIGHUP, can_attach, can_govern, eventually, ignores, is_installed,
};
use crate::support::service::{Service, fetched, sample};
use crate::support::{file, folder, refused, run, run_with, stderr, succeeded};

/// Python that calls itself so, touches 64 MiB, and waits.
fn called(name: &str, more: &str) -> String {
    format!(
        "import ctypes, mmap, os, time
def call(name): open('/proc/self/comm', 'w').write(name)
def touch():
    memory = mmap.mmap(-1, 66 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(0, 64 << 8): memory[page << 12] = 1
    return memory
call('{name}')
{more}
memory = touch()
print('touched', flush=True)
time.sleep(60)
"
    )
}

fn pid(program: &Python) -> u32 {
    program.child.id()
}

/// KiB of a process in superpages.
fn huge(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("AnonHugePages:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_line_and_column() {
    let folder = folder("service-wrong");
    for (text, place, words) in [
        (
            "[[rule]]\ncommand = \"x\"\npolcy = \"4k\"\n",
            "line 3, column 1",
            "did you mean policy?",
        ),
        (
            "[[rule]]\ncommand = \"x\"\npolicy = \"pup-64\"\n",
            "line 3, column 10",
            "did you mean pop-64",
        ),
        (
            "[[rule]]\ncommand = \"x\"\npolicy = \"promote if populatd > 3\"\n",
            "line 3, column 22",
            "populatd",
        ),
        (
            "[[rule]]\ncommand = \"x\"\npolicy = \"online\"\n",
            "line 3, column 10",
            "policy online",
        ),
        (
            "[[rule]]\nuser = \"no-such-user\"\n",
            "line 2, column 8",
            "no user of this machine",
        ),
        (
            "[[rule]]\ncommand = \"x\"\nmax_added = \"5\"\n",
            "line 3, column 13",
            "did you mean 5%?",
        ),
        ("discover = \n", "line 1, column", ""),
        (
            "keep_free = \"1G\"\n",
            "rules.toml: the file holds no rule",
            "add a table [[rule]]",
        ),
    ] {
        let rules = file(&folder, "rules.toml", text.as_bytes());
        for options in [&[][..], &["--once"]] {
            let output = run(&[&["service", &rules], options].concat());
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{text}: {said}");
            assert!(
                said.contains(place) && said.contains(words),
                "{text}: {said}"
            );
            assert!(output.stdout.is_empty());
        }
    }
    let missing = run(&["service", "/no/such/rules.toml"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn rules_are_bounded_and_come_from_a_file_or_a_pipe() {
    let folder = folder("service-bounds");
    let long = file(&folder, "long.toml", &b"#\n".repeat(1 << 20));
    let bytes = file(&folder, "bytes.toml", b"[[rule]]\ncommand = \"\xff\"\n");
    for (rules, words) in [
        ("/dev/zero", "is no regular file"),
        (&long, "more than 1 MiB"),
        (&bytes, "byte 20, in line 2"),
    ] {
        let said = refused(&run(&["service", rules, "--once"]));
        assert!(said.contains(rules) && said.contains(words), "{said}");
    }
    let rules = b"[[rule]]\ncommand = \"no such program\"\n";
    let piped = succeeded(&run_with(&["service", "/dev/stdin", "--once"], rules));
    assert!(piped.contains("no process falls under a rule"), "{piped}");
    // A pipe holds its rules once, so that no next command has them.
    assert!(!piped.contains("Next:"), "{piped}");
}

/// Two rules share one measurement of use. Without it, their policy promotes nothing.
#[test]
fn rules_may_weigh_which_blocks_are_used() {
    if !can_attach() || !is_installed("python3") {
        return;
    }
    if enabled(Path::new(SETTINGS)).as_deref() == Some("always") {
        eprintln!("skipped: the kernel makes huge pages by itself (enabled is always)");
        return;
    }
    let folder = folder("service-use");
    let rules = b"[[rule]]\ncommand = \"bl-use-*\"\npolicy = \"hawkeye\"\n";
    let rules = file(&folder, "rules.toml", rules);
    // The second program uses none of its memory.
    let used = called("bl-use-hot", "").replace(
        "time.sleep(60)",
        "\nuntil = time.time() + 60
while time.time() < until:
    for page in range(0, 64 << 8): memory[page << 12] += 1 - memory[page << 12] // 2",
    );
    let hot = Python::start(&used);
    let cold = Python::start(&called("bl-use-cold", ""));
    let listed = succeeded(&run(&["service", &rules, "--once"]));
    assert!(listed.contains("a measurement of use"), "{listed}");
    let mut service = Service::start(&rules, &[]);
    let until = Instant::now() + Duration::from_secs(60);
    while huge(pid(&hot)) < 32 << 10 {
        // Trials of the sources come first, and take their time under load.
        if let Some(status) = service.child.try_wait().expect("a status") {
            assert_eq!(status.code(), Some(1), "{}", service.said());
            let said = service.says("rule of line 1: the policy hawkeye depends on");
            eprintln!("skipped: {said}");
            return;
        }
        assert!(
            Instant::now() < until,
            "{} KiB: {}",
            huge(pid(&hot)),
            service.said()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    // Python's own few blocks may be used.
    assert!(huge(pid(&cold)) <= 16 << 10, "{} KiB", huge(pid(&cold)));
    let said = service.end();
    assert_eq!(said.matches("use of blocks: ").count(), 1, "{said}");
}

#[test]
fn once_says_which_processes_would_be_looked_after() {
    if !is_installed("python3") {
        return;
    }
    let folder = folder("service-once");
    let dense = Python::start(&called("bl-once-dense", ""));
    let idle = Python::start(&called("bl-once-idle", ""));
    let disable = "ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)";
    let forbidden = Python::start(&called("bl-once-forbid", disable));
    let rules = file(
        &folder,
        "rules.toml",
        b"[[rule]]\ncommand = \"bl-once-idle\"\nignore = true\n[[rule]]\ncommand = \"bl-once-*\"\npolicy = \"pop-512\"\n",
    );
    let printed = succeeded(&run(&["service", &rules, "--once"]));
    let line = |program: &Python| {
        let number = format!("{} ", pid(program));
        let line = printed
            .lines()
            .find(|line| line.trim_start().starts_with(&number));
        line.unwrap_or_else(|| panic!("{printed}")).to_owned()
    };
    assert!(line(&idle).contains("ignored"), "{printed}");
    assert!(
        line(&forbidden).contains("superpages are forbidden"),
        "{printed}"
    );
    let line = line(&dense);
    assert!(line.contains("pop-512") && line.contains(" 4 "), "{line}");
    assert!(
        line.contains("blocks promoted") || line.contains("nothing"),
        "{line}"
    );
    assert!(huge(pid(&dense)) < 4 << 10);
    // No other process is listed.
    assert_eq!(
        printed
            .lines()
            .filter(|line| line.contains("bl-once-"))
            .count(),
        3
    );
}

#[test]
fn processes_are_looked_after_and_told_of_and_rules_are_read_again() {
    // As under nohup: a service that ignores hang-ups does not read its rules again.
    if ignores(SIGHUP) {
        eprintln!("skipped: hang-ups are ignored here");
        return;
    }
    if !can_govern() || !is_installed("python3") {
        return;
    }
    let folder = folder("service-metrics");
    let program = Python::start(&called("bl-metrics", ""));
    let number = pid(&program);
    let governed =
        b"discover = 1\n[[rule]]\ncommand = \"bl-metrics\"\ninterval = 100\nmax_cpu = \"10%\"\n";
    let rules = file(&folder, "rules.toml", governed);
    let service = Service::start(&rules, &["--metrics", "127.0.0.1:0"]);
    let address = service.address();
    let metrics = || fetched(&address, "GET /metrics").1;
    let begin = format!(
        "broadleaf_promotions_total{{pid=\"{number}\",command=\"bl-metrics\",policy=\"pop-256\"}}"
    );
    let made = eventually(|| sample(&metrics(), &begin).filter(|made| *made >= 30.0));
    let (head, text) = fetched(&address, "GET /metrics");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    for name in ["huge_bytes", "rss_bytes"] {
        let begin = format!("broadleaf_{name}{{pid=\"{number}\"");
        assert!(
            sample(&text, &begin).is_some_and(|bytes| bytes >= f64::from(60 << 20)),
            "{text}"
        );
    }
    assert!(sample(&text, "broadleaf_available_bytes ").is_some_and(|bytes| bytes > 0.0));
    assert!(fetched(&address, "GET /").0.starts_with("HTTP/1.1 404"));
    assert!(
        fetched(&address, "POST /metrics")
            .0
            .starts_with("HTTP/1.1 405")
    );
    // A second one cannot have the same place.
    let second = run(&["service", &rules, "--metrics", &address]);
    assert_eq!(second.status.code(), Some(1), "{}", stderr(&second));
    assert!(stderr(&second).contains("cannot serve metrics"));

    // A file that is wrong changes nothing.
    std::fs::write(&rules, "[[rule]]\ncommmand = \"x\"\n").unwrap();
    service.signal("-HUP");
    let said = service.says("the previous rules stay in force");
    assert!(
        said.contains("line 2, column 1") && said.contains("did you mean command"),
        "{said}"
    );
    assert!(sample(&metrics(), &begin).is_some());
    // Another policy goes on where the first one was.
    let other = String::from_utf8_lossy(governed) + "policy = \"pop-461\"\n";
    std::fs::write(&rules, &*other).unwrap();
    service.signal("-HUP");
    let begin = begin.replace("pop-256", "pop-461");
    let goes_on = eventually(|| sample(&metrics(), &begin));
    assert!(goes_on >= made, "{goes_on} {made}");
    // A process that no rule fits is no longer governed. Its totals stay in the metrics.
    std::fs::write(
        &rules,
        "discover = 1\n[[rule]]\ncommand = \"bl-metrics\"\nignore = true\n",
    )
    .unwrap();
    service.signal("-HUP");
    eventually(|| sample(&metrics(), &begin).is_none().then_some(()));
    let all = sample(
        &metrics(),
        "broadleaf_all_promotions_total{command=\"bl-metrics\",policy=\"pop-256\"}",
    );
    assert!(all.is_some_and(|all| all >= made), "{all:?} {made}");
    let said = service.end();
    assert!(
        said.contains("is no longer looked after") && said.contains("ended  bl-metrics  pop-461"),
        "{said}"
    );
}

#[test]
fn a_child_with_a_rule_of_its_own_is_left_to_that_rule() {
    if !can_govern() || !is_installed("python3") {
        return;
    }
    let folder = folder("service-children");
    // One child has a rule of its own, one has none.
    let children = "for name in ['bl-own-rule', 'bl-no-rule']:
    if not os.fork():
        call(name); memory = touch(); time.sleep(60); os._exit(0)
time.sleep(1)";
    let parent = Python::start(&called("bl-parent", children));
    let child = |name: &str| {
        eventually(|| {
            let parent = pid(&parent);
            let path = format!("/proc/{parent}/task/{parent}/children");
            let children = std::fs::read_to_string(path).ok()?;
            let mut children = children
                .split_whitespace()
                .filter_map(|child| child.parse().ok());
            children.find(|child: &u32| {
                let comm = std::fs::read_to_string(format!("/proc/{child}/comm"));
                comm.is_ok_and(|comm| comm.trim_end() == name)
            })
        })
    };
    let (own, none) = (child("bl-own-rule"), child("bl-no-rule"));
    let rules = file(
        &folder,
        "rules.toml",
        b"[[rule]]\ncommand = \"bl-own-rule\"\nignore = true\n[[rule]]\ncommand = \"bl-parent\"\ninterval = 100\nmax_cpu = \"10%\"\n",
    );
    let service = Service::start(&rules, &[]);
    eventually(|| (huge(pid(&parent)) >= 60 << 10 && huge(none) >= 60 << 10).then_some(()));
    assert!(huge(own) < 4 << 10, "{}", huge(own));
    service.end();
    for child in [own, none] {
        let _ = Command::new("kill").arg(child.to_string()).status();
    }
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_would_be_made() {
    if !can_govern() || !is_installed("python3") {
        return;
    }
    let folder = folder("service-dry");
    let program = Python::start(&called("bl-dry", ""));
    let rules = file(&folder, "rules.toml", b"[[rule]]\ncommand = \"bl-dry\"\n");
    let service = Service::start(&rules, &["--dry-run"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let said = service.end();
    assert!(
        said.contains("would be promoted") && said.contains("bl-dry"),
        "{said}"
    );
    assert!(huge(pid(&program)) < 4 << 10);
}
