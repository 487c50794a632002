//! Names of signals.

/// Returns a signal's number, and its name if it has one: `signal 11 (SIGSEGV)`.
pub fn signal(number: i32) -> String {
    match signal_hook::low_level::signal_name(number) {
        Some(name) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::signal;

    #[test]
    fn a_signal_is_named_if_it_has_a_name() {
        assert_eq!(signal(11), "signal 11 (SIGSEGV)");
        assert_eq!(signal(63), "signal 63");
    }
}
