//! Page colours: the frames of an array, in base pages and in superpages.

use super::{AT, OTHER, replay};
use crate::failure::Failure;
use crate::papers::generated::{Saying, begin, map, sweep, touch, unmap};
use crate::papers::navarro2002::percent;
use crate::papers::navarro2002::setting::{IN_ORDER, MACHINE, MIB, PAGE, memory};
use crate::papers::{PaperSetting, Table};
use broadleaf_metrics::CellResult;
use broadleaf_trace::synth::SplitMix64;

/// Colours of the second-level cache: 4 MB, direct-mapped, indexed by physical addresses.
const COLORS: u64 = 4 * MIB / PAGE;

/// Half of a program's pages get random frames, before another program uses as many pages as there
/// are colours.
fn scattered() -> Saying {
    const PAGES: u64 = 3000;
    let mut random = SplitMix64::new(7);
    let places = (0..PAGES).map(|page| OTHER + page * 2 * PAGE);
    let gone = places.clone().filter(move |_| random.below(2) == 0);
    let used = places.flat_map(|place| [map(place, PAGE), touch(place, 0, 1)]);
    Box::new(
        begin(1, "scattered")
            .chain(used)
            .chain(gone.map(|place| unmap(place, PAGE)))
            .chain(begin(2, "array"))
            .chain([map(AT, COLORS * PAGE)])
            .chain(sweep(AT, COLORS * PAGE, 0, 512)),
    )
}

/// The number of pages of the array that share their colour with a page before them.
fn conflicts(frames: &[(broadleaf_model::Place, u64)]) -> u64 {
    let colors = frames
        .iter()
        .filter(|(at, _)| (AT / PAGE..AT / PAGE + COLORS).contains(&at.page))
        .map(|(_, frame)| frame % COLORS);
    let pages = colors.clone().count();
    let distinct: std::collections::BTreeSet<u64> = colors.collect();
    (pages - distinct.len()) as u64
}

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let base = setting.policy("navarro", &["sizes=none"]);
    let all = setting.policy("navarro", &[]);
    let outcome = replay(
        setting,
        "colours",
        MACHINE,
        &[&base, &all],
        memory(64 * MIB, IN_ORDER),
        scattered,
    )?;
    let mut table = Table::new(
        "Page colouring: frames of an array of 4 MB after others were freed here and there",
        format!(
            "A cache of 4 MB that is direct-mapped has {COLORS} colours of pages of 8 KB, and the \
             array as many pages. A page whose frame has the colour of another's takes its place \
             in the cache: \
             that is what page colouring avoids. Caches are not modelled beyond that."
        ),
        &[
            "policy",
            "pages in superpages",
            "pages of a colour that is taken",
            "what colouring could spare",
        ],
    );
    let found: Vec<u64> = outcome
        .frames
        .iter()
        .map(|frames| conflicts(frames))
        .collect();
    let superpages: Vec<u64> = outcome.results.iter().map(in_superpages).collect();
    let both = found.iter().zip(&superpages);
    for (name, (conflicts, superpages)) in ["base pages", "superpages"].iter().zip(both) {
        table.row([
            (*name).to_owned(),
            superpages.to_string(),
            conflicts.to_string(),
            percent(100.0 * *conflicts as f64 / COLORS as f64),
        ]);
    }
    let [without, with] = [0, 1].map(|policy| found[policy]);
    table
        .direction(
            superpages[1] == COLORS && without > 0 && 10 * with < without,
            "page colouring is less useful: an array in superpages, whose frames are contiguous, \
             has less than a tenth of the conflicts",
        )
        .words(
            "less useful",
            format!("{with} pages in conflict, {without} without superpages"),
        );
    Ok(table)
}

/// The base pages in superpages at the end; only the array is large enough for superpages.
fn in_superpages(result: &CellResult) -> u64 {
    let sizes = result.memory.iter().flat_map(|memory| &memory.page_sizes);
    let large = sizes.filter(|(bytes, _)| **bytes > PAGE);
    large.map(|(bytes, count)| bytes / PAGE * count).sum()
}
