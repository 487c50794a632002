//! Figures for Prometheus.

mod of_service;
mod places;
mod server;
mod text;

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use broadleaf_governor::MachineSeen;

use super::account::GovernorCounts;
use super::state::ServiceState;
use super::wards::Wards;
use broadleaf_study::failure::Failure;
use server::MetricsServer;
use text::{Exposition, FamilyKind};

/// A server of figures.
pub(super) struct Metrics(MetricsServer);

impl Metrics {
    /// Starts a server at `address`, and notes where it is.
    ///
    /// # Errors
    /// If the address cannot be listened to.
    pub(super) fn at(address: SocketAddr) -> Result<Self, Failure> {
        let server = MetricsServer::bind(address)?;
        let address = server.address();
        log::info!(
            event = "metrics", address:% = address;
            "metrics at http://{address}/metrics"
        );
        Ok(Self(server))
    }

    /// Publishes figures. Requests get the figures that were published last, and never wait for a
    /// look.
    pub(super) fn publish(
        &self,
        wards: &Wards,
        machine: &MachineSeen,
        finding: Duration,
        state: &ServiceState,
    ) {
        let now = Instant::now();
        let snapshot = Snapshot::of(wards, machine, finding, state);
        self.0.publish(render(&snapshot), now);
    }
}

/// The figures at one time.
struct Snapshot<'a> {
    wards: Vec<WardFigures<'a>>,
    totals: Vec<(&'a str, &'a str, &'a GovernorCounts)>,
    machine: MachineSeen,
    finding: Duration,
    state: &'a ServiceState,
    /// The time of the figures.
    at: SystemTime,
}

/// The figures of one process and the processes that it started.
struct WardFigures<'a> {
    pid: String,
    command: &'a str,
    policy: &'a str,
    counts: &'a GovernorCounts,
    added_bytes: u64,
    huge_bytes: u64,
    rss_bytes: u64,
}

impl<'a> Snapshot<'a> {
    fn of(
        wards: &'a Wards,
        machine: &MachineSeen,
        finding: Duration,
        state: &'a ServiceState,
    ) -> Self {
        let governed = wards.governed.iter().map(|governed| {
            let ward = governed.governor.ward();
            WardFigures {
                pid: governed.id.to_string(),
                command: &governed.command,
                policy: &governed.care.policy,
                counts: governed.counts(),
                added_bytes: ward.added_bytes(),
                huge_bytes: ward.huge_bytes(),
                rss_bytes: ward.rss_bytes(),
            }
        });
        Self {
            wards: governed.collect(),
            totals: wards.totals.iter().collect(),
            machine: *machine,
            finding,
            state,
            at: SystemTime::now(),
        }
    }
}

/// The samples of a family of counters, each with its own label, if any.
type Samples = fn(&GovernorCounts) -> Vec<(Option<(&'static str, &'static str)>, f64)>;

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
        "Blocks that were refused a superpage, by reason, each block once for a reason.",
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
        "Processor time of the governor, in seconds: looking and deciding, and having superpages \
        made and broken.",
        |counts| {
            vec![
                (Some(("part", "looking")), counts.looking.as_secs_f64()),
                (Some(("part", "acting")), counts.acting.as_secs_f64()),
            ]
        },
    ),
];

fn render(snapshot: &Snapshot<'_>) -> String {
    let mut text = Exposition::default();
    for (name, help, samples) in COUNTERS {
        text.family(
            name,
            FamilyKind::Counter,
            &format!("{help} For each governed process, with the processes that it started."),
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
            FamilyKind::Counter,
            &format!("{help} For each program and policy, with the processes that have ended."),
        );
        for (command, policy, counts) in &snapshot.totals {
            for (label, value) in samples(counts) {
                let labels = [("command", *command), ("policy", *policy)];
                text.sample(&name, labels.into_iter().chain(label), value);
            }
        }
    }
    type GaugeValue = fn(&WardFigures<'_>) -> u64;
    let gauges: [(&str, &str, GaugeValue); 3] = [
        (
            "added_bytes",
            "Bytes that existing superpages added to what their blocks held before.",
            |ward| ward.added_bytes,
        ),
        (
            "huge_bytes",
            "Bytes in superpages of any origin, at the last look.",
            |ward| ward.huge_bytes,
        ),
        ("rss_bytes", "Bytes that are resident.", |ward| {
            ward.rss_bytes
        }),
    ];
    for (name, help, value) in gauges {
        text.family(name, FamilyKind::Gauge, help);
        for ward in &snapshot.wards {
            text.sample(name, ward.labels(), value(ward) as f64);
        }
    }
    of_service::write(&mut text, snapshot);
    text.into_string()
}

impl WardFigures<'_> {
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
