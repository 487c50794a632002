//! Reads a file of rules, and explains what is wrong with it.

use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use broadleaf_governor::service::{Fault, ServiceRules, Wrong};
use broadleaf_policy::ParseError;

use crate::use_of_blocks::can_measure;
use broadleaf_study::failure::Failure;
use broadleaf_study::in_file::{self, InFile};
use broadleaf_study::names;
use broadleaf_study::output::shown;

/// The most bytes of a file of rules.
const MOST: u64 = 1 << 20;

/// Reads the rules of a file.
///
/// # Errors
/// If the file cannot be read. Otherwise the first error in the file, with line and column.
pub(super) fn read(path: &Path) -> Result<ServiceRules, Failure> {
    read_from(path, |kind| kind.is_file() || kind.is_fifo())
}

/// Reads the rules again, from a regular file only. A pipe holds its rules once, and reading it
/// again would block the service.
///
/// # Errors
/// Those of [`read`].
pub(super) fn read_again(path: &Path) -> Result<ServiceRules, Failure> {
    read_from(path, FileType::is_file)
}

/// Checks that the use of pages can be seen here, if the policy of a rule depends on it.
///
/// # Errors
/// If no source of use works for this user: the reason of each source.
pub(super) fn check_use(path: &Path, rules: &ServiceRules) -> Result<(), Failure> {
    let mut weighing = rules.rules.iter().filter_map(|rule| {
        let policy = rule.weighing_use()?;
        Some((rule.line, policy))
    });
    let Some((line, policy)) = weighing.next() else {
        return Ok(());
    };
    can_measure(policy)
        .map_err(|why| Failure::Failed(format!("{}: rule of line {line}: {why}", shown(path))))
}

fn read_from(path: &Path, may_be: fn(&FileType) -> bool) -> Result<ServiceRules, Failure> {
    let name = shown(path);
    let text = text(path, &name, may_be)?;
    let users = |name: &str| uzers::get_user_by_name(name).map(|user| user.uid());
    let file = InFile {
        name: &name,
        text: &text,
    };
    ServiceRules::parse(&text, &users).map_err(|wrong| refusal(&file, &wrong))
}

/// The text of a file, if the file has a kind that it may have.
fn text(path: &Path, name: &str, may_be: fn(&FileType) -> bool) -> Result<String, Failure> {
    let wrong = |why: &str| Failure::Wrong(format!("{name}: {why}"));
    let cannot = |error| Failure::reading(name, &error);
    let there = path.metadata().map_err(cannot)?;
    if !there.is_dir() && !may_be(&there.file_type()) {
        return Err(wrong("is no regular file, and rules are read from one"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > MOST {
        return Err(wrong("has more than 1 MiB, which is the limit for rules"));
    }
    in_file::utf8(name, bytes)
}

fn refusal(file: &InFile<'_>, wrong: &Wrong) -> Failure {
    let at = wrong.at.clone();
    match &wrong.fault {
        Fault::NoPolicy { text, error } => match error {
            ParseError::Expression(error) => file.inside(text, &at, error),
            _ => match names::policy(text) {
                // The message proposes names that may have been meant.
                Err(said) => file.wrong(at, &said.to_string()),
                Ok(_) => file.wrong(at, &error.to_string()),
            },
        },
        Fault::NoRule => Failure::Wrong(format!("{}: {wrong}", file.name)),
        fault => file.wrong(at, &fault.to_string()),
    }
}
