//! Bars that show the populations of blocks.

use broadleaf_metrics::{BlockCounts, PopulationBar, ProcessReport};

use super::{Shades, total};
use crate::number::grouped;
use crate::{Align, Cell, Grid, Style, View};

/// The length of the longest bar.
const LONGEST: u64 = 40;
/// The least length of the longest bar in a narrow terminal.
const SHORTEST: u64 = 8;

/// Returns the characters of bars of anonymous memory, shared memory and files.
const fn inks(shades: Shades) -> [char; 3] {
    match shades {
        Shades::Ascii => ['#', '=', '-'],
        Shades::Blocks => ['█', '▒', '░'],
    }
}

/// Renders the histogram: a row for each range of populations, and one for superpages.
pub(super) fn bars(process: &ProcessReport, shades: Shades, view: View) -> String {
    let inks = inks(shades);
    let rows = rows(process);
    let most = rows.iter().map(|(.., kinds)| total(*kinds)).max();
    let most = most.unwrap_or(0).max(1);
    let headings = ["anonymous", "shared", "files"];
    let mut grid = Grid::new().column("pages resident", Align::Right);
    // A kind without blocks has no column.
    let of = |kinds: BlockCounts| [kinds.anonymous, kinds.shmem, kinds.file];
    let there =
        [0, 1, 2].map(|kind| kind == 0 || rows.iter().any(|(_, kinds)| of(*kinds)[kind] > 0));
    for (kind, heading) in headings.iter().enumerate().filter(|(kind, _)| there[*kind]) {
        grid = grid.column(&format!("{heading} {}", inks[kind]), Align::Right);
    }
    let before = 14 + headings.len() as u64 * 13;
    let room = view
        .width
        .map_or(u64::MAX, |width| (width as u64).saturating_sub(before));
    let longest = room.clamp(SHORTEST, LONGEST);
    grid = grid.column("blocks", Align::Left);
    for (name, kinds) in &rows {
        let mut row = vec![Cell::from(name.clone())];
        for kind in (0..3).filter(|kind| there[*kind]) {
            row.push(grouped(of(*kinds)[kind]).into());
        }
        row.push(Cell {
            text: bar(of(*kinds), inks, most, longest),
            style: if name == HUGE {
                Style::Best
            } else {
                Style::Plain
            },
        });
        grid.row(row);
    }
    grid.render(View {
        width: None,
        ..view
    })
}

const HUGE: &str = "superpage";

fn rows(process: &ProcessReport) -> Vec<(String, BlockCounts)> {
    let of = |bar: &PopulationBar| BlockCounts {
        anonymous: bar.anonymous,
        shmem: bar.shmem,
        file: bar.file,
    };
    let mut huge = process.blocks;
    let mut rows = Vec::new();
    for bar in &process.population_histogram {
        let name = if bar.from == bar.to {
            bar.to.to_string()
        } else {
            format!("{}-{}", bar.from, bar.to)
        };
        rows.push((name, of(bar)));
        huge.anonymous = huge.anonymous.saturating_sub(bar.anonymous);
        huge.shmem = huge.shmem.saturating_sub(bar.shmem);
        huge.file = huge.file.saturating_sub(bar.file);
    }
    rows.push((HUGE.to_owned(), huge));
    rows
}

/// Returns a bar of three characters, whose length is the share of `most`. A count of one is
/// visible.
fn bar(counts: [u64; 3], inks: [char; 3], most: u64, longest: u64) -> String {
    let mut out = String::new();
    let (mut sum, mut drawn) = (0, 0);
    for (count, ink) in counts.into_iter().zip(inks) {
        sum += count;
        let until = (sum * longest).div_ceil(most).max(drawn);
        let until = if count > 0 {
            until.max(drawn + 1)
        } else {
            drawn
        };
        out.extend(std::iter::repeat_n(ink, (until - drawn) as usize));
        drawn = until;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_shows_the_least() {
        let inks = ['#', '=', '-'];
        assert_eq!(bar([0, 0, 0], inks, 10, 10), "");
        assert_eq!(bar([5, 3, 2], inks, 10, 10), "#####===--");
        assert_eq!(bar([1000, 1, 0], inks, 1001, 10), "##########=");
        assert_eq!(bar([1, 0, 0], inks, 1_000_000, 10), "#");
        assert_eq!(bar([0, 0, 10], inks, 10, 4), "----");
    }
}
