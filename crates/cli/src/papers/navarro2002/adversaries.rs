//! Programs that superpages can only cost, and the file of which little is written.

use super::setting::{BASE, IN_ORDER, MACHINE, MIB, PAGE, memory};
use super::{none, percent, times};
use crate::failure::Failure;
use crate::papers::generated::{Generated, Saying, begin, end, file, map, map_file, sweep, touch};
use crate::papers::replay::{Replay, took};
use crate::papers::{Scale, Setting, Table};
use broadleaf_engine::{Files, Limits};

const AT: u64 = 1 << 32;
const OTHER: u64 = 1 << 33;

pub(super) fn run(setting: &Setting) -> Result<Vec<Table>, Failure> {
    Ok(vec![costs(setting)?, demotion(setting)?])
}

/// How many bytes these programs use. The paper's file had 100 MB.
const fn bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Tiny => 16 * MIB,
        Scale::Quick => 64 * MIB,
        Scale::Full => 100 * MIB,
    }
}

/// Files stand in memory, as after a first run.
fn limits(scale: Scale) -> Limits {
    Limits {
        files: Files::InMemory,
        ..memory(4 * bytes(scale), IN_ORDER)
    }
}

/// A byte in each page, so that superpages are made and never used.
fn one_byte(scale: Scale) -> Saying {
    let pages = bytes(scale) / PAGE;
    let bytes = (0..pages).map(|page| touch(AT + page * PAGE, 0, 1));
    Box::new(
        begin(1, "one byte")
            .chain([map(AT, pages * PAGE)])
            .chain(bytes)
            .chain([end()]),
    )
}

/// Two files from end to end, side by side, a byte at a time.
fn cmp(scale: Scale) -> Saying {
    let bytes = bytes(scale);
    let mapped = [
        file(1, bytes),
        file(2, bytes),
        map_file(AT, bytes, 1),
        map_file(OTHER, bytes, 2),
    ];
    let pairs = sweep(AT, bytes, 4096, 0).zip(sweep(OTHER, bytes, 4096, 0));
    let read = pairs.flat_map(|(one, other)| [one, other]);
    Box::new(begin(1, "cmp").chain(mapped).chain(read).chain([end()]))
}

/// A file is read throughout, and then stored to here and there.
fn sparse_stores(scale: Scale) -> Saying {
    let bytes = bytes(scale);
    let stores = (0..bytes / PAGE)
        .step_by(512)
        .map(|page| touch(AT + page * PAGE, 0, 1));
    Box::new(
        begin(1, "demotion")
            .chain([file(1, bytes), map_file(AT, bytes, 1)])
            .chain(sweep(AT, bytes, 512, 0))
            .chain(stores)
            .chain([end()]),
    )
}

fn costs(setting: &Setting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let mut table = Table::new(
        "Adversaries: what superpages cost where they cannot help",
        format!(
            "{} MB used once, all sizes against base pages, everything in memory. The slides lay 7.2 of the 8.9 percent to the hardware, which wants the entry of each base page \
             written at a promotion; here a promotion costs 3000 cycles whatever its size.",
            bytes(scale) >> 20
        ),
        &[
            "program",
            "slides: slowdown",
            "slowdown",
            "misses spared",
            "promotions",
        ],
    );
    type Say = fn(Scale) -> Saying;
    let programs: [(&str, &str, Say); 2] = [
        ("one byte per page", "8.9 %", one_byte),
        ("sequential (cmp)", "none", cmp),
    ];
    for (name, slides, say) in programs {
        let replay = Replay {
            doing: name,
            machine: MACHINE,
            policies: &[BASE, &setting.policy("navarro", &[])],
            limits: limits(scale),
            interim: Vec::new(),
        };
        let outcome = replay.generated(Generated::new(move || say(scale)))?;
        let (base, all) = (&outcome.results[0], &outcome.results[1]);
        let promotions = all.promotions;
        let (base, all) = (took(base, setting), took(all, setting));
        let slowdown = 100.0 * (all.cycles / base.cycles - 1.0);
        table.row([
            name.to_owned(),
            slides.to_owned(),
            percent(slowdown),
            percent(all.spares_of(base)),
            promotions.to_string(),
        ]);
        table
            .direction(
                slowdown < 10.0,
                format!("{name} loses less than ten percent"),
            )
            .words(slides, percent(slowdown));
    }
    Ok(table)
}

fn demotion(setting: &Setting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let replay = Replay {
        doing: "demotion",
        machine: MACHINE,
        policies: &["navarro(dirty=demote)", "navarro(dirty=ignore)"],
        limits: limits(scale),
        interim: Vec::new(),
    };
    let outcome = replay.generated(Generated::new(move || sparse_stores(scale)))?;
    let mut table = Table::new(
        "Demotion: a file of which every 512th page is stored to",
        format!(
            "{} MB, mapped shared, read throughout and then stored to once in every 512 pages; what would have to be written back when all is flushed at the end. With one dirty bit for each mapping, \
             a store to a superpage that is not broken makes all of it to be written.",
            bytes(scale) >> 20
        ),
        &[
            "dirty superpages",
            "slides",
            "demotions",
            "pages to write",
            "cycles (est.)",
        ],
    );
    let mut writes = [0; 2];
    let mut cycles = [0.0; 2];
    for (number, result) in outcome.results.iter().enumerate() {
        let Some(memory) = &result.memory else {
            continue;
        };
        writes[number] = memory.file_pages_written + memory.unsaved_file_pages;
        cycles[number] =
            took(result, setting).cycles + (memory.unsaved_file_pages * IN_ORDER) as f64;
        table.row([
            ["demoted at the first store", "kept"][number].to_owned(),
            none(),
            result.demotions.to_string(),
            writes[number].to_string(),
            format!("{:.0} M", cycles[number] / 1e6),
        ]);
    }
    let fewer = writes[1] as f64 / writes[0].max(1) as f64;
    table.row([
        "kept / demoted".to_owned(),
        "20x (time)".to_owned(),
        none(),
        times(fewer),
        times(cycles[1] / cycles[0].max(1.0)),
    ]);
    table
        .direction(
            fewer >= 10.0 && cycles[1] > cycles[0],
            "demotion at the first store is an order of magnitude faster",
        )
        .number(20.0, cycles[1] / cycles[0].max(1.0), times)
        .because(
            "the slides time all that the system does; here, writes to the disk are nearly all",
        );
    Ok(table)
}
