//! The recipes of CONTRIBUTING.md suffice: a made-up addition of each kind is one file and one
//! line.
//!
//! The test copies the crates with a catalogue, makes each addition, and runs the crates' tests.
//! The contract tests go through the catalogues, so they test the additions.

use broadleaf_layers::root;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A made-up addition.
struct Addition {
    /// The heading of the recipe.
    recipe: &'static str,
    /// The new file, from the repository's root.
    file: &'static str,
    text: &'static str,
    /// The file with the catalogue.
    catalogue: &'static str,
    /// The name of the list in the catalogue.
    list: &'static str,
    line: &'static str,
}

const ADDITIONS: &[Addition] = &[
    Addition {
        recipe: "Add a replacement rule",
        file: "crates/tlb/src/replacement/newest.rs",
        text: include_str!("../additions/newest.rs"),
        catalogue: "crates/tlb/src/replacement/mod.rs",
        list: "REPLACEMENTS",
        line: "newest::NEWEST,",
    },
    Addition {
        recipe: "Add a TLB organisation",
        file: "crates/tlb/src/organisation/queue.rs",
        text: include_str!("../additions/queue.rs"),
        catalogue: "crates/tlb/src/organisation/mod.rs",
        list: "ORGANISATIONS",
        line: "queue::QUEUE,",
    },
    Addition {
        recipe: "Add a page table",
        file: "crates/pagetable/src/tables/listed.rs",
        text: include_str!("../additions/listed.rs"),
        catalogue: "crates/pagetable/src/tables/mod.rs",
        list: "PAGE_TABLES",
        line: "listed::LISTED,",
    },
    Addition {
        recipe: "Add a cache hierarchy",
        file: "crates/cache/src/first_only.rs",
        text: include_str!("../additions/first_only.rs"),
        catalogue: "crates/cache/src/lib.rs",
        list: "CACHES",
        line: "first_only::FIRST_ONLY,",
    },
    Addition {
        recipe: "Add a replacement rule of caches",
        file: "crates/cache/src/replacement/last_way.rs",
        text: include_str!("../additions/last_way.rs"),
        catalogue: "crates/cache/src/replacement/mod.rs",
        list: "LINE_REPLACEMENTS",
        line: "last_way::LAST_WAY,",
    },
    Addition {
        recipe: "Add an importer",
        file: "crates/import/src/hexes.rs",
        text: include_str!("../additions/hexes.rs"),
        catalogue: "crates/import/src/lib.rs",
        list: "FOREIGN_FORMATS",
        line: "hexes::HEXES,",
    },
    Addition {
        recipe: "Add a policy",
        file: "crates/policy/src/policies/third.rs",
        text: include_str!("../additions/third.rs"),
        catalogue: "crates/policy/src/policies/mod.rs",
        list: "POLICIES",
        line: "third::ENTRY,",
    },
    Addition {
        recipe: "Add a metric",
        file: "crates/metrics/src/catalogue/walks_per_fault.rs",
        text: include_str!("../additions/walks_per_fault.rs"),
        catalogue: "crates/metrics/src/catalogue/mod.rs",
        list: "METRICS",
        line: "walks_per_fault::WALKS_PER_FAULT,",
    },
];

/// The crates whose tests run with the additions.
const TESTED: &[&str] = &["tlb", "pagetable", "cache", "import", "policy", "metrics"];

/// The crate, and the module of its tests, that makes a grid and a price of each organisation.
const WITH_GRIDS: (&str, &str) = ("machine", "organisations::");

/// Crates that the tested ones import.
const IMPORTED: &[&str] = &["units", "trace", "machine", "pipeline", "price", "oracle"];

/// Other files and folders that these crates and their tests read.
const READ: &[&str] = &["tests/golden/sort.bl", "machines"];

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder of the repository") {
        let path = entry.expect("the folder can be read").path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a file is copied");
        }
    }
}

/// The folder of the copied crates in the copied workspace. The crates of the repository lie in the
/// root of theirs. So Cargo gives each copy another name, and both workspaces can share a target
/// folder.
const PART: &str = "made-up";

/// A copy of the workspace, with the tested crates and those that they import.
fn workspace() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("additions");
    let _ = fs::remove_dir_all(&folder);
    let inner = folder.join(PART);
    fs::create_dir_all(&inner).expect("a folder");
    for file in ["Cargo.lock", "rust-toolchain.toml"] {
        fs::copy(root().join(file), folder.join(file)).expect("a file is copied");
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let moved = manifest.replace("\"crates/", &format!("\"{PART}/crates/"));
    let moved = moved.replace(", \"fuzz\"", "");
    fs::write(folder.join("Cargo.toml"), moved).expect("a file is written");
    for name in READ {
        let (from, copy) = (root().join(name), inner.join(name));
        if from.is_dir() {
            copy_folder(&from, &copy);
            continue;
        }
        fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
        fs::copy(from, copy).expect("a file is copied");
    }
    for name in TESTED.iter().chain(IMPORTED) {
        let part = Path::new("crates").join(name);
        copy_folder(&root().join(&part), &inner.join(&part));
    }
    folder
}

/// Adds the one file, and the one line at the end of the list.
fn make(addition: &Addition, folder: &Path) {
    let file = folder.join(addition.file);
    assert!(!file.exists(), "{}", addition.file);
    fs::write(file, addition.text).expect("a new file");
    let path = folder.join(addition.catalogue);
    let text = fs::read_to_string(&path).expect("a catalogue");
    let is_start = |line: &str| line.contains(addition.list) && line.trim_end().ends_with("= [");
    let mut lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| is_start(line));
    let start = start.unwrap_or_else(|| panic!("no {} in {}", addition.list, addition.catalogue));
    let end = lines[start..].iter().position(|line| line.trim() == "];");
    lines.insert(start + end.expect("the list ends"), addition.line);
    fs::write(path, lines.join("\n") + "\n").expect("the catalogue is written");
}

/// The lines of each file that one folder has and the other has not, by path.
fn changes(before: &Path, after: &Path, part: &Path) -> BTreeMap<PathBuf, usize> {
    let mut changed = BTreeMap::new();
    for entry in fs::read_dir(after.join(part)).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let path = part.join(name);
        if after.join(&path).is_dir() {
            changed.extend(changes(before, after, &path));
            continue;
        }
        let text = |root: &Path| fs::read_to_string(root.join(&path)).unwrap_or_default();
        let (old, new) = (text(before), text(after));
        if old != new {
            changed.insert(path, new.lines().count() - old.lines().count());
        }
    }
    changed
}

#[test]
fn an_addition_is_one_file_and_one_line() {
    let folder = workspace();
    let inner = folder.join(PART);
    ADDITIONS.iter().for_each(|addition| make(addition, &inner));
    let changed = changes(&root(), &inner, Path::new("crates"));
    let mut expected = BTreeMap::new();
    for addition in ADDITIONS {
        expected.insert(addition.file.into(), addition.text.lines().count());
        *expected.entry(addition.catalogue.into()).or_insert(0) += 1;
    }
    assert_eq!(changed, expected);

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let target = target.expect("the folder lies in the target folder");
    let run = |crates: &[&str], filter: &[&str]| {
        let mut command = Command::new("cargo");
        // After `make test`, most dependencies are compiled already in this profile. The copies and
        // the library of Parquet, whose features differ, need not be fast.
        command.args(["test", "--offline", "--quiet", "--profile", "checked"]);
        let copies = TESTED
            .iter()
            .chain(IMPORTED)
            .map(|name| format!("broadleaf-{name}"));
        for name in copies.chain(["parquet".to_owned()]) {
            let level = format!("profile.checked.package.{name}.opt-level=1");
            command.args(["--config", &level]);
        }
        command
            .arg("--config")
            .arg(root().join(".cargo/config.toml"));
        command.arg("--target-dir").arg(target);
        command.current_dir(&folder);
        for name in crates {
            command.args(["-p", &format!("broadleaf-{name}")]);
        }
        let output = command.args(filter).output().expect("cargo test runs");
        let [printed, errors] = [output.stdout, output.stderr].map(String::from_utf8);
        let (printed, errors) = (printed.unwrap_or_default(), errors.unwrap_or_default());
        assert!(output.status.success(), "{printed}\n{errors}");
        printed
    };
    run(TESTED, &[]);
    let (name, module) = WITH_GRIDS;
    let printed = run(&[name], &["--test", "suite", module]);
    assert!(!printed.contains("ok. 0 passed"), "{printed}");
}

#[test]
fn the_recipes_name_the_file_and_the_line() {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("there is a page");
    for addition in ADDITIONS {
        let mut sections = document.split("\n## ");
        let recipe = sections.find(|section| section.starts_with(addition.recipe));
        let recipe = recipe.unwrap_or_else(|| panic!("no recipe {:?}", addition.recipe));
        let folder = Path::new(addition.file).parent().expect("a folder");
        let pattern = format!("{}/<name>.rs", folder.display());
        for needed in [pattern.as_str(), addition.catalogue, addition.list] {
            assert!(recipe.contains(needed), "{}: {needed}", addition.recipe);
        }
    }
}
