//! MongoDB's server.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "mongodb",
    applies: |program| program.name == "mongod",
    purpose: "MongoDB's advice: from 8.0 on, the kernel's setting `enabled` at always; before, at \
              never",
    command: |_| String::new(),
    source: "MongoDB manual, TCMalloc performance optimization; disable transparent huge pages",
};
