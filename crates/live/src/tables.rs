//! The page tables of a running process, built by every design from what the kernel shows.

use broadleaf_governor::{EntryRun, KernelError, Linux, ProcessId};
use broadleaf_metrics::{KernelTable, LiveSynonyms, LiveTable, LiveTables, TABLES_SCHEMA};
use broadleaf_pagetable::{
    PAGE_TABLES, PageTableChoice, PageTableKind, SYNONYM_TABLES, SynonymKind, WalkMeter,
};
use broadleaf_study::failure::Failure;
use broadleaf_study::names::unknown;
use broadleaf_study::provenance::provenance;
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId, split_outside_brackets};
use std::collections::BTreeSet;

/// What to build.
#[derive(Clone, Copy, Debug)]
pub struct TablesRequest<'a> {
    /// The process.
    pub pid: u32,
    /// The tables by name; all if empty.
    pub names: &'a [String],
    /// The bytes of a cache line: a power of two.
    pub line_bytes: u64,
    /// The configuration, for the provenance.
    pub configuration: &'a str,
}

/// The one address space.
const SPACE: SpaceId = SpaceId(0);

/// Builds page tables for what a process has mapped now. Changes nothing.
///
/// # Errors
/// [`Failure::Wrong`] if there is no such process or table. [`Failure::Failed`] if the process may
/// not be looked at.
pub fn tables(request: &TablesRequest<'_>) -> Result<LiveTables, Failure> {
    let kinds = kinds(request.names)?;
    let mut kernel = Linux::new();
    let process = kernel
        .all()
        .into_iter()
        .find(|process| process.pid == request.pid);
    let process =
        process.ok_or_else(|| Failure::wrong(format!("there is no process {}", request.pid)))?;
    let no = |error: KernelError| Failure::failed(format!("process {}: {error}", request.pid));
    let runs = kernel.entries(process).map_err(no)?;
    let known = kernel.kernel_tables(process).map_err(no)?;
    let (leaves, frames_known) = leaves(&kernel, process, &runs).map_err(no)?;
    let reference = built(&PageTableKind::x86_64().into(), &leaves, request.line_bytes);
    // The kernel does not count the root.
    let below_root = reference
        .level_bytes
        .split_last()
        .map_or(&[][..], |(_, below)| below);
    let needed_bytes: u64 = below_root.iter().sum();
    let kept_bytes = known.huge_bytes / PageSize::SIZE_2M.bytes() * PageSize::SIZE_4K.bytes();
    let pages = |of: fn(&EntryRun) -> bool| {
        let runs = runs.iter().filter(|run| of(run));
        runs.map(|run| run.after - run.first).sum::<u64>()
    };
    let each = kinds
        .into_iter()
        .map(|kind| built(&kind, &leaves, request.line_bytes));
    Ok(LiveTables {
        schema: TABLES_SCHEMA.to_owned(),
        pid: request.pid,
        command: kernel.describe(process).command_line,
        base_pages: pages(|run| !run.huge),
        superpages: pages(|run| run.huge) / PAGES_OF_SUPERPAGE,
        swapped_pages: pages(|run| run.swapped),
        frames_known,
        line_bytes: request.line_bytes,
        kernel: KernelTable {
            bytes: known.bytes,
            needed_bytes,
            kept_bytes,
            empty_bytes: known.bytes as i64 - (needed_bytes + kept_bytes) as i64,
        },
        tables: each.collect(),
        synonyms: match frames_known {
            true => synonyms(&mut kernel, &leaves, request.line_bytes),
            false => Vec::new(),
        },
        provenance: provenance(request.configuration),
    })
}

/// How an unknown name is refused.
const NOTHING: &str = "no page table";
const LIST: &str = "broadleaf list page-tables";

const PAGES_OF_SUPERPAGE: u64 = PageSize::SIZE_2M.bytes() / PageSize::SIZE_4K.bytes();

/// The tables of these names, with parameters in brackets, or all.
fn kinds(names: &[String]) -> Result<Vec<PageTableChoice>, Failure> {
    if names.is_empty() {
        return Ok(PAGE_TABLES.iter().map(|kind| (*kind).into()).collect());
    }
    let known = || PAGE_TABLES.iter().map(|kind| kind.described.name);
    let names = names.iter();
    let names = names.flat_map(|list| split_outside_brackets(list, ','));
    let found = names.map(|name| {
        let choice = PageTableChoice::parse(name);
        let choice = choice.map_err(|error| Failure::wrong(format!("--table: {error}")))?;
        choice.ok_or_else(|| unknown(NOTHING, name, known(), LIST))
    });
    found.collect()
}

/// The leaves of a process's page table, and whether the kernel showed their frames.
fn leaves(
    kernel: &Linux,
    process: ProcessId,
    runs: &[EntryRun],
) -> Result<(Vec<Leaf>, bool), KernelError> {
    let mut leaves = Vec::new();
    let mut frames_known = true;
    for run in runs {
        let frames = match run.swapped {
            true => Vec::new(),
            false => kernel.frames(process, run)?,
        };
        frames_known &= run.swapped || !frames.is_empty();
        let size = if run.huge {
            PageSize::SIZE_2M
        } else {
            PageSize::SIZE_4K
        };
        let step = size.bytes() / PageSize::SIZE_4K.bytes();
        for page in (run.first..run.after).step_by(step as usize) {
            let frame = frames.get((page - run.first) as usize).copied();
            leaves.push(Leaf::new(AlignedRun::around(PageNumber(page), size), frame));
        }
    }
    Ok((leaves, frames_known))
}

/// A table with these leaves, walked once for each.
fn built(choice: &PageTableChoice, leaves: &[Leaf], line_bytes: u64) -> LiveTable {
    let mut table = PageTableKind::table(choice, PageSize::SIZE_4K);
    leaves.iter().for_each(|leaf| table.map(SPACE, *leaf));
    let mut meter = WalkMeter::new(line_bytes.trailing_zeros());
    for leaf in leaves {
        table.walk(SPACE, leaf.run.first, &mut |read| meter.read(read));
        meter.end();
    }
    let (size, counts) = (table.size(), meter.counts());
    let mean = |count: u64| count as f64 / counts.walks.max(1) as f64;
    LiveTable {
        name: choice.short(),
        bytes: size.bytes(),
        level_bytes: size.levels.iter().map(|level| level.bytes).collect(),
        nodes: size.nodes(),
        nodes_per_walk: mean(counts.nodes),
        lines_per_walk: mean(counts.lines),
    }
}

/// Every synonym table with these leaves. Pages without a frame and the kernel's pages of zeroes
/// have no list, as in the kernel.
fn synonyms(kernel: &mut Linux, leaves: &[Leaf], line_bytes: u64) -> Vec<LiveSynonyms> {
    let is_huge = |leaf: &Leaf| leaf.run.pages() > 1;
    let mut has_list = |leaf: &&Leaf| {
        let frame = leaf.frame;
        frame.is_some_and(|frame| !kernel.is_zeroes(frame, is_huge(leaf)))
    };
    let listed: Vec<Leaf> = leaves.iter().filter(&mut has_list).copied().collect();
    let kinds = SYNONYM_TABLES.iter().copied();
    kinds
        .map(|kind| with_synonyms(kind, &listed, line_bytes))
        .collect()
}

/// A synonym table with these leaves, searched once for each of their frames.
fn with_synonyms(kind: &SynonymKind, leaves: &[Leaf], line_bytes: u64) -> LiveSynonyms {
    let mut table = (kind.build)(PageSize::SIZE_4K);
    let shift = line_bytes.trailing_zeros();
    let (mut maps, mut searches) = (WalkMeter::new(shift), WalkMeter::new(shift));
    for leaf in leaves {
        table.map(SPACE, *leaf, &mut |read| maps.read(read));
        maps.end();
    }
    let frames = leaves.iter().flat_map(|leaf| {
        let first = leaf.frame.unwrap_or(0);
        first..first + leaf.run.pages()
    });
    let mut most_entries = 0;
    for frame in frames.collect::<BTreeSet<u64>>() {
        let entries = table.aliases(frame, &mut |read| searches.read(read));
        most_entries = most_entries.max(entries.len() as u64);
        searches.end();
    }
    let mean = |meter: &WalkMeter| {
        let counts = meter.counts();
        counts.lines as f64 / counts.walks.max(1) as f64
    };
    let size = table.size();
    LiveSynonyms {
        name: kind.described.name.to_owned(),
        bytes: size.head_bytes() + size.pointer_bytes(),
        descriptors: size.descriptors,
        pointers: size.pointers,
        split: size.split,
        lines_per_map: mean(&maps),
        lines_per_search: mean(&searches),
        most_entries,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonym_tables_find_the_entries_of_shared_frames() {
        // A superpage on the frames 512 to 1023, whose frame 515 a base page maps too, and a frame
        // that three base pages map.
        let page = |page, frame, size| Leaf::new(AlignedRun::around(PageNumber(page), size), frame);
        let base = PageSize::SIZE_4K;
        let leaves = [
            page(1024, Some(512), PageSize::SIZE_2M),
            page(1, Some(515), base),
            page(2, Some(7), base),
            page(3, Some(7), base),
            page(4, Some(7), base),
        ];
        let mut pointers = Vec::new();
        for kind in SYNONYM_TABLES.iter().copied() {
            let found = with_synonyms(kind, &leaves, 64);
            assert_eq!(found.most_entries, 3, "{}", found.name);
            assert_eq!(
                found.bytes,
                8 * (found.descriptors + found.pointers),
                "{}",
                found.name
            );
            assert!(found.lines_per_search >= 2.0, "{found:?}");
            pointers.push((found.name, found.pointers));
        }
        let known = |name: &str| pointers.iter().find(|one| one.0 == name).map(|one| one.1);
        assert_eq!(known("synonyms-pages"), Some(512 + 4));
        assert_eq!(known("synonyms-first"), Some(5));
        assert_eq!(known("synonyms-sorted"), Some(5));
    }
}
