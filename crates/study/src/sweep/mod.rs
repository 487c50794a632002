//! Sweeps: experiment files, their cells, and the data sets of their results.
//!
//! An [`Experiment`] is a TOML file: traces and programs, policies, machines and memory. Each trace
//! is a [`SweepTask`], which any machine with the same build and the trace can run. Results are a
//! [`DataSet`] of Parquet files. A finished cell is known by its key, which covers the bytes of the
//! trace, the configuration and the build.

mod cells;
mod conditions;
mod data_set;
mod experiment;
mod keys;
mod local;
mod plan;
mod results;
mod rounds;
mod rows;
mod show;
mod tally;
mod task;
mod turns;
mod values;

pub use cells::{SweepCell, TraceCells};
pub use conditions::MemoryCondition;
pub use data_set::DataSet;
pub use experiment::{Experiment, SweepProgram};
pub use keys::{KeyTable, SWEEP_KEYS, SweepKey};
pub use local::{SweepOutcome, sweep};
pub use plan::{SweepPlan, plan};
pub use results::{ResultQuestion, result_picture, result_sql, result_table, view_of};
pub use show::explain_experiment;
pub(crate) use show::explained_or;
pub use tally::{PassTally, TalliedPass};
pub use task::{SweepTask, TaskResult};

#[cfg(test)]
mod tests;
