//! Prints the oracle's counts over a recording, for comparison with `broadleaf compare --format
//! json`. `counts TRACE` prints a line for each policy and figure. The program reads the recording
//! three times and never keeps it.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;

use broadleaf_oracle::{OracleCounts, OracleMachine, OracleReplay, Pace, PolicySpec, Survey};
use broadleaf_trace::{Grain, Item, TraceReader};

/// Passes every item of the trace to `take`.
fn read(path: &OsStr, mut take: impl FnMut(Grain, &Item<'_>)) -> Result<(), Box<dyn Error>> {
    let mut reader = TraceReader::new(BufReader::new(File::open(path)?))?;
    let grain = reader.header().grain;
    while let Some(item) = reader.next_item()? {
        take(grain, &item);
    }
    Ok(())
}

fn print(policy: PolicySpec, counts: &OracleCounts) {
    for (name, count) in [
        ("accesses", counts.accesses),
        ("l1_misses", counts.l1_misses),
        ("l2_misses", counts.l2_misses),
        ("walks_4k", counts.walks_4k),
        ("walks_2m", counts.walks_2m),
        ("walk_cycles", counts.walk_cycles),
        ("page_faults", counts.page_faults),
        ("promotions", counts.promotions),
        ("demotions", counts.demotions),
        ("extra_zeroed_pages", counts.extra_zeroed_pages),
        ("extra_disk_read_pages", counts.extra_disk_read_pages),
        ("false_dirty_pages", counts.false_dirty_pages),
        (
            "false_dirty_pages_anonymous",
            counts.false_dirty_pages_anonymous,
        ),
        ("false_dirty_pages_file", counts.false_dirty_pages_file),
        (
            "clean_pages_in_superpages",
            counts.clean_pages_in_superpages,
        ),
        (
            "clean_pages_in_superpages_anonymous",
            counts.clean_pages_in_superpages_anonymous,
        ),
        (
            "clean_pages_in_superpages_file",
            counts.clean_pages_in_superpages_file,
        ),
        ("touched_pages", counts.touched_pages),
        ("touched_pages_anonymous", counts.touched_pages_anonymous),
        ("touched_pages_file", counts.touched_pages_file),
        ("resident_pages", counts.resident_pages),
        ("peak_resident_pages", counts.peak_resident_pages),
        ("regions", counts.regions),
        ("regions_anonymous", counts.regions_anonymous),
        ("regions_file", counts.regions_file),
    ] {
        println!("{policy} {name} {count}");
    }
    for (reason, count) in &counts.refusals {
        println!("{policy} refusals.{reason} {count}");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: counts TRACE")?;
    let (mut survey, mut grain) = (Survey::default(), Grain::Page);
    read(&path, |of_trace, item| {
        grain = of_trace;
        survey.item(item);
    })?;
    let mut known = survey.finish();
    let start = |policy, known: &_| {
        OracleReplay::new(grain, policy, OracleMachine::Skylake, Pace::Leap, known)
    };
    let policies = PolicySpec::ALL
        .into_iter()
        .filter(|&policy| policy != PolicySpec::Foresight);
    let mut replays: Vec<_> = policies
        .map(|policy| (policy, start(policy, &known)))
        .collect();
    read(&path, |_, item| {
        replays.iter_mut().for_each(|(_, replay)| replay.item(item))
    })?;
    for (policy, replay) in replays {
        let (counts, promoted) = replay.finish();
        print(policy, &counts);
        if policy == PolicySpec::FreeBsd {
            known.promoted_by_freebsd = promoted;
        }
    }
    let mut foresight = start(PolicySpec::Foresight, &known);
    read(&path, |_, item| foresight.item(item))?;
    print(PolicySpec::Foresight, &foresight.finish().0);
    Ok(())
}
