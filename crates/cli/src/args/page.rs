//! The argument of commands that write a report page.

use std::path::{Path, PathBuf};

use clap::Args;

use broadleaf_study::failure::Failure;
use broadleaf_study::output::Output;
use broadleaf_study::page::{open_page, page_path};

/// A file for a report page.
#[derive(Clone, Debug, Args)]
pub(crate) struct PageFile {
    /// Write the result as a page for browsers too: one HTML file with figures, which works offline
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    pub(crate) html: Option<PathBuf>,
}

impl PageFile {
    /// Opens the file, which is none of those that are read or written beside it.
    ///
    /// # Errors
    /// Those of [`open_page`].
    pub(crate) fn open(
        &self,
        read: &[&Path],
        result: Option<&Path>,
        force: bool,
    ) -> Result<Option<Output>, Failure> {
        open_page(self.html.as_deref(), read, result, force)
    }
}

/// Writes a page to its file. `html` makes the page if one is wanted.
///
/// # Errors
/// If the page cannot be made or written.
pub(crate) fn write_page(
    out: Option<Output>,
    html: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let wrote = broadleaf_study::page::write_page(out, html)?;
    wrote.into_iter().for_each(crate::say::say);
    Ok(())
}
