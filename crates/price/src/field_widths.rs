//! The widths of the fields of a TLB entry.

/// The widths of addresses and attributes, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldWidths {
    /// A virtual address.
    pub virtual_address: u32,
    /// A physical address.
    pub physical_address: u32,
    /// The offset in a base page.
    pub page_offset: u32,
    /// The number of the address space.
    pub context: u32,
    /// Protection, cacheability, referenced, modified and other attributes.
    pub attributes: u32,
}

impl FieldWidths {
    /// The widths of all of Talluri's tables: base pages of 4 KiB, section 2.2.
    pub const TALLURI: Self = Self {
        virtual_address: 64,
        physical_address: 48,
        page_offset: 12,
        context: 12,
        attributes: 9,
    };

    /// Talluri's widths with another base page, of `2^page_offset` bytes.
    pub const fn with_page_offset(page_offset: u32) -> Self {
        Self {
            page_offset,
            ..Self::TALLURI
        }
    }

    /// The number of a virtual page.
    pub const fn virtual_page(&self) -> u32 {
        self.virtual_address.saturating_sub(self.page_offset)
    }

    /// A mapping: the number of a physical page, and the attributes.
    pub const fn mapping(&self) -> u32 {
        self.physical_address.saturating_sub(self.page_offset) + self.attributes
    }
}
