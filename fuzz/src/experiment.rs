//! An experiment file: a text is refused at a place inside the text, or is an experiment that can
//! be read again.

use std::path::PathBuf;

use broadleaf_study::sweep::Experiment;

use crate::failures::check_failure;

/// The name of the file, for messages.
const FILE: &str = "x.toml";

/// Runs the target on one input.
///
/// A path could name any file, and ranges of seeds any number of conditions. Texts with either are
/// left out.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.contains(['/', '\\']) || text.contains("..") {
        return;
    }
    // No file is in a folder that does not exist.
    let read = |text: &str| {
        let folder = PathBuf::from("/nonexistent/experiments");
        Experiment::parse(FILE, text.to_owned(), folder)
    };
    match read(text) {
        Ok(experiment) => {
            let again = read(&experiment.text).expect("the text was accepted");
            assert_eq!(again.name, experiment.name);
            assert!(!experiment.name.is_empty() && !experiment.name.starts_with('.'));
            assert_eq!(again.programs.len(), experiment.programs.len());
        }
        Err(failure) => check_failure(FILE, text, &failure),
    }
}
