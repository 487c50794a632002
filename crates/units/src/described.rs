//! Catalogues: modules with one entry each, in one list.

/// The name and the texts of an entry of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// A few sentences.
    pub explanation: &'static str,
    /// The work that describes it, with the section.
    pub source: &'static str,
}

/// Declares the modules of a catalogue's entries, and the list of the entries.
///
/// A new entry is one file with an item, and one line here. A file with several entries names them
/// in braces.
///
/// ```text
/// catalogue! {
///     /// The replacement rules.
///     pub static REPLACEMENTS: Replacement = [
///         lru::LRU,
///         tree::{TREE, BITS},
///     ];
/// }
/// ```
#[macro_export]
macro_rules! catalogue {
    (
        $(#[$meta:meta])*
        $seen:vis static $name:ident: $entry:ty =
            [$($module:ident::$({$($items:ident),+ $(,)?})? $($item:ident)?),* $(,)?];
    ) => {
        $(mod $module;)*

        $(#[$meta])*
        $seen static $name: &[&$entry] = &[
            $($(&$module::$item,)? $($(&$module::$items,)+)?)*
        ];
    };
}
