//! The parts of a result that do not depend on a machine.

use crate::earlier::is_earlier;
use crate::stream::Stream;
use crate::{NoteAbout, ReplayNote};
use broadleaf_memory::{Counters, MemoryTotals, Touches};
use broadleaf_metrics::{CellResult, CurvePoint};
use broadleaf_policy::{Refusal, Refusals};
use broadleaf_tlb::Stacks;
use broadleaf_units::PageSize;

/// The counts of a memory, and the promotions that a policy was refused.
pub fn of_memory(
    counters: &Counters,
    totals: &MemoryTotals,
    refusals: &Refusals,
    stream: &Stream,
    base_faults: u64,
) -> CellResult {
    let Touches { pages, blocks } = stream.touches();
    let named = |(reason, count): (Refusal, u64)| (reason.name().to_string(), count);
    CellResult {
        page_faults: counters.page_faults,
        faults_saved: base_faults
            .cast_signed()
            .saturating_sub_unsigned(counters.page_faults),
        promotions: counters.promotions,
        demotions: counters.demotions,
        extra_zeroed_pages: totals.extra_zeroed_pages,
        extra_disk_read_pages: totals.extra_disk_read_pages,
        false_dirty_pages: totals.false_dirty_pages.total(),
        false_dirty_pages_anonymous: totals.false_dirty_pages.anonymous,
        false_dirty_pages_file: totals.false_dirty_pages.file,
        clean_pages_in_superpages: totals.clean_pages_in_superpages.total(),
        clean_pages_in_superpages_anonymous: totals.clean_pages_in_superpages.anonymous,
        clean_pages_in_superpages_file: totals.clean_pages_in_superpages.file,
        touched_pages: pages.total(),
        touched_pages_anonymous: pages.anonymous,
        touched_pages_file: pages.file,
        resident_pages: counters.resident,
        peak_resident_pages: counters.peak_resident,
        regions: blocks.total(),
        regions_anonymous: blocks.anonymous,
        regions_file: blocks.file,
        refusals: refusals.iter().map(named).collect(),
        ..CellResult::default()
    }
}

/// The points of a curve: the misses of TLBs of every geometry, for pages of each size.
pub fn curve_points<'s>(
    sizes: impl IntoIterator<Item = (PageSize, &'s Stacks)>,
) -> Vec<CurvePoint> {
    let points = sizes.into_iter().flat_map(|(size, stacks)| {
        stacks.misses().map(move |one| CurvePoint {
            page_size: size.bytes(),
            sets: one.sets as u64,
            ways: one.ways as u64,
            misses: one.misses,
        })
    });
    points.collect()
}

/// The notes that a reader of the numbers needs about the trace.
pub fn notes(stream: &Stream) -> Vec<ReplayNote> {
    let texts = texts(stream).into_iter();
    let notes = texts.map(|text| ReplayNote {
        about: NoteAbout::Trace,
        text,
    });
    notes.collect()
}

fn texts(stream: &Stream) -> Vec<String> {
    let mut notes = Vec::new();
    let untold: Vec<String> = stream
        .spaces
        .unlisted()
        .filter(|space| !is_earlier(*space))
        .map(|space| space.0.to_string())
        .collect();
    if stream.kernel().is_some() {
        notes.push(
            "the kernel's pages have the recorded sizes under every policy; programs' memory is \
             taken for anonymous memory of objects that are large enough"
                .to_string(),
        );
        notes.push(
            "each address space has a PCID of its own, which the recorded processor had not; the \
             recorded invalidations apply to every policy"
                .to_string(),
        );
    } else if !untold.is_empty() {
        let which = match untold.as_slice() {
            _ if !stream.summary.events => "no mapping events".to_string(),
            [one] => format!("no mapping events of address space {one}"),
            many => format!("no mapping events of address spaces {}", many.join(", ")),
        };
        notes.push(format!(
            "{which}: every block is taken for anonymous memory of an object that is large enough"
        ));
    }
    if !stream.kernel_references && stream.summary.accesses > 0 {
        notes.push("memory accesses made by the kernel are not counted".to_string());
    }
    match stream.misplaced {
        0 => {}
        1 => notes.push(
            "1 mapping lies elsewhere modulo 2 MiB than the kernel would have put it".to_string(),
        ),
        count => {
            notes.push(format!(
                "{count} mappings lie elsewhere modulo 2 MiB than the kernel would have put them"
            ));
        }
    }
    notes
}
