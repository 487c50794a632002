//! Programs in Go.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "go",
    applies: |program| program.contains("Go buildinf:"),
    purpose: "Go has no switch that asks for huge pages: its heap gets them at faults if the \
              kernel's setting `enabled` is always. GODEBUG=disablethp=1 keeps them away",
    command: |_| String::new(),
    source: "Go 1.21.6 release notes, runtime; go.dev/doc/gc-guide, Linux transparent huge pages",
};
