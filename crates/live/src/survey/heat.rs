//! Watches the use of a process's memory.

use std::time::Duration;

use broadleaf_governor::{
    BlockSeen, HeatMeter, HeatSource, Linux, LivePages, NoHeat, PAGES, ProcessHeat, ProcessId,
};
use broadleaf_metrics::{BlockUse, HeatReport, MappingUse};
use broadleaf_study::failure::Failure;

/// A request to watch the use of memory.
#[derive(Clone, Copy, Debug)]
pub struct HeatRequest {
    /// The span of time.
    pub window: Duration,
    /// The one source to use; the most exact that works if `None`.
    pub source: Option<HeatSource>,
}

/// The source of a name.
///
/// # Errors
/// [`Failure::Wrong`] with the names, if there is no such source.
pub fn heat_source(name: &str) -> Result<HeatSource, Failure> {
    HeatSource::parse(name).ok_or_else(|| {
        let names = HeatSource::ALL.map(HeatSource::name).join(", ");
        Failure::wrong(format!(
            "there is no source of heat {name:?}; there are: {names}"
        ))
    })
}

impl HeatRequest {
    /// Watches a process, and adds the use of its blocks to the record of its memory. Returns the
    /// record, or a sentence with the reason why there is none.
    pub(crate) fn watch(
        self,
        linux: &mut Linux,
        process: ProcessId,
        pages: &mut LivePages,
    ) -> Result<HeatReport, String> {
        let meter = HeatMeter::default();
        let sources = match &self.source {
            Some(source) => std::slice::from_ref(source),
            None => &HeatSource::ALL,
        };
        let heat = meter.measure(linux, process, pages, self.window, sources);
        let heat = heat.map_err(|refused| {
            format!(
                "which memory of process {process} is used cannot be seen: {}",
                reasons(&refused).join("; ")
            )
        })?;
        if !heat.blocks.is_empty() {
            pages.used = Some(heat.blocks.clone());
        }
        Ok(heat_report(&heat, pages))
    }
}

/// The sources that could not be used, each with its reason.
pub(crate) fn reasons(refused: &[NoHeat]) -> Vec<String> {
    refused.iter().map(ToString::to_string).collect()
}

fn heat_report(heat: &ProcessHeat, pages: &LivePages) -> HeatReport {
    let resident = |seen: &BlockSeen| match seen.huge {
        true => PAGES,
        false => u32::from(seen.present) + u32::from(seen.zero),
    };
    let blocks = heat.blocks.iter().map(|block| BlockUse {
        address: block.block * broadleaf_governor::BLOCK_BYTES,
        resident_pages: pages.block(block.block).map_or(0, resident),
        used_pages: block.used.into(),
    });
    let mappings = heat.mappings.iter().map(|mapping| MappingUse {
        start: mapping.start,
        end: mapping.end,
        name: mapping.name.clone(),
        resident_bytes: mapping.resident_bytes,
        used_bytes: mapping.referenced_bytes,
    });
    let used = heat.blocks.iter().map(|block| u64::from(block.used));
    HeatReport {
        source: heat.source.name().to_owned(),
        source_sentence: heat.source.sentence().to_owned(),
        seconds: heat.window.as_secs_f64(),
        blocks_together: heat.group,
        used_blocks: used.clone().filter(|used| *used > 0).count() as u64,
        used_bytes: used.sum::<u64>() * broadleaf_governor::PAGE_BYTES,
        blocks: blocks.collect(),
        mappings: mappings.collect(),
        not_used: reasons(&heat.refused),
    }
}
