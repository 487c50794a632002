//! Makes records and pictures from the state of a process.

use broadleaf_governor::{
    BARS, Census, Forecast, Kinds, LiveBacking, LiveMapping, LivePages, ProcessId, ProcessSeen,
    Vitals, forecast,
};
use broadleaf_metrics::{BlockCounts, PolicyForecast, PopulationBar, ProcessReport};
use broadleaf_report::{MappedBlocks, PageMap};

/// The record of a process, with what policies of these names would do to it. A name that no policy
/// has is left out.
pub(crate) fn process_report(
    process: ProcessId,
    vitals: &Vitals,
    pages: &LivePages,
    policies: &[String],
) -> ProcessReport {
    let census = Census::of(pages);
    let foretold = policies.iter().filter_map(|name| {
        let policy = broadleaf_policy::parse(name).ok()?;
        let seen = ProcessSeen {
            id: process,
            vitals: vitals.clone(),
            headroom: None,
            pages: Some(pages.clone()),
        };
        Some(policy_forecast(forecast(policy, seen)))
    });
    ProcessReport {
        pid: process.pid,
        command: vitals.command.clone(),
        rss_bytes: vitals.rss_bytes,
        huge_bytes: census.huge_bytes(),
        blocks: counts(census.blocks()),
        population_histogram: histogram(&census),
        policies: foretold.collect(),
        heat: None,
    }
}

fn policy_forecast(forecast: Forecast) -> PolicyForecast {
    let refusals = forecast.refusals.iter();
    PolicyForecast {
        refusals: refusals
            .map(|(reason, count)| (reason.name().to_owned(), count))
            .collect(),
        policy: forecast.policy,
        would_promote: forecast.would_promote,
        added_bytes: forecast.added_bytes,
        covered_bytes: forecast.covered_bytes,
    }
}

const fn counts(kinds: Kinds) -> BlockCounts {
    BlockCounts {
        anonymous: kinds.anonymous,
        shmem: kinds.shmem,
        file: kinds.file,
    }
}

fn histogram(census: &Census) -> Vec<PopulationBar> {
    let bars = BARS.iter().zip(&census.bars);
    bars.map(|((from, to), kinds)| PopulationBar {
        from: *from,
        to: *to,
        blocks: kinds.total(),
        anonymous: kinds.anonymous,
        shmem: kinds.shmem,
        file: kinds.file,
    })
    .collect()
}

/// The blocks of each mapping, for a picture of the memory.
pub(crate) fn page_map(pages: &LivePages) -> PageMap {
    let mut mappings: Vec<MappedBlocks> = Vec::new();
    let mut last = None;
    for (mapping, seen) in pages.mapped() {
        if last != Some(mapping.start) {
            last = Some(mapping.start);
            mappings.push(MappedBlocks {
                name: name(mapping),
                blocks: Vec::new(),
            });
        }
        let pages = (!seen.huge).then_some(u32::from(seen.present));
        if let Some(mapping) = mappings.last_mut() {
            mapping.blocks.push((seen.block, pages));
        }
    }
    PageMap { mappings }
}

/// The name of a mapping: the last part of a path, or the kind of memory.
fn name(mapping: &LiveMapping) -> String {
    let path = mapping.name.trim_end_matches(" (deleted)");
    let last = path.rsplit('/').next().unwrap_or_default();
    let kind = match mapping.backing {
        LiveBacking::Anonymous => "anonymous",
        LiveBacking::Shmem => "shared",
        LiveBacking::File | LiveBacking::Other => "file",
    };
    // The kernel calls a shared mapping without a file /dev/zero.
    if last.is_empty() || path == "/dev/zero" {
        kind.to_owned()
    } else {
        last.to_owned()
    }
}
