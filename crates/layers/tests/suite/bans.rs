//! The bans of the inner layers: each inner crate uses the list, and each entry of the list works.

use broadleaf_layers::{our_table, root, sources};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BAN_LISTS: [&str; 3] = [
    "disallowed-types",
    "disallowed-methods",
    "disallowed-macros",
];

fn inner_crates() -> Vec<String> {
    our_table()
        .into_iter()
        .filter(|(_, row)| row.layer.is_inner())
        .map(|(name, _)| name)
        .collect()
}

fn parse(path: &Path) -> toml::Table {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The banned paths of one list, in the list's order.
fn banned(list: &str) -> Vec<String> {
    let bans = parse(&root().join("crates/layers/inner.clippy.toml"));
    let entries = bans[list].as_array().expect("a list of bans").clone();
    let one = |entry: &toml::Value| {
        let reason = entry["reason"].as_str().unwrap_or_default();
        assert!(!reason.is_empty(), "a ban without a reason: {entry}");
        entry["path"].as_str().expect("a path").to_string()
    };
    entries.iter().map(one).collect()
}

#[test]
fn every_inner_crate_reads_the_one_list() {
    let list =
        fs::read(root().join("crates/layers/inner.clippy.toml")).expect("the list is readable");
    let inner = inner_crates();
    assert!(
        inner.contains(&"units".to_string()) && inner.contains(&"model".to_string()),
        "{inner:?}"
    );
    for name in inner {
        let folder = root().join("crates").join(&name);
        let theirs = fs::read(folder.join("clippy.toml"))
            .unwrap_or_else(|error| panic!("{name}/clippy.toml: {error}"));
        assert!(
            theirs == list,
            "{name}/clippy.toml is not the list of crates/layers/inner.clippy.toml"
        );
        let manifest = parse(&folder.join("Cargo.toml"));
        assert_eq!(
            manifest["lints"]["workspace"].as_bool(),
            Some(true),
            "{name} does not take the workspace's lints"
        );
    }
}

/// The command must not panic if a stream is closed. The canary below shows how the macros behave.
#[test]
fn the_command_prints_by_no_macro_that_panics() {
    prints_by_no_macro_that_panics("cli");
}

/// Studies and live runs work inside the command. Their list is a file of its own, because its
/// reasons name other remedies: these crates have no `say!`.
#[test]
fn studies_print_by_no_macro_that_panics() {
    for name in ["study", "live"] {
        prints_by_no_macro_that_panics(name);
        let path = root().join("crates").join(name).join("clippy.toml");
        let list = fs::read_to_string(path).expect("the list is readable");
        assert!(!list.contains("say"), "{list}");
    }
}

fn prints_by_no_macro_that_panics(name: &str) {
    let folder = root().join("crates").join(name);
    let list = parse(&folder.join("clippy.toml"));
    let entries = list["disallowed-macros"].as_array().expect("a list");
    let paths: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry["path"].as_str())
        .collect();
    let all = ["std::print", "std::println", "std::eprint", "std::eprintln"];
    assert_eq!(paths, all.into());
    let manifest = parse(&folder.join("Cargo.toml"));
    assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true));
    for path in sources(&folder.join("src")) {
        let text = fs::read_to_string(&path).expect("a source file is readable");
        assert!(
            !text.contains("clippy::disallowed_macros"),
            "{} switches a ban off",
            path.display()
        );
    }
}

#[test]
fn the_workspace_denies_what_the_list_disallows() {
    let manifest = parse(&root().join("Cargo.toml"));
    let lints = &manifest["workspace"]["lints"]["clippy"];
    for list in BAN_LISTS {
        let lint = list.replace('-', "_");
        assert_eq!(
            lints.get(&lint).and_then(toml::Value::as_str),
            Some("deny"),
            "clippy::{lint}"
        );
    }
}

/// An inner crate's own code may not switch a ban off. Its tests may: some of them read files.
#[test]
fn no_inner_crate_allows_what_is_banned() {
    for name in inner_crates() {
        for path in sources(&root().join("crates").join(&name).join("src")) {
            let text = fs::read_to_string(&path).expect("a source file is readable");
            let of_tests = path
                .components()
                .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")));
            assert!(
                of_tests || !text.contains("clippy::disallowed"),
                "{} switches a ban off",
                path.display()
            );
        }
    }
}

/// A crate that uses everything banned is refused once for each ban.
#[test]
fn each_ban_bites() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("canary");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src")).expect("a folder for the canary");
    fs::copy(
        root().join("crates/layers/inner.clippy.toml"),
        folder.join("clippy.toml"),
    )
    .expect("the list is copied");
    let manifest = "[package]\nname = \"canary\"\nedition = \
                    \"2024\"\n\n[workspace]\n\n[lints.clippy]\n\
        disallowed_types = \"deny\"\ndisallowed_methods = \"deny\"\ndisallowed_macros = \"deny\"\n";
    fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest for the canary");
    let mut source =
        fs::read_to_string(root().join("crates/layers/tests/canary/methods_and_macros.rs"))
            .expect("canary");
    for (number, path) in banned("disallowed-types").iter().enumerate() {
        source.push_str(&format!("pub use {path} as Type{number};\n"));
    }
    fs::write(folder.join("src/lib.rs"), source).expect("a source for the canary");

    let output = Command::new("cargo")
        .args([
            "clippy",
            "--offline",
            "--quiet",
            "--message-format",
            "json",
            "--target-dir",
        ])
        .arg(folder.join("target"))
        .current_dir(&folder)
        .env_remove("CLIPPY_CONF_DIR")
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo clippy runs");
    let messages = String::from_utf8(output.stdout).expect("Clippy's messages are UTF-8");
    assert!(
        !output.status.success(),
        "Clippy passed a crate that does everything that is banned"
    );

    // Each refusal names the banned path between backticks: "use of a disallowed method
    // `std::fs::read`".
    let mut refused = BTreeSet::new();
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("a message is JSON");
        let text = message["message"]["message"].as_str().unwrap_or_default();
        if let Some(rest) = text.strip_prefix("use of a disallowed ") {
            refused.extend(rest.split('`').nth(1).map(str::to_string));
        } else {
            assert!(
                message["message"]["level"] != "error",
                "the canary does not compile: {text}"
            );
            assert!(
                !text.contains("does not refer to"),
                "a ban names nothing: {text}"
            );
        }
    }
    let all: BTreeSet<String> = BAN_LISTS.iter().flat_map(|list| banned(list)).collect();
    let missing: Vec<_> = all.difference(&refused).collect();
    assert!(missing.is_empty(), "bans that do not bite: {missing:?}");
}
