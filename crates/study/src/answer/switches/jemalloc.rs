//! The allocator jemalloc.

use super::Switch;
use crate::answer::AnsweredProgram;

pub(super) const SWITCH: Switch = Switch {
    name: "jemalloc",
    applies: |program| program.contains("libjemalloc") || program.contains("MALLOC_CONF"),
    purpose: "jemalloc's own switch: it asks for huge pages for all that it maps (`enabled` at \
              madvise or always)",
    command: |program| program.with_environment(&[assignment(program)]),
    source: "jemalloc(3), opt.thp; jemalloc, INSTALL.md, --with-jemalloc-prefix",
};

/// The assignment of the variable that the program's jemalloc reads. A library inside a program
/// often has a prefix: redis's own has `JE_`, and Rust's crate tikv-jemallocator `_RJEM_`.
fn assignment(program: &AnsweredProgram) -> &'static str {
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
