//! Warnings of a study, for Python's `logging`.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;

/// A logger that passes records to the Python logger `broadleaf`.
struct ToPython;

static LOGGER: ToPython = ToPython;

/// The numbers of Python's levels.
const fn number(level: Level) -> u8 {
    match level {
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug | Level::Trace => 10,
    }
}

impl Log for ToPython {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("broadleaf")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        let pass = |py: Python<'_>| -> PyResult<()> {
            let logger = py
                .import("logging")?
                .call_method1("getLogger", ("broadleaf",))?;
            let arguments = (number(record.level()), "%s", text);
            logger.call_method1("log", arguments).map(drop)
        };
        // A logger that fails must not end a replay.
        let _ = Python::attach(pass);
    }

    fn flush(&self) {}
}

/// Begins to pass warnings on to the logger `broadleaf` of Python. Another logger of the process
/// stays.
#[pyfunction]
pub(crate) fn listen() {
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}
