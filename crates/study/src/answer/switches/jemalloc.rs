//! The allocator jemalloc.

use super::{Switch, redis};
use crate::answer::AnsweredProgram;

pub(super) const SWITCH: Switch = Switch {
    name: "jemalloc",
    // Redis's command has the assignment already.
    applies: |program| is_used_by(program) && !redis::is_server(&program.name),
    purpose: "jemalloc's own switch: it asks for huge pages for all that it maps (`enabled` at \
              madvise or always)",
    command: |program| program.with_environment(&[assignment(program)]),
    source: "jemalloc(3), opt.thp; jemalloc, INSTALL.md, --with-jemalloc-prefix",
};

/// Returns true if the program loads jemalloc, or has it inside.
pub(super) fn is_used_by(program: &AnsweredProgram) -> bool {
    program.contains("libjemalloc") || program.contains("MALLOC_CONF")
}

/// The assignment of the variable that the program's jemalloc reads. A library inside a program
/// often has a prefix: redis's own has `JE_`, and Rust's crate tikv-jemallocator `_RJEM_`.
pub(super) fn assignment(program: &AnsweredProgram) -> &'static str {
    let prefixed = ["_RJEM_MALLOC_CONF=thp:always", "JE_MALLOC_CONF=thp:always"];
    let is_known = |assignment: &&&str| {
        let (name, _) = assignment.split_once('=').unwrap_or((assignment, ""));
        program.contains(name)
    };
    prefixed
        .iter()
        .find(is_known)
        .copied()
        .unwrap_or("MALLOC_CONF=thp:always")
}
