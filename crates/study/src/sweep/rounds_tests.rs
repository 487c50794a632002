use super::super::tests::{folder, read, rows, swept};
use super::super::{DataSet, Experiment, SweepTask, plan};
use super::*;
use crate::output::shown;
use crate::testing::decodings;
use crate::watch::Unwatched;

const MEMORIES: &str = "\
policies = [\"4k\", \"pop-64\", \"navarro\"]

[[memory]]

[[memory]]
size = [\"16M\", \"8M\"]
seed = \"1..2\"
fragmentation = \"50%\"
";

/// The passes of each file of results.
fn passes(folder: &Path) -> Vec<u64> {
    let facts = DataSet::new(&folder.join("out")).facts("grid");
    facts.iter().map(|facts| facts.passes).collect()
}

fn experiment(text: &str) -> (tempfile::TempDir, Experiment) {
    let folder = folder(text);
    let experiment = read(folder.path()).expect("an experiment");
    (folder, experiment)
}

fn number_of_rounds(text: &str, room: Option<u64>) -> Vec<usize> {
    let (_folder, experiment) = experiment(text);
    let all = experiment.cells_of("a.bl", "").expect("cells");
    let replays = all.replays(&all.cells.iter().map(|cell| cell.key.clone()).collect());
    let rounds = rounds(&replays, &all, room);
    rounds.iter().map(Vec::len).collect()
}

#[test]
fn one_pass_serves_all_memories_and_a_share_of_the_footprint_needs_one_before() {
    for (text, expected) in [
        (MEMORIES.to_owned(), 1),
        (MEMORIES.replace("16M", "50%"), 2),
        (MEMORIES.replace("\"16M\", \"8M\"", "\"50%\", \"90%\""), 2),
    ] {
        let folder = folder(&format!(
            "traces = \"*.bl\"\nmachines = \"skylake, zen4\"\n{text}"
        ));
        assert_eq!(swept(folder.path(), "out").computed, 2 * 3 * 2 * 5);
        // The policy navarro begins no other pass.
        assert_eq!(passes(folder.path()), [expected, expected], "{text}");
    }
}

#[test]
fn replays_side_by_side_equal_replays_alone() {
    const MACHINES: &str = "traces = \"*.bl\"\nmachines = \"skylake, zen4\"\n";
    // The policy `offline` reads the trace more than once.
    for (policies, count) in [("4k,pop-64,navarro", 3), ("offline,4k", 2)] {
        let policies = format!("policies = \"{policies}\"\n");
        let (_, memories) = MEMORIES.split_once('\n').expect("lines");
        let together = folder(&format!("{MACHINES}{policies}{memories}"));
        swept(together.path(), "out");
        // One memory at a time, in which all replays have frames, is one replay at a time.
        let alone = folder(MACHINES);
        let sized = |size, seed| {
            format!("[memory]\nsize = \"{size}\"\nseed = {seed}\nfragmentation = \"50%\"\n")
        };
        let sizes = [("16M", 1), ("16M", 2), ("8M", 1), ("8M", 2)].map(|(a, b)| sized(a, b));
        for memory in sizes.iter().chain([&String::new()]) {
            let text = format!("{MACHINES}{policies}{memory}");
            std::fs::write(alone.path().join("grid.toml"), text).expect("written");
            swept(alone.path(), "out");
        }
        let [together, alone] = [&together, &alone].map(|folder| rows(&folder.path().join("out")));
        assert_eq!(together.len(), 2 * count * 2 * 5);
        assert!(together == alone, "{policies}");
    }
}

#[test]
fn no_replay_decodes_the_trace_on_its_own() {
    let (folder, experiment) = experiment(&format!("traces = \"a.bl\"\n{MEMORIES}"));
    let pages = (0..400_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9) % 4_001);
    let bytes = crate::testing::recording("a", pages);
    std::fs::write(folder.path().join("a.bl"), &bytes).expect("written");
    let data = DataSet::new(folder.path());
    let planned = plan(&experiment, &data, &Unwatched).expect("a plan");
    let task: &SweepTask = &planned.tasks[0];
    assert_eq!(task.jobs, 6);
    let name = shown(&task.path);
    let before = decodings(&name);
    task.run(NonZero::new(2), NonZero::<usize>::MIN, None, &Unwatched)
        .expect("results");
    let all = decodings(&name) - before;
    // One replay asks as often: for each part, and at the end.
    let text = "traces = \"a.bl\"\npolicies = \"4k\"\n";
    std::fs::write(folder.path().join("grid.toml"), text).expect("written");
    let one = read(folder.path()).expect("an experiment");
    let alone = plan(&one, &data, &Unwatched).expect("a plan");
    let run = alone.tasks[0].run(NonZero::new(2), NonZero::<usize>::MIN, None, &Unwatched);
    run.expect("results");
    assert!(all > 0);
    assert_eq!(all, decodings(&name) - before - all);
}

#[test]
fn replays_that_are_too_large_together_have_passes_of_their_own() {
    let text = format!("traces = \"a.bl\"\nmachines = \"skylake\"\n{MEMORIES}");
    assert_eq!(number_of_rounds(&text, None), [6]);
    assert_eq!(number_of_rounds(&text, Some(3 * REPLAY_BYTES)), [2, 2, 2]);
    assert_eq!(number_of_rounds(&text, Some(0)), [1; 6]);
    let seeds = text.replace("1..2", "1..40");
    assert_eq!(number_of_rounds(&seeds, None), [32, 32, 18]);
    let shares = text.replace("\"16M\", \"8M\"", "\"50%\"");
    assert_eq!(number_of_rounds(&shares, None), [3, 2]);
}

/// A line of code, a line of data, and so on; two in a row are of one line of data. The trace has
/// several parts.
fn fetching() -> Vec<u8> {
    let mut header = crate::testing::header();
    header.grain = broadleaf_trace::Grain::Line;
    header.options.instruction_counts = true;
    header.options.instruction_pages = true;
    let mut encoder = broadleaf_trace::Encoder::new(Vec::new(), &header).expect("a head");
    encoder
        .event(&crate::testing::started("x"))
        .expect("an event");
    for number in 0..120_000_u64 {
        let code = broadleaf_trace::Visit {
            unit: (0x40_0000 + number * 7919 % 300 * 4096) >> 6,
            instructions: 3,
            fetch: true,
            ..broadleaf_trace::Visit::default()
        };
        let data = broadleaf_trace::Visit {
            unit: (crate::testing::START + number / 2 * 7877 % 900 * 4096) >> 6,
            loads: 1,
            loads_before_store: 1,
            ..broadleaf_trace::Visit::default()
        };
        encoder.visits(&[code, data]).expect("visits");
    }
    encoder.finish().expect("a trace")
}

#[test]
fn a_machine_that_fetches_changes_no_cell_of_another() {
    let machines = ["skylake", "skylake-instructions", "chen2014-1core"];
    let text = |machines: &str| {
        format!("traces = \"f.bl\"\nmachines = \"{machines}\"\n{MEMORIES}")
            .replace(", \"navarro\"", "")
    };
    let [together, alone] = [machines.join(","), "skylake".to_owned()].map(|names| {
        let folder = folder("traces = \"a.bl\"\n");
        std::fs::write(folder.path().join("f.bl"), fetching()).expect("written");
        std::fs::write(folder.path().join("grid.toml"), text(&names)).expect("written");
        swept(folder.path(), "out");
        folder
    });
    for machine in &machines[1..] {
        std::fs::write(alone.path().join("grid.toml"), text(machine)).expect("written");
        swept(alone.path(), "out");
    }
    assert_eq!(passes(together.path()), [1]);
    let [together, alone] = [&together, &alone].map(|folder| rows(&folder.path().join("out")));
    assert_eq!(together.len(), 2 * 3 * 5);
    assert!(together == alone);
}
