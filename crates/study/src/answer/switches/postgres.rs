//! PostgreSQL's server.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "postgres",
    applies: |program| ["postgres", "postmaster"].contains(&&*program.name),
    purpose: "PostgreSQL's own switch: its shared buffers take reserved huge pages \
              (vm.nr_hugepages; `postgres -C shared_memory_size_in_huge_pages` prints how many)",
    command: |program| program.with_last(&[], &["-c", "huge_pages=on"]),
    source: "PostgreSQL documentation, sections 18.4.5 and 19.4, huge_pages",
};
