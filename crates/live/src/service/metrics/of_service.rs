//! Figures of the service itself, and of the machine.

use super::Snapshot;
use super::text::{Exposition, FamilyKind};
use crate::service::state::{ServiceState, unix_seconds};

/// The C library that this build is linked with.
const LIBC: &str = if cfg!(target_env = "musl") {
    "musl"
} else {
    "gnu"
};

/// Writes the figures of the service and of the machine.
pub(super) fn write(text: &mut Exposition, snapshot: &Snapshot<'_>) {
    of_build(text, snapshot.state);
    of_reloads(text, snapshot.state);
    let machine = &snapshot.machine;
    let known = |value: u64| (value != u64::MAX).then_some(value as f64);
    let alone = [
        (
            "start_time_seconds",
            FamilyKind::Gauge,
            "Time at which the service started, in seconds since 1970.",
            Some(unix_seconds(snapshot.state.began)),
        ),
        (
            "last_publish_timestamp_seconds",
            FamilyKind::Gauge,
            "Time at which these figures were written, in seconds since 1970.",
            Some(unix_seconds(snapshot.at)),
        ),
        (
            "dry_run",
            FamilyKind::Gauge,
            "1 if the service only looks and changes nothing, otherwise 0.",
            Some(f64::from(u8::from(snapshot.state.dry))),
        ),
        (
            "rules",
            FamilyKind::Gauge,
            "Rules in force.",
            Some(snapshot.state.rules as f64),
        ),
        (
            "finding_cpu_seconds_total",
            FamilyKind::Counter,
            "Processor time that looking for processes took, in seconds.",
            Some(snapshot.finding.as_secs_f64()),
        ),
        (
            "processes",
            FamilyKind::Gauge,
            "Governed processes, each with the processes that it started.",
            Some(snapshot.wards.len() as f64),
        ),
        (
            "available_bytes",
            FamilyKind::Gauge,
            "Bytes available on the machine without swapping.",
            known(machine.available_bytes),
        ),
        (
            "free_blocks",
            FamilyKind::Gauge,
            "Free extents of 2 MiB on the machine.",
            known(machine.free_blocks),
        ),
        (
            "pressure",
            FamilyKind::Gauge,
            "How much of the last ten seconds some process waited for memory, from 0 to 1.",
            machine.pressure.map(|part| f64::from(part) / 10_000.0),
        ),
    ];
    for (name, kind, help, value) in alone {
        if let Some(value) = value {
            text.family(name, kind, help);
            text.sample(name, [], value);
        }
    }
}

fn of_build(text: &mut Exposition, state: &ServiceState) {
    let labels = [
        ("version", state.build.version.as_str()),
        ("commit", state.build.commit.as_str()),
        ("arch", std::env::consts::ARCH),
        ("libc", LIBC),
    ];
    let help = "The build that runs, as labels. The value is 1.";
    text.family("build_info", FamilyKind::Gauge, help);
    text.sample("build_info", labels, 1.0);
}

/// The reads of the file of rules, under the names that Prometheus uses for its own file.
fn of_reloads(text: &mut Exposition, state: &ServiceState) {
    text.family(
        "config_last_reload_successful",
        FamilyKind::Gauge,
        "1 if the file of rules was in order when it was last read, otherwise 0.",
    );
    let good = f64::from(u8::from(state.last_read_is_good));
    text.sample("config_last_reload_successful", [], good);
    text.family(
        "config_last_reload_success_timestamp_seconds",
        FamilyKind::Gauge,
        "Time at which the rules in force were read, in seconds since 1970.",
    );
    let read = unix_seconds(state.last_good_read);
    text.sample("config_last_reload_success_timestamp_seconds", [], read);
    text.family(
        "config_reloads_total",
        FamilyKind::Counter,
        "How often the file of rules was read again, by result: read, or refused.",
    );
    for (result, count) in [("read", state.reloads), ("refused", state.refused_reloads)] {
        text.sample("config_reloads_total", [("result", result)], count as f64);
    }
}
