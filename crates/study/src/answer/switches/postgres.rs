//! PostgreSQL's server.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "postgres",
    applies: |program| ["postgres", "postmaster"].contains(&&*program.name),
    purpose: "PostgreSQL's own switch: its shared buffers take reserved huge pages \
              (vm.nr_hugepages; `postgres -C shared_memory_size_in_huge_pages` prints how many)",
    command: |program| {
        let words: Vec<&str> = program.command.iter().map(String::as_str).collect();
        let options = ["-c", "huge_pages=on"];
        broadleaf_report::command_line(&match words.is_empty() {
            true => [&["postgres"], &options[..]].concat(),
            false => [&words[..], &options[..]].concat(),
        })
    },
    source: "PostgreSQL documentation, sections 18.4.5 and 19.4, huge_pages",
};
