//! The argument of commands that write a report page.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, refuse_input};

/// A file for a report page.
#[derive(Clone, Debug, Args)]
pub(crate) struct PageFile {
    /// Write the result as a page for browsers too: one HTML file with figures, which works offline
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    html: Option<PathBuf>,
}

/// Parses the name of a page. Standard output has the result in the other format.
fn page_path(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("a page needs a file: give a name that ends in .html".to_owned()),
        _ => Ok(PathBuf::from(text)),
    }
}

impl PageFile {
    /// Returns true if the user gave a file.
    pub(crate) const fn is_given(&self) -> bool {
        self.html.is_some()
    }

    /// Refuses to overwrite a file that is read.
    ///
    /// # Errors
    /// [`Failure::Wrong`] if the page is one of `read`.
    pub(crate) fn refuse<'a>(
        &self,
        read: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Failure> {
        let page = self.html.as_ref();
        page.map_or(Ok(()), |page| refuse_input(page, read))
    }

    /// Refuses a page that would be the same file as the result.
    ///
    /// # Errors
    /// [`Failure::Wrong`] if the names are equal.
    pub(crate) fn refuse_same(&self, result: Option<&Path>) -> Result<(), Failure> {
        let absolute = |path: &Path| std::path::absolute(path).ok();
        let page = self.html.as_deref().and_then(absolute);
        if page.is_some() && page == result.and_then(absolute) {
            return Err(Failure::wrong(
                "the page and the result cannot be the same file: give --html another name",
            ));
        }
        Ok(())
    }

    /// Opens the file, so that a file that exists is refused before any work.
    ///
    /// # Errors
    /// Those of [`Output::create`].
    pub(crate) fn create(&self, force: bool) -> Result<Option<Output>, Failure> {
        let create = |path: &PathBuf| Output::create(Some(path), force, Access::Everyone);
        self.html.as_ref().map(create).transpose()
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
    let Some(mut out) = out else {
        return Ok(());
    };
    out.write_all(html()?.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    let name = out.name().to_owned();
    out.finish()?;
    crate::say::say(format!("wrote {name}: open it in a browser"));
    Ok(())
}
