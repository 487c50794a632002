//! Redis's and Valkey's servers.

use super::{Switch, jemalloc};

/// The programs' names.
const SERVERS: [&str; 2] = ["redis-server", "valkey-server"];

/// Returns true if a program of this name is the server.
pub(super) fn is_server(name: &str) -> bool {
    SERVERS.contains(&name)
}

pub(super) const SWITCH: Switch = Switch {
    name: "redis",
    applies: |program| is_server(&program.name),
    purpose: "Redis forbids huge pages to itself where `enabled` is always. On kernels before \
              5.8, a save (fork) would copy 2 MiB at a first store. Its switch disable-thp (Redis \
              6.2 or later, Valkey) lets it have them, and needs `enabled` at always. At madvise, \
              its allocator must ask for them too, as jemalloc does with thp:always",
    command: |program| {
        let switch = ["--disable-thp", "no"];
        if jemalloc::is_used_by(program) {
            program.with_last(&[jemalloc::assignment(program)], &switch)
        } else {
            program.with_last(&[], &switch)
        }
    },
    source: "redis.conf, disable-thp; Redis documentation, latency problems; jemalloc(3), opt.thp",
};
