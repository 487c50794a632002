//! The list of traces at an address: a TOML file, or the index page of a folder.

use std::collections::BTreeSet;
use std::path::Path;

use broadleaf_import::importable;
use broadleaf_report::number::size;
use broadleaf_report::{Align, Grid, View};
use broadleaf_units::{did_you_mean, plain_toml};
use serde::Deserialize;

use super::address::Address;
use super::download::Web;
use super::index;
use crate::failure::Failure;
use crate::in_file::{self, InFile};

/// The value of the key `schema`.
const SCHEMA: &str = "broadleaf.traces/1";
/// The maximum size of a catalogue in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// A catalogue that was read.
#[derive(Debug)]
pub(super) struct TraceCatalogue {
    shown: String,
    pub(super) traces: Vec<Listed>,
}

/// A trace of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    /// A name of [`broadleaf_import::FOREIGN_FORMATS`], or `broadleaf`.
    pub(super) format: String,
    /// The address, perhaps relative to the catalogue's.
    pub(super) address: String,
    /// The name of the file to write.
    pub(super) file: String,
    pub(super) bytes: Option<u64>,
    /// In hexadecimal.
    pub(super) sha256: Option<String>,
    pub(super) summary: String,
}

/// The TOML file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueFile {
    schema: toml::Spanned<String>,
    #[serde(rename = "trace", default)]
    traces: Vec<toml::Spanned<ListedInFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedInFile {
    name: String,
    address: String,
    format: Option<String>,
    bytes: Option<u64>,
    sha256: Option<String>,
    #[serde(default)]
    summary: String,
}

impl Listed {
    /// A trace that an index page links to. Its name is that of the file, without the endings.
    pub(super) fn of_link(link: &str, file: String, format: String) -> Self {
        let endings = importable().flat_map(|(format, _)| format.endings.iter());
        let lower = file.to_ascii_lowercase();
        let found = endings.filter_map(|ending| lower.rfind(&format!(".{ending}")));
        let name = found.min().map_or(file.as_str(), |end| &file[..end]);
        Self {
            name: name.to_owned(),
            format,
            address: link.to_owned(),
            bytes: None,
            sha256: None,
            summary: String::new(),
            file,
        }
    }
}

impl TraceCatalogue {
    /// # Errors
    /// The address cannot be read, or holds no catalogue.
    pub(super) fn read(web: &Web, address: &Address) -> Result<Self, Failure> {
        let shown = address.shown();
        let bytes = web.read(address, MOST_BYTES)?;
        let text = in_file::utf8(&shown, bytes)?;
        Self::parse(shown, &text)
    }

    /// Reads the text of the list `shown`.
    ///
    /// # Errors
    /// The text is no catalogue.
    pub(super) fn parse(shown: String, text: &str) -> Result<Self, Failure> {
        let traces = match text.trim_start().starts_with('<') {
            true => index::traces_of(text)
                .map_err(|reason| Failure::Wrong(format!("{shown}: {reason}")))?,
            false => of_toml(&InFile { name: &shown, text })?,
        };
        let mut files = BTreeSet::new();
        if let Some(trace) = traces
            .iter()
            .find(|trace| !files.insert(trace.file.as_str()))
        {
            return Err(Failure::Wrong(format!(
                "{shown}: links to two files called {}: give the address of one of their folders",
                trace.file
            )));
        }
        match traces.is_empty() {
            true => Err(Failure::Wrong(format!(
                "{shown}: lists no trace of a format that is read (`broadleaf list formats`)"
            ))),
            false => Ok(Self { shown, traces }),
        }
    }

    /// The trace of that name, or the file of that name.
    ///
    /// # Errors
    /// There is none; the nearest names are given.
    pub(super) fn named(&self, name: &str) -> Result<&Listed, Failure> {
        let is_it = |trace: &&Listed| trace.name == name || trace.file == name;
        self.traces.iter().find(is_it).ok_or_else(|| {
            let known = self.traces.iter().map(|trace| trace.name.as_str());
            let near = did_you_mean(name, known);
            Failure::Wrong(format!("{}: lists no trace \"{name}\"{near}", self.shown))
        })
    }

    /// The list as a table.
    pub(super) fn table(&self, view: View) -> String {
        let mut grid = Grid::new()
            .column("trace", Align::Left)
            .column("format", Align::Left)
            .column("size", Align::Right)
            .wrapped_column("summary", 20);
        for trace in &self.traces {
            let bytes = trace.bytes.map_or_else(|| "-".to_owned(), size);
            grid.row([&trace.name, &trace.format, &bytes, &trace.summary].map(String::as_str));
        }
        grid.render(view)
    }
}

/// The traces of a TOML file.
fn of_toml(file: &InFile<'_>) -> Result<Vec<Listed>, Failure> {
    let parsed: CatalogueFile = toml::from_str(file.text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        file.wrong(at, &plain_toml(error.message()))
    })?;
    let schema = parsed.schema;
    if schema.get_ref() != SCHEMA {
        let reason = format!("this version knows catalogues of \"{SCHEMA}\" only");
        return Err(file.wrong(schema.span(), &reason));
    }
    let mut names = BTreeSet::new();
    let mut files = BTreeSet::new();
    let mut traces = Vec::new();
    for listed in parsed.traces {
        let at = listed.span();
        let wrong = |reason: &str| file.wrong(at.clone(), reason);
        let listed = listed.into_inner();
        let name = file_name(&listed.address);
        let name = name.ok_or_else(|| wrong("the address ends in no name of a file"))?;
        let format = match &listed.format {
            Some(format) if is_format(format) => format.clone(),
            Some(format) => {
                return Err(wrong(&format!(
                    "no format \"{format}\" is read: `broadleaf list formats` lists all, and \
                     \"broadleaf\" names recordings"
                )));
            }
            None => format_of(&name).ok_or_else(|| {
                wrong("the file's ending does not tell the format: give the key `format`")
            })?,
        };
        if let Some(sum) = &listed.sha256
            && (sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            return Err(wrong("`sha256` is not 64 hexadecimal digits"));
        }
        if !names.insert(listed.name.clone()) || !files.insert(name.clone()) {
            return Err(wrong("another trace has this name or file"));
        }
        traces.push(Listed {
            name: listed.name,
            format,
            address: listed.address,
            file: name,
            bytes: listed.bytes,
            sha256: listed.sha256.map(|sum| sum.to_ascii_lowercase()),
            summary: listed.summary,
        });
    }
    Ok(traces)
}

/// The ending of recordings, and their name among the formats.
const OURS: [&str; 2] = [".bl", "broadleaf"];

fn is_format(name: &str) -> bool {
    name == OURS[1] || importable().any(|(format, _)| format.described.name == name)
}

/// The format of a file of that name.
pub(super) fn format_of(file: &str) -> Option<String> {
    let lower = file.to_ascii_lowercase();
    if lower.ends_with(OURS[0]) {
        return Some(OURS[1].to_owned());
    }
    let found = importable().find(|(format, _)| format.has_ending(&lower));
    found.map(|(format, _)| format.described.name.to_owned())
}

/// The name of the file that an address ends in. It can be written to a folder safely.
pub(super) fn file_name(address: &str) -> Option<String> {
    let path = address.split(['?', '#']).next()?;
    let name = path.rsplit('/').next()?;
    let is_plain = Path::new(name).file_name().is_some_and(|it| it == name);
    let is_hidden = name.starts_with('.');
    (is_plain && !is_hidden && !name.contains(char::is_control)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Listed>, String> {
        let file = InFile { name: "x", text };
        of_toml(&file).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_file_lists_traces_with_their_formats() {
        let traces = read(
            "schema = \"broadleaf.traces/1\"\n[[trace]]\nname = \"mcf\"\n\
             address = \"https://example.org/605.champsimtrace.xz?x\"\nbytes = 12\n\
             [[trace]]\nname = \"dr\"\naddress = \"dr.bin\"\nformat = \"drmemtrace\"\n",
        )
        .expect("a catalogue");
        assert_eq!(traces[0].format, "champsim");
        assert_eq!(traces[0].file, "605.champsimtrace.xz");
        assert_eq!(traces[1].format, "drmemtrace");
    }

    #[test]
    fn wrong_files_are_refused_with_their_line() {
        let head = "schema = \"broadleaf.traces/1\"\n[[trace]]\n";
        for (text, part) in [
            ("schema = \"x/2\"\n", "line 1"),
            (
                &format!("{head}name = \"a\"\n"),
                "the key address is missing",
            ),
            (
                &format!("{head}name = \"a\"\naddress = \"b.txt\"\n"),
                "give the key `format`",
            ),
            (
                &format!("{head}name = \"a\"\naddress = \"b/..\"\n"),
                "no name of a file",
            ),
            (
                &format!("{head}name = \"a\"\naddress = \"b.csv\"\nsha256 = \"1\"\n"),
                "64 hexadecimal digits",
            ),
            (
                &format!("{head}name = \"a\"\naddress = \"b.csv\"\nsize = 1\n"),
                "no key is called \"size\"",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part) && error.contains("line "), "{error}");
        }
    }
}
