//! Parts of the hot path, to be counted by Callgrind: `broadleaf-guarded [recoded-]decode|one|nineteen TRACE`, where the trace is a file or `zipf`,
//! which is generated, and recoded before where that is said.
//!
//! What happens inside [`collected`] is counted, and nothing else: not the start of the process, nor reading the file and
//! making the plan. `tests/instructions.rs` runs this and holds the counts against those that are known.
#![forbid(unsafe_code)]

use broadleaf_bench::{Failed, ONE, generated, nineteen, recoded, replay, walk};
use broadleaf_model::Plan;

enum Job {
    /// Decodes the trace.
    Decode,
    /// Replays it.
    Replay(Box<Plan>),
}

/// The part that is counted. Callgrind knows it by its name, and counts from its start to its end, so nothing that it calls may bear that
/// name: no closure stands in here.
#[inline(never)]
fn collected(job: &Job, trace: &[u8]) -> Result<u64, Failed> {
    match job {
        Job::Decode => decode(trace),
        Job::Replay(plan) => replay(trace, plan),
    }
}

/// How many accesses there are.
fn decode(trace: &[u8]) -> Result<u64, Failed> {
    Ok(walk::decode(trace)?.accesses)
}

/// How many walks all policies make together.
fn replay(trace: &[u8], plan: &Plan) -> Result<u64, Failed> {
    let answers = replay::replay(|| Ok(trace), plan)?;
    let walks = |figures: &broadleaf_bench::answers::Figures| figures.get("l2_misses").copied();
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
