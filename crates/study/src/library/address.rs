//! Addresses of catalogues and traces.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The place of a catalogue or of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// `https://` or `http://`, without a fragment.
    Web(String),
    /// A file of this machine.
    File(PathBuf),
}

impl Address {
    /// # Errors
    /// The address is of a kind that is not read.
    pub(super) fn of(text: &str) -> Result<Self, Failure> {
        match text.split_once("://") {
            Some(("http" | "https", _)) => {
                let address = text.split('#').next().unwrap_or(text);
                Ok(Self::Web(address.to_owned()))
            }
            Some(("file", path)) => Ok(Self::File(PathBuf::from(path))),
            Some((kind, _)) => Err(Failure::Wrong(format!(
                "{text}: addresses of {kind} are not read: give https://, http:// or a file"
            ))),
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// The address of `link`, which is written in the catalogue of this address.
    ///
    /// # Errors
    /// As [`Address::of`]; or a catalogue of the web names a file of this machine.
    pub(super) fn join(&self, link: &str) -> Result<Self, Failure> {
        let is_whole = link.contains("://");
        match self {
            Self::Web(_) if is_whole => match Self::of(link)? {
                whole @ Self::Web(_) => Ok(whole),
                Self::File(_) => Err(Failure::Wrong(format!(
                    "{link}: a catalogue of the web cannot name a file of this machine"
                ))),
            },
            Self::File(_) if is_whole => Self::of(link),
            Self::File(catalogue) => {
                let folder = catalogue.parent().unwrap_or(Path::new("."));
                Ok(Self::File(folder.join(link)))
            }
            Self::Web(catalogue) => {
                let (kind, rest) = catalogue.split_once("://").unwrap_or(("https", catalogue));
                let rest = rest.split('?').next().unwrap_or(rest);
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                if let Some(link) = link.strip_prefix("//") {
                    return Ok(Self::Web(format!("{kind}://{link}")));
                }
                let path = match link.strip_prefix('/') {
                    Some(from_root) => from_root.to_owned(),
                    None => {
                        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                        let link = link.strip_prefix("./").unwrap_or(link);
                        match folder {
                            "" => link.to_owned(),
                            folder => format!("{folder}/{link}"),
                        }
                    }
                };
                Ok(Self::Web(format!("{kind}://{host}/{path}")))
            }
        }
    }

    /// The address in messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Web(address) => address.clone(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(catalogue: &str, link: &str) -> Result<String, String> {
        let catalogue = Address::of(catalogue).expect("an address");
        let joined = catalogue.join(link).map_err(|failure| failure.to_string());
        joined.map(|address| address.shown())
    }

    #[test]
    fn links_are_joined_as_in_a_browser() {
        let page = "https://example.org/sets/one/";
        for (catalogue, link, expected) in [
            (page, "a.xz", "https://example.org/sets/one/a.xz"),
            (page, "./a.xz", "https://example.org/sets/one/a.xz"),
            (page, "/a.xz", "https://example.org/a.xz"),
            (page, "//other.org/a.xz", "https://other.org/a.xz"),
            (page, "http://other.org/a.xz", "http://other.org/a.xz"),
            (
                "https://example.org/sets/list.toml?x=1#top",
                "b.xz",
                "https://example.org/sets/b.xz",
            ),
            ("https://example.org", "a.xz", "https://example.org/a.xz"),
            ("sets/list.toml", "a.xz", "sets/a.xz"),
            ("list.toml", "https://b.org/a.xz", "https://b.org/a.xz"),
        ] {
            assert_eq!(joined(catalogue, link).as_deref(), Ok(expected), "{link}");
        }
        assert!(joined(page, "file:///etc/passwd").is_err());
        assert!(Address::of("ftp://example.org/").is_err());
    }
}
