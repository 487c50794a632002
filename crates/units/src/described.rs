//! The texts of an entry of a catalogue.

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
