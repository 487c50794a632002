//! The page tables of a running process, side by side.

use crate::grid::{Align, Grid, paragraph};
use crate::number::{grouped, size};
use crate::paint::Style;
use crate::{View, next};
use broadleaf_metrics::LiveTables;

/// Renders the tables of a process, the smallest first, and what explains the kernel's own.
pub fn live_tables(found: &LiveTables, view: View) -> String {
    let mut out = format!(
        "process {}: {} base pages and {} superpages of 2 MiB are mapped\n\n",
        found.pid,
        grouped(found.base_pages),
        grouped(found.superpages),
    );
    let mut grid = Grid::new()
        .column("page table", Align::Left)
        .column("memory", Align::Right)
        .column("of x86-64", Align::Right)
        .column("nodes", Align::Right)
        .column("nodes a walk", Align::Right)
        .column("lines a walk", Align::Right);
    let whole = found.tables.iter().find(|table| table.name == REFERENCE);
    let whole = whole.map_or(0, |table| table.bytes);
    let mut tables: Vec<_> = found.tables.iter().collect();
    tables.sort_by_key(|table| table.bytes);
    for table in tables {
        grid.row([
            table.name.clone(),
            size(table.bytes),
            format!("{:.2}", table.bytes as f64 / whole.max(1) as f64),
            grouped(table.nodes),
            format!("{:.2}", table.nodes_per_walk),
            format!("{:.2}", table.lines_per_walk),
        ]);
    }
    out.push_str(&grid.render(view));
    let kernel = &found.kernel;
    let mut parts = Grid::new()
        .column("the kernel's own table", Align::Left)
        .column("memory", Align::Right);
    let empty = match u64::try_from(kernel.empty_bytes) {
        Ok(bytes) => size(bytes),
        Err(_) => format!("-{}", size(kernel.empty_bytes.unsigned_abs())),
    };
    for (name, bytes) in [
        ("VmPTE, the tables below the root", size(kernel.bytes)),
        ("  needed for the mapped pages", size(kernel.needed_bytes)),
        (
            "  kept for each anonymous superpage",
            size(kernel.kept_bytes),
        ),
        ("  empty tables", empty),
    ] {
        parts.row([name.to_owned(), bytes]);
    }
    out.push('\n');
    out.push_str(&parts.render(view));
    if !found.synonyms.is_empty() {
        out.push('\n');
        out.push_str(&synonyms(found).render(view));
    }
    if !found.frames_known {
        out.push('\n');
        out.push_str(&paragraph(
            "The kernel shows frames to root alone. Without them, no page counts as properly \
             placed (clustered-partial) or as contiguous (ranges), and no synonym table is built.",
            Style::Plain,
            view,
        ));
    }
    out + &next(&format!("broadleaf report {}", found.pid))
}

/// The synonym tables, in the order of the catalogue.
fn synonyms(found: &LiveTables) -> Grid {
    let mut grid = Grid::new()
        .column("synonym table", Align::Left)
        .column("memory", Align::Right)
        .column("lists", Align::Right)
        .column("pointers", Align::Right)
        .column("split superpages", Align::Right)
        .column("lines a map", Align::Right)
        .column("lines a search", Align::Right);
    for table in &found.synonyms {
        grid.row([
            table.name.clone(),
            size(table.bytes),
            grouped(table.descriptors),
            grouped(table.pointers),
            grouped(table.split),
            format!("{:.2}", table.lines_per_map),
            format!("{:.2}", table.lines_per_search),
        ]);
    }
    grid
}

/// The table to which others are compared.
const REFERENCE: &str = "x86-64";
