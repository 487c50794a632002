//! Runs the commands of each document as a test of its own, follows the documents' links, and
//! checks their form.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use broadleaf_documents::links::{dead_links, faults_of_book};
use broadleaf_documents::style::{has_next_step, repeated_terms, wide_comments, wide_lines};
use broadleaf_documents::words::{LIMITED_WORDS, count_words, prose};
use broadleaf_documents::{documents, files, pages, root, run};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let pages = pages();
    assert!(pages.len() > 5, "{pages:?}");
    let mut trials: Vec<Trial> = pages.into_iter().map(commands).collect();
    trials.push(Trial::test("links", links_lead_somewhere));
    trials.push(Trial::test("book", the_book_is_whole));
    trials.push(Trial::test("widths", lines_are_narrow));
    trials.push(Trial::test("comments", comments_are_narrow));
    trials.push(Trial::test("words", words_are_plain));
    trials.push(Trial::test("glossary", terms_have_one_meaning));
    trials.push(Trial::test("next_steps", pages_end_with_a_next_step));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The test of one document's commands, in a folder of its own.
fn commands(document: PathBuf) -> Trial {
    let stem = document.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("documents")
        .join(&name);
    Trial::test(name, move || {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        run(
            &document,
            &folder,
            std::env::var_os("BROADLEAF_DEEP").is_some(),
        )?;
        // A failed test keeps its folder.
        fs::remove_dir_all(&folder)?;
        Ok(())
    })
}

fn links_lead_somewhere() -> Result<(), Failed> {
    let documents = documents(&root());
    let dead = documents.iter().flat_map(|document| {
        let targets = dead_links(document).into_iter();
        targets.map(|target| format!("{}: no {target}", document.display()))
    });
    none_of(dead.collect())
}

fn the_book_is_whole() -> Result<(), Failed> {
    none_of(faults_of_book(&root().join("docs/book/src")))
}

fn lines_are_narrow() -> Result<(), Failed> {
    // Pages of notebooks are made by nbconvert, with tables in one line.
    let is_made = |document: &PathBuf| {
        document
            .parent()
            .is_some_and(|it| it.ends_with("notebooks"))
    };
    let written = documents(&root()).into_iter().filter(|it| !is_made(it));
    let wide = written.flat_map(|document| {
        let text = fs::read_to_string(&document).expect("a document is readable");
        let lines = wide_lines(&text).into_iter();
        lines.map(move |line| format!("{}:{line}: more than 120 columns", document.display()))
    });
    none_of(wide.collect())
}

fn comments_are_narrow() -> Result<(), Failed> {
    let mut wide = Vec::new();
    for (ending, least) in [("rs", 500), ("c", 50), ("h", 3), ("py", 30)] {
        let mut sources = files(&root(), ending);
        // The golden files are outputs of the command, and the program whose recording they need.
        sources.retain(|source| !source.starts_with(root().join("tests/golden")));
        let count = sources.len();
        assert!(count > least, "{count} sources of {ending} are too few");
        for source in sources {
            let text = fs::read_to_string(&source).expect("a source is readable");
            let lines = wide_comments(&text, ending).into_iter();
            let source = source.display();
            wide.extend(lines.map(|line| format!("{source}:{line}: more than 100 columns")));
        }
    }
    none_of(wide)
}

/// Words of `LIMITED_WORDS` are rare in the comments and texts of Rust, and in documents.
fn words_are_plain() -> Result<(), Failed> {
    let mut counts = BTreeMap::new();
    // The file with the limits has all words.
    let words = root().join("crates/documents/src/words.rs");
    for source in files(&root(), "rs").iter().filter(|file| **file != words) {
        count_words(&prose(&fs::read_to_string(source)?), &mut counts);
    }
    for document in documents(&root()) {
        count_words(&fs::read_to_string(document)?, &mut counts);
    }
    assert!(counts["memory"] > 1000, "few words were read");
    let too_many = LIMITED_WORDS.iter().filter_map(|limited| {
        let found = limited.words.iter().filter_map(|word| counts.get(*word));
        let found: usize = found.sum();
        let words = limited.words.join(", ");
        (found > limited.most).then(|| format!("{words}: {found} times, at most {}", limited.most))
    });
    none_of(too_many.collect())
}

fn terms_have_one_meaning() -> Result<(), Failed> {
    let glossary = fs::read_to_string(root().join("GLOSSARY.md"))?;
    let repeated = repeated_terms(&glossary).into_iter();
    none_of(
        repeated
            .map(|term| format!("GLOSSARY.md has {term} twice"))
            .collect(),
    )
}

fn pages_end_with_a_next_step() -> Result<(), Failed> {
    let without = pages().into_iter().filter(|page| {
        let text = fs::read_to_string(page).expect("a page is readable");
        let is_contents = page.ends_with("SUMMARY.md") || page.ends_with("README.md");
        !is_contents && !has_next_step(&text)
    });
    let lines =
        without.map(|page| format!("{}: the last paragraph is no **Next:**", page.display()));
    none_of(lines.collect())
}

/// Fails if there is a complaint.
fn none_of(complaints: Vec<String>) -> Result<(), Failed> {
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(complaints.join("\n").into()),
    }
}
