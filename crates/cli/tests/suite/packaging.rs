//! The files that are packaged: rules that the command takes, a unit that systemd takes, and the
//! names of metrics that alerts and the dashboard ask for. `tests/hard/package` builds the package
//! and installs it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::live::{eventually, is_installed};
use crate::support::service::{Service, fetched};
use crate::support::{binary, file, folder, run, stderr, succeeded};

/// The files that are packaged.
fn packaged(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    folder.join(name).to_string_lossy().into_owned()
}

/// The text of a file of the repository, by its path from `packaging`.
fn text_of(name: &str) -> String {
    std::fs::read_to_string(packaged(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    text.split(|letter| !is_of_name(letter))
        .filter(|word| word.starts_with("broadleaf_") && word.len() > "broadleaf_".len())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_packaged_rules_are_rules_also_where_all_of_them_are_in_force() {
    let example = packaged("broadleaf.toml");
    succeeded(&run(&["service", &example, "--once"]));
    // A line with no space after its `#` is a rule that is commented out.
    let text = std::fs::read_to_string(&example).unwrap();
    let uncommented = text.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => rest,
        _ => line,
    });
    let text: Vec<&str> = uncommented.collect();
    // Every system has the user root.
    let text = text.join("\n").replace("\"app\"", "\"root\"");
    let folder = folder("service-packaged");
    let all = file(&folder, "all.toml", text.as_bytes());
    succeeded(&run(&["service", &all, "--once"]));
    assert!(text.matches("\n[[rule]]").count() >= 7, "{text}");
}

#[test]
fn the_packaged_unit_is_one() {
    let unit = std::fs::read_to_string(packaged("broadleaf.service")).unwrap();
    let value = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key}"))
    };
    // The command line is one that the command takes.
    let command: Vec<&str> = value("ExecStart=/usr/bin/broadleaf ").split(' ').collect();
    let example = packaged("broadleaf.toml");
    assert_eq!(command[..2], ["service", "/etc/broadleaf.toml"]);
    let options = run(&[&["service", "/no/such/rules.toml"], &command[2..]].concat());
    assert!(
        stderr(&options).contains("/no/such/rules.toml: cannot read it"),
        "{example}"
    );
    let rights = "CAP_SYS_NICE CAP_SYS_PTRACE CAP_DAC_READ_SEARCH";
    assert_eq!(value("AmbientCapabilities="), rights);
    assert_eq!(value("CapabilityBoundingSet="), rights);
    if !is_installed("systemd-analyze") {
        return;
    }
    // What it starts is not installed where it was not packaged.
    let folder = folder("service-unit");
    let there = unit.replace("/usr/bin/broadleaf", &binary().to_string_lossy());
    let there = file(&folder, "broadleaf.service", there.as_bytes());
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", &there])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(
        output.status.success() && !said.contains("broadleaf.service"),
        "{said}"
    );
}

/// The names that a service serves, and the text of its metrics.
fn served() -> BTreeSet<String> {
    let folder = folder("service-names");
    let rules = file(
        &folder,
        "rules.toml",
        b"[[rule]]\ncommand = \"no such program\"\n",
    );
    let service = Service::start(&rules, &["--dry-run", "--metrics", "127.0.0.1:0"]);
    let address = service.address();
    let text = eventually(|| {
        let (head, text) = fetched(&address, "GET /metrics");
        head.starts_with("HTTP/1.1 200 ").then_some(text)
    });
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names = types.filter_map(|line| line.split(' ').next());
    let mut names: BTreeSet<String> = names.map(str::to_owned).collect();
    // A kernel without this file does not report the figure.
    if !Path::new("/proc/pressure/memory").exists() {
        names.insert("broadleaf_pressure".to_owned());
    }
    names
}

#[test]
fn alerts_and_the_dashboard_ask_for_metrics_that_exist() {
    let served = served();
    for name in [
        "grafana-dashboard.json",
        "prometheus-alerts.yml",
        "prometheus-alerts-test.yml",
    ] {
        let asked = metrics_in(&text_of(name));
        assert!(asked.len() > 8, "{name}: {asked:?}");
        let unknown: Vec<_> = asked.difference(&served).collect();
        assert!(unknown.is_empty(), "{name}: no such metrics: {unknown:?}");
    }
    // The dashboard shows all, except for the counters that end with their process.
    let shown = metrics_in(&text_of("grafana-dashboard.json"));
    let of_process =
        |name: &&String| served.contains(&name.replace("broadleaf_", "broadleaf_all_"));
    let alone = [
        "broadleaf_rules",
        "broadleaf_last_publish_timestamp_seconds",
        "broadleaf_dry_run",
        "broadleaf_config_reloads_total",
    ];
    let missing: Vec<_> = served
        .difference(&shown)
        .filter(|name| !of_process(name) && !alone.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "the dashboard lacks {missing:?}");
}

#[test]
fn the_files_that_the_alerts_name_are_installed() {
    let (alerts, stage) = (
        text_of("prometheus-alerts.yml"),
        text_of("../scripts/stage.sh"),
    );
    let comment = alerts.lines().take_while(|line| line.starts_with('#'));
    let words = comment.flat_map(str::split_whitespace);
    let files: BTreeSet<_> = words.filter(|word| word.ends_with(".yml")).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert!(stage.contains(&format!(" packaging/{file}")), "{file}");
    }
}

#[test]
fn the_book_explains_each_metric() {
    let page = metrics_in(&text_of("../docs/book/src/service.md"));
    let served = served();
    let is_explained =
        |name: &&String| page.contains(&name.replace("broadleaf_all_", "broadleaf_"));
    let missing: Vec<_> = served.iter().filter(|name| !is_explained(name)).collect();
    assert!(missing.is_empty(), "service.md lacks {missing:?}");
    let unknown: Vec<_> = page.difference(&served).collect();
    assert!(unknown.is_empty(), "service.md has {unknown:?}");
}

#[test]
fn the_dashboard_is_json_without_two_panels_of_one_number_or_place() {
    let board: serde_json::Value =
        serde_json::from_str(&text_of("grafana-dashboard.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let numbers: BTreeSet<u64> = panels
        .iter()
        .filter_map(|panel| panel["id"].as_u64())
        .collect();
    assert_eq!(numbers.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("x") + side("w") <= 24, "{}", panel["title"]);
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(
                    taken.insert((x, y)),
                    "{} lies on another panel",
                    panel["title"]
                );
            }
        }
        let targets = panel["targets"].as_array().unwrap();
        assert!(targets.iter().all(|target| target["expr"].is_string()));
    }
}

#[test]
fn the_daemon_set_has_rules_and_arguments_that_the_command_takes() {
    let text = text_of("kubernetes.yaml");
    let indent = "    ";
    let from = text.find("broadleaf.toml: |\n").expect("rules") + "broadleaf.toml: |\n".len();
    let rules: String = text[from..]
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with(indent))
        .map(|line| format!("{}\n", line.strip_prefix(indent).unwrap_or_default()))
        .collect();
    assert!(rules.contains("[[rule]]"), "{rules}");
    let folder = folder("service-kubernetes");
    let rules = file(&folder, "rules.toml", rules.as_bytes());
    succeeded(&run(&["service", &rules, "--once"]));
    let from = text.find("args:\n").expect("arguments") + "args:\n".len();
    let arguments = text[from..]
        .lines()
        .map_while(|line| line.trim_start().strip_prefix("- "));
    let arguments: Vec<&str> = arguments.collect();
    assert_eq!(arguments[..2], ["service", "/etc/broadleaf/broadleaf.toml"]);
    let output = run(&[&["service", "/no/such/rules.toml"], &arguments[2..]].concat());
    let said = stderr(&output);
    assert!(
        said.contains("/no/such/rules.toml: cannot read it"),
        "{said}"
    );
}

#[test]
fn the_package_has_the_version_of_the_command() {
    let changelog = text_of("../debian/changelog");
    let version = format!("broadleaf ({}-", env!("CARGO_PKG_VERSION"));
    assert!(changelog.starts_with(&version), "{changelog}");
}
