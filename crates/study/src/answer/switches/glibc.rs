//! The C library's allocator.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "glibc",
    applies: |program| {
        let has_other = ["libjemalloc", "MALLOC_CONF", "libtcmalloc", "Go buildinf:"];
        program.contains("libc.so.6")
            && program.name != "java"
            && !program.name.starts_with("python")
            && !has_other.iter().any(|other| program.contains(other))
    },
    purpose: "the C library's own switch: malloc asks for huge pages (glibc 2.35 or later; \
              `enabled` at madvise or always)",
    command: |program| program.with_environment(&["GLIBC_TUNABLES=glibc.malloc.hugetlb=1"]),
    source: "glibc manual, section 38.2, glibc.malloc.hugetlb",
};
