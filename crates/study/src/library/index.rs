//! The index page of a folder of traces: its links to files of known formats.

use super::catalogue::{Listed, file_name, format_of};

/// The traces that an index page links to, in its order. A page of a web server, or a list of a
/// bucket of Google's or Amazon's storage.
///
/// # Errors
/// The list of a bucket is only the first part of it.
pub(super) fn traces_of(page: &str) -> Result<Vec<Listed>, &'static str> {
    if page.contains("<IsTruncated>true<") {
        return Err("lists only the first files of the bucket: add ?prefix=FOLDER/ to the address");
    }
    let links = attributes(page).chain(elements(page));
    let mut traces: Vec<Listed> = Vec::new();
    for link in links {
        let link = link.replace("&amp;", "&");
        let link = link.split(['?', '#']).next().unwrap_or_default();
        let Some(file) = file_name(link) else {
            continue;
        };
        let Some(format) = format_of(&file) else {
            continue;
        };
        if traces.iter().all(|trace| trace.address != link) {
            traces.push(Listed::of_link(link, file, format));
        }
    }
    Ok(traces)
}

/// The values of all attributes `href`.
fn attributes(page: &str) -> impl Iterator<Item = &str> {
    let parts = page.split("href=").skip(1);
    parts.filter_map(|part| {
        let quote = part
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))?;
        part[1..].split(quote).next()
    })
}

/// The contents of all elements `Key`, which name the files of a bucket.
fn elements(page: &str) -> impl Iterator<Item = &str> {
    let parts = page.split("<Key>").skip(1);
    parts.filter_map(|part| part.split_once("</Key>").map(|(key, _)| key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_traces_are_found_and_others_are_not() {
        let page = "<a href=\"../\">up</a> <a href='605.mcf.champsimtrace.xz'>x</a>\n\
                    <a href=\"notes.txt\">n</a> <a HREF=x> <a href=\"/b/loads.csv.gz?raw=1\">\n\
                    <a href=\"605.mcf.champsimtrace.xz\">again</a>\n\
                    <Key>app/trace/dr.trace.zip</Key><Key>app/readme</Key>";
        let traces = traces_of(page).expect("a whole list");
        let found: Vec<[&str; 4]> = traces
            .iter()
            .map(|trace| {
                [
                    trace.name.as_str(),
                    &trace.file,
                    &trace.address,
                    &trace.format,
                ]
            })
            .collect();
        assert_eq!(
            found,
            [
                [
                    "605.mcf",
                    "605.mcf.champsimtrace.xz",
                    "605.mcf.champsimtrace.xz",
                    "champsim"
                ],
                ["loads", "loads.csv.gz", "/b/loads.csv.gz", "csv"],
                ["dr", "dr.trace.zip", "app/trace/dr.trace.zip", "drmemtrace"],
            ]
        );
        assert!(traces_of("<a><IsTruncated>true</IsTruncated></a>").is_err());
    }
}
