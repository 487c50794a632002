//! Tables 7-1 to 7-5: the cache lines that a miss handler reads in a page table.

use super::designs::{RANDOM, RESERVE};
use super::placement::ASSIGN_64K;
use super::runs::{AllResults, DesignResults};
use super::worlds::World;
use crate::failure::Failure;
use crate::papers::talluri1995::thesis::ThesisTable;
use crate::papers::{Table, none};

/// A TLB with a page table, in the world of a policy.
type WalkRun = (&'static str, &'static str);

/// One of the tables 7-1 to 7-4: a TLB, and four page tables with lines of 256 bytes.
struct LineTable {
    /// Its number in the thesis.
    number: &'static str,
    /// The name of the TLB.
    tlb: &'static str,
    policy: &'static str,
    /// The TLB of 56 blocks, beside eight that hold pages of the linear table.
    linear: &'static str,
    /// The forward-mapped table. Its walks read seven nodes whatever the TLB is, so that one TLB
    /// suffices.
    forward_mapped: Option<&'static str>,
    hashed: &'static str,
    clustered: &'static str,
}

const LINES: [LineTable; 4] = [
    LineTable {
        number: "7-1",
        tlb: "single page size",
        policy: RANDOM,
        linear: "single:entries=56,line=256,table=linear",
        forward_mapped: Some("single:entries=64,line=256,table=forward-mapped"),
        hashed: "single:entries=64,line=256,table=hashed",
        clustered: "single:entries=64,line=256,table=clustered",
    },
    LineTable {
        number: "7-2",
        tlb: "superpages",
        policy: ASSIGN_64K,
        linear: "superpage:entries=56,sizes=4k+64k,line=256,table=linear",
        forward_mapped: None,
        hashed: "superpage:entries=64,sizes=4k+64k,line=256,table=hashed",
        clustered: "superpage:entries=64,sizes=4k+64k,line=256,table=clustered",
    },
    LineTable {
        number: "7-3",
        tlb: "partial subblocks",
        policy: RESERVE,
        linear: "partial-subblock:entries=56,block=64k,preload=true,line=256,table=linear",
        forward_mapped: None,
        hashed: "partial-subblock:entries=64,block=64k,preload=true,line=256,table=hashed",
        clustered: "partial-subblock:entries=64,block=64k,preload=true,line=256,\
                    table=clustered-partial",
    },
    LineTable {
        number: "7-4",
        tlb: "complete subblocks",
        policy: RANDOM,
        linear: "complete-subblock:entries=56,block=64k,preload=true,line=256,table=linear",
        forward_mapped: None,
        hashed: "complete-subblock:entries=64,block=64k,preload=true,line=256,table=hashed",
        clustered: "complete-subblock:entries=64,block=64k,preload=true,line=256,table=clustered",
    },
];

/// A column of table 7-5: the name of the TLB and of the mappings, and the run.
const CLUSTERED: [(&str, &str, WalkRun); 8] = [
    (
        "sp_base",
        "single: base",
        (RANDOM, "single:entries=64,line=64,table=clustered"),
    ),
    (
        "sp_superpage",
        "single: superpages",
        (ASSIGN_64K, "single:entries=64,line=64,table=clustered"),
    ),
    (
        "sp_psb",
        "single: psb",
        (RESERVE, "single:entries=64,line=64,table=clustered-partial"),
    ),
    (
        "superpage_tlb",
        "superpage TLB",
        (
            ASSIGN_64K,
            "superpage:entries=64,sizes=4k+64k,line=64,table=clustered",
        ),
    ),
    (
        "psb_tlb",
        "psb TLB",
        (
            RESERVE,
            "partial-subblock:entries=64,block=64k,preload=true,line=64,table=clustered-partial",
        ),
    ),
    (
        "csb_base",
        "csb: base",
        (
            RANDOM,
            "complete-subblock:entries=64,block=64k,preload=true,line=64,table=clustered",
        ),
    ),
    (
        "csb_superpage",
        "csb: superpages",
        (
            ASSIGN_64K,
            "complete-subblock:entries=64,block=64k,preload=true,line=64,table=clustered",
        ),
    ),
    (
        "csb_psb",
        "csb: psb",
        (
            RESERVE,
            "complete-subblock:entries=64,block=64k,preload=true,line=64,table=clustered-partial",
        ),
    ),
];

/// The TLBs, each with its world.
pub(super) fn observers() -> impl Iterator<Item = (World, &'static str)> {
    let lines = LINES.iter().flat_map(|table| {
        let grids = [table.hashed, table.linear, table.clustered].into_iter();
        let grids = grids.chain(table.forward_mapped);
        grids.map(|grid| (World::plentiful(table.policy), grid))
    });
    let clustered = CLUSTERED
        .iter()
        .map(|(_, _, (policy, grid))| (World::plentiful(policy), *grid));
    lines.chain(clustered)
}

/// The lines of a run for each of its misses.
fn lines(run: &DesignResults, (policy, grid): WalkRun) -> Result<f64, Failure> {
    let counts = run.counts(World::plentiful(policy), grid)?;
    Ok(counts.lines as f64 / counts.misses.max(1) as f64)
}

/// A program's lines a miss with each page table.
struct ProgramLines {
    linear: f64,
    forward_mapped: Option<f64>,
    hashed: f64,
    clustered: f64,
    /// The linear table, whose tree is walked too.
    walked: f64,
}

impl LineTable {
    fn of(&self, run: &DesignResults) -> Result<ProgramLines, Failure> {
        let world = World::plentiful(self.policy);
        let misses = run.counts(world, self.hashed)?.misses.max(1) as f64;
        let linear = run.counts(world, self.linear)?;
        let forward_mapped = self.forward_mapped;
        let forward_mapped = forward_mapped.map(|grid| lines(run, (self.policy, grid)));
        Ok(ProgramLines {
            // Each miss of the smaller TLB reads one line of the table.
            linear: linear.misses as f64 / misses,
            forward_mapped: forward_mapped.transpose()?,
            hashed: lines(run, (self.policy, self.hashed))?,
            clustered: lines(run, (self.policy, self.clustered))?,
            walked: linear.lines as f64 / misses,
        })
    }
}

/// The number of rows for which something holds, in words, and whether it holds for all.
pub(super) fn by_row(holds: &[bool]) -> (bool, String) {
    let count = holds.iter().filter(|holds| **holds).count();
    (
        count == holds.len(),
        format!("{count} of {} rows", holds.len()),
    )
}

/// Tables 7-1 to 7-4.
pub(super) fn lines_a_miss(all: &AllResults) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Tables 7-1 to 7-4: cache lines of page tables a TLB miss",
        "TLBs of 64 blocks, lines of 256 bytes, blocks of 16 pages, superpages of 64 KiB, 4,096 \
         buckets; both subblock TLBs preload. As in the thesis, the column linear has the misses \
         of 56 blocks over those of 64, and its tree costs nothing; linear+tree reads the tree \
         too. A forward-mapped table has seven levels whatever the TLB is. Our programs have more \
         pages than the thesis's, so chains are longer. Superpages have the policy foxtrot, \
         partial subblocks page reservation, the others random frames. \
         Our hashed table of 7-3 has nodes of base pages, one probe for each page.",
        &[
            "table",
            "TLB",
            "program",
            "whose",
            "linear",
            "forward-mapped",
            "hashed",
            "clustered",
            "linear+tree",
        ],
    );
    let (mut seven, mut fewer, mut sixteen, mut near) = (vec![], vec![], vec![], vec![]);
    for lines in &LINES {
        let thesis = ThesisTable::named(lines.number)?;
        for run in &all.runs {
            let names = |program: &str, whose: &str| {
                [lines.number, lines.tlb, program, whose].map(str::to_owned)
            };
            let represents = run.program.represents;
            if thesis.rows.iter().any(|(row, _)| *row == represents) {
                let columns = thesis.columns.iter();
                let printed: Result<Vec<f64>, Failure> = columns
                    .map(|column| thesis.number(represents, column))
                    .collect();
                let cells = printed?.into_iter().map(|cell| format!("{cell:.2}"));
                let row = names(represents, "thesis").into_iter().chain(cells);
                table.row(row.chain([none()]));
            }
            let here = lines.of(run)?;
            if let Some(read) = here.forward_mapped {
                seven.push((read - 7.0).abs() < 0.005);
            }
            fewer.push(here.clustered <= here.hashed);
            near.push(here.clustered <= 2.0);
            if lines.number == "7-4" {
                sixteen.push(here.hashed >= 16.0);
            }
            let cells = [
                Some(here.linear),
                here.forward_mapped,
                Some(here.hashed),
                Some(here.clustered),
                Some(here.walked),
            ];
            let cells = cells.map(|cell| cell.map_or_else(none, |cell| format!("{cell:.2}")));
            table.row(names(run.program.name, "here").into_iter().chain(cells));
        }
    }
    for (holds, text, thesis) in [
        (
            &seven,
            "forward-mapped tables read seven lines a miss",
            "7.00",
        ),
        (
            &fewer,
            "clustered tables read no more lines than hashed ones",
            "1.00 to 1.23, and 1.00 to 48.38",
        ),
        (
            &near,
            "clustered tables read two lines a miss at most",
            "1.00 to 1.23",
        ),
        (
            &sixteen,
            "hashed tables read sixteen lines or more to preload a block",
            "16.82 to 48.38",
        ),
    ] {
        let (all, count) = by_row(holds);
        table
            .direction(all, text)
            .words(thesis, count)
            .because("the programs have more pages than buckets, and chains are longer");
    }
    Ok(table)
}

/// Table 7-5.
pub(super) fn clustered(all: &AllResults) -> Result<Table, Failure> {
    let heads = CLUSTERED.iter().map(|(_, head, _)| *head);
    let heads: Vec<&str> = ["program", "whose"].into_iter().chain(heads).collect();
    let mut table = Table::new(
        "Table 7-5: cache lines of clustered page tables a TLB miss",
        "TLBs of 64 blocks and lines of 64 bytes. The second part of a name is what the table \
         holds: base pages, superpages of 64 KiB (policy foxtrot), or partial subblocks (psb, page \
         reservation). A node of base pages takes 144 bytes, three lines; compact nodes take 24.",
        &heads,
    );
    let thesis = ThesisTable::named("7-5")?;
    let (mut bounded, mut compact) = (vec![], vec![]);
    for run in &all.runs {
        let represents = run.program.represents;
        if thesis.rows.iter().any(|(row, _)| *row == represents) {
            let printed: Result<Vec<String>, Failure> = CLUSTERED
                .iter()
                .map(|(column, ..)| Ok(format!("{:.2}", thesis.number(represents, column)?)))
                .collect();
            let names = [represents, "thesis"].map(str::to_owned);
            table.row(names.into_iter().chain(printed?));
        }
        let here: Result<Vec<f64>, Failure> = CLUSTERED
            .iter()
            .map(|(_, _, walk)| lines(run, *walk))
            .collect();
        let here = here?;
        bounded.push(here[5] >= 3.0);
        compact.push(here[2] <= here[0] && here[7] <= here[5]);
        let names = [run.program.name, "here"].map(str::to_owned);
        let cells = here.into_iter().map(|cell| format!("{cell:.2}"));
        table.row(names.into_iter().chain(cells));
    }
    for (holds, text, thesis) in [
        (
            &bounded,
            "preloading a block of base pages reads three lines or more",
            "3.00 to 3.08",
        ),
        (
            &compact,
            "partial-subblock nodes read no more lines than nodes of base pages",
            "1.00 to 1.86, and 1.61 to 3.08",
        ),
    ] {
        let (all, count) = by_row(holds);
        table
            .direction(all, text)
            .words(thesis, count)
            .because("blocks whose pages lie in several places have whole nodes");
    }
    Ok(table)
}
