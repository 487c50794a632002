//! CPython.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "python",
    applies: |program| program.name.starts_with("python"),
    purpose: "Python's objects in the C library's heap, which asks for huge pages (glibc 2.35 or \
              later; `enabled` at madvise or always)",
    command: |program| {
        program.with_environment(&[
            "PYTHONMALLOC=malloc",
            "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
        ])
    },
    source: "Python documentation, PYTHONMALLOC; glibc manual, memory allocation tunables",
};
