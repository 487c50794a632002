//! Java's virtual machine.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "java",
    applies: |program| program.name == "java",
    purpose: "Java's own switch: the heap asks for huge pages (the kernel's setting `enabled` must \
              be madvise or always)",
    command: |program| program.with_options(&["-XX:+UseTransparentHugePages"]),
    source: "OpenJDK, java(1), UseTransparentHugePages",
};
