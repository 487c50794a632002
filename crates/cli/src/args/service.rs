//! The arguments of `service`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use broadleaf_live::service::keys_in_help;
use clap::Args;

use super::TableOrJson;
use crate::say::LogFormat;

/// Make huge pages (THP) in all programs that a file of rules picks
///
/// Searches the processes of the machine every few seconds, and governs those that a rule picks,
/// each under its policy and within its limits, as `attach` does for one process. The processes
/// that a process starts are governed with it, unless a rule of their own picks them. The first
/// rule that fits a process counts.
///
/// SIGHUP reads the file again; if the file is wrong, the previous rules stay. Ctrl-C or SIGTERM
/// ends the service, and huge pages that exist then stay. Kernel threads, programs that forbid
/// huge pages to themselves, and the service itself are left alone.
///
/// Under systemd, a unit of the type notify learns when the service is ready, when it reads its
/// file again, and how many processes it governs.
#[derive(Debug, Args)]
#[command(after_long_help = format!("\
Examples:
  broadleaf service rules.toml --once                        list the processes that the rules pick
  broadleaf service rules.toml --once --format json | jq '.processes[].command'
  broadleaf service rules.toml --dry-run                     look at processes, and change nothing
  broadleaf service /etc/broadleaf.toml --metrics 127.0.0.1:9464

A file:
  keep_free = \"512M\"

  [[rule]]
  command = \"redis-server\"
  max_added = \"2%\"

  [[rule]]
  user = \"postgres\"
  policy = \"pop-461\"

{}

Programs of other users need CAP_SYS_NICE, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.", keys_in_help()))]
pub(crate) struct ServiceArgs {
    /// The rules, a TOML file
    pub(crate) file: PathBuf,

    /// List the processes that the rules pick, with what would be done now, and end
    #[arg(long)]
    pub(crate) once: bool,

    /// Set the format of the list
    #[arg(long, default_value = "table", requires = "once")]
    pub(crate) format: TableOrJson,

    /// Change nothing, and report at the end what would have been done
    #[arg(long, conflicts_with = "once")]
    pub(crate) dry_run: bool,

    /// Serve metrics to Prometheus at http://ADDR:PORT/metrics, in its text format
    #[arg(long, value_name = "ADDR:PORT", value_parser = address, conflicts_with = "once")]
    pub(crate) metrics: Option<SocketAddr>,

    /// Set the form of messages on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|_| {
        format!("\"{text}\" is no address; write it as 127.0.0.1:9464 or localhost:9464")
    })?;
    found
        .next()
        .ok_or_else(|| format!("\"{text}\" has no address"))
}
