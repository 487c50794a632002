//! Batches: stretches of filtered visits with their blocks and the histories of their pages.

use crate::PageId;
use crate::batch::{Batch, Incident};
use broadleaf_filter::is_seen_by_no_policy;
use broadleaf_filter::{Fed, Sifted, Stretch};
use broadleaf_memory::{BlockId, GEOMETRY};
use broadleaf_model::populate::parts;
use broadleaf_model::stream::{Refused, Stream};
use broadleaf_trace::reduced::Manner;
use broadleaf_trace::{KernelTouch, Range};
use broadleaf_units::PageNumber;

/// Returns true if a piece changes what policies see of earlier visits. Then the earlier visits
/// must be replayed first.
pub(crate) fn is_changed_by(stream: &Stream, piece: &Fed) -> bool {
    match piece {
        Fed::Visits(_, sums) => sums.data && stream.is_ending(),
        Fed::Event(event) => !is_seen_by_no_policy(event),
    }
}

/// Takes a stretch of visits in: finds their blocks and the known state of their pages, and leaves
/// both in `batch` for the teams. Their times count from the visits taken in before. The caller
/// reports their sums with [`Stream::pass`]. `timed` is true if a policy is asked at an age. `wait`
/// returns when no thread reads the address spaces as they are, before these change.
pub(crate) fn take(
    stream: &mut Stream,
    sifted: &Sifted,
    stretch: Stretch,
    batch: &mut Batch,
    timed: bool,
    wait: &mut dyn FnMut(),
) -> Result<(), Refused> {
    let (from, to) = stretch.kept;
    let visits = &sifted.kept[from..to];
    batch.begin(stream.running, visits.len());
    let begin = stream.now();
    // Two loops of few variables are faster than one of many.
    let mut any_entered = false;
    let (pages, ids, times) = (&mut batch.pages, &mut batch.ids, &mut batch.times);
    let rows = pages.iter_mut().zip(&mut *ids);
    for (visit, (own_page, id)) in visits.iter().zip(rows) {
        let page = PageNumber(visit.page);
        let (block, entered) = stream.block_of(page, wait)?;
        any_entered |= entered;
        *own_page = page;
        *id = PageId::new(block.0, GEOMETRY.offset_in_block(page) as u16);
    }
    if timed {
        times.extend(visits.iter().map(|visit| {
            // The access that a visit leads with was the last one before.
            let leads = u64::from(visit.manner.leads());
            begin.saturating_add(visit.time).saturating_sub(leads)
        }));
    }
    for (at, (visit, &id)) in visits.iter().zip(&*ids).enumerate() {
        let (block, offset) = (BlockId(id.block()), usize::from(id.offset()));
        let store = visit.manner.any_store();
        if let Some(seen) = stream.reference(block, offset, store, any_entered) {
            let incident = Incident::new(visit, at, id, begin, seen);
            batch.incidents.push(incident);
        }
    }
    let (first, last) = stretch.pages;
    batch.trail.pages.reserve(last - first);
    for &page in &sifted.trail.pages[first..last] {
        let (block, _) = stream.block_of(page, wait)?;
        batch.trail.pages.push((page, block));
    }
    if let Some(times) = sifted.trail.times.get(first..)
        && !sifted.trail.times.is_empty()
    {
        let times = times.iter().take(last + 1 - first);
        let times = times.map(|time| begin.saturating_add_signed(*time));
        batch.trail.times.extend(times);
        batch.trail.times.resize(last + 1 - first, u64::MAX);
    }
    if let Some(before) = sifted.trail.before.get(from..to) {
        let before = before.iter().map(|before| before - first as u32);
        batch.trail.before.extend(before);
    }
    Ok(())
}

/// A page whose state the kernel's access changes under every policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) page: PageNumber,
    pub(crate) incident: Incident,
    pub(crate) store: bool,
}

/// Takes a populated range in: the touches that change a page's state, in order of address.
pub(crate) fn populate(
    stream: &mut Stream,
    range: Range,
    touch: KernelTouch,
) -> Result<Vec<Touch>, Refused> {
    let mut touches = Vec::new();
    let time = stream.now();
    for part in parts(&stream.spaces, stream.running, range, touch) {
        for page in (part.pages.start..part.pages.end).map(PageNumber) {
            let (block, entered) = stream.block_of(page, &mut || {})?;
            let offset = GEOMETRY.offset_in_block(page);
            let Some(seen) = stream.reference(block, offset, part.store, entered) else {
                continue;
            };
            let incident = Incident {
                at: 0,
                block,
                offset: offset as u16,
                manner: Manner::LOAD,
                time,
                loads_before_store: 0,
                seen,
            };
            touches.push(Touch {
                page,
                incident,
                store: part.store,
            });
        }
    }
    Ok(touches)
}
