//! Tests of the documents: every `console` block of the README and the book is run.
//!
//! A line that begins with `$ ` is a command; a backslash at its end continues the command on the
//! next line. The lines after a command are its expected output, standard output and standard error
//! together. A command without lines may print anything. Every command must succeed. The blocks of
//! one document run in order in one temporary folder, with `broadleaf` on `PATH`. Blocks of another
//! language (`sh`, `text`) are not run.
//!
//! If the output of a block's last command differs between machines, a comment after the block
//! gives the expected output: `<!-- prints`, the lines, `-->`. Readers do not see the comment. In
//! these lines, `...` alone on a line matches any lines, and `[..]` inside a line matches any text.
//!
//! A line `<!-- long -->` before a block says that the block takes too long for each test. Its
//! commands run if `BROADLEAF_DEEP` is set, as `tests/hard/book` sets it.

pub mod links;
pub mod style;
pub mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of a document.
struct DocumentCommand {
    line: usize,
    command: String,
    prints: Vec<String>,
    is_long: bool,
}

/// The commands of a document's `console` blocks.
fn steps(document: &str) -> Vec<DocumentCommand> {
    let mut steps: Vec<DocumentCommand> = Vec::new();
    let mut inside = false;
    let mut continued = false;
    let mut hidden = false;
    let mut is_long = false;
    for (index, line) in document.lines().enumerate() {
        if line == "<!-- prints" {
            hidden = true;
        } else if line == "<!-- long -->" {
            is_long = true;
        } else if hidden {
            hidden = line != "-->";
            let step = steps.last_mut().expect("a comment follows a block");
            if hidden {
                step.prints.push(line.to_string());
            }
        } else if line.starts_with("```") {
            is_long &= !inside;
            inside = !inside && line == "```console";
            continued = false;
        } else if !inside {
        } else if continued {
            let command = &mut steps
                .last_mut()
                .expect("a line continues a command")
                .command;
            command.push('\n');
            command.push_str(line);
            continued = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            continued = command.ends_with('\\');
            steps.push(DocumentCommand {
                line: index + 1,
                command: command.to_string(),
                prints: Vec::new(),
                is_long,
            });
        } else if let Some(step) = steps.last_mut() {
            let is_pattern = line == "..." || line.contains("[..]");
            assert!(!is_pattern, "line {}: readers see a pattern", index + 1);
            step.prints.push(line.trim_end().to_string());
        }
    }
    steps
}

/// Returns true if `text` matches the pattern `expected`, in which `[..]` matches any text.
fn line_matches(expected: &str, text: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|after| {
            (0..=after.len())
                .filter(|&at| after.is_char_boundary(at))
                .any(|at| line_matches(rest, &after[at..]))
        }),
    }
}

/// Returns true if `lines` match `expected`, in which a line `...` matches any lines.
fn lines_match(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines.split_first().is_some_and(|(line, after)| {
            line_matches(first, line.trim_end()) && lines_match(rest, after)
        }),
    }
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the README and the pages of the book.
pub fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/book/src")).expect("the book has pages");
    let mut pages: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// Returns the command to test: the one in `BROADLEAF`, or the workspace's build.
///
/// # Errors
/// If there is no command.
pub fn broadleaf() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("BROADLEAF") {
        let named = PathBuf::from(named);
        let cannot = |error| format!("BROADLEAF={}: {error}", named.display());
        return named.canonicalize().map_err(cannot);
    }
    // Tests run in `target/PROFILE/deps`.
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    let built = test
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("broadleaf"));
    built
        .filter(|path| path.is_file())
        .ok_or_else(|| "there is no command to test: set BROADLEAF to the path of one".to_owned())
}

/// Runs a document's commands in the empty folder `folder`, the long ones if `with_long`.
///
/// # Errors
/// Returns an error at the first command that fails, or that prints other lines than the document
/// shows.
pub fn run(document: &Path, folder: &Path, with_long: bool) -> Result<(), String> {
    let text =
        fs::read_to_string(document).map_err(|error| format!("{}: {error}", document.display()))?;
    let bin = folder.join(".bin");
    fs::create_dir(&bin).expect("a folder for the command");
    std::os::unix::fs::symlink(broadleaf()?, bin.join("broadleaf")).expect("a link to the command");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let steps = steps(&text).into_iter();
    for step in steps.filter(|step| with_long || !step.is_long) {
        let output = Command::new("bash")
            .args([
                "-o",
                "pipefail",
                "-c",
                &format!("{{ {}\n}} 2>&1", step.command),
            ])
            .current_dir(folder)
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .env("XDG_CACHE_HOME", folder.join(".caches"))
            .env("XDG_CONFIG_HOME", folder.join(".config"))
            .env_remove("BROADLEAF_CACHE_SIZE")
            .output()
            .expect("bash runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let place = format!("{}:{}: {}", document.display(), step.line, step.command);
        if !output.status.success() {
            return Err(format!("{place}\nended with {}\n{printed}", output.status));
        }
        let expected: Vec<String> = step
            .prints
            .iter()
            .skip_while(|line| line.is_empty())
            .cloned()
            .collect();
        let lines: Vec<&str> = printed.lines().collect();
        if !expected.is_empty() && !lines_match(&expected, &lines) {
            return Err(format!(
                "{place}\nprints\n{printed}\nwhere the document has\n{}",
                expected.join("\n")
            ));
        }
    }
    Ok(())
}

/// Returns every Markdown document below `folder`, except in folders of built and fetched files.
pub fn documents(folder: &Path) -> Vec<PathBuf> {
    files(folder, "md")
}

/// Returns every file with an ending below `folder`, except in folders of built and fetched files.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder is readable") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let built = name.starts_with('.')
            || name.starts_with("target")
            || ["out", "build", "corpus", "debian", "node_modules"].contains(&name);
        if path.is_dir() && !built {
            found.extend(files(&path, ending));
        } else if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matching refuses other output.
    #[test]
    fn patterns_match_the_described_output() {
        let matches = |expected: &str, printed: &str| {
            let expected: Vec<String> = expected.lines().map(str::to_string).collect();
            lines_match(&expected, &printed.lines().collect::<Vec<_>>())
        };
        assert!(matches("a\n...\nz", "a\nb\nc\nz"));
        assert!(matches("a\n...\nz", "a\nz"));
        assert!(!matches("a\n...\nz", "a\nb"));
        assert!(matches("x [..] y", "x 12 y"));
        assert!(!matches("x [..] y", "x 12 z"));
        assert!(!matches("a", "a\nb"));
        assert!(!matches("a\nb", "a"));
    }

    #[test]
    fn blocks_are_found() {
        let document = "```sh\n$ no\n```\n```console\n$ one \\\n  more\nout\n$ two\n```\n$ no\n\
            <!-- prints\nx [..]\n...\n-->\n<!-- long -->\n```console\n$ three\n```\n\
            ```console\n$ four\n```\n";
        let found: Vec<_> = steps(document)
            .into_iter()
            .map(|step| (step.line, step.command, step.prints, step.is_long))
            .collect();
        let none = Vec::new;
        assert_eq!(
            found,
            [
                (
                    5,
                    "one \\\n  more".to_string(),
                    vec!["out".to_string()],
                    false
                ),
                (
                    8,
                    "two".to_string(),
                    vec!["x [..]".to_string(), "...".to_string()],
                    false
                ),
                (17, "three".to_string(), none(), true),
                (20, "four".to_string(), none(), false),
            ]
        );
    }
}
