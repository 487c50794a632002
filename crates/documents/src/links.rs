//! The links of the documents: files and sections that exist, and a book that is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The lines of a text outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// Returns the targets of `](...)` in a text, except in code blocks.
fn links(text: &str) -> Vec<String> {
    prose(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_string())
        .collect()
}

/// The names of a text's sections, as mdBook and code forges make them from headings: letters in
/// lower case, hyphens for spaces, and nothing for other signs. A name that exists gets a number.
fn sections(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for line in prose(text) {
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        if !(1..=6).contains(&level) || !heading.starts_with(' ') {
            continue;
        }
        let name: String = shown(heading.trim())
            .chars()
            .filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                letter if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        let count = counts.entry(name.clone()).or_default();
        names.insert(match *count {
            0 => name,
            count => format!("{name}-{count}"),
        });
        *count += 1;
    }
    names
}

/// A heading without the targets of its links.
fn shown(heading: &str) -> String {
    let mut parts = heading.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, rest| {
        shown + rest.split_once(')').map_or("", |(_, after)| after)
    })
}

/// Returns a document's links to files or sections that do not exist.
pub fn dead_links(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document is readable");
    let folder = document.parent().expect("a document is in a folder");
    let mut targets = links(&text);
    targets.retain(|target| {
        let (path, section) = target.split_once('#').unwrap_or((target, ""));
        if path.contains("://") {
            return false;
        }
        let file = match path {
            "" => document.to_owned(),
            path => folder.join(path),
        };
        if !file.exists() {
            return true;
        }
        let is_page = file.extension().is_some_and(|ending| ending == "md");
        is_page
            && !section.is_empty()
            && fs::read_to_string(&file).is_ok_and(|text| !sections(&text).contains(section))
    });
    targets
}

/// Returns what keeps a book from being whole: pages that its summary has not, or has twice, and
/// links of its pages to files outside of `folder`, which a built book does not have.
pub fn faults_of_book(folder: &Path) -> Vec<String> {
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).expect("a book has a summary");
    let named = links(&summary);
    let mut faults = Vec::new();
    for entry in fs::read_dir(folder).expect("the book has pages") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if !name.ends_with(".md") || name == "SUMMARY.md" {
            continue;
        }
        match named.iter().filter(|page| **page == name).count() {
            0 => faults.push(format!("SUMMARY.md lacks {name}")),
            1 => {}
            _ => faults.push(format!("SUMMARY.md has {name} more than once")),
        }
        let text = fs::read_to_string(folder.join(&*name)).expect("a page is readable");
        let outside = links(&text)
            .into_iter()
            .filter(|target| target.starts_with("../"));
        faults.extend(outside.map(|target| format!("{name}: {target} is not in the book")));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_the_names_that_a_built_book_gives_them() {
        let text = "# One & two\n## `--costs`, and more\n### [A](b.md) page\n```sh\n# no\n```\n\
            ## Sub_block 2 MiB\n#no\n# One & two\n";
        let expected = [
            "one--two",
            "one--two-1",
            "--costs-and-more",
            "a-page",
            "sub_block-2-mib",
        ];
        assert_eq!(sections(text), expected.map(str::to_owned).into());
    }

    #[test]
    fn dead_links_are_those_to_no_file_and_to_no_section() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("a.md");
        fs::write(folder.path().join("b.md"), "# Here\n").unwrap();
        let text = "[](b.md) [](b.md#here) [](b.md#gone) [](c.md) [](#top) [](#no) \
            [](https://x.org/#y)\n# Top\n```\n[](d.md)\n```\n";
        fs::write(&page, text).unwrap();
        assert_eq!(dead_links(&page), ["b.md#gone", "c.md", "#no"]);
    }

    #[test]
    fn a_book_has_each_page_once_and_no_link_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("SUMMARY.md", "- [A](a.md)\n- [A](a.md)\n- [B](b.md)\n");
        write("a.md", "");
        write("b.md", "[x](../x.md)\n");
        write("c.md", "");
        let mut faults = faults_of_book(folder.path());
        faults.sort();
        assert_eq!(
            faults,
            [
                "SUMMARY.md has a.md more than once",
                "SUMMARY.md lacks c.md",
                "b.md: ../x.md is not in the book",
            ]
        );
    }
}
