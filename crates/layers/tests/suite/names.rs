//! A reader who meets a type's name knows which type it is: few files define the same name.

use broadleaf_layers::{packages, root, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The most files that may define a type of one name.
const MOST_FILES: usize = 2;

/// The type that a line defines. Associated types are indented, and are no new types.
fn defined(line: &str) -> Option<&str> {
    let is_indented = line.starts_with(' ');
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    if word == "pub" || word.starts_with("pub(") {
        word = words.find(|word| !word.ends_with(')'))?;
    }
    let is_type = ["struct", "enum", "trait", "union"].contains(&word);
    if !is_type && (word != "type" || is_indented) {
        return None;
    }
    let name = words.next()?;
    let is_part = |letter: char| !letter.is_alphanumeric() && letter != '_';
    name.split(is_part).next().filter(|name| !name.is_empty())
}

#[test]
fn few_files_define_a_type_of_one_name() {
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for package in packages().values() {
        // Tests and benchmarks have names as well. A fuzz target lies in a folder of its own.
        let folders = ["src", "tests", "benches", "fuzz_targets"];
        let folders = folders.map(|name| package.folder.join(name)).into_iter();
        let folders = folders.filter(|folder| folder.is_dir());
        for path in folders.flat_map(|folder| sources(&folder)) {
            let source = std::fs::read_to_string(&path).expect("a source file is readable");
            for name in source.lines().filter_map(defined) {
                let short = path.strip_prefix(root()).unwrap_or(&path).to_path_buf();
                files.entry(name.to_string()).or_default().insert(short);
            }
        }
    }
    assert!(files.len() > 1000, "{} types are too few", files.len());
    for name in ["FakeFrames", "FuzzRecodedTrace"] {
        assert!(files.contains_key(name), "{name} is a type of tests");
    }
    files.retain(|_, files| files.len() > MOST_FILES);
    assert!(files.is_empty(), "rename all but two of each: {files:#?}");
}

#[test]
fn definitions_are_found() {
    assert_eq!(defined("pub(crate) struct View(u8);"), Some("View"));
    assert_eq!(defined("pub(in crate::a) enum Way {"), Some("Way"));
    assert_eq!(defined("    struct Inner<T> {"), Some("Inner"));
    assert_eq!(defined("type Rows<'a> = Vec<&'a str>;"), Some("Rows"));
    assert_eq!(defined("    type Output = u8;"), None);
    assert_eq!(defined("// struct Nothing"), None);
}
