//! The catalogue of TLB designs.

/// An entry of a catalogue.
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

/// The TLB organisations that a machine's description can be made of.
pub const TLBS: &[Described] = &[Described {
    name: "set-associative",
    summary: "sets of ways, each entry a page of one size, exact LRU in each set",
    explanation: "A structure has entries and ways, holds one page size or several, and finds a page's set by an index \
                  function: a range of address bits such as va[15:12], or several combined by exclusive or. One set makes \
                  it fully associative, one way direct-mapped. Entries carry the tag of their address space, so a switch of \
                  spaces flushes nothing. One or two levels can be stacked; a walk fills both, and what the first level \
                  loses is not written to the second.",
    source: "Talluri 1995, chapter 3; Zhu 2018, chapter 4",
}];
