//! Redis's and Valkey's servers.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "redis",
    applies: |program| ["redis-server", "valkey-server"].contains(&&*program.name),
    purpose: "Redis switches huge pages off for itself, because a save (fork) then copies 2 MiB \
              at a first store on kernels before 5.8. This switch lets it have them",
    command: |program| {
        let words: Vec<&str> = program.command.iter().map(String::as_str).collect();
        broadleaf_report::command_line(&[&words[..], &["--disable-thp", "no"]].concat())
    },
    source: "redis.conf, disable-thp; Redis documentation, latency problems",
};
