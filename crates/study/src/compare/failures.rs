//! The failures of replays, in words.

use broadleaf_model::Error;
use broadleaf_report::number::{grouped, size};

use crate::failure::Failure;
use crate::source::{ReadError, Trace, locate};

/// Refuses a trace without accesses.
///
/// # Errors
/// [`Failure::Wrong`] if `accesses` is 0.
pub fn refuse_empty(accesses: u64, trace: &Trace, doing: &str) -> Result<(), Failure> {
    if accesses > 0 {
        return Ok(());
    }
    let name = trace.name();
    Err(Failure::Wrong(match trace.damage() {
        Some(damage) => format!(
            "{name}: {damage}; what was read holds no load and no store, so there is nothing to \
             {doing}"
        ),
        None => format!("{name}: holds no load and no store, so there is nothing to {doing}"),
    }))
}

/// The failure of a replay of the trace with this name.
pub fn failure(error: Error<ReadError>, name: &str) -> Failure {
    match error {
        Error::Source(error) => error.into(),
        Error::Stopped => Failure::failed("stopped"),
        error @ (Error::NoThreads { .. } | Error::Kept(_)) => Failure::failed(error),
        Error::NoRoom {
            needed,
            limit,
            blocks,
            policies,
        } => Failure::Failed(format!(
            "{name}: after {} blocks of 2 MiB, the model of {} takes {} of memory, and this \
             process may take {}: compare fewer policies at a time, or on a machine with more \
             memory",
            grouped(blocks as u64),
            match policies {
                1 => "one memory".to_owned(),
                memories => format!("{memories} memories"),
            },
            size(needed),
            size(limit)
        )),
        error @ Error::Memory(_) => Failure::wrong(error),
        Error::Address { address } => {
            not_canonical(name, address, locate::visit_of(name, address >> 12))
        }
        error @ (Error::Number { .. }
        | Error::TooManyBlocks { .. }
        | Error::BlockNumbers { .. }) => Failure::Wrong(format!("{name}: {error}")),
    }
}

/// Refuses a trace with an address that no processor translates.
pub fn not_canonical(name: &str, address: u64, place: Option<String>) -> Failure {
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    let error = Error::<ReadError>::Address { address };
    Failure::Wrong(format!("{name}: {error}{place}: record the program again"))
}
