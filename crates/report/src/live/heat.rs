//! The use of a process's memory in a span of time.

use broadleaf_metrics::HeatReport;

use super::{MappedBlocks, PageMap, paragraph, share};
use crate::number::{grouped, size};
use crate::printable;
use crate::{Align, Cell, Grid, Style, View};

/// The greatest number of mappings in the table.
const MAPPINGS: usize = 10;
/// The width of a mapping's name in a narrow view.
const SHORTEST_NAME: usize = 12;

/// Renders what was used, and the source of the figures. A picture follows where blocks are known.
pub(super) fn heat(heat: &HeatReport, view: View) -> String {
    let resident: u64 = heat
        .blocks
        .iter()
        .map(|block| u64::from(block.resident_pages))
        .sum();
    let resident = resident * PAGE_BYTES;
    let mut out = String::new();
    if !heat.blocks.is_empty() {
        let used = format!(
            "Used in {:.1} s: {} of {} in whole blocks ({}), in {} of {} blocks",
            heat.seconds,
            size(heat.used_bytes),
            size(resident),
            share(heat.used_bytes, resident),
            grouped(heat.used_blocks),
            grouped(heat.blocks.len() as u64),
        );
        out.push_str(&paragraph(&used, Style::Strong, view));
    }
    out.push_str(&mappings(heat, view));
    let mut source = format!("Source of use: {}. {}", heat.source, heat.source_sentence);
    if heat.blocks_together > 1 {
        source += &format!(
            " Up to {} neighbouring blocks are measured together; a longer time measures fewer.",
            grouped(heat.blocks_together)
        );
    }
    out.push_str(&paragraph(&source, Style::Faint, view));
    for no in &heat.not_used {
        out.push_str(&paragraph(
            &format!("Not available: {no}"),
            Style::Faint,
            view,
        ));
    }
    out
}

const PAGE_BYTES: u64 = 4096;
const BLOCK_BYTES: u64 = 512 * PAGE_BYTES;

/// The mappings that used most.
fn mappings(heat: &HeatReport, view: View) -> String {
    let mut most: Vec<_> = heat
        .mappings
        .iter()
        .filter(|one| one.used_bytes > 0)
        .collect();
    most.sort_by_key(|mapping| (std::cmp::Reverse(mapping.used_bytes), mapping.start));
    // Where blocks are known, the mappings add nothing.
    if most.is_empty() || !heat.blocks.is_empty() {
        return String::new();
    }
    let mut grid = Grid::new()
        .column("mapping", Align::Left)
        .cut_column("name", SHORTEST_NAME)
        .column("resident", Align::Right)
        .column("used", Align::Right)
        .column("share", Align::Right);
    for mapping in most.iter().take(MAPPINGS) {
        grid.row([
            Cell::from(format!("{:#x}", mapping.start)),
            printable(&mapping.name).into(),
            size(mapping.resident_bytes).into(),
            size(mapping.used_bytes).into(),
            share(mapping.used_bytes, mapping.resident_bytes).into(),
        ]);
    }
    let title = format!("Used in {:.1} s, by mapping:", heat.seconds);
    paragraph(&title, Style::Strong, view) + &grid.render(view)
}

/// Returns a picture of the used pages, with the mappings of the picture of the resident pages.
/// `None` if no blocks are known.
pub fn heat_map(heat: &HeatReport, resident: &PageMap) -> Option<PageMap> {
    if heat.blocks.is_empty() {
        return None;
    }
    let used = |block: u64| {
        let at = heat
            .blocks
            .binary_search_by_key(&(block * BLOCK_BYTES), |block| block.address);
        at.map_or(0, |at| heat.blocks[at].used_pages)
    };
    let mappings = resident.mappings.iter().map(|mapping| MappedBlocks {
        name: mapping.name.clone(),
        blocks: (mapping.blocks.iter())
            .map(|(block, _)| (*block, Some(used(*block))))
            .collect(),
    });
    Some(PageMap {
        mappings: mappings.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{BlockUse, MappingUse};

    fn report(blocks: &[u32]) -> HeatReport {
        let each = (1..).zip(blocks);
        let used = |used: &u32| u64::from(*used);
        HeatReport {
            source: "cooling".to_owned(),
            source_sentence: "A sentence.".to_owned(),
            seconds: 1.0,
            blocks_together: 2,
            used_blocks: blocks.iter().filter(|used| **used > 0).count() as u64,
            used_bytes: blocks.iter().map(used).sum::<u64>() * PAGE_BYTES,
            blocks: each
                .map(|(block, used)| BlockUse {
                    address: block * BLOCK_BYTES,
                    resident_pages: 512,
                    used_pages: *used,
                })
                .collect(),
            mappings: vec![MappingUse {
                start: BLOCK_BYTES,
                end: 4 * BLOCK_BYTES,
                name: "[heap]".to_owned(),
                resident_bytes: 6 << 20,
                used_bytes: 2 << 20,
            }],
            not_used: vec!["damon: DAMON is in use".to_owned()],
        }
    }

    #[test]
    fn blocks_are_a_sentence_and_a_picture() {
        let one = report(&[512, 0, 256]);
        let text = heat(&one, View::default());
        assert!(
            text.starts_with(
                "Used in 1.0 s: 3.00 MiB of 6.00 MiB in whole blocks (50.0%), in 2 of 3 blocks"
            ),
            "{text}"
        );
        assert!(text.contains("Up to 2 neighbouring blocks"), "{text}");
        assert!(
            text.contains("Not available: damon: DAMON is in use"),
            "{text}"
        );
        let resident = PageMap {
            mappings: vec![MappedBlocks {
                name: "[heap]".to_owned(),
                blocks: vec![(1, None), (2, Some(512)), (3, Some(512))],
            }],
        };
        let map = heat_map(&one, &resident).expect("a picture");
        let lines = map.lines(60, 4, crate::Shades::Ascii);
        assert!(lines[0].ends_with("|# +|"), "{lines:?}");
    }

    #[test]
    fn mappings_alone_are_a_table() {
        let mut one = report(&[]);
        one.blocks_together = 1;
        let text = heat(&one, View::default());
        assert!(text.contains("by mapping"), "{text}");
        assert!(text.contains("2.00 MiB  33.3%"), "{text}");
        assert!(heat_map(&one, &PageMap::default()).is_none());
    }
}
