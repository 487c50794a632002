//! Operands in memory that were stored lately, by their texts.

use crate::{Flow, REGISTERS, RegisterSet};

/// The operands that are remembered, at most.
const STORED: usize = 256;

/// The operands that were stored lately.
#[derive(Clone, Debug)]
pub(crate) struct StoredOperands {
    /// How often each register changed.
    versions: [u32; REGISTERS],
    /// Present names, and the slots at which the contents are ready.
    stored: Box<[(u64, u64)]>,
}

impl StoredOperands {
    /// None.
    pub(crate) fn new() -> Self {
        Self {
            versions: [0; REGISTERS],
            stored: vec![(0, 0); STORED].into(),
        }
    }

    /// The present name of an instruction's operand in memory; 0 if it has none.
    pub(crate) fn name(&self, flow: &Flow) -> u64 {
        if flow.operand == 0 {
            return 0;
        }
        let mut name = flow.operand;
        let mut registers = flow.addresses;
        while registers != 0 {
            let version = self.versions[registers.trailing_zeros() as usize];
            name = (name ^ u64::from(version)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            name ^= name >> 29;
            registers &= registers - 1;
        }
        name | 1
    }

    /// The slot at which the operand of this present name is ready; `None` if it was not stored
    /// lately, or has no name.
    pub(crate) fn ready(&self, name: u64) -> Option<u64> {
        let (known, ready) = self.stored[place(name)];
        (known == name && name != 0).then_some(ready)
    }

    /// The operand of this present name is stored and ready at a slot.
    pub(crate) fn store(&mut self, name: u64, ready: u64) {
        self.stored[place(name)] = (name, ready);
    }

    /// The contents of registers change.
    pub(crate) fn change(&mut self, mut registers: RegisterSet) {
        while registers != 0 {
            let version = &mut self.versions[registers.trailing_zeros() as usize];
            *version = version.wrapping_add(1);
            registers &= registers - 1;
        }
    }
}

/// The place of a name in the table. Names are odd.
const fn place(name: u64) -> usize {
    name as usize >> 1 & (STORED - 1)
}
