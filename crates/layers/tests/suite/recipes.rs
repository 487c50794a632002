//! The recipe in CONTRIBUTING.md names every file that a new policy changes.

use broadleaf_layers::root;
use std::fs;

/// Source files of models, and tests that compare models, that name the oracle's policies one by
/// one.
///
/// Other tests name policies as examples, and a new policy does not change them.
fn files_that_know_policies() -> Vec<String> {
    let mut found = vec!["crates/accel/tests/suite/differential.rs".to_owned()];
    let folder = root().join("crates/oracle/src");
    for entry in fs::read_dir(&folder).expect("the oracle has sources") {
        let path = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        if text.contains("PolicySpec::") {
            let name = path.file_name().expect("a file has a name");
            found.push(format!("crates/oracle/src/{}", name.to_string_lossy()));
        }
    }
    found
}

#[test]
fn the_recipe_for_a_policy_names_every_place() {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("there is a page");
    let recipe = document
        .split("\n## ")
        .find(|section| section.starts_with("Add a policy"))
        .expect("there is a recipe");
    let files = files_that_know_policies();
    assert!(files.len() >= 3, "{files:?}");
    let missing: Vec<&String> = files
        .iter()
        .filter(|file| !recipe.contains(*file))
        .collect();
    assert!(missing.is_empty(), "not in the recipe: {missing:?}");
}
