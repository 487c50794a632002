//! Named expressions from a TOML file.
//!
//! ```toml
//! eager = "promote if populated >= 8"
//!
//! [patient]
//! policy = "promote if age >= 1e7 and populated >= 25%"
//! summary = "old blocks that fill up"
//! ```

use std::ops::Range;
use std::path::Path;

use broadleaf_metrics::{CellResult, Comparison};
use broadleaf_policy::{Expression, ParseError, Policy};
use broadleaf_units::{no_key, plain_toml};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;
use crate::in_file::{self, InFile};
use crate::output::shown;

/// A named expression.
#[derive(Debug)]
pub struct Named {
    /// The name in the file.
    pub name: String,
    /// The summary in the file; may be empty.
    pub summary: String,
    /// The policy.
    pub policy: Expression,
}

impl Named {
    /// A note that relates the name to the policy's name in results.
    pub fn note(&self, file: &Path) -> String {
        let Self { name, summary, .. } = self;
        let said = if summary.is_empty() {
            String::new()
        } else {
            format!(" ({summary})")
        };
        format!("{name} of {}{said} is: {}", shown(file), self.policy.name())
    }
}

/// Adds the notes on the expressions of `file` that a comparison has results of. A result has the
/// canonical form of an expression, and a note gives its name in the file.
pub fn add_notes(comparison: &mut Comparison, named: &[Named], file: &Path) {
    for named in named {
        let is_it = |result: &CellResult| result.policy == named.policy.name();
        if comparison.results.iter().any(is_it) {
            comparison.notes.push(named.note(file));
        }
    }
}

/// Reads the expressions of a file, in its order.
///
/// # Errors
/// Returns an error with line and column for invalid TOML, an unknown key, an invalid expression,
/// an invalid name, or a name of the catalogue.
pub fn read(path: &Path) -> Result<Vec<Named>, Failure> {
    parse(&shown(path), &in_file::read(path)?)
}

/// Reads the expressions of the text of the file `name`, in its order.
///
/// # Errors
/// Those of [`read`] for a text.
pub fn parse(name: &str, text: &str) -> Result<Vec<Named>, Failure> {
    InFile { name, text }.expressions()
}

impl InFile<'_> {
    fn expressions(&self) -> Result<Vec<Named>, Failure> {
        let parsed = DeTable::parse(self.text).map_err(|error| {
            // An error of several lines is shown by its first line.
            self.wrong(error.span().unwrap_or(0..0), &plain_toml(error.message()))
        })?;
        let mut entries: Vec<_> = parsed.get_ref().iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let expressions: Vec<Named> = (entries.into_iter())
            .map(|(name, value)| self.expression(name.get_ref(), name.span(), value))
            .collect::<Result<_, _>>()?;
        if expressions.is_empty() {
            return Err(Failure::Wrong(format!("{}: names no policy", self.name)));
        }
        Ok(expressions)
    }

    fn expression(
        &self,
        name: &str,
        at: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Named, Failure> {
        if name.is_empty()
            || name.contains(|letter: char| {
                !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_'
            })
        {
            return Err(self.wrong(at, "a name is made of letters, digits, - and _"));
        }
        if !matches!(
            broadleaf_policy::parse(name),
            Err(ParseError::Unknown { .. })
        ) {
            return Err(self.wrong(
                at,
                &format!("{name:?} means a policy of the catalogue: choose another name"),
            ));
        }
        let mut summary = "";
        let mut policy = None;
        match value.get_ref() {
            DeValue::String(text) => policy = Some((&**text, value.span())),
            DeValue::Table(table) => {
                for (key, value) in table {
                    let text = value.get_ref().as_str();
                    match (&**key.get_ref(), text) {
                        ("policy", Some(text)) => policy = Some((text, value.span())),
                        ("summary", Some(text)) => summary = text,
                        ("policy" | "summary", None) => {
                            return Err(self.wrong(value.span(), "this has to be a text"));
                        }
                        (other, _) => {
                            let message = no_key(other, &["policy", "summary"]);
                            return Err(self.wrong(key.span(), &message));
                        }
                    }
                }
            }
            _ => {
                return Err(self.wrong(
                    value.span(),
                    "this has to be an expression in quotes, or a table",
                ));
            }
        }
        let Some((text, span)) = policy else {
            return Err(self.wrong(at, &format!("{name:?} lacks its policy")));
        };
        let policy = Expression::parse(text).map_err(|error| self.inside(text, &span, &error))?;
        Ok(Named {
            name: name.to_owned(),
            summary: summary.to_owned(),
            policy,
        })
    }
}
