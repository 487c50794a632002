//! The slides' remarks: zeroed frames, page colours, programs too small for a large superpage, and
//! very large superpages.

use super::setting::{BASE, IN_ORDER, MACHINE, MIB, PAGE, memory, plenty};
use super::{none, percent, times};
use crate::failure::Failure;
use crate::papers::generated::{Generated, Saying, begin, end, map, sweep, touch, unmap};
use crate::papers::replay::{Replay, Took, took};
use crate::papers::{Scale, Setting, Table};
use broadleaf_engine::{Limits, Outcome};
use broadleaf_trace::synth::SplitMix64;

const AT: u64 = 1 << 32;
const OTHER: u64 = 1 << 36;

pub(super) fn run(setting: &Setting) -> Result<Vec<Table>, Failure> {
    Ok(vec![
        mesa(setting)?,
        coloring(setting)?,
        too_small(setting)?,
        very_large(setting)?,
    ])
}

fn replay(
    setting: &Setting,
    doing: &str,
    machine: &str,
    policies: &[&str],
    limits: Limits,
    trace: impl Fn() -> Saying + Send + Sync + 'static,
) -> Result<Outcome, Failure> {
    let replay = Replay {
        watch: setting.watch,
        doing,
        machine,
        policies,
        limits,
        interim: Vec::new(),
    };
    replay.generated(Generated::new(trace))
}

/// Draws one picture after the other out of textures that stay mapped. Each picture has a buffer
/// that is mapped for it and unmapped with it.
fn draws(scale: Scale) -> Saying {
    const BUFFER: u64 = 128 << 10;
    const TEXTURES: u64 = 512 << 10;
    let pictures = match scale {
        Scale::Tiny => 20,
        Scale::Quick => 100,
        Scale::Full => 1000,
    };
    let one = |_| {
        let drawn = sweep(AT, BUFFER, 3000, 512);
        let read = sweep(OTHER, TEXTURES, 30_000, 0);
        [map(AT, BUFFER)]
            .into_iter()
            .chain(drawn)
            .chain(read)
            .chain([unmap(AT, BUFFER)])
    };
    Box::new(
        begin(1, "mesa")
            .chain([map(OTHER, TEXTURES)])
            .chain(sweep(OTHER, TEXTURES, 30_000, 512))
            .chain((0..pictures).flat_map(one))
            .chain([end()]),
    )
}

fn mesa(setting: &Setting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let base = "navarro(sizes=none,zeroed=40)";
    let all = setting.policy("navarro", &["zeroed=40"]);
    let outcome = replay(
        setting,
        "mesa",
        MACHINE,
        &[base, &all],
        memory(8 * MIB, IN_ORDER),
        move || draws(scale),
    )?;
    let mut table = Table::new(
        "Zeroed frames: mesa",
        "Pictures are drawn in buffers that are mapped for each. Two frames are zeroed ahead of time in 50,000 accesses, which is more than the buffers take. Base pages come from those first; reservations take \
         extents as they lie.",
        &[
            "pages",
            "zeroed in faults",
            "zeroed ahead",
            "slides",
            "slowdown",
        ],
    );
    let mut zeroed = [0; 2];
    let takes: Vec<Took> = outcome
        .results
        .iter()
        .map(|result| took(result, setting))
        .collect();
    let slowdown = 100.0 * (takes[1].cycles / takes[0].cycles - 1.0);
    for (number, result) in outcome.results.iter().enumerate() {
        let Some(memory) = &result.memory else {
            continue;
        };
        zeroed[number] = memory.zeroed_pages;
        table.row([
            ["base pages", "superpages"][number].to_owned(),
            memory.zeroed_pages.to_string(),
            memory.zeroed_ahead_pages.to_string(),
            ["-", "slows down"][number].to_owned(),
            [none(), percent(slowdown)][number].clone(),
        ]);
    }
    table
        .direction(
            zeroed[1] > zeroed[0] && slowdown > 0.0,
            "mesa slows down, as reservations do not favour zeroed frames",
        )
        .words("slows down", percent(slowdown));
    Ok(table)
}

/// Colours of the second-level cache: 4 MB, direct-mapped, indexed by physical addresses.
const COLORS: u64 = 4 * MIB / PAGE;

/// Half of the pages of a program go here and there, before another uses as many pages as there are
/// colours.
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
fn conflicts(frames: &[(broadleaf_engine::Place, u64)]) -> u64 {
    let colors = frames
        .iter()
        .filter(|(at, _)| (AT / PAGE..AT / PAGE + COLORS).contains(&at.page))
        .map(|(_, frame)| frame % COLORS);
    let pages = colors.clone().count();
    let distinct: std::collections::BTreeSet<u64> = colors.collect();
    (pages - distinct.len()) as u64
}

fn coloring(setting: &Setting) -> Result<Table, Failure> {
    let all = setting.policy("navarro", &[]);
    let outcome = replay(
        setting,
        "colours",
        MACHINE,
        &["navarro(sizes=none)", &all],
        memory(64 * MIB, IN_ORDER),
        scattered,
    )?;
    let mut table = Table::new(
        "Page colouring: frames of an array of 4 MB after others were freed here and there",
        format!(
            "A cache of 4 MB that is direct-mapped has {COLORS} colours of pages of 8 KB, and the array as many pages. A page whose frame has the colour of another's takes its place in the cache: \
             that is what page colouring avoids. Caches are not modelled beyond that."
        ),
        &[
            "policy",
            "pages of a colour that is taken",
            "what colouring could spare",
        ],
    );
    let found: Vec<u64> = outcome
        .frames
        .iter()
        .map(|frames| conflicts(frames))
        .collect();
    for (name, conflicts) in ["base pages", "superpages"].iter().zip(&found) {
        table.row([
            (*name).to_owned(),
            conflicts.to_string(),
            percent(100.0 * *conflicts as f64 / COLORS as f64),
        ]);
    }
    table
        .direction(
            found[0] > 0 && found[1] < found[0] / 10,
            "page colouring is less useful, since the frames of a superpage lie side by side",
        )
        .words(
            "less useful",
            format!(
                "{} pages in conflict, {} without superpages",
                found[1], found[0]
            ),
        );
    Ok(table)
}

/// An arena of 4 MB, of which less is ever used, in no order.
fn arena(scale: Scale) -> Saying {
    const USED: u64 = 11 * MIB / 4;
    let visits = match scale {
        Scale::Tiny => 50_000,
        Scale::Quick => 300_000,
        Scale::Full => 3_000_000,
    };
    let mut random = SplitMix64::new(4);
    let visited = (0..visits).map(move |_: u64| touch(AT + random.below(USED), 12, 0));
    Box::new(
        begin(1, "arena")
            .chain([map(AT, 4 * MIB)])
            .chain(sweep(AT, USED, 0, 512))
            .chain(visited)
            .chain([end()]),
    )
}

fn too_small(setting: &Setting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let full = setting.policy("navarro", &["sizes=4m"]);
    let first = "navarro(sizes=4m,without=full-population)";
    let all = setting.policy("navarro", &[]);
    let outcome = replay(
        setting,
        "arena",
        MACHINE,
        &[BASE, &full, first, &all],
        plenty(),
        move || arena(scale),
    )?;
    let mut table = Table::new(
        "Programs too small to fill a superpage: an arena of 4 MB of which 2.75 are used",
        "Pages of 4 MiB alone are made when full, or at the first page as the slides suggest, or all sizes are made as they fill.",
        &[
            "superpages",
            "misses spared",
            "speedup (est.)",
            "resident pages",
        ],
    );
    let base = took(&outcome.results[0], setting);
    let mut spared = Vec::new();
    let mut resident = Vec::new();
    for (name, result) in ["none", "4m", "4m, at the first page", "all sizes"]
        .iter()
        .zip(&outcome.results)
    {
        let run = took(result, setting);
        let pages = (result.memory.as_ref()).map_or(0, |memory| memory.at_peak.resident_pages);
        spared.push(run.spares_of(base));
        resident.push(pages);
        table.row([
            (*name).to_owned(),
            percent(run.spares_of(base)),
            times(run.speedup_over(base)),
            pages.to_string(),
        ]);
    }
    table
        .direction(
            spared[1] < 10.0 && spared[3] > 50.0,
            "some programs are too small to fill a large superpage, and need smaller ones",
        )
        .words(
            "too small",
            format!(
                "4m spares {}, all sizes {}",
                percent(spared[1]),
                percent(spared[3])
            ),
        );
    table
        .direction(
            spared[2] > spared[1] + 10.0 && resident[2] > resident[1],
            "the system could promote what is not full",
        )
        .words(
            "could be allowed",
            format!(
                "spares {} for {} more pages",
                percent(spared[2]),
                resident[2].saturating_sub(resident[1])
            ),
        );
    Ok(table)
}

/// A byte in each page of 4 KiB.
fn one_byte(bytes: u64) -> Saying {
    let pages = (0..bytes >> 12).map(|page| touch(AT + (page << 12), 0, 1));
    Box::new(begin(1, "one byte").chain([map(AT, bytes)]).chain(pages))
}

fn very_large(setting: &Setting) -> Result<Table, Failure> {
    let (machine, small, bytes) = match setting.scale {
        Scale::Tiny => (MACHINE, "sizes=64k", 16 * MIB),
        Scale::Quick | Scale::Full => ("skylake-1g", "sizes=2m", 1 << 30),
    };
    let policies = [
        setting.policy("navarro", &[small]),
        setting.policy("navarro", &[]),
    ];
    let limits = Limits {
        costs: broadleaf_engine::Costs::default(),
        ..memory(2 * bytes, IN_ORDER)
    };
    let names = [BASE, &policies[0], &policies[1]];
    let outcome = replay(setting, "very large", machine, &names, limits, move || {
        one_byte(bytes)
    })?;
    let mut table = Table::new(
        "Very large superpages: what they cost where they cannot help",
        format!(
            "{} MB of which one byte of each page of 4 KiB is used once, on {machine}, at what things cost there: base pages, one size of superpages, and all up to the largest.",
            bytes >> 20
        ),
        &["superpages", "largest", "promotions", "slowdown"],
    );
    let base = took(&outcome.results[0], setting);
    let mut slowdowns = Vec::new();
    for (name, result) in ["none", small, "all"].iter().zip(&outcome.results) {
        let slowdown = 100.0 * (took(result, setting).cycles / base.cycles - 1.0);
        let sizes = result.memory.iter().flat_map(|memory| &memory.page_sizes);
        let largest = sizes
            .filter(|(_, count)| **count > 0)
            .map(|(bytes, _)| bytes)
            .max();
        slowdowns.push(slowdown);
        table.row([
            (*name).to_owned(),
            largest.map_or_else(none, |bytes| format!("{} KiB", bytes >> 10)),
            result.promotions.to_string(),
            percent(slowdown),
        ]);
    }
    let (one, all) = (slowdowns[1], slowdowns[2]);
    table
        .direction(
            outcome.results[2].promotions > outcome.results[1].promotions && all < one + 2.0,
            "the system scales to very large superpages",
        )
        .words(
            "scales",
            format!("{} with all sizes, {} with one", percent(all), percent(one)),
        );
    Ok(table)
}
