//! Figures for Prometheus.

mod places;
mod server;
mod text;

use std::net::SocketAddr;
use std::time::Duration;

use broadleaf_governor::MachineSeen;

use super::account::Counts;
use super::wards::Wards;
use broadleaf_study::failure::Failure;
use server::Server;
use text::{Kind, Text};

/// A place from which figures are told.
pub(super) struct Metrics(Server);

impl Metrics {
    /// Opens it, and says where it is.
    ///
    /// # Errors
    /// Where nothing can be opened there.
    pub(super) fn at(address: SocketAddr) -> Result<Self, Failure> {
        let server = Server::bind(address)?;
        say!("metrics at http://{}/metrics", server.address());
        Ok(Self(server))
    }

    /// Tells these figures from here on. Requests are answered from them, and never wait for a look.
    pub(super) fn publish(&self, wards: &Wards, machine: &MachineSeen, finding: Duration) {
        self.0
            .publish(render(&Snapshot::of(wards, machine, finding)));
    }
}

/// What is told.
struct Snapshot<'a> {
    wards: Vec<OfWard<'a>>,
    totals: Vec<(&'a str, &'a str, &'a Counts)>,
    machine: MachineSeen,
    finding: Duration,
}

/// What is told of one process, with what it started.
struct OfWard<'a> {
    pid: String,
    command: &'a str,
    policy: &'a str,
    counts: &'a Counts,
    added_bytes: u64,
    huge_bytes: u64,
    rss_bytes: u64,
}

impl<'a> Snapshot<'a> {
    fn of(wards: &'a Wards, machine: &MachineSeen, finding: Duration) -> Self {
        let tended = wards.tended.iter().map(|tended| {
            let ward = tended.governor.ward();
            OfWard {
                pid: tended.id.to_string(),
                command: &tended.command,
                policy: &tended.care.policy,
                counts: tended.counts(),
                added_bytes: ward.added_bytes(),
                huge_bytes: ward.huge_bytes(),
                rss_bytes: ward.rss_bytes(),
            }
        });
        Self {
            wards: tended.collect(),
            totals: wards.totals.iter().collect(),
            machine: *machine,
            finding,
        }
    }
}

/// A family of counters: its name behind the prefix, what it is, and its samples.
type Samples = fn(&Counts) -> Vec<(Option<(&'static str, &'static str)>, f64)>;

const COUNTERS: [(&str, &str, Samples); 5] = [
    (
        "promotions_total",
        "Blocks that became superpages.",
        |counts| vec![(None, counts.promotions as f64)],
    ),
    (
        "demotions_total",
        "Superpages that were broken to give memory back.",
        |counts| vec![(None, counts.demotions as f64)],
    ),
    (
        "refusals_total",
        "Blocks that stayed as they were, by reason, each block once for a reason.",
        |counts| {
            let refusals = counts.refusals.iter();
            refusals
                .map(|(reason, blocks)| (Some(("reason", *reason)), *blocks as f64))
                .collect()
        },
    ),
    (
        "broken_by_programs_total",
        "Superpages that programs broke by giving back or protecting parts of them.",
        |counts| vec![(None, counts.broken_by_programs as f64)],
    ),
    (
        "governor_cpu_seconds_total",
        "Processor time of the governor, in seconds: looking and deciding, and having superpages made and broken.",
        |counts| {
            vec![
                (Some(("part", "looking")), counts.looking.as_secs_f64()),
                (Some(("part", "acting")), counts.acting.as_secs_f64()),
            ]
        },
    ),
];

fn render(snapshot: &Snapshot<'_>) -> String {
    let mut text = Text::default();
    for (name, help, samples) in COUNTERS {
        text.family(
            name,
            Kind::Counter,
            &format!("{help} For each process that is looked after, with what it started."),
        );
        for ward in &snapshot.wards {
            for (label, value) in samples(ward.counts) {
                text.sample(name, ward.labels().into_iter().chain(label), value);
            }
        }
    }
    for (name, help, samples) in COUNTERS {
        let name = format!("all_{name}");
        text.family(
            &name,
            Kind::Counter,
            &format!("{help} For each program and policy, with the processes that have ended."),
        );
        for (command, policy, counts) in &snapshot.totals {
            for (label, value) in samples(counts) {
                let labels = [("command", *command), ("policy", *policy)];
                text.sample(&name, labels.into_iter().chain(label), value);
            }
        }
    }
    type Value = fn(&OfWard<'_>) -> u64;
    let gauges: [(&str, &str, Value); 3] = [
        (
            "added_bytes",
            "Bytes that superpages which stand added, by what their blocks held before.",
            |ward| ward.added_bytes,
        ),
        (
            "huge_bytes",
            "Bytes in superpages, whoever made them, when last looked at.",
            |ward| ward.huge_bytes,
        ),
        ("rss_bytes", "Bytes that are resident.", |ward| {
            ward.rss_bytes
        }),
    ];
    for (name, help, value) in gauges {
        text.family(name, Kind::Gauge, help);
        for ward in &snapshot.wards {
            text.sample(name, ward.labels(), value(ward) as f64);
        }
    }
    of_service(&mut text, snapshot);
    text.into_string()
}

/// What has nothing to do with one process.
fn of_service(text: &mut Text, snapshot: &Snapshot<'_>) {
    let machine = &snapshot.machine;
    let known = |value: u64| (value != u64::MAX).then_some(value as f64);
    let alone = [
        (
            "finding_cpu_seconds_total",
            Kind::Counter,
            "Processor time that looking for processes took, in seconds.",
            Some(snapshot.finding.as_secs_f64()),
        ),
        (
            "processes",
            Kind::Gauge,
            "Processes that are looked after, each with what it started.",
            Some(snapshot.wards.len() as f64),
        ),
        (
            "available_bytes",
            Kind::Gauge,
            "Bytes that could be had on the machine without swapping.",
            known(machine.available_bytes),
        ),
        (
            "free_blocks",
            Kind::Gauge,
            "Free extents of 2 MiB on the machine.",
            known(machine.free_blocks),
        ),
        (
            "pressure",
            Kind::Gauge,
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

impl OfWard<'_> {
    fn labels(&self) -> [(&str, &str); 3] {
        [
            ("pid", &self.pid),
            ("command", self.command),
            ("policy", self.policy),
        ]
    }
}

#[cfg(test)]
mod tests;
