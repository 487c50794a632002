//! Programs for which superpages only cost, and a file with few stores.

use super::setting::{
    BASE, DEMOTION, ENTRY, IN_ORDER, MACHINE, MIB, NO_SLOWDOWN, ONE_BYTE, PAGE, PROMOTION, memory,
};
use super::{none, percent, times};
use crate::failure::Failure;
use crate::papers::generated::{
    GeneratedTrace, Saying, begin, end, file, map, map_file, sweep, touch,
};
use crate::papers::replay::{PaperReplay, took};
use crate::papers::{PaperSetting, Scale, Table};
use broadleaf_metrics::CellResult;
use broadleaf_model::{Files, MemoryLimits};

const AT: u64 = 1 << 32;
const OTHER: u64 = 1 << 33;

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    Ok(vec![costs(setting)?, demotion(setting)?])
}

/// The number of bytes that these programs use. The paper's file had 100 MB.
const fn bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Tiny => 16 * MIB,
        Scale::Quick => 64 * MIB,
        Scale::Full => 100 * MIB,
    }
}

/// Files are in memory, as after a first run.
fn limits(scale: Scale) -> MemoryLimits {
    MemoryLimits {
        files: Files::InMemory,
        ..memory(4 * bytes(scale), IN_ORDER)
    }
}

/// A byte in each page: superpages are made and never used.
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

/// Reads a whole file, and then stores to one page in `every`.
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
    promotions: u64,
    all: f64,
    /// The part of `all` that writing page-table entries at promotions causes.
    hardware: f64,
}

fn costs(setting: &PaperSetting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let mut table = Table::new(
        "Adversaries: what superpages cost where they cannot help",
        format!(
            "{} MB used once, all sizes against base pages, everything in memory. A promotion \
             writes the page table entry of each base page, which takes {ENTRY} cycles; \
             the hardware's part is the slowdown that these entries cause. The last program is not \
             in the slides: it stores to each page that it read, so each \
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
        let replay = PaperReplay {
            watch: setting.watch,
            doing: name,
            machine: MACHINE,
            policies: &[BASE, &setting.policy("navarro", &[])],
            limits: limits(scale),
            interim: Vec::new(),
        };
        let outcome = replay.generated(GeneratedTrace::new(move || say(scale)))?;
        let (base, all) = (&outcome.results[0], &outcome.results[1]);
        let promotions = all.promotions;
        let entries = entries_written(all) * ENTRY;
        let (base, all) = (took(base, setting), took(all, setting));
        let slowdown = Slowdown {
            promotions,
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
            one_byte.promotions > 0 && one_byte.all > 0.0 && one_byte.all < 10.0,
            "a program that uses one byte of each page gets superpages and loses by them, but less \
             than a tenth",
        )
        .number(ONE_BYTE, one_byte.all, percent)
        .because(chosen);
    table
        .direction(
            one_byte.promotions > 0 && rest > 0.0 && one_byte.hardware > rest,
            "more than half of that loss is the hardware's, the rest the system's own work",
        )
        .number(7.2, one_byte.hardware, percent)
        .number(1.7, rest, percent)
        .because(chosen);
    table
        .direction(
            cmp.promotions > 0 && cmp.all < NO_SLOWDOWN,
            format!(
                "a sequential program (cmp) gets superpages, and loses less than {NO_SLOWDOWN} \
                     percent"
            ),
        )
        .words("none", percent(cmp.all))
        .because(
            "our cmp takes 1.5 cycles for a byte and nothing else, so that faults and \
                  promotions weigh; what theirs took for a byte, the slides do not say",
        );
}

fn demotion(setting: &PaperSetting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let ways = ["dirty=demote", "dirty=ignore", "dirty=digest"]
        .map(|way| setting.policy("navarro", &[way]));
    let replay = PaperReplay {
        watch: setting.watch,
        doing: "demotion",
        machine: MACHINE,
        policies: &ways.each_ref().map(String::as_str),
        limits: limits(scale),
        interim: Vec::new(),
    };
    let outcome = replay.generated(GeneratedTrace::new(move || stores(scale, 512)))?;
    let mut table = Table::new(
        "Demotion: a file of which every 512th page is stored to",
        format!(
            "{} MB, mapped shared, read throughout and then stored to once in every 512 pages; the \
             table shows what is written back at the end. One dirty bit covers each mapping, \
             so after a store to an unbroken superpage, the whole superpage is written back. Hash \
             digests of base pages find the changed pages as demotion does, at a cost that the \
             slides leave to idle time.",
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
    let mut ways = Vec::new();
    for (name, result) in WAYS.iter().zip(&outcome.results) {
        let Some(memory) = &result.memory else {
            continue;
        };
        let way = StoreHandling {
            promotions: result.promotions,
            demotions: result.demotions,
            writes: memory.file_pages_written + memory.unsaved_file_pages,
            cycles: took(result, setting).cycles + (memory.unsaved_file_pages * IN_ORDER) as f64,
            idle: memory.daemon_cycles,
        };
        table.row([
            (*name).to_owned(),
            none(),
            way.demotions.to_string(),
            way.writes.to_string(),
            format!("{:.0} M", way.cycles / 1e6),
            format!("{:.0} M", way.idle as f64 / 1e6),
        ]);
        ways.push(way);
    }
    if let [demoted, kept, digests] = &ways[..] {
        table.row([
            "kept / demoted".to_owned(),
            "20x (time)".to_owned(),
            none(),
            times(kept.writes as f64 / demoted.writes.max(1) as f64),
            times(kept.cycles / demoted.cycles.max(1.0)),
            none(),
        ]);
        demotion_claims(&mut table, [demoted, kept, digests]);
    }
    Ok(table)
}

/// Names of the ways to handle stores to clean superpages.
const WAYS: [&str; 3] = ["demoted at the first store", "kept", "kept, with digests"];

/// The counts under one way to handle stores to clean superpages.
#[derive(Clone, Copy)]
struct StoreHandling {
    promotions: u64,
    demotions: u64,
    /// Pages written back, including the flush at the end.
    writes: u64,
    /// All cycles except idle time.
    cycles: f64,
    /// Cycles of idle time.
    idle: u64,
}

fn demotion_claims(table: &mut Table, [demoted, kept, digests]: [&StoreHandling; 3]) {
    let faster = kept.cycles / demoted.cycles.max(1.0);
    table
        .direction(
            kept.promotions > 0 && faster >= 10.0,
            "demotion at the first store is at least ten times as fast as keeping the superpage",
        )
        .number(20.0, faster, times)
        .because(
            "the slides time all that the system does; here, writes to the disk are nearly all",
        );
    table
        .direction(
            digests.promotions > 0
                && digests.demotions == 0
                && demoted.demotions > 0
                && digests.writes == demoted.writes,
            "hash digests find the pages that demotion finds, and break no superpage",
        )
        .words(
            "can be used to infer",
            format!("{} pages to write", digests.writes),
        );
    let demotions = demoted.demotions * DEMOTION;
    table
        .direction(
            demotions > 0 && digests.idle > 10 * demotions,
            "digests are expensive: in idle time they take more than ten times the cycles of \
             demotions",
        )
        .words(
            "expensive",
            format!(
                "{:.0} M cycles, demotions {:.1} M",
                digests.idle as f64 / 1e6,
                demotions as f64 / 1e6
            ),
        );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(add: impl Fn(&mut Table)) -> Vec<bool> {
        let mut table = Table::default();
        add(&mut table);
        table.claims.iter().map(|claim| claim.agrees).collect()
    }

    #[test]
    fn programs_without_superpages_show_nothing() {
        let both = |promotions, all: [f64; 2]| {
            let slowdown = |all| Slowdown {
                promotions,
                all,
                hardware: 3.0,
            };
            agree(|table| claims(table, &all.map(slowdown)))
        };
        assert_eq!(both(1, [4.6, 0.9]), [true, true, true]);
        assert_eq!(both(1, [10.1, 1.1]), [false, false, false]);
        assert_eq!(both(0, [4.6, 0.0]), [false, false, false]);
        assert!(!both(1, [0.0, 0.0])[0]);
    }

    #[test]
    fn demotion_needs_superpages_and_time() {
        let of = |promotions, demotions, cycles, idle| {
            let way = |demotions, cycles, idle| StoreHandling {
                promotions,
                demotions,
                writes: 16,
                cycles,
                idle,
            };
            let ways = [way(demotions, 1e6, 0), way(0, cycles, 0), way(0, 1e6, idle)];
            agree(|table| demotion_claims(table, ways.each_ref()))
        };
        assert_eq!(of(9, 9, 2e7, 1_000_000), [true, true, true]);
        // More pages are written, but not at ten times the cycles.
        assert_eq!(of(9, 9, 9e6, 200_000), [false, true, false]);
        assert_eq!(of(0, 0, 2e7, 1_000_000), [false, false, false]);
    }
}
