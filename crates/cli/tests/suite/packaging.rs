//! The files that are packaged: rules that the command takes, and a unit that systemd takes.

use std::path::Path;
use std::process::Command;

use crate::support::live::is_installed;
use crate::support::{binary, file, folder, run, stderr, succeeded};

/// The files that are packaged.
fn packaged(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    folder.join(name).to_string_lossy().into_owned()
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
