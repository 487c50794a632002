//! A machine's description: a text is refused with a line inside it, or is a machine that can
//! translate pages of each of its sizes.

use broadleaf_machine::{Machine, MachineError};
use broadleaf_units::PageNumber;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Machine::from_toml(text) {
        Ok(machine) => check(&machine),
        Err(error) => check_error(text, &error),
    }
}

/// Asserts the invariants of a machine.
fn check(machine: &Machine) {
    assert!(!machine.name.is_empty() && !machine.name.contains(char::is_whitespace));
    assert!(!machine.design.sizes().is_empty());
    for size in machine.design.sizes() {
        assert!(machine.costs.of(*size).is_some());
        let (_, structure) = machine.design.holding(1, *size).expect("a first level");
        let index = structure.index(*size).expect("an index");
        for page in [0, 1, 0x1234_5678, u64::MAX >> 12] {
            assert!((index.set_of(PageNumber(page)) as u64) < index.sets());
        }
    }
}

/// Asserts that the line of an error lies in the text, or is the line after it.
fn check_error(text: &str, error: &MachineError) {
    let lines = 1 + text.matches('\n').count();
    assert!((1..=lines).contains(&error.line), "{error}");
    assert!(error.to_string().contains(&error.message));
}
