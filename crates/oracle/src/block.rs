//! A block: its pages, one by one, and its reservation.

/// The source of a filled page's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Zeroed,
    DiskRead,
}

/// A resident page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidentPage {
    /// Stored to since it became resident.
    pub(crate) dirty: bool,
    /// Filled by a promotion and not touched since.
    pub(crate) filled: Option<Fill>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OracleReservation {
    /// Accesses before the one that made it.
    pub(crate) created: u64,
    pub(crate) promoted: bool,
}

/// A block with at least one resident page.
pub(crate) struct ResidentBlock {
    /// All 512 pages; `None` for pages that are not resident.
    pub(crate) pages: Vec<Option<ResidentPage>>,
    pub(crate) reservation: Option<OracleReservation>,
}

impl ResidentBlock {
    /// A block without resident pages.
    pub(crate) fn new(reservation: Option<OracleReservation>) -> Self {
        Self {
            pages: vec![None; 512],
            reservation,
        }
    }

    pub(crate) fn populated(&self) -> u64 {
        self.pages.iter().flatten().count() as u64
    }

    pub(crate) fn dirty(&self) -> u64 {
        self.pages
            .iter()
            .flatten()
            .filter(|page| page.dirty)
            .count() as u64
    }
}
