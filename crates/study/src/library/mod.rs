//! Libraries of public traces: a catalogue at an address that the user gives, and its traces.
//!
//! `catalogue` reads the list, `index` finds traces in the index page of a folder, `address` joins
//! addresses, and `download` brings one file. No address is built in.

mod address;
mod catalogue;
mod download;
mod index;

use std::fs;
use std::path::{Path, PathBuf};

use broadleaf_report::number::size;
use broadleaf_report::{View, command_line, next, printable};

use crate::failure::Failure;
use crate::output::argument;
use crate::watch::Watch;
use address::Address;
use catalogue::{Listed, TraceCatalogue};
use download::{Download, Web};

/// Traces to fetch.
#[derive(Debug)]
pub struct FetchRequest<'a> {
    /// The address of the catalogue: `https://`, `http://`, or a file.
    pub catalogue: &'a str,
    /// The names of the traces. Empty lists the catalogue.
    pub names: &'a [String],
    /// Fetches all traces.
    pub all: bool,
    /// The folder to write the traces to. It is made if it does not exist.
    pub folder: &'a Path,
    /// The width and the colours of the list.
    pub view: View,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The result of [`fetch_traces`].
#[derive(Debug)]
pub enum Fetched {
    /// The catalogue's list, as a table.
    List(String),
    /// The paths of the traces, which are on the disk.
    Paths(Vec<PathBuf>),
}

/// The table of the traces that a catalogue's text lists. Messages call the catalogue `shown`.
///
/// # Errors
/// [`Failure::Wrong`] if the text is no catalogue; the message names the place.
pub fn list_of(shown: &str, text: &str, view: View) -> Result<String, Failure> {
    let catalogue = TraceCatalogue::parse(shown.to_owned(), text)?;
    Ok(catalogue.table(view))
}

/// Lists a catalogue, or fetches traces of it. A trace that is there already, whole, is not fetched
/// again, and one that was fetched in part goes on.
///
/// # Errors
/// The catalogue cannot be read or is wrong, no trace has a name, or a trace cannot be fetched or
/// is another one than the catalogue says.
pub fn fetch_traces(request: &FetchRequest<'_>) -> Result<Fetched, Failure> {
    let web = Web::new();
    let address = Address::of(request.catalogue)?;
    let catalogue = TraceCatalogue::read(&web, &address)?;
    if request.names.is_empty() && !request.all {
        let fetch = command_line(&["broadleaf", "fetch-traces", request.catalogue, "NAME"]);
        return Ok(Fetched::List(catalogue.table(request.view) + &next(&fetch)));
    }
    let listed: Vec<&Listed> = match request.all {
        true => catalogue.traces.iter().collect(),
        false => {
            let named = request.names.iter();
            named
                .map(|name| catalogue.named(name))
                .collect::<Result<_, _>>()?
        }
    };
    let folder = request.folder;
    fs::create_dir_all(folder)
        .map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
    let mut paths = Vec::new();
    for trace in listed {
        let path = folder.join(&trace.file);
        let download = Download {
            from: address.join(&trace.address)?,
            to: &path,
            bytes: trace.bytes,
            sha256: trace.sha256.as_deref(),
            watch: request.watch,
        };
        let was_there = download.run(&web)?;
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        let shown = printable(&path.display().to_string());
        let is_checked = match trace.sha256 {
            Some(_) => "equal to the catalogue's checksum",
            None => "the catalogue has no checksum to compare with",
        };
        let is_there = if was_there { ", was there already" } else { "" };
        log::info!("{shown}: {}, {is_checked}{is_there}", size(bytes));
        paths.push(path);
    }
    for path in &paths {
        log::info!("next: broadleaf compare {}", argument(path));
    }
    Ok(Fetched::Paths(paths))
}
