//! The catalogue of the keys of an experiment file. Refusals of unknown keys and the book's
//! reference page follow from it.

/// The table that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyTable {
    /// The file itself.
    Experiment,
    /// A `[[program]]`.
    Program,
    /// A `[memory]` or a `[[memory]]`, also of an override.
    Memory,
    /// An `[[override]]`.
    Override,
}

impl KeyTable {
    /// All tables, in the order of the reference page.
    pub const ALL: [Self; 4] = [
        Self::Experiment,
        Self::Program,
        Self::Memory,
        Self::Override,
    ];

    /// The heading of the table in a file.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Experiment => "(top)",
            Self::Program => "[[program]]",
            Self::Memory => "[memory]",
            Self::Override => "[[override]]",
        }
    }

    /// The names of the table's keys.
    pub fn names(self) -> Vec<&'static str> {
        let keys = SWEEP_KEYS.iter().filter(|key| key.table == self);
        keys.map(|key| key.name).collect()
    }
}

/// A key of an experiment file.
#[derive(Clone, Copy, Debug)]
pub struct SweepKey {
    /// The table.
    pub table: KeyTable,
    /// The name.
    pub name: &'static str,
    /// The values that the key takes.
    pub values: &'static str,
    /// The value without the key; empty if there is none.
    pub default: &'static str,
    /// The meaning, in a sentence.
    pub meaning: &'static str,
}

const fn key(
    table: KeyTable,
    name: &'static str,
    values: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> SweepKey {
    SweepKey {
        table,
        name,
        values,
        default,
        meaning,
    }
}

/// The keys, by table.
pub const SWEEP_KEYS: &[SweepKey] = {
    use KeyTable::{Experiment, Memory, Override, Program};
    &[
        key(
            Experiment,
            "name",
            "text",
            "the file's name",
            "The name of the partition of results.",
        ),
        key(
            Experiment,
            "traces",
            "text or list",
            "none",
            "Traces, relative to the file; the last part of a path may have a `*`.",
        ),
        key(
            Experiment,
            "policies",
            "text or list",
            "those of `compare`",
            "Policies by name, or expressions.",
        ),
        key(
            Experiment,
            "machines",
            "text or list",
            "skylake",
            "Machines by name, patterns, files relative to the experiment, and grids.",
        ),
        key(
            Experiment,
            "restart",
            "true or false",
            "false",
            "Let each instruction begin again after a TLB miss.",
        ),
        key(
            Experiment,
            "max-accesses",
            "number",
            "by the trace's size",
            "The most accesses to read of a trace; a longer trace is refused.",
        ),
        key(
            Experiment,
            "program",
            "tables",
            "none",
            "Programs to record before the sweep.",
        ),
        key(
            Experiment,
            "memory",
            "table or tables",
            "without frames",
            "Memory that is modelled down to the frame; several tables add up.",
        ),
        key(
            Experiment,
            "override",
            "tables",
            "none",
            "Other axes for some traces; later tables win.",
        ),
        key(
            Program,
            "name",
            "text",
            "",
            "The name of the recording, as traces have one.",
        ),
        key(
            Program,
            "command",
            "list",
            "",
            "The program and its arguments.",
        ),
        key(
            Program,
            "grain",
            "page or line",
            "page",
            "The unit of visits.",
        ),
        key(
            Program,
            "instructions",
            "true or false",
            "false",
            "Record the pages that instructions are fetched from.",
        ),
        key(
            Memory,
            "size",
            "size, percentage or `unlimited`; a list is an axis",
            "",
            "The amount of memory; a percentage is of the footprint. A table without keys has no \
             frames.",
        ),
        key(
            Memory,
            "occupied",
            "share; a list is an axis",
            "0%",
            "The share of memory that is occupied at first.",
        ),
        key(
            Memory,
            "fragmentation",
            "share; a list is an axis",
            "not set",
            "The share of free memory in free blocks of 2 MiB.",
        ),
        key(
            Memory,
            "movable",
            "share; a list is an axis",
            "50%",
            "The share of occupied memory that the kernel can move.",
        ),
        key(
            Memory,
            "seed",
            "number, list or range such as `1..5`",
            "1",
            "The seed of the places of occupied memory.",
        ),
        key(
            Memory,
            "swap",
            "size, percentage or `unlimited`; a list is an axis",
            "that of `compare`",
            "The size of the swap.",
        ),
        key(
            Memory,
            "code",
            "true or false; a list is an axis",
            "false",
            "Hold the pages of instructions too.",
        ),
        key(
            Memory,
            "files",
            "disk or memory; a list is an axis",
            "disk",
            "The place of file pages before their first use.",
        ),
        key(
            Memory,
            "allocator",
            "name; a list is an axis",
            "buddy",
            "The rule that chooses frames.",
        ),
        key(
            Memory,
            "pools",
            "share; a list is an axis",
            "50%",
            "The share of memory for superpages, with the allocator `pools`.",
        ),
        key(
            Memory,
            "rate",
            "accesses per second; a list is an axis",
            "1e9/s",
            "The time scale of daemons.",
        ),
        key(
            Memory,
            "costs",
            "NAME=CYCLES,...; a list is an axis",
            "those of `compare`",
            "Costs of events, in cycles.",
        ),
        key(
            Memory,
            "pagetypeinfo",
            "file; a list is an axis",
            "none",
            "A recorded `/proc/pagetypeinfo`, from which memory begins.",
        ),
        key(
            Memory,
            "buddyinfo",
            "file; a list is an axis",
            "none",
            "A recorded `/proc/buddyinfo`, from which memory begins.",
        ),
        key(
            Override,
            "traces",
            "text or list",
            "",
            "The traces that the table is for, as the file writes them, or patterns with `*`. One \
             that fits no trace is refused.",
        ),
        key(
            Override,
            "policies",
            "text or list",
            "unchanged",
            "Policies of these traces.",
        ),
        key(
            Override,
            "machines",
            "text or list",
            "unchanged",
            "Machines of these traces.",
        ),
        key(
            Override,
            "memory",
            "table or tables",
            "unchanged",
            "Memory of these traces, which replaces that of the file.",
        ),
        key(
            Override,
            "max-accesses",
            "number",
            "unchanged",
            "The most accesses to read of these traces.",
        ),
    ]
};
