//! An out-of-order pipeline that follows the dependences and the branches of a program's code.
//!
//! [`Flow`] says what one instruction waits for and what waits for it. [`Branches`] predicts
//! branches. [`Pipeline`] executes instructions in order of the program, and says in which slot
//! each access to memory begins. The caller says when the access ends.
#![forbid(unsafe_code)]

mod branches;
mod decode;
mod latency;
mod pipeline;
mod stored;
mod units;

pub use branches::Branches;
pub use decode::Decoder;
pub use pipeline::{Pipeline, PipelineSpec};

/// A set of registers: a bit for each.
pub type RegisterSet = u64;

/// The number of registers that dependences go through.
pub const REGISTERS: usize = 64;

/// How an instruction chooses the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BranchKind {
    /// The next instruction is always the same one.
    #[default]
    None,
    /// One of two.
    Conditional,
    /// A target that is computed.
    Indirect,
    /// A call of a function with a fixed address.
    Call,
    /// A call of a computed function.
    IndirectCall,
    /// A return.
    Return,
}

/// A kind of unit of which a core has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreUnit {
    /// Loads of general registers.
    Load,
    /// Loads of vector registers.
    VectorLoad,
    /// Stores.
    Store,
    /// Operations of general registers.
    General,
    /// Additions of floating-point numbers.
    Addition,
    /// Multiplications and divisions of floating-point numbers.
    Multiplication,
    /// Other operations of vector registers.
    Vector,
}

impl CoreUnit {
    /// All kinds, in the order of arrays by unit.
    pub const ALL: [Self; UNITS] = [
        Self::Load,
        Self::VectorLoad,
        Self::Store,
        Self::General,
        Self::Addition,
        Self::Multiplication,
        Self::Vector,
    ];

    /// The name in a machine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "loads",
            Self::VectorLoad => "vector-loads",
            Self::Store => "stores",
            Self::General => "general",
            Self::Addition => "additions",
            Self::Multiplication => "multiplications",
            Self::Vector => "vectors",
        }
    }
}

/// The number of kinds of units.
pub const UNITS: usize = 7;

/// A set of units: a bit for each kind, in the order of [`CoreUnit::ALL`].
pub type UnitSet = u8;

/// What one instruction waits for, and what waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The address of the instruction.
    pub address: u64,
    /// The address after its last byte.
    pub end: u64,
    /// The registers that the operation waits for, without those of `addresses`.
    pub reads: RegisterSet,
    /// The registers that the addresses of its accesses wait for.
    pub addresses: RegisterSet,
    /// The registers that it sets.
    pub writes: RegisterSet,
    /// The cycles of the operation, without its loads.
    pub cycles: u8,
    /// The operation waits for a load.
    pub loads: bool,
    /// The registers whose contents change: those of `writes`, and the stack pointer of pushes and
    /// pops.
    pub changes: RegisterSet,
    /// The operand in memory that it loads or stores: equal numbers name equal operands, if no
    /// register of their address changed in between. 0 if there is none, or more than one.
    pub operand: u64,
    /// It stores to its operand in memory.
    pub stores: bool,
    /// The units that it uses: one of each.
    pub units: UnitSet,
    /// The choice of the next instruction.
    pub branch: BranchKind,
    /// The target of a conditional branch; 0 for other instructions.
    pub target: u64,
}
