//! Programs that superpages can only cost, and the file of which little is written.

use super::setting::{BASE, DEMOTION, ENTRY, IN_ORDER, MACHINE, MIB, PAGE, PROMOTION, memory};
use super::{none, percent, times};
use crate::failure::Failure;
use crate::papers::generated::{Generated, Saying, begin, end, file, map, map_file, sweep, touch};
use crate::papers::replay::{Replay, took};
use crate::papers::{Scale, Setting, Table};
use broadleaf_engine::{Files, Limits};
use broadleaf_metrics::CellResult;

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

/// A file is read throughout, and then one page in `every` is stored to.
fn stores(scale: Scale, every: usize) -> Saying {
    let bytes = bytes(scale);
    let stores = (0..bytes / PAGE)
        .step_by(every)
        .map(|page| touch(AT + page * PAGE, 0, 1));
    Box::new(
        begin(1, "demotion")
            .chain([file(1, bytes), map_file(AT, bytes, 1)])
            .chain(sweep(AT, bytes, 512, 0))
            .chain(stores)
            .chain([end()]),
    )
}

/// The slowdown of a program under superpages, in percent of its time under base pages.
struct Slowdown {
    all: f64,
    /// The part of `all` that writing page-table entries at promotions causes.
    hardware: f64,
}

fn costs(setting: &Setting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let mut table = Table::new(
        "Adversaries: what superpages cost where they cannot help",
        format!(
            "{} MB used once, all sizes against base pages, everything in memory. A promotion writes the page table entry of each base page, which takes {ENTRY} cycles; \
             the hardware's part is the slowdown that these entries cause. The last program is not in the slides: it stores to each page that it read, so each \
             demotion is in vain.",
            bytes(scale) >> 20
        ),
        &[
            "program",
            "slides: slowdown",
            "slowdown",
            "slides: hardware's",
            "hardware's",
            "misses spared",
            "promotions",
        ],
    );
    type Say = fn(Scale) -> Saying;
    let programs: [(&str, [&str; 2], Say); 3] = [
        ("one byte per page", ["8.9 %", "7.2 %"], one_byte),
        ("sequential (cmp)", ["none", "-"], cmp),
        ("all read, all stored to", ["-", "-"], |scale| {
            stores(scale, 1)
        }),
    ];
    let mut slowdowns = Vec::new();
    for (name, slides, say) in programs {
        let replay = Replay {
            watch: setting.watch,
            doing: name,
            machine: MACHINE,
            policies: &[BASE, &setting.policy("navarro", &[])],
            limits: limits(scale),
            interim: Vec::new(),
        };
        let outcome = replay.generated(Generated::new(move || say(scale)))?;
        let (base, all) = (&outcome.results[0], &outcome.results[1]);
        let promotions = all.promotions;
        let entries = entries_written(all) * ENTRY;
        let (base, all) = (took(base, setting), took(all, setting));
        let slowdown = Slowdown {
            all: 100.0 * (all.cycles / base.cycles - 1.0),
            hardware: 100.0 * entries as f64 / base.cycles,
        };
        table.row([
            name.to_owned(),
            slides[0].to_owned(),
            percent(slowdown.all),
            slides[1].to_owned(),
            percent(slowdown.hardware),
            percent(all.spares_of(base)),
            promotions.to_string(),
        ]);
        slowdowns.push(slowdown);
    }
    claims(&mut table, &slowdowns);
    Ok(table)
}

/// The number of page-table entries that promotions wrote.
///
/// In these programs promotions neither fill nor copy pages, so their cycles are those of the
/// promotions alone.
fn entries_written(result: &CellResult) -> u64 {
    let cycles = (result.memory.as_ref()).map_or(0, |memory| memory.promotion_cycles);
    cycles.saturating_sub(result.promotions * PROMOTION) / ENTRY
}

fn claims(table: &mut Table, slowdowns: &[Slowdown]) {
    let [one_byte, cmp, ..] = slowdowns else {
        return;
    };
    let rest = one_byte.all - one_byte.hardware;
    let chosen =
        "what the system's own work and the entry of a base page cost is chosen, not measured";
    table
        .direction(
            (0.0..10.0).contains(&one_byte.all),
            "a program that uses one byte of each page loses less than a tenth",
        )
        .number(8.9, one_byte.all, percent)
        .because(chosen);
    table
        .direction(
            one_byte.hardware > rest,
            "most of that is the hardware's, and the system's own work is little",
        )
        .number(7.2, one_byte.hardware, percent)
        .number(1.7, rest, percent)
        .because(chosen);
    table
        .direction(
            cmp.all < 2.0,
            "a sequential program (cmp) loses next to nothing",
        )
        .words("none", percent(cmp.all))
        .because("our cmp takes 1.5 cycles for a byte and nothing else, so that faults and promotions weigh; what theirs took for a byte, the slides do not say");
}

fn demotion(setting: &Setting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let ways = ["dirty=demote", "dirty=ignore", "dirty=digest"]
        .map(|way| setting.policy("navarro", &[way]));
    let replay = Replay {
        watch: setting.watch,
        doing: "demotion",
        machine: MACHINE,
        policies: &ways.each_ref().map(String::as_str),
        limits: limits(scale),
        interim: Vec::new(),
    };
    let outcome = replay.generated(Generated::new(move || stores(scale, 512)))?;
    let mut table = Table::new(
        "Demotion: a file of which every 512th page is stored to",
        format!(
            "{} MB, mapped shared, read throughout and then stored to once in every 512 pages; the table shows what is written back at the end. One dirty bit covers each mapping, \
             so after a store to an unbroken superpage, the whole superpage is written back. Hash digests of base pages find the changed pages as demotion does, at a cost that the slides leave to idle time.",
            bytes(scale) >> 20
        ),
        &[
            "dirty superpages",
            "slides",
            "demotions",
            "pages to write",
            "cycles (est.)",
            "in idle time",
        ],
    );
    let mut writes = [0; 3];
    let mut cycles = [0.0; 3];
    let mut idle = [0; 3];
    for (number, result) in outcome.results.iter().enumerate() {
        let Some(memory) = &result.memory else {
            continue;
        };
        writes[number] = memory.file_pages_written + memory.unsaved_file_pages;
        cycles[number] =
            took(result, setting).cycles + (memory.unsaved_file_pages * IN_ORDER) as f64;
        idle[number] = memory.daemon_cycles;
        table.row([
            ["demoted at the first store", "kept", "kept, with digests"][number].to_owned(),
            none(),
            result.demotions.to_string(),
            writes[number].to_string(),
            format!("{:.0} M", cycles[number] / 1e6),
            format!("{:.0} M", idle[number] as f64 / 1e6),
        ]);
    }
    let fewer = writes[1] as f64 / writes[0].max(1) as f64;
    table.row([
        "kept / demoted".to_owned(),
        "20x (time)".to_owned(),
        none(),
        times(fewer),
        times(cycles[1] / cycles[0].max(1.0)),
        none(),
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
    let kept = outcome.results[2].demotions == 0 && writes[2] == writes[0];
    table
        .direction(
            kept,
            "hash digests tell what is dirty, and no superpage is broken",
        )
        .words(
            "can be used to infer",
            format!("{} pages to write", writes[2]),
        );
    let demotions = outcome.results[0].demotions * DEMOTION;
    table
        .direction(
            idle[2] > 10 * demotions,
            "digests are expensive, and are left to idle time",
        )
        .words(
            "expensive",
            format!(
                "{:.0} M cycles, demotions {:.1} M",
                idle[2] as f64 / 1e6,
                demotions as f64 / 1e6
            ),
        );
    Ok(table)
}
