//! The enforcement of the architecture: the table of ARCHITECTURE.md and Cargo's metadata, as
//! values for tests.
//!
//! `tests/suite/layers.rs` compares the two. `tests/suite/bans.rs` checks that each ban works in
//! each inner crate. `inner.clippy.toml` is the only list of bans: every inner crate links to it
//! under the name that Clippy reads.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the repository.
///
/// # Panics
/// Panics if the sources of this build are gone.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository has a root")
}

/// The layer of a crate: the first column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// 0 is the innermost.
    Number(u8),
    /// Crates for the tests of others.
    Dev,
}

impl Layer {
    /// Returns true if the bans of `inner.clippy.toml` apply.
    pub fn is_inner(self) -> bool {
        self <= Self::Number(4)
    }
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// The layer of the crate.
    pub layer: Layer,
    /// The crates that it may import, without the prefix `broadleaf-`.
    pub may_import: BTreeSet<String>,
    /// The things that it must not know, as a phrase.
    pub knows_nothing_of: String,
}

/// Parses the table of a document such as ARCHITECTURE.md, by crate name.
///
/// # Errors
/// Returns a sentence that names the invalid line.
pub fn table(document: &str) -> Result<BTreeMap<String, TableRow>, String> {
    let mut rows = BTreeMap::new();
    let mut lines = document
        .lines()
        .skip_while(|line| !line.starts_with("| layer | crate |"));
    lines
        .next()
        .ok_or("no line starts with `| layer | crate |`")?;
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [layer, name, _, imports, knows_nothing_of] = cells[..] else {
            return Err(format!("not five cells: {line}"));
        };
        let layer = match layer {
            "dev" => Layer::Dev,
            number => Layer::Number(number.parse().map_err(|_| format!("no layer: {line}"))?),
        };
        let may_import = backticked(imports);
        if may_import.is_empty() && imports != "nothing" {
            return Err(format!("imports nothing that is named: {line}"));
        }
        if rows
            .insert(
                name.trim_matches('`').to_string(),
                TableRow {
                    layer,
                    may_import,
                    knows_nothing_of: knows_nothing_of.to_string(),
                },
            )
            .is_some()
        {
            return Err(format!("a second row for one crate: {line}"));
        }
    }
    Ok(rows)
}

fn backticked(cell: &str) -> BTreeSet<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_string)
        .collect()
}

/// The names that a source takes from a crate: of `use a::{B, c::D}`, for `a`, `B` and `c`.
///
/// Globs and the crate's own name without a path (`use a;`) become `*`, so that a test can refuse
/// both.
pub fn names_taken(source: &str, krate: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in source.match_indices(krate) {
        let Some(path) = source[at + krate.len()..].strip_prefix("::") else {
            names.insert("*".to_string());
            continue;
        };
        let (mut depth, mut at_name) = (0_i32, true);
        for token in tokens(path) {
            match token {
                "{" => depth += 1,
                "}" => depth -= 1,
                "," if depth == 1 => at_name = true,
                "::" => at_name = false,
                name if at_name => {
                    names.insert(name.to_string());
                    at_name = false;
                }
                _ => {}
            }
            // A closing brace ends a group; the first name ends a single path.
            if depth <= 0 {
                break;
            }
        }
    }
    names
}

/// Splits a text into words and the punctuation of paths.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let length = match rest.find(|letter| !word(letter)) {
            _ if rest.is_empty() => return None,
            None => rest.len(),
            Some(0) if rest.starts_with("::") => 2,
            Some(0) => rest.chars().next().map_or(0, char::len_utf8),
            Some(length) => length,
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

/// Returns all Rust files below a folder.
///
/// # Panics
/// Panics if the folder is unreadable.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the table of this repository.
///
/// # Panics
/// Panics if ARCHITECTURE.md is unreadable or has no such table.
pub fn our_table() -> BTreeMap<String, TableRow> {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md"))
        .expect("ARCHITECTURE.md is readable");
    table(&document).expect("ARCHITECTURE.md holds the table")
}

/// The dependencies of a crate of the workspace.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// Its folder.
    pub folder: PathBuf,
    /// Crates of the workspace that its code or its build imports, without the prefix `broadleaf-`.
    pub imports: BTreeSet<String>,
    /// Crates of the workspace that only its tests import.
    pub test_imports: BTreeSet<String>,
    /// External crates that its code or its build imports.
    pub outside: BTreeSet<String>,
    /// True if Cargo leaves out the unit tests of its library.
    pub leaves_out_library_tests: bool,
    /// True if Cargo leaves out the unit tests of one of its programs.
    pub leaves_out_program_tests: bool,
    /// True if Cargo leaves out the examples of its documentation.
    pub leaves_out_examples: bool,
}

/// Returns all crates of the workspace, by name without the prefix `broadleaf-`, from Cargo.
///
/// # Panics
/// Panics if Cargo fails, or if a crate is not called `broadleaf-*`.
pub fn packages() -> BTreeMap<String, Package> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a manifest"));
        let mut found = Package {
            folder: manifest.parent().expect("a folder").to_path_buf(),
            ..Package::default()
        };
        for target in package["targets"].as_array().expect("targets") {
            let kinds = target["kind"].as_array().expect("kinds");
            let is = |kind: &str| kinds.iter().any(|known| known == kind);
            let leaves_out = target["test"] == false;
            found.leaves_out_library_tests |= is("lib") && leaves_out;
            found.leaves_out_program_tests |= is("bin") && leaves_out;
            found.leaves_out_examples |= is("lib") && target["doctest"] == false;
        }
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let name = dependency["name"].as_str().expect("a name");
            match (name.strip_prefix("broadleaf-"), dependency["kind"].as_str()) {
                (Some(ours), Some("dev")) => found.test_imports.insert(ours.to_string()),
                (Some(ours), _) => found.imports.insert(ours.to_string()),
                (None, Some("dev")) => false,
                (None, _) => found.outside.insert(name.to_string()),
            };
        }
        let name = package["name"].as_str().expect("a name");
        let short = name
            .strip_prefix("broadleaf-")
            .unwrap_or_else(|| panic!("{name} is not called broadleaf-*"));
        packages.insert(short.to_string(), found);
    }
    packages
}
