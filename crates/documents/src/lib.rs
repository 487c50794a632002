//! The documents do not lie: every `console` block of the README and the book is run.
//!
//! A line that begins with `$ ` is a command, with the lines that a backslash continues it by; the lines below it are what it
//! prints, on standard output and standard error together. A command with no lines below it may print anything; each has to
//! succeed. The blocks of one document are run one after the other in one temporary folder, with `broadleaf` on `PATH`. Blocks
//! of another language (`sh`, `text`) are not run.
//!
//! Where the last command of a block prints what differs from machine to machine, a comment that readers do not see follows
//! the block: `<!-- prints`, the lines, `-->`. In these, `...` alone on a line stands for any lines, and `[..]` inside one for
//! any text.

pub mod style;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of a document.
struct Step {
    line: usize,
    command: String,
    prints: Vec<String>,
}

/// The commands of a document's `console` blocks.
fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut continued = false;
    let mut hidden = false;
    for (index, line) in document.lines().enumerate() {
        if line == "<!-- prints" {
            hidden = true;
        } else if hidden {
            hidden = line != "-->";
            let step = steps.last_mut().expect("a comment follows a block");
            if hidden {
                step.prints.push(line.to_string());
            }
        } else if line.starts_with("```") {
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
            steps.push(Step {
                line: index + 1,
                command: command.to_string(),
                prints: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            let is_pattern = line == "..." || line.contains("[..]");
            assert!(!is_pattern, "line {}: readers see a pattern", index + 1);
            step.prints.push(line.trim_end().to_string());
        }
    }
    steps
}

/// Whether `text` is what the pattern `expected` describes, `[..]` standing for any text.
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

/// Whether `lines` are what `expected` describes, a line of `...` standing for any lines.
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

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README, and the pages of the book.
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

/// The command to test: the one that `BROADLEAF` names, or the workspace's own build.
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
    built.filter(|path| path.is_file()).ok_or_else(|| {
        "there is no command to test: run `cargo build --bin broadleaf`, or set BROADLEAF"
            .to_owned()
    })
}

/// Runs a document's commands in the empty folder `folder`.
///
/// # Errors
/// At the first command that fails, or prints other lines than the document shows.
pub fn run(document: &Path, folder: &Path) -> Result<(), String> {
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
    for step in steps(&text) {
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

/// Every Markdown document below `folder`, what was built and fetched left out.
pub fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder is readable") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let built = name.starts_with('.')
            || name.starts_with("target")
            || ["out", "build", "corpus"].contains(&name);
        if path.is_dir() && !built {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The targets of `](...)` in a text, code blocks left out.
fn links(text: &str) -> Vec<String> {
    let mut inside = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    prose
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_string())
        .collect()
}

/// The links of a document to files that do not exist.
pub fn dead_links(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document is readable");
    let folder = document.parent().expect("a document is in a folder");
    let mut targets = links(&text);
    targets.retain(|target| {
        let path = target.split('#').next().unwrap_or_default();
        let is_elsewhere = path.is_empty() || path.contains("://");
        !is_elsewhere && !folder.join(path).exists()
    });
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matching above refuses what it should.
    #[test]
    fn patterns_match_what_they_say() {
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
            <!-- prints\nx [..]\n...\n-->\n";
        let found: Vec<_> = steps(document)
            .into_iter()
            .map(|step| (step.line, step.command, step.prints))
            .collect();
        assert_eq!(
            found,
            [
                (5, "one \\\n  more".to_string(), vec!["out".to_string()]),
                (
                    8,
                    "two".to_string(),
                    vec!["x [..]".to_string(), "...".to_string()]
                )
            ]
        );
    }
}
