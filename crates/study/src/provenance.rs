//! The provenance of a result: the build, the configuration and the host.

use broadleaf_metrics::Provenance;

/// The provenance of a result of this process, for a configuration described by `configuration`.
pub fn provenance(configuration: &str) -> Provenance {
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("BROADLEAF_COMMIT").to_owned(),
        config_hash: format!("blake3:{}", blake3::hash(configuration.as_bytes()).to_hex()),
        host: host(),
    }
}

/// Describes the host: processor, number of processors, operating system. The text has no name or
/// address of the host.
pub fn host() -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let system = format!(
        "{} {} {}",
        std::env::consts::OS,
        kernel.trim(),
        std::env::consts::ARCH
    );
    match processor {
        Some(processor) => format!("{processor}, {count} processors, {system}"),
        None => format!("{count} processors, {system}"),
    }
}

/// The name of the program that makes traces, for a trace's header.
pub fn made_by(part: &str) -> String {
    format!(
        "broadleaf {} ({}), {part}",
        env!("CARGO_PKG_VERSION"),
        env!("BROADLEAF_COMMIT")
    )
}
