//! The file of a page.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::{Access, Output, refuse_input};

/// Parses the name of a page. Standard output has the result in the other format.
///
/// # Errors
/// If the name is that of standard output.
pub fn page_path(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("a page needs a file: give a name that ends in .html".to_owned()),
        _ => Ok(PathBuf::from(text)),
    }
}

/// Opens the file of a page, if there is one, so that a file that exists is refused before any
/// work. `read` are the files that are read, and `result` is the file of the result.
///
/// # Errors
/// [`Failure::Wrong`] if the page is one of these files; those of [`Output::create`].
pub fn open_page(
    page: Option<&Path>,
    read: &[&Path],
    result: Option<&Path>,
    force: bool,
) -> Result<Option<Output>, Failure> {
    let Some(page) = page else {
        return Ok(None);
    };
    refuse_input(page, read.iter().copied())?;
    let absolute = |path: &Path| std::path::absolute(path).ok();
    if result.is_some() && absolute(page) == result.and_then(absolute) {
        return Err(Failure::wrong(
            "the page and the result cannot be the same file: give --html another name",
        ));
    }
    Output::create(Some(page), force, Access::Everyone).map(Some)
}

/// Writes a page to its file. `html` makes the page if one is wanted. Returns a sentence that names
/// the file.
///
/// # Errors
/// If the page cannot be made or written.
pub fn write_page(
    out: Option<Output>,
    html: impl FnOnce() -> Result<String, Failure>,
) -> Result<Option<String>, Failure> {
    let Some(mut out) = out else {
        return Ok(None);
    };
    out.write_all(html()?.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    let name = out.name().to_owned();
    out.finish()?;
    Ok(Some(format!("wrote {name}: open it in a browser")))
}
