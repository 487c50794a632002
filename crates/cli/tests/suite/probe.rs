//! `probe`: the data TLBs of this machine, and the chases on models.

use std::fs;
use std::process::Output;

use crate::support::{broadleaf, folder, refused, run, succeeded};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// The value of that name.
fn value<'a>(found: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let values = found["values"].as_array().expect("values");
    let found = values.iter().find(|value| value["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {values:?}"))
}

#[test]
fn chases_on_a_model_find_its_structures() {
    let text = succeeded(&run(&[
        "probe",
        "--machine",
        "golden-cove",
        "--format",
        "json",
    ]));
    let found = json(&text);
    assert_eq!(found["schema"], "broadleaf.probe/1");
    assert_eq!(found["method"], "model");
    for (name, wanted) in [
        ("L1 4k entries", serde_json::json!(96)),
        ("L1 4k ways", serde_json::json!(6)),
        ("L1 4k replacement", serde_json::json!("mru3-plru")),
        ("L2 4k entries", serde_json::json!(2048)),
        ("L2 4k index", serde_json::json!("va[18:12] ^ va[25:19]")),
    ] {
        let value = value(&found, name);
        assert_eq!(value["value"], wanted, "{name}");
        assert!(value["confidence"].as_f64() > Some(0.5), "{name}: {value}");
    }
    let open = found["undetermined"].as_array().expect("names");
    for name in open {
        let value = value(&found, name.as_str().expect("a name"));
        assert!(value["value"].is_null() && value["note"] != "", "{value}");
    }
}

#[test]
fn names_are_refused_before_the_work() {
    let file = folder("probe-refused").join("machine.toml");
    fs::write(&file, "mine").expect("a file");
    let path = file.to_str().expect("a path");
    let text = refused(&run(&["probe", "--quick", "-o", path]));
    assert!(text.contains("--force"), "{text}");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "mine");
    let text = refused(&run(&["probe", "-o", "-"]));
    assert!(text.contains("give the machine file a name"), "{text}");
    let new = file.with_file_name("new.toml");
    let new = new.to_str().expect("a path");
    let text = refused(&run(&["probe", "--cpu", "100000", "-o", new]));
    assert!(text.contains("may not run there"), "{text}");
    let both = run(&["probe", "--machine", "skylake", "--quick"]);
    assert_eq!(both.status.code(), Some(2));
    refused(&run(&["probe", "--machine", "skylark"]));
}

/// A real probe. A busy machine may be too noisy, and then the command says so.
#[test]
fn the_file_of_a_probe_is_the_native_machine() {
    let config = folder("probe-native");
    let with_config = |arguments: &[&str]| -> Output {
        let mut command = broadleaf(arguments);
        command.env("XDG_CONFIG_HOME", &config);
        command.output().expect("the command runs")
    };
    let probed = with_config(&["probe", "--quick", "--format", "json"]);
    let file = config.join("broadleaf/machine.toml");
    let said = String::from_utf8_lossy(&probed.stderr).into_owned();
    if !probed.status.success() {
        assert_eq!(probed.status.code(), Some(1), "{said}");
        assert!(said.contains("quieter machine"), "{said}");
        assert!(!file.exists());
        return;
    }
    let found = json(&String::from_utf8_lossy(&probed.stdout));
    assert_eq!(found["machine_file"], file.to_str().expect("a path"));
    let entries = value(&found, "L1 4k entries")["value"].as_u64();
    assert!(
        entries.is_some_and(|entries| (8..=1024).contains(&entries)),
        "{found}"
    );
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/sort.bl");
    let compared = with_config(&["compare", trace, "--policy", "4k", "--machine", "native"]);
    let said = String::from_utf8_lossy(&compared.stderr).into_owned();
    assert!(compared.status.success(), "{said}");
    assert!(said.contains("measured on this processor"), "{said}");
    // The file of another processor is named, and not used.
    let text = fs::read_to_string(&file).expect("the file");
    let other = text.replace("broadleaf probe on ", "broadleaf probe on another ");
    fs::write(&file, other).expect("a file");
    let compared = with_config(&["compare", trace, "--policy", "4k", "--machine", "native"]);
    let said = String::from_utf8_lossy(&compared.stderr).into_owned();
    assert!(said.contains("was measured on another processor"), "{said}");
}
