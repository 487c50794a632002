//! Tables of two programs whose results are made up.

use broadleaf_metrics::CellResult;

use super::kept::KeptResults;
use super::policies::{FILES, FREEBSD, GREEDY, POLICIES, POP_64};
use super::programs::PROGRAMS;
use super::runs::{UNIFIED, ZhuRun, ZhuRuns};
use super::{files, guests, means, overheads, ratios, tables, unified};
use crate::papers::Table;

/// The result of a policy: DTLB misses, then zeroed pages.
fn cell(policy: &str, l1_misses: u64, extra_zeroed_pages: u64) -> CellResult {
    CellResult {
        policy: policy.to_owned(),
        machine: "skylake".to_owned(),
        l1_misses,
        l2_misses: l1_misses / 10,
        walk_cycles: l1_misses,
        page_faults: 2_000,
        extra_zeroed_pages,
        ..CellResult::default()
    }
}

/// A program whose misses fall from FreeBSD's `misses` to a half under greedy. It touches ten
/// reservations, two of them of files.
fn run(represents: &str, misses: u64, zeroed: u64) -> ZhuRun {
    let program = PROGRAMS.iter().find(|one| one.represents == represents);
    let mut cells: Vec<CellResult> = (POLICIES.iter())
        .map(|one| match one.policy {
            GREEDY => CellResult {
                promotions: 10,
                demotions: 1,
                faults_saved: 1_000,
                extra_disk_read_pages: 800,
                clean_pages_in_superpages_file: 900,
                ..cell(GREEDY, misses / 2, zeroed)
            },
            POP_64 => cell(POP_64, misses * 6 / 10, zeroed / 10),
            other => cell(other, misses, 0),
        })
        .collect();
    cells.push(CellResult {
        promotions: 2,
        ..cell(FILES, misses, 0)
    });
    let on = |machine: &str, policy, misses| CellResult {
        machine: machine.to_owned(),
        ..cell(policy, misses, 0)
    };
    let unified = UNIFIED.iter().flat_map(|machine| {
        [
            on(machine, FREEBSD, misses),
            on(machine, POP_64, misses / 4),
        ]
    });
    ZhuRun {
        program: program.expect("a program"),
        results: KeptResults {
            references: 50_000_000,
            unified: unified.collect(),
            cells,
            ..KeptResults::default()
        },
    }
}

fn runs() -> ZhuRuns {
    ZhuRuns {
        runs: vec![run("605.mcf", 1_000, 0), run("derby", 2_000, 1_600)],
        missing: vec![(&PROGRAMS[1], "/usr/bin/cc")],
    }
}

/// A row by the start of its cells.
fn row<'a>(table: &'a Table, start: &[&str]) -> Vec<&'a str> {
    let starts = |row: &&Vec<String>| row.iter().zip(start).all(|(cell, start)| cell == start);
    let found = table.rows.iter().find(starts).expect("a row");
    found.iter().map(String::as_str).collect()
}

fn agrees(table: &Table, start: &str) -> bool {
    let mut claims = table.claims.iter();
    let claim = claims.find(|claim| claim.text.starts_with(start));
    claim.expect("a claim").agrees
}

#[test]
fn means_of_ratios_and_of_pages_for_each_reservation() {
    let table = means::table(&runs()).unwrap();
    // Zeroed pages are 0 and 160 for each of ten reservations.
    let greedy = [
        "greedy", "0.53", "0.50", "0.15", "0.50", "0.14", "0.50", "347.89", "100.00", "128.48",
        "80.00",
    ];
    assert_eq!(row(&table, &["greedy"]), greedy);
    assert_eq!(row(&table, &["pop-64"])[10], "8.00");
    // Four fifths of the gain, at a tenth of the zeroing.
    assert!(agrees(&table, "pop-64 keeps most"));
    // No lifetime saves a miss, and those that pass in the traces are tested.
    assert!(agrees(&table, "life-x predicts badly"));
    let mut text = String::new();
    let life = (table.claims.iter()).find(|claim| claim.text.starts_with("life-x"));
    life.expect("a claim").write("thesis", &mut text);
    assert_eq!(text.matches("not tested").count(), 2, "{text}");
}

#[test]
fn figures_have_a_row_for_each_program_and_the_mean() {
    let table = ratios::dtlb_misses(&runs());
    assert_eq!(
        row(&table, &["simplex"])[..5],
        ["simplex", "605.mcf", "1.000", "1.000", "0.500"]
    );
    assert_eq!(row(&table, &["mean"])[4..6], ["0.500", "0.600"]);
    // Eight reservations of anonymous memory.
    let table = overheads::zeroed(&runs());
    assert_eq!(row(&table, &["derby"])[4..6], ["200.0", "20.0"]);
    let table = overheads::by_kind(&runs());
    assert_eq!(
        row(&table, &["greedy"]),
        ["greedy", "100.00", "100.00", "0.00", "400.00", "450.00"]
    );
}

#[test]
fn pages_of_files_are_divided_by_reservations_of_files() {
    let table = files::overheads(&runs()).unwrap();
    assert_eq!(
        row(&table, &["derby", "disk reads", "thesis"])[3..5],
        ["264.8", "67.6"]
    );
    assert_eq!(
        row(&table, &["derby", "disk reads", "here"])[3..5],
        ["400.0", "0.0"]
    );
    assert_eq!(row(&table, &["derby", "false dirty", "here"])[3], "450.0");
    let table = files::reservations(&runs()).unwrap();
    assert_eq!(row(&table, &["derby"]), ["derby", "derby", "5", "2", "10"]);
}

#[test]
fn unified_dtlbs_are_compared_with_the_split_one() {
    let table = unified::table(&runs()).unwrap();
    let split = row(&table, &["64(4KB)+32(2MB)"]);
    assert_eq!(split[1..], ["1.00", "1.00", "0.25", "0.60"]);
    assert_eq!(
        row(&table, &["96(4KB/2MB)"])[1..],
        ["0.71", "1.00", "0.10", "0.25"]
    );
    assert!(agrees(&table, "superpages promoted early"));
    let table = unified::table(&ZhuRuns::default()).unwrap();
    assert!(table.claims[0].is_not_shown);
}

#[test]
fn programs_that_are_missing_and_superpages_that_break() {
    let table = tables::programs(&runs()).unwrap();
    let missing = row(&table, &["gcc"]);
    assert!(
        missing[7].contains("no /usr/bin/cc; install gcc"),
        "{missing:?}"
    );
    let table = tables::broken(&runs());
    assert_eq!(row(&table, &["all"])[1..4], ["20", "2", "10.0"]);
    let table = tables::not_produced(false);
    assert!(table.rows.iter().all(|row| row.len() == 2));
    // A guest gives one part.
    assert_eq!(tables::not_produced(true).rows.len() + 1, table.rows.len());
}

/// Programs in a guest are beside the same programs in user mode; policies without a result have no
/// figure.
#[test]
fn programs_in_a_guest_are_beside_user_mode() {
    let all = ZhuRuns {
        runs: vec![run("gups", 2_000, 0)],
        missing: Vec::new(),
    };
    let in_guest = guests::GuestRuns(vec![run("gups", 1_000, 160)]);
    let table = guests::recordings(&all, &in_guest);
    let cells = row(&table, &["updates"]);
    assert_eq!(
        cells[2..7],
        ["50,000,000", "50,000,000", "10", "10", "each block"]
    );
    let table = guests::policies_in_guests(&all, &in_guest);
    let greedy = row(&table, &["updates", "greedy"]);
    assert_eq!(greedy[2..4], ["0.50", "0.50"]);
    assert_eq!(greedy[10..], ["0.00", "16.00"]);
    assert_eq!(table.rows.len(), 17, "foresight is left out");
    assert!(agrees(&table, "with kernel references"));
    let none = guests::policies_in_guests(&all, &guests::GuestRuns(Vec::new()));
    assert!(none.rows.is_empty() && none.claims.is_empty());
}
