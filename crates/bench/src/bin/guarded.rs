//! Jobs of the hot path for Callgrind: `broadleaf-guarded [recoded-]decode|one|nineteen TRACE`.
//!
//! The trace is a file, or the generated trace `zipf`. With `recoded-`, the trace is recoded first.
//!
//! Callgrind counts only the instructions inside [`collected`]. The start of the process, the
//! reading of the file and the planning are not counted. `tests/instructions.rs` runs this program
//! and compares the counts with the stored ones.
#![forbid(unsafe_code)]

use broadleaf_bench::{Failed, ONE, generated, nineteen, recoded, replay, walk};
use broadleaf_model::Plan;

enum Job {
    /// Decodes the trace.
    Decode,
    /// Replays the trace.
    Replay(Box<Plan>),
}

/// Runs the counted part. Callgrind finds the function by its name and counts from its start to its
/// end. No function that it calls may contain this name, so it has no closures.
#[inline(never)]
fn collected(job: &Job, trace: &[u8]) -> Result<u64, Failed> {
    match job {
        Job::Decode => decode(trace),
        Job::Replay(plan) => replay(trace, plan),
    }
}

/// Returns the number of accesses.
fn decode(trace: &[u8]) -> Result<u64, Failed> {
    Ok(walk::decode(trace)?.accesses)
}

/// Returns the number of walks of all policies together.
fn replay(trace: &[u8], plan: &Plan) -> Result<u64, Failed> {
    let answers = replay::replay(|| Ok(trace), plan)?;
    let walks =
        |figures: &broadleaf_bench::answers::PolicyFigures| figures.get("l2_misses").copied();
    Ok(answers.values().filter_map(walks).sum())
}

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(job), Some(trace)) = (arguments.next(), arguments.next()) else {
        return Err("usage: broadleaf-guarded [recoded-]decode|one|nineteen zipf|FILE".into());
    };
    let plain = job.strip_prefix("recoded-");
    let recodes = plain.is_some();
    let job = match plain.unwrap_or(&job) {
        "decode" => Job::Decode,
        "one" => Job::Replay(Box::new(replay::plan(&[ONE.to_owned()])?)),
        "nineteen" => Job::Replay(Box::new(replay::plan(&nineteen()?)?)),
        other => return Err(format!("{other}: not decode, one or nineteen").into()),
    };
    let trace = match trace.as_str() {
        "zipf" => generated::short(Vec::new())?,
        file => std::fs::read(file)?,
    };
    let trace = if recodes { recoded(&trace)? } else { trace };
    println!("{}", collected(&job, &trace)?);
    Ok(())
}
