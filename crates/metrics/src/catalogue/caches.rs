//! The figures of machines with caches.

use crate::metric::{Metric, MetricFigure, cost, fact, gain};

/// The figures of one level, by its number from 1 and its place in the list of levels.
macro_rules! of_level {
    ($number:literal, $place:literal) => {
        [
            of_level!(hit, $number, $place, "data", 0, "Loads and stores"),
            of_level!(miss, $number, $place, "data", 0, "Loads and stores"),
            of_level!(hit, $number, $place, "walk", 1, "Reads of the page table"),
            of_level!(miss, $number, $place, "walk", 1, "Reads of the page table"),
            of_level!(
                hit,
                $number,
                $place,
                "instruction",
                2,
                "Fetches of instructions, by line,"
            ),
            of_level!(
                miss,
                $number,
                $place,
                "instruction",
                2,
                "Fetches of instructions, by line,"
            ),
            cost(
                concat!("cache", $number, "_written_back"),
                "lines",
                concat!(
                    "Lines that level ",
                    $number,
                    " of the caches wrote to the next level or to main memory."
                ),
                MetricFigure::Optional(|result| {
                    Some(result.caches.as_ref()?.levels.get($place)?.written_back)
                }),
            ),
            fact(
                concat!("cache", $number, "_prefetched"),
                "lines",
                concat!(
                    "Lines that level ",
                    $number,
                    " of the caches asked for ahead of a stream. Machines whose caches prefetch \
                     nothing have no such figure."
                ),
                MetricFigure::Optional(|result| {
                    let level = result.caches.as_ref()?.levels.get($place)?;
                    Some(level.prefetched).filter(|lines| *lines > 0)
                }),
            ),
        ]
    };
    (hit, $number:literal, $place:literal, $cause:literal, $index:literal, $what:literal) => {
        fact(
            concat!("cache", $number, "_", $cause, "_hits"),
            "accesses",
            concat!($what, " that hit level ", $number, " of the caches."),
            MetricFigure::Optional(|result| {
                Some(result.caches.as_ref()?.levels.get($place)?.hits[$index])
            }),
        )
    };
    (miss, $number:literal, $place:literal, $cause:literal, $index:literal, $what:literal) => {
        cost(
            concat!("cache", $number, "_", $cause, "_misses"),
            "accesses",
            concat!($what, " that missed level ", $number, " of the caches."),
            MetricFigure::Optional(|result| {
                Some(result.caches.as_ref()?.levels.get($place)?.misses[$index])
            }),
        )
    };
}

static LEVELS: [[Metric; 8]; 3] = [of_level!(1, 0), of_level!(2, 1), of_level!(3, 2)];

static CYCLES: Metric = cost(
    "cycles",
    "cycles",
    "The estimated cycles of the core, if misses overlap where its window allows. Unless the \
     machine follows the code of a trace, no instruction waits for another one. Faults, copies and \
     shootdowns take none of these cycles.",
    MetricFigure::Optional(|result| result.caches.as_ref()?.cycles),
);

static CYCLES_SERIAL: Metric = cost(
    "cycles_serial",
    "cycles",
    "The estimated cycles of the core if no two misses overlap.",
    MetricFigure::Optional(|result| result.caches.as_ref()?.serial_cycles),
);

static MISPREDICTED_BRANCHES: Metric = cost(
    "mispredicted_branches",
    "branches",
    "Branches that the modelled predictor mispredicts, on machines that follow the code of a \
     trace.",
    MetricFigure::Optional(|result| result.caches.as_ref()?.mispredicted_branches),
);

static IPC: Metric = gain(
    "ipc",
    "instructions per cycle",
    "Instructions for each of the estimated `cycles`.",
    MetricFigure::Ratio(|result| {
        let caches = result.caches.as_ref()?;
        let cycles = caches.cycles.filter(|cycles| *cycles > 0)?;
        Some(caches.instructions as f64 / cycles as f64)
    }),
);

static LLC_MPKI: Metric = cost(
    "llc_mpki",
    "misses per thousand instructions",
    "Misses of the last level of the caches, of all causes, for each thousand instructions \
     (Chen 2014, table 2).",
    MetricFigure::Ratio(|result| {
        let caches = result.caches.as_ref()?;
        caches.per_thousand(caches.last_level_misses())
    }),
);

static TLB_MPKI: Metric = cost(
    "tlb_mpki",
    "walks per thousand instructions",
    "Walks of the page table for each thousand instructions (Chen 2014, table 2).",
    MetricFigure::Ratio(|result| result.caches.as_ref()?.per_thousand(result.walks.total())),
);

static MEMORY_READS: Metric = cost(
    "memory_reads",
    "lines",
    "Lines that were read from main memory.",
    MetricFigure::Optional(|result| Some(result.caches.as_ref()?.memory_reads)),
);

static MEMORY_WRITES: Metric = cost(
    "memory_writes",
    "lines",
    "Modified lines that were written to main memory.",
    MetricFigure::Optional(|result| Some(result.caches.as_ref()?.memory_writes)),
);

static MEMORY_WAIT_CYCLES: Metric = cost(
    "memory_wait_cycles",
    "cycles",
    "Cycles that reads waited for a bank of main memory.",
    MetricFigure::Optional(|result| Some(result.caches.as_ref()?.memory_wait_cycles)),
);

static LAST_LEVEL_LINES: Metric = fact(
    "last_level_lines",
    "lines",
    "Lines of the last level of the caches that the core loaded, at the end.",
    MetricFigure::Optional(|result| Some(result.caches.as_ref()?.last_level_lines)),
);

/// The figures of a result that only machines with caches give.
pub static CACHE_METRICS: &[&Metric] = &[
    &CYCLES,
    &CYCLES_SERIAL,
    &MISPREDICTED_BRANCHES,
    &IPC,
    &LLC_MPKI,
    &TLB_MPKI,
    &LEVELS[0][0],
    &LEVELS[0][1],
    &LEVELS[0][2],
    &LEVELS[0][3],
    &LEVELS[0][4],
    &LEVELS[0][5],
    &LEVELS[0][6],
    &LEVELS[0][7],
    &LEVELS[1][0],
    &LEVELS[1][1],
    &LEVELS[1][2],
    &LEVELS[1][3],
    &LEVELS[1][4],
    &LEVELS[1][5],
    &LEVELS[1][6],
    &LEVELS[1][7],
    &LEVELS[2][0],
    &LEVELS[2][1],
    &LEVELS[2][2],
    &LEVELS[2][3],
    &LEVELS[2][4],
    &LEVELS[2][5],
    &LEVELS[2][6],
    &LEVELS[2][7],
    &MEMORY_READS,
    &MEMORY_WRITES,
    &MEMORY_WAIT_CYCLES,
    &LAST_LEVEL_LINES,
];
