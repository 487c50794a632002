//! The command's crate holds flags, progress and exit codes. Its work is in `study`, where
//! libraries can call it.

use broadleaf_layers::{root, sources};

/// The lines that the sources of the command stay below.
const LINES: usize = 5000;

#[test]
fn the_command_stays_small() {
    let files = sources(&root().join("crates/cli/src"));
    let count = |path: &std::path::PathBuf| {
        let source = std::fs::read_to_string(path).expect("a source file is readable");
        source.lines().count()
    };
    let lines: usize = files.iter().map(count).sum();
    assert!(
        lines > 1000,
        "{lines} lines are too few: is this the command?"
    );
    assert!(
        lines < LINES,
        "crates/cli/src has {lines} lines of fewer than {LINES}: move logic to crates/study"
    );
}
