//! `service`: governs the processes that a file of rules picks, each under its policy.

mod account;
mod finding;
mod help;
mod manager;
mod metrics;
mod once;
mod rules;
mod state;
mod summary;
mod together;
mod turn;
mod wards;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use broadleaf_governor::service::ServiceRules;
use broadleaf_metrics::{SERVICE_SCHEMA, ServiceListing};
use broadleaf_report::{View, command_line, next};

use crate::obstacles::obstacles;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::shown;
use broadleaf_study::provenance::provenance;
pub use help::keys_in_help;
use metrics::Metrics;
use state::ServiceState;
use turn::ServiceLoop;
use wards::Wards;

/// The purpose of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServicePurpose {
    /// Govern processes.
    Govern,
    /// Look at processes, and change nothing.
    DryRun,
    /// List the processes that the rules pick, once.
    List,
}

/// A request of the caller to a service that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSignal {
    /// Read the file of rules again.
    Reload,
    /// End.
    End,
}

/// A service whose file of rules was read.
#[derive(Debug)]
pub struct LiveService {
    file: PathBuf,
    rules: ServiceRules,
    purpose: ServicePurpose,
    /// Obstacles on this machine.
    notes: Vec<String>,
}

/// A service that ended.
pub struct ServiceDone {
    wards: Wards,
    dry: bool,
}

impl LiveService {
    /// Reads a file of rules, and notes the obstacles on this machine.
    ///
    /// # Errors
    /// If the file is wrong, with line and column. If an obstacle keeps the service from its
    /// purpose, or a rule's policy depends on the use of pages and this user cannot see it; a list
    /// can be made anywhere.
    pub fn open(file: &Path, purpose: ServicePurpose) -> Result<Self, Failure> {
        let rules = rules::read(file)?;
        let mut notes = Vec::new();
        for obstacle in obstacles(true, purpose != ServicePurpose::Govern) {
            if obstacle.is_fatal() && purpose != ServicePurpose::List {
                return Err(Failure::failed(obstacle));
            }
            log::warn!(event = "obstacle"; "{obstacle}");
            notes.push(obstacle.to_string());
        }
        match rules::check_use(file, &rules) {
            Err(failure) if purpose == ServicePurpose::List => {
                log::warn!(event = "obstacle"; "{failure}");
                notes.push(failure.to_string());
            }
            checked => checked?,
        }
        Ok(Self {
            file: file.to_owned(),
            rules,
            purpose,
            notes,
        })
    }

    /// Lists the processes that the rules pick now, with what would be done to each.
    ///
    /// # Errors
    /// If a rule names no policy.
    pub fn list(&self) -> Result<ServiceListing, Failure> {
        Ok(ServiceListing {
            schema: SERVICE_SCHEMA.to_owned(),
            file: shown(&self.file),
            rules: self.rules.rules.len() as u64,
            processes: once::picked(&self.rules)?,
            notes: self.notes.clone(),
            provenance: provenance(&format!("{:?}", self.rules)),
        })
    }

    /// Governs until `wait` returns [`ServiceSignal::End`]. `wait` waits for at most the given
    /// time, and returns `None` if nothing is wanted by then. With `metrics`, figures are served to
    /// Prometheus at that address. A service manager (systemd) learns that the service is ready
    /// after the first search for processes.
    ///
    /// # Errors
    /// If the address cannot be listened to, or a rule names no policy.
    pub fn run(
        self,
        metrics: Option<SocketAddr>,
        wait: &mut dyn FnMut(Duration) -> Option<ServiceSignal>,
    ) -> Result<ServiceDone, Failure> {
        let metrics = metrics.map(Metrics::at).transpose()?;
        let dry = self.purpose != ServicePurpose::Govern;
        let state = ServiceState::new(self.rules.rules.len(), dry);
        let mut service = ServiceLoop::new(self.rules, state, metrics);
        service.run(wait, |measures_use| {
            let rules = rules::read_again(&self.file)?;
            // The thread that measures holds its source, which works.
            if !measures_use {
                rules::check_use(&self.file, &rules)?;
            }
            Ok(rules)
        })?;
        let wards = service.into_wards();
        Ok(ServiceDone { wards, dry })
    }
}

impl ServiceDone {
    /// A table with a line for each process that lives, and one for all processes that have ended
    /// of one program under one policy.
    pub fn table(&self, view: View) -> String {
        summary::summary(&self.wards, self.dry, view)
    }

    /// Logs the lines of [`Self::table`], each as a record with its figures.
    pub fn log(&self) {
        summary::log(&self.wards, self.dry);
    }
}

/// Renders a list as a table, with the command that governs the processes. Rules from a pipe have
/// no such command: a pipe holds them once.
pub fn listing_table(listing: &ServiceListing, view: View) -> String {
    let mut text = once::table(&listing.processes, view);
    let streams = ["/dev/stdin", "/dev/fd/", "/proc/"];
    let is_stream = (streams.iter()).any(|stream| listing.file.starts_with(stream));
    if !is_stream {
        text += &next(&command_line(&["broadleaf", "service", &listing.file]));
    }
    text
}
