//! The keys of a rules file.

/// The place of a key in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// The top of the file.
    Top,
    /// The table `[defaults]`, and each `[[rule]]` for its own processes.
    Care,
    /// A table `[[rule]]`.
    Rule,
}

/// A key of a rules file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceKey {
    /// Its name.
    pub name: &'static str,
    /// Its place.
    pub place: KeyPlace,
    /// Its value and its effect, without a full stop.
    pub summary: &'static str,
}

/// All keys, but for the names of the tables.
pub const KEYS: &[ServiceKey] = &[
    key(
        "discover",
        KeyPlace::Top,
        "seconds between two searches for processes (2)",
    ),
    key(
        "max_cpu_together",
        KeyPlace::Top,
        "most of a processor for all looks together (\"2%\")",
    ),
    key(
        "keep_free",
        KeyPlace::Top,
        "memory is short if less than this is available, as \"512M\"",
    ),
    key(
        "max_pressure",
        KeyPlace::Top,
        "memory is short if waits for it take this share of 10 s",
    ),
    key(
        "policy",
        KeyPlace::Care,
        "which blocks become huge pages (\"pop-256\")",
    ),
    key(
        "max_added",
        KeyPlace::Care,
        "most memory that huge pages add: \"64M\", \"2%\" or \"unlimited\"",
    ),
    key(
        "interval",
        KeyPlace::Care,
        "milliseconds between two looks at a process",
    ),
    key(
        "max_cpu",
        KeyPlace::Care,
        "most of a processor for looking at a process",
    ),
    key(
        "max_stall",
        KeyPlace::Care,
        "most stalls of a process: \"80%\", \"5ms\" or \"80%,5ms\"",
    ),
    key(
        "command",
        KeyPlace::Rule,
        "processes with this name; * and ? match letters",
    ),
    key(
        "user",
        KeyPlace::Rule,
        "processes of this user, by name or number",
    ),
    key(
        "cgroup",
        KeyPlace::Rule,
        "processes in the cgroup with this path; * matches / too",
    ),
    key(
        "ignore",
        KeyPlace::Rule,
        "true: leave these processes alone",
    ),
];

/// The tables of the file.
const TABLES: [&str; 2] = ["defaults", "rule"];

const fn key(name: &'static str, place: KeyPlace, summary: &'static str) -> ServiceKey {
    ServiceKey {
        name,
        place,
        summary,
    }
}

/// Returns the names that may be at the top of the file.
pub(super) fn at_top() -> Vec<&'static str> {
    in_places(&[KeyPlace::Top]).chain(TABLES).collect()
}

/// Returns the names that may be among the defaults.
pub(super) fn in_defaults() -> Vec<&'static str> {
    in_places(&[KeyPlace::Care]).collect()
}

/// Returns the names that may be in a rule.
pub(super) fn in_rule() -> Vec<&'static str> {
    in_places(&[KeyPlace::Rule, KeyPlace::Care]).collect()
}

fn in_places(places: &[KeyPlace]) -> impl Iterator<Item = &'static str> {
    let held = KEYS.iter().filter(move |key| places.contains(&key.place));
    held.map(|key| key.name)
}
