//! Advice by allocation site: the places in a program's source whose memory superpages speed up.

use serde::Serialize;

/// A place in the program that makes memory, with the gain of the superpages on that memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AdvisedSite {
    /// The allocator: a function such as `malloc`, or `static data`.
    pub allocator: String,
    /// The function that answers "where in my code": the innermost frame of `frames` that is not
    /// in a library, as far as source files show. For static data, the variable. Empty if unknown.
    pub function: String,
    /// The source file of `function`. Without debug information, the program or library.
    pub file: String,
    /// The line in `file`; 0 if unknown.
    pub line: u32,
    /// The caller of `function`, if it is known and not in a library. It distinguishes the calls of
    /// a function that allocates for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_from: Option<AdvisedFrame>,
    /// The call stack, the caller of the allocator first.
    pub frames: Vec<AdvisedFrame>,
    /// The number of allocations, of all memory of the site.
    pub allocations: u64,
    /// The sum of their sizes in bytes.
    pub allocated_bytes: u64,
    /// The bytes of the chosen superpages, by the site's share of the bytes of each.
    pub superpage_bytes: u64,
    /// The page walks of the site's memory in the chosen superpages, if all pages are base pages.
    pub base_walks: u64,
    /// The saved page walks, by the site's share of the walks of each superpage's base pages.
    pub walks_spared: u64,
    /// The cycles of these walks.
    pub walk_cycles_spared: u64,
    /// The cycles gained, by the same shares. See [`crate::AdvisedRange::cycles_gained`].
    pub cycles_gained: i64,
}

/// A frame of a call stack. Unknown parts are empty or zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdvisedFrame {
    /// The function.
    pub function: String,
    /// The source file, or the program or library.
    pub file: String,
    /// The line in the source file.
    pub line: u32,
}

impl AdvisedSite {
    /// The place in the source: `file:line`, without the line if the line is unknown.
    pub fn place(&self) -> String {
        place(&self.file, self.line)
    }
}

impl AdvisedFrame {
    /// The place in the source, as [`AdvisedSite::place`].
    pub fn place(&self) -> String {
        place(&self.file, self.line)
    }
}

fn place(file: &str, line: u32) -> String {
    match line {
        0 => file.to_owned(),
        line => format!("{file}:{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_line_if_the_line_is_known() {
        let site = |line| AdvisedSite {
            file: "a.c".to_owned(),
            line,
            ..AdvisedSite::default()
        };
        assert_eq!(site(7).place(), "a.c:7");
        assert_eq!(site(0).place(), "a.c");
    }
}
