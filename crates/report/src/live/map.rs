//! A page map: a picture of an address space with a character for each block, or for several.

use crate::printable;

/// A mapping with the populations of its blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedBlocks {
    /// The name of the mapping.
    pub name: String,
    /// The blocks with pages, by number, each with its resident base pages. `None` marks a
    /// superpage.
    pub blocks: Vec<(u64, Option<u32>)>,
}

/// An address space: its mappings in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageMap {
    /// The mappings, sorted by address.
    pub mappings: Vec<MappedBlocks>,
}

/// The characters of shades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shades {
    /// Points and marks.
    #[default]
    Ascii,
    /// Characters that are filled in part.
    Blocks,
}

impl Shades {
    /// Returns the characters for no page, some pages, a quarter of the pages, half of them, and
    /// all.
    const fn inks(self) -> [char; 5] {
        match self {
            Self::Ascii => [' ', '.', '-', '+', '#'],
            Self::Blocks => [' ', '░', '▒', '▓', '█'],
        }
    }

    /// Returns the character for a long run of empty blocks.
    const fn gap(self) -> char {
        match self {
            Self::Ascii => '~',
            Self::Blocks => '⋯',
        }
    }

    /// Returns the legend.
    fn legend(self, blocks: u64) -> String {
        let [_, some, quarter, half, all] = self.inks();
        let mean = if blocks == 1 {
            "each character is a block of 2 MiB".to_owned()
        } else {
            format!(
                "each character is {blocks} blocks ({} MiB), by what they hold on average",
                2 * blocks
            )
        };
        format!(
            "{mean}: {some} 1-127 pages, {quarter} 128-255, {half} 256-511, {all} 512, \
            {} superpage, {} nothing for long",
            PageMap::SUPERPAGE,
            self.gap()
        )
    }

    fn of(self, held: CellContents, blocks: u64) -> char {
        if held.huge * 2 > held.there {
            return PageMap::SUPERPAGE;
        }
        let inks = self.inks();
        match held.pages / blocks.max(1) {
            _ if held.pages == 0 => inks[0],
            0..128 => inks[1],
            128..256 => inks[2],
            256..512 => inks[3],
            _ => inks[4],
        }
    }
}

/// The contents of the blocks of a character.
#[derive(Clone, Copy, Debug, Default)]
struct CellContents {
    pages: u64,
    huge: u64,
    there: u64,
}

/// The length of the longest run of empty characters that is drawn in full.
const GAP: u64 = 8;
/// The width of a mapping's name, in characters.
const NAME: usize = 16;
/// The width of the address, the name and the separators.
const LABEL: usize = 14 + 1 + NAME + 1;

impl PageMap {
    /// The character of a superpage, with any shades.
    pub const SUPERPAGE: char = 'H';

    /// Renders at most `width` x `lines` characters, with a legend. Returns no lines if no block
    /// holds pages. There are more lines if there are more mappings.
    pub fn lines(&self, width: usize, lines: usize, shades: Shades) -> Vec<String> {
        let shown = self.shown(lines.saturating_sub(1).max(2));
        if shown.is_empty() {
            return Vec::new();
        }
        let room = width.saturating_sub(LABEL + 2).max(8);
        let mut scale = 1;
        let mut drawn = draw(&shown, scale, room, shades);
        while drawn.len() > lines.max(shown.len()) && scale < 1 << 40 {
            scale *= 2;
            drawn = draw(&shown, scale, room, shades);
        }
        drawn.push(shades.legend(scale));
        drawn
    }

    /// Returns the mappings that hold most, sorted by address, and all others as one.
    fn shown(&self, most: usize) -> Vec<MappedBlocks> {
        let held = |mapping: &&MappedBlocks| !mapping.blocks.is_empty();
        let mut shown: Vec<MappedBlocks> = self.mappings.iter().filter(held).cloned().collect();
        if shown.len() <= most {
            return shown;
        }
        shown.sort_by_key(|mapping| std::cmp::Reverse(mapping.blocks.len()));
        let others = shown.split_off(most - 1);
        shown.sort_by_key(|mapping| mapping.blocks.first().map(|(number, _)| *number));
        let name = format!("{} others", others.len());
        let mut blocks: Vec<_> = others.into_iter().flat_map(|other| other.blocks).collect();
        blocks.sort_unstable();
        shown.push(MappedBlocks { name, blocks });
        shown
    }
}

fn draw(mappings: &[MappedBlocks], scale: u64, room: usize, shades: Shades) -> Vec<String> {
    let mut lines = Vec::new();
    for mapping in mappings {
        let cells = cells(&mapping.blocks, scale, shades);
        for (at, line) in cells.chunks(room).enumerate() {
            let name = if at == 0 { mapping.name.as_str() } else { "" };
            let name: String = shortened(name);
            let text: String = line.iter().map(|(_, ink)| *ink).collect();
            let address = line.first().map_or(0, |(block, _)| block << 21);
            lines.push(format!("{address:#014x} {name:NAME$} |{text}|"));
        }
    }
    lines
}

/// Returns a character for each `scale` blocks, from the first to the last block with pages, with
/// the number of the first block.
fn cells(blocks: &[(u64, Option<u32>)], scale: u64, shades: Shades) -> Vec<(u64, char)> {
    let mut cells: Vec<(u64, char)> = Vec::new();
    let mut next = blocks.first().map_or(0, |(block, _)| block / scale);
    for together in blocks.chunk_by(|(one, _), (other, _)| one / scale == other / scale) {
        let cell = together[0].0 / scale;
        if cell - next > GAP {
            cells.push((next * scale, shades.gap()));
        } else {
            cells.extend((next..cell).map(|empty| (empty * scale, ' ')));
        }
        let mut held = CellContents::default();
        for (_, pages) in together {
            held.pages += u64::from(pages.unwrap_or(512));
            held.huge += u64::from(pages.is_none());
            held.there += 1;
        }
        cells.push((cell * scale, shades.of(held, scale)));
        next = cell + 1;
    }
    cells
}

fn shortened(name: &str) -> String {
    printable(name).chars().take(NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(name: &str, blocks: &[(u64, Option<u32>)]) -> MappedBlocks {
        MappedBlocks {
            name: name.to_owned(),
            blocks: blocks.to_vec(),
        }
    }

    fn map(mappings: Vec<MappedBlocks>) -> PageMap {
        PageMap { mappings }
    }

    #[test]
    fn a_character_shows_the_population_of_a_block() {
        let blocks = [
            (16, Some(1)),
            (17, Some(127)),
            (18, Some(128)),
            (19, Some(256)),
            (20, Some(511)),
            (21, Some(512)),
            (22, None),
            (24, Some(0)),
            (25, Some(512)),
            (1000, None),
        ];
        let picture = map(vec![mapping("libx.so", &blocks)]);
        assert_eq!(
            picture.lines(80, 8, Shades::Ascii),
            [
                "0x000002000000 libx.so          |..-++#H  #~H|",
                "each character is a block of 2 MiB: . 1-127 pages, - 128-255, + 256-511, # 512, \
                H superpage, ~ nothing for long",
            ]
        );
        let drawn = picture.lines(80, 8, Shades::Blocks);
        assert!(drawn[0].ends_with("|░░▒▓▓█H  █⋯H|"), "{drawn:?}");
    }

    #[test]
    fn a_large_process_is_scaled_to_the_available_lines() {
        let blocks: Vec<_> = (0..50_000).map(|block| (block, Some(300))).collect();
        let drawn = map(vec![mapping("[heap]", &blocks)]).lines(100, 8, Shades::Ascii);
        assert!(drawn.len() <= 9 && drawn.len() > 4, "{}", drawn.len());
        assert!(
            drawn[..drawn.len() - 1]
                .iter()
                .all(|line| line.chars().count() <= 100)
        );
        assert!(drawn[1].starts_with("0x"), "each line has its address");
        assert!(
            drawn
                .last()
                .unwrap()
                .starts_with("each character is 128 blocks (256 MiB)")
        );
    }

    #[test]
    fn what_does_not_fit_is_drawn_together() {
        let each = (0..30).map(|at| {
            let blocks: Vec<_> = (0..=at % 9).map(|block| (at * 100 + block, None)).collect();
            mapping("x", &blocks)
        });
        let drawn = map(each.collect()).lines(100, 8, Shades::Ascii);
        assert!(drawn.len() <= 9, "{drawn:#?}");
        assert!(drawn[6].contains(" 24 others"), "{drawn:#?}");
    }

    #[test]
    fn superpages_among_others_are_seen_where_they_are_the_most() {
        let blocks = [
            (0, None),
            (1, None),
            (2, Some(512)),
            (4, None),
            (5, Some(1)),
            (6, Some(1)),
        ];
        let cells: String = cells(&blocks, 4, Shades::Ascii)
            .iter()
            .map(|(_, ink)| *ink)
            .collect();
        assert_eq!(cells, "H-");
    }

    #[test]
    fn nothing_has_no_picture() {
        assert!(
            map(vec![mapping("x", &[])])
                .lines(80, 8, Shades::Ascii)
                .is_empty()
        );
    }
}
