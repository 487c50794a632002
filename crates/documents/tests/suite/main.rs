//! Runs the commands of each document as one test, and checks the documents' links.

use std::fs;
use std::path::{Path, PathBuf};

use broadleaf_documents::{dead_links, documents, pages, root, run};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let pages = pages();
    assert!(pages.len() > 5, "{pages:?}");
    let mut trials: Vec<Trial> = pages.into_iter().map(commands).collect();
    trials.push(Trial::test("links", links_lead_somewhere));
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
        run(&document, &folder)?;
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
    let dead: Vec<String> = dead.collect();
    if dead.is_empty() {
        return Ok(());
    }
    Err(dead.join("\n").into())
}
