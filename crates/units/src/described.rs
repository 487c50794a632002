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

/// Declares a module for each entry of a catalogue, and the list of the entries.
///
/// A new entry is one file with a `static` item, and one line here.
///
/// ```text
/// catalogue! {
///     /// The replacement rules.
///     pub static REPLACEMENTS: Replacement = [
///         lru::LRU,
///     ];
/// }
/// ```
#[macro_export]
macro_rules! catalogue {
    (
        $(#[$meta:meta])*
        pub static $name:ident: $entry:ty = [$($module:ident::$item:ident),* $(,)?];
    ) => {
        $(mod $module;)*

        $(#[$meta])*
        pub static $name: &[&$entry] = &[$(&$module::$item),*];
    };
}
