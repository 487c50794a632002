//! The page tables of a running process, built by every design from what the kernel shows.

use broadleaf_governor::{EntryRun, KernelError, Linux, ProcessId};
use broadleaf_metrics::{KernelTable, LiveTable, LiveTables, TABLES_SCHEMA};
use broadleaf_pagetable::{PAGE_TABLES, PageTableChoice, PageTableKind, WalkMeter};
use broadleaf_study::failure::Failure;
use broadleaf_study::names::unknown;
use broadleaf_study::provenance::provenance;
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId, split_outside_brackets};

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
