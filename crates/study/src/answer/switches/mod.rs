//! The switches of runtimes, allocators and servers for huge pages.
//!
//! A new switch is one file with a `Switch`, and one line of [`SWITCHES`].

use broadleaf_metrics::SuggestedCommand;

use super::AnsweredProgram;

/// A switch of a runtime, an allocator or a server.
pub struct Switch {
    /// The name of the runtime.
    pub name: &'static str,
    /// Returns true if the program has the switch.
    pub applies: fn(&AnsweredProgram) -> bool,
    /// The purpose, in a few words.
    pub purpose: &'static str,
    /// The command line with the switch; empty if the purpose says it all.
    pub command: fn(&AnsweredProgram) -> String,
    /// The documentation that describes the switch.
    pub source: &'static str,
}

broadleaf_units::catalogue! {
    /// All switches, in the order of advice.
    pub static SWITCHES: Switch = [
        java::SWITCH,
        go::SWITCH,
        postgres::SWITCH,
        redis::SWITCH,
        mongodb::SWITCH,
        jemalloc::SWITCH,
        tcmalloc::SWITCH,
        python::SWITCH,
        glibc::SWITCH,
    ];
}

/// Returns the commands of the switches that a program has.
pub fn of_program(program: &AnsweredProgram) -> Vec<SuggestedCommand> {
    let applying = SWITCHES.iter().filter(|switch| (switch.applies)(program));
    let suggested = applying.map(|switch| SuggestedCommand {
        purpose: switch.purpose.to_owned(),
        command: (switch.command)(program),
    });
    suggested.collect()
}
