//! The imports in Cargo's manifests are those in ARCHITECTURE.md.

use broadleaf_layers::{
    Layer, Package, TableRow, names_taken, our_table, packages, root, sources, table,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns one sentence for each difference between `packages` and `table`.
fn departures(
    table: &BTreeMap<String, TableRow>,
    packages: &BTreeMap<String, Package>,
) -> Vec<String> {
    let mut found = Vec::new();
    for name in packages.keys().filter(|name| !table.contains_key(*name)) {
        found.push(format!("{name} is a crate without a row"));
    }
    for (name, row) in table {
        let Some(package) = packages.get(name) else {
            found.push(format!("{name} is a row without a crate"));
            continue;
        };
        for import in package.imports.difference(&row.may_import) {
            found.push(format!("{name} may not import {import}"));
        }
        // Tests compare with the slow models, and recordings with imported traces. Tests of dev
        // crates and of the outermost layer compare anything with anything.
        let of_tests = package.test_imports.difference(&row.may_import);
        let is_to_compare = |import: &String| ["oracle", "import"].contains(&import.as_str());
        let is_outermost = row.layer >= Layer::Number(7);
        for import in of_tests.filter(|import| !is_to_compare(import) && !is_outermost) {
            found.push(format!("the tests of {name} may not import {import}"));
        }
        for import in &row.may_import {
            if !package.imports.contains(import) {
                found.push(format!("{name} may import {import}, and does not"));
            }
            match table.get(import) {
                None => found.push(format!("{name} may import {import}, which has no row")),
                Some(imported) if imported.layer > row.layer => {
                    found.push(format!(
                        "{name} may import {import}, which is in a higher layer"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    found
}

#[test]
fn imports_are_those_of_the_table() {
    let found = departures(&our_table(), &packages());
    assert!(
        found.is_empty(),
        "ARCHITECTURE.md and Cargo differ:\n{}",
        found.join("\n")
    );
}

/// The test above can fail: each planted difference is found.
#[test]
fn each_departure_is_found() {
    let document = "\
| layer | crate | what it is | may import | must know nothing of |
|---|---|---|---|---|
| 0 | `units` | | nothing | |
| 1 | `trace` | | `units` `engine` | |
| 4 | `engine` | | `units` `missing` | |
| 5 | `gone` | | `units` | |
| 5 | `report` | | `units` | |
| dev | `oracle` | | `units` | |
";
    let table = table(document).expect("a table");
    let package = |imports: &[&str], test_imports: &[&str]| Package {
        imports: imports.iter().map(|name| name.to_string()).collect(),
        test_imports: test_imports.iter().map(|name| name.to_string()).collect(),
        ..Package::default()
    };
    let packages = BTreeMap::from([
        (
            "units".to_string(),
            package(&["trace"], &["oracle", "engine"]),
        ),
        ("trace".to_string(), package(&["units", "engine"], &[])),
        (
            "engine".to_string(),
            package(&["units", "missing"], &["oracle"]),
        ),
        ("oracle".to_string(), package(&["units"], &["engine"])),
        ("extra".to_string(), package(&[], &[])),
        ("report".to_string(), package(&[], &[])),
    ]);
    let mut found = departures(&table, &packages);
    found.sort();
    assert_eq!(
        found,
        [
            "engine may import missing, which has no row",
            "extra is a crate without a row",
            "gone is a row without a crate",
            "report may import units, and does not",
            "the tests of units may not import engine",
            "trace may import engine, which is in a higher layer",
            "units may not import trace",
        ]
    );
}

/// A dependency without a use in any source is unnecessary.
#[test]
fn every_import_is_used() {
    let named_in = |at: &Path, folders: &[&str], import: &str| {
        let build = Some(at.join("build.rs")).filter(|path| path.is_file());
        let folders = folders.iter().map(|folder| at.join(folder));
        let files = folders
            .filter(|folder| folder.is_dir())
            .flat_map(|folder| sources(&folder));
        files.chain(build).any(|path| {
            let source = std::fs::read_to_string(path).expect("a source file is readable");
            !names_taken(&source, &format!("broadleaf_{import}")).is_empty()
        })
    };
    for (name, package) in packages() {
        for import in &package.imports {
            let used = named_in(&package.folder, &["src"], import);
            assert!(used, "{name} depends on {import}, and no source names it");
        }
        for import in &package.test_imports {
            let used = named_in(
                &package.folder,
                &["src", "tests", "examples", "benches"],
                import,
            );
            assert!(used, "{name} has {import} for tests, and none names it");
        }
    }
    assert!(!named_in(&root().join("crates/units"), &["src"], "engine"));
}

/// Where a manifest leaves out unit tests or examples, there are none.
#[test]
fn no_test_is_left_out() {
    let is_example = |line: &str| {
        let text = line.trim_start();
        let text = text.strip_prefix("///").or(text.strip_prefix("//!"));
        text.is_some_and(|text| text.trim() == "```" || text.trim().starts_with("```rust"))
    };
    for package in packages().values() {
        for path in sources(&package.folder.join("src")) {
            let source = std::fs::read_to_string(&path).expect("a source file is readable");
            let is_program = path.ends_with("src/main.rs")
                || path
                    .parent()
                    .is_some_and(|folder| folder.ends_with("src/bin"));
            let leaves_out_tests = match is_program {
                true => package.leaves_out_program_tests,
                false => package.leaves_out_library_tests,
            };
            let has_test = source.contains("#[test]");
            assert!(!(leaves_out_tests && has_test), "{}", path.display());
            // Of two fences, the second is bare, and ends the block.
            let fences = source.lines().filter(|line| is_example(line)).count();
            let texts = source.matches("```text").count() + source.matches("```toml").count();
            let leaves_out = package.leaves_out_examples && fences > texts;
            assert!(!leaves_out, "{}", path.display());
        }
    }
}

#[test]
fn an_invalid_table_is_refused() {
    for document in [
        "no table at all",
        "| layer | crate | x |\n|---|---|---|\n| 0 | `units` | |\n",
        "| layer | crate | x |\n|---|---|---|\n| inner | `units` | | nothing | |\n",
        "| layer | crate | x |\n|---|---|---|\n| 0 | `units` | | everything | |\n",
        "| layer | crate | x |\n|---|---|---|\n| 0 | `a` | | nothing | |\n| 0 | `a` | | nothing | \
         |\n",
    ] {
        assert!(table(document).is_err(), "accepted: {document}");
    }
}

/// External crates that inner layers may use, each with its reason. The bans of `inner.clippy.toml`
/// do not apply inside them.
const OUTSIDE: [(&str, &str); 8] = [
    (
        "iced-x86",
        "decodes x86-64 instructions: a function of bytes",
    ),
    (
        "pulp",
        "runs code compiled for the widest vectors of the processor: equal results in less time",
    ),
    (
        "rayon",
        "decodes parts of a trace and replays policies on threads; results do not depend on \
         threads",
    ),
    (
        "serde",
        "derives code that reads and writes result records and machines",
    ),
    ("thiserror", "writes the impl blocks of error types"),
    ("toml", "reads machines, which are TOML text"),
    (
        "xxhash-rust",
        "the checksum of a trace's chunks: a function of bytes",
    ),
    (
        "zstd",
        "the compression of a trace's chunks: a function of bytes",
    ),
];

#[test]
fn inner_layers_use_few_crates_from_outside() {
    let table = our_table();
    for (name, package) in packages() {
        if !table.get(&name).is_some_and(|row| row.layer.is_inner()) {
            continue;
        }
        for outside in &package.outside {
            let known = OUTSIDE.iter().any(|(allowed, _)| allowed == outside);
            assert!(known, "{name} uses {outside}: add the reason to `OUTSIDE`");
        }
    }
}

/// The names of `policy` for crates that must not know concrete policies.
const CONTRACT: [&str; 20] = [
    "ColourOrder",
    "ColourOwner",
    "ColourRule",
    "Copies",
    "Coverage",
    "Effort",
    "NOMINAL_RATE",
    "Needs",
    "PromotionOrder",
    "PageDaemon",
    "Placement",
    "Point",
    "Policy",
    "ReadAround",
    "Refusal",
    "Refusals",
    "Scan",
    "StoreToShared",
    "Verdict",
    "View",
];

#[test]
fn inner_crates_use_only_the_contract_of_policies() {
    let mut checked = 0;
    for (name, row) in our_table() {
        if !row.knows_nothing_of.contains("concrete policy") {
            continue;
        }
        for path in sources(&root().join("crates").join(&name).join("src")) {
            let source = std::fs::read_to_string(&path).expect("a source file is readable");
            for taken in names_taken(&source, "broadleaf_policy") {
                assert!(
                    CONTRACT.contains(&taken.as_str()),
                    "{} takes {taken} from policy",
                    path.display()
                );
            }
            checked += 1;
        }
    }
    assert!(
        checked > 0,
        "no crate of the table is kept from concrete policies"
    );
}

#[test]
fn names_taken_are_found() {
    let taken = |source| {
        names_taken(source, "pol")
            .into_iter()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(taken("use pol::View;"), "View");
    assert_eq!(
        taken("use pol::{View, inner::{Deep, Other}, parse};"),
        "View inner parse"
    );
    assert_eq!(taken("pol::parse(x) + pol::View::new()"), "View parse");
    assert_eq!(taken("use pol::*;"), "*");
    assert_eq!(taken("use pol as p;"), "*");
}
