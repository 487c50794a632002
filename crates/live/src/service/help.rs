//! The keys of a rules file, for the help.

use broadleaf_governor::service::{KEYS, KeyPlace};

/// The headings of the places, in the order of a file.
const PLACES: [(KeyPlace, &str); 3] = [
    (KeyPlace::Top, "At the top of the file:"),
    (
        KeyPlace::Care,
        "In [defaults], and in a [[rule]] for its own processes:",
    ),
    (
        KeyPlace::Rule,
        "In a [[rule]]; all its conditions must hold:",
    ),
];

/// Returns a paragraph for each place of the file, with a line for each key.
pub fn keys_in_help() -> String {
    let paragraph = |(place, heading): (KeyPlace, &str)| {
        let held = KEYS.iter().filter(|key| key.place == place);
        let lines = held.map(|key| format!("\n  {:16}  {}", key.name, key.summary));
        format!("{heading}{}", lines.collect::<String>())
    };
    PLACES.map(paragraph).join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_line_of_at_most_80_columns() {
        let help = keys_in_help();
        for key in KEYS {
            let starts = format!("  {} ", key.name);
            assert!(help.lines().any(|line| line.starts_with(&starts)), "{help}");
        }
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    }
}
