//! The arguments of commands that print a result.

use std::path::{Path, PathBuf};

use broadleaf_report::View;
use clap::Args;

use super::PageFile;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, refuse_input};

/// A file for a result.
#[derive(Debug, Args)]
pub(crate) struct ResultFile {
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

impl ResultFile {
    /// Refuses to overwrite a file that is read.
    ///
    /// # Errors
    /// [`Failure::Wrong`] if the file is one of `read`.
    pub(crate) fn refuse<'a>(
        &self,
        read: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Failure> {
        let output = self.output.as_ref();
        output.map_or(Ok(()), |output| refuse_input(output, read))
    }

    /// Opens the file, or standard output.
    ///
    /// # Errors
    /// Those of [`Output::create`].
    pub(crate) fn create(&self) -> Result<Output, Failure> {
        Output::create(self.output.as_deref(), self.force, Access::Everyone)
    }

    /// The view of the result. `view` is that of standard output. A file has no width and no
    /// colours.
    pub(crate) fn view(&self, view: View) -> View {
        match self.is_given() {
            true => View::default(),
            false => view,
        }
    }

    /// Opens the file of a page that is written beside the result.
    ///
    /// # Errors
    /// Those of [`PageFile::open`].
    pub(crate) fn open_page(
        &self,
        page: &PageFile,
        read: &[&Path],
    ) -> Result<Option<Output>, Failure> {
        page.open(read, self.output.as_deref(), self.force)
    }

    /// Returns true if a file was named.
    pub(crate) const fn is_given(&self) -> bool {
        self.output.is_some()
    }
}
