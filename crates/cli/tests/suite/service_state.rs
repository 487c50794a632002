//! The reports of a service about itself: to programs, to systemd and to Prometheus. These tests
//! change no process, so they need no rights.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use serde_json::Value;

use crate::support::live::{SIGHUP, eventually, ignores};
use crate::support::service::{Service, fetched, sample};
use crate::support::{broadleaf, file, folder, run, stderr, succeeded};

/// Rules that pick no process.
const NOBODY: &[u8] = b"discover = 1\n[[rule]]\ncommand = \"no such program\"\n";

#[test]
fn a_list_in_json_has_what_the_table_has() {
    let folder = folder("service-json");
    // The test's own process is one that rules can pick.
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    let (own, pid) = (own.trim_end(), std::process::id());
    let pick = format!("[[rule]]\ncommand = \"{own}\"\npolicy = \"pop-461\"\n");
    let rules = file(&folder, "rules.toml", pick.as_bytes());
    let list = |rules: &str| {
        let printed = succeeded(&run(&["service", rules, "--once", "--format", "json"]));
        serde_json::from_str::<Value>(&printed).unwrap()
    };
    let found = list(&rules);
    assert_eq!(found["schema"], "broadleaf.service/1");
    assert_eq!(
        (&found["file"], &found["rules"]),
        (&rules.clone().into(), &1.into())
    );
    let of = |found: &Value| {
        let mut processes = found["processes"].as_array().unwrap().iter();
        processes.find(|process| process["pid"] == pid).cloned()
    };
    let process = of(&found).expect("this process");
    assert_eq!(process["command"], own);
    assert_eq!(process["action"], "govern");
    assert_eq!(process["policy"], "pop-461");
    assert_eq!(process["rule_line"], 1);
    let read = process["forecast"]["would_promote"].is_u64();
    assert!(read != process["reason"].is_string(), "{process}");
    let table = succeeded(&run(&["service", &rules, "--once"]));
    assert!(
        table.contains(&pid.to_string()) && table.contains("pop-461"),
        "{table}"
    );

    let ignore = file(
        &folder,
        "ignore.toml",
        pick.replace("policy = \"pop-461\"", "ignore = true")
            .as_bytes(),
    );
    let process = of(&list(&ignore)).expect("this process");
    assert_eq!(process["action"], "ignore");
    assert!(process["policy"].is_null() && process["forecast"].is_null());
    // A list without a process is a list.
    let nobody = list(&file(&folder, "nobody.toml", NOBODY));
    assert_eq!(nobody["processes"], Value::Array(Vec::new()));
}

#[test]
fn the_format_is_that_of_the_list_alone() {
    let output = run(&["service", "rules.toml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--once"), "{}", stderr(&output));
}

#[test]
fn every_message_is_an_object_if_asked_for() {
    let folder = folder("service-log");
    let rules = file(&folder, "rules.toml", NOBODY);
    let options = [
        "--dry-run",
        "--metrics",
        "127.0.0.1:0",
        "--log-format",
        "json",
    ];
    let service = Service::start(&rules, &options);
    service.says("\"metrics\"");
    let is_reloaded = !ignores(SIGHUP);
    if is_reloaded {
        std::fs::write(&rules, "[[rule]]\nwrong = 1\n").unwrap();
        service.signal("-HUP");
        service.says("rules_stay");
    }
    service.signal("-TERM");
    let lines = eventually(|| {
        let said = service.said();
        said.ends_with('\n').then_some(said)
    });
    let records: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    for record in &records {
        for field in ["time", "level", "message"] {
            assert!(record[field].is_string(), "{record}");
        }
    }
    let with = |event: &str| records.iter().find(|record| record["event"] == event);
    let address = with("metrics").expect("the address");
    assert!(
        address["address"]
            .as_str()
            .unwrap()
            .starts_with("127.0.0.1:")
    );
    if is_reloaded {
        let refused = with("rules_refused").expect("the refusal");
        assert_eq!(refused["level"], "warn");
        assert!(refused["message"].as_str().unwrap().contains("line 2"));
    }
    // The reason for which a service does not start is an object, too.
    let said = stderr(&run(&["service", "/no/rules.toml", "--log-format", "json"]));
    let record: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(record["level"], "error", "{record}");
}

#[test]
fn a_service_manager_learns_of_the_start_each_reload_and_the_end() {
    let folder = folder("service-notify");
    let rules = file(&folder, "rules.toml", NOBODY);
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let next = || {
        let mut bytes = [0; 1024];
        let length = manager.recv(&mut bytes).expect("a message");
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let service =
        Service::spawn(broadleaf(&["service", &rules, "--dry-run"]).env("NOTIFY_SOCKET", &socket));
    assert_eq!(next(), "READY=1\nSTATUS=1 rule; processes governed: 0\n");
    if !ignores(SIGHUP) {
        let more = [NOBODY, b"[[rule]]\ncommand = \"nor this one\"\n"].concat();
        std::fs::write(&rules, more).unwrap();
        service.signal("-HUP");
        let reloading = next();
        assert!(
            reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
            "{reloading}"
        );
        assert_eq!(next(), "READY=1\n");
        assert_eq!(next(), "STATUS=2 rules; processes governed: 0\n");
    }
    service.signal("-TERM");
    assert_eq!(next(), "STOPPING=1\n");
}

#[test]
fn metrics_have_the_build_and_the_last_reload() {
    let folder = folder("service-build");
    let rules = file(&folder, "rules.toml", NOBODY);
    let service = Service::start(&rules, &["--dry-run", "--metrics", "127.0.0.1:0"]);
    let address = service.address();
    let value = |name: &str| sample(&fetched(&address, "GET /metrics").1, name);
    eventually(|| value("broadleaf_build_info{"));
    let version = format!(
        "broadleaf_build_info{{version=\"{}\"",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(value(&version), Some(1.0));
    assert_eq!(value("broadleaf_dry_run "), Some(1.0));
    assert_eq!(value("broadleaf_config_last_reload_successful "), Some(1.0));
    let read = "broadleaf_config_last_reload_success_timestamp_seconds ";
    let before = value(read).expect("a time");
    let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64() - before;
    assert!((0.0..60.0).contains(&since), "{since}");
    if ignores(SIGHUP) {
        return;
    }
    let refused = "broadleaf_config_reloads_total{result=\"refused\"} ";
    std::fs::write(&rules, "wrong\n").unwrap();
    service.signal("-HUP");
    eventually(|| value(refused).filter(|count| *count >= 1.0));
    assert_eq!(value("broadleaf_config_last_reload_successful "), Some(0.0));
    assert_eq!(value(read), Some(before));
    std::fs::write(&rules, NOBODY).unwrap();
    service.signal("-HUP");
    eventually(|| value(read).filter(|time| *time > before));
    assert_eq!(value("broadleaf_config_last_reload_successful "), Some(1.0));
    assert_eq!(
        value("broadleaf_config_reloads_total{result=\"read\"} "),
        Some(1.0)
    );
}
