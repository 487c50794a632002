//! Windows: the stretches of a program that a recording holds, if it does not hold all of it.

use crate::varint::{self, Cursor};

/// The unit in which windows are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowUnit {
    /// Loads and stores.
    Accesses,
    /// Instructions.
    Instructions,
    /// Microseconds of the clock that the program saw.
    Microseconds,
}

/// The windows that a recording was asked for. Each process has windows of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowPlan {
    /// The unit of the numbers.
    pub unit: WindowUnit,
    /// The units before the first window.
    pub skip: u64,
    /// The units of each window; 0 for a window that ends with the process.
    pub length: u64,
    /// The units from the start of a window to the start of the next; 0 for one window.
    pub every: u64,
}

impl WindowPlan {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.unit as u64);
        for number in [self.skip, self.length, self.every] {
            varint::put(out, number);
        }
    }

    pub(crate) fn read(from: &mut Cursor<'_>) -> Result<Self, &'static str> {
        Ok(Self {
            unit: match from.number()? {
                0 => WindowUnit::Accesses,
                1 => WindowUnit::Instructions,
                2 => WindowUnit::Microseconds,
                _ => return Err("the unit of windows is of no known kind"),
            },
            skip: from.number()?,
            length: from.number()?,
            every: from.number()?,
        })
    }
}

/// A border of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Border {
    /// A window with this number, from 0, starts.
    Start(u64),
    /// The window ends.
    End,
    /// The process ends, or executes another program. A window that has not ended ends here.
    Total,
}

/// A border of a window, with everything that its process did before it, recorded or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowBorder {
    /// The kind of border.
    pub border: Border,
    /// Loads and stores of the process before the border.
    pub accesses: u64,
    /// Instructions of the process before the border.
    pub instructions: u64,
}

impl WindowBorder {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let (kind, number) = match self.border {
            Border::Start(number) => (0, number),
            Border::End => (1, 0),
            Border::Total => (2, 0),
        };
        for number in [kind, self.accesses, self.instructions, number] {
            varint::put(out, number);
        }
    }

    pub(crate) fn read(from: &mut Cursor<'_>) -> Result<Self, &'static str> {
        let kind = from.number()?;
        let (accesses, instructions) = (from.number()?, from.number()?);
        let number = from.number()?;
        let border = match kind {
            0 => Border::Start(number),
            1 => Border::End,
            2 => Border::Total,
            _ => return Err("a border of a window is of no known kind"),
        };
        Ok(Self {
            border,
            accesses,
            instructions,
        })
    }
}
