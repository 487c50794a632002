//! The options of `record`, and the engines that have each.

use crate::failure::Failure;

/// Options that some engine lacks, with the engines that have them. A refusal names the first.
static OPTIONS: [(&str, &[&str]); 22] = [
    ("--machine", &["trap"]),
    ("--policy", &["trap"]),
    ("--mechanism", &["trap"]),
    ("--format", &["trap"]),
    ("--guest", &["qemu-system"]),
    ("--guest-memory", &["qemu-system"]),
    ("--processors", &["qemu-system"]),
    ("--qemu", &["qemu-system"]),
    ("--check", &["qemu-system"]),
    ("--code", &["valgrind"]),
    ("--sites", &["valgrind"]),
    ("--align", &["valgrind"]),
    ("--clock program", &["valgrind"]),
    ("--clock date", &["valgrind"]),
    ("--clock-rate", &["valgrind"]),
    ("--skip", &["valgrind"]),
    ("--for", &["valgrind"]),
    ("--every", &["valgrind"]),
    ("--measure", &["valgrind", "qemu"]),
    ("--grain line", &["valgrind", "qemu", "qemu-system"]),
    ("--instructions", &["valgrind", "qemu", "qemu-system"]),
    ("--follow-children", &["valgrind", "qemu", "qemu-system"]),
];

/// Refuses the first given option that an engine lacks.
///
/// # Errors
/// [`Failure::Wrong`] with the option, and an engine that has it.
pub fn refuse_options(engine: &str, given: &[(&str, bool)]) -> Result<(), Failure> {
    let is_given = |name: &str| {
        given
            .iter()
            .any(|(option, is_given)| *option == name && *is_given)
    };
    let lacking = |(name, engines): &&(&str, &[&str])| is_given(name) && !engines.contains(&engine);
    match OPTIONS.iter().find(lacking) {
        Some((option, engines)) => Err(Failure::Wrong(format!(
            "{option} is an option of --engine {}",
            engines[0]
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_refuses_the_options_of_others() {
        let refused = |engine: &str, option| {
            let result = refuse_options(engine, &[("--align", false), (option, true)]);
            result.err().map(|failure| failure.to_string())
        };
        let of_trap = Some("--machine is an option of --engine trap".to_owned());
        assert_eq!(refused("valgrind", "--machine"), of_trap);
        assert_eq!(refused("trap", "--machine"), None);
        assert_eq!(refused("qemu", "--measure"), None);
        let of_valgrind = Some("--measure is an option of --engine valgrind".to_owned());
        assert_eq!(refused("qemu-system", "--measure"), of_valgrind);
    }
}
