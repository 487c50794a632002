//! Every target takes its seeds, and each target has seeds. Most seeds must reach the inside of a
//! reader, so undamaged seeds of text must be accepted.

use std::fs;
use std::path::{Path, PathBuf};

use broadleaf_fuzz::TARGETS;

/// The maximum size of a seed in bytes. A fuzzer is quick on small inputs.
const MOST_BYTES: u64 = 2048;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

/// A target of text, and its reader, which returns true if it accepts a text.
type TextReader = (&'static str, fn(&str) -> bool);

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.into_string().expect("a name"))
        .collect();
    names.sort();
    names
}

#[test]
fn each_target_takes_its_seeds() {
    for (target, run) in TARGETS {
        let folder = seeds().join(target);
        let names = names(&folder);
        assert!(!names.is_empty(), "{target} has no seeds");
        for name in names {
            println!("{target}/{name}");
            run(&fs::read(folder.join(&name)).expect("a seed"));
        }
    }
}

#[test]
fn each_target_has_a_program_and_a_folder() {
    let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(&seeds()), targets);
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
    let programs = names(&programs);
    let stems: Vec<&str> = (programs.iter())
        .filter_map(|name| name.strip_suffix(".rs"))
        .collect();
    assert_eq!(stems, targets);
}

#[test]
fn seeds_are_small() {
    for (target, _) in TARGETS {
        for name in names(&seeds().join(target)) {
            let path = seeds().join(target).join(name);
            // The links lead to the fixtures of the trace format.
            let file = fs::symlink_metadata(&path).expect("a seed");
            assert!(file.len() <= MOST_BYTES, "{path:?}");
        }
    }
}

/// Seeds of text are accepted, unless their names begin with `damaged`.
#[test]
fn seeds_are_damaged_or_not_as_their_names_say() {
    let readers: [TextReader; 10] = [
        ("buddyinfo", |text| {
            broadleaf_memory::frames::Buddyinfo::parse(text).is_ok()
        }),
        ("counters", |text| {
            broadleaf_study::perf_counters::counters(text).is_ok()
        }),
        ("experiment", |text| {
            let folder = PathBuf::from("/nonexistent");
            broadleaf_study::sweep::Experiment::parse("x.toml", text.to_owned(), folder).is_ok()
        }),
        ("journal", reads_whole),
        ("machine", |text| {
            broadleaf_machine::Machine::from_toml(text).is_ok()
        }),
        ("pagetypeinfo", |text| {
            broadleaf_memory::frames::Pagetypeinfo::parse(text).is_ok()
        }),
        ("policies", |text| broadleaf_policy::parse(text).is_ok()),
        ("policies_file", |text| {
            broadleaf_study::policies_file::parse("x.toml", text).is_ok()
        }),
        ("rules", |text| {
            let users = |name: &str| (name == "root").then_some(0);
            broadleaf_governor::service::ServiceRules::parse(text, &users).is_ok()
        }),
        ("trace_list", |text| {
            let view = broadleaf_report::View::default();
            broadleaf_study::library::list_of("x.toml", text, view).is_ok()
        }),
    ];
    for (target, accepts) in readers {
        for name in names(&seeds().join(target)) {
            let text = fs::read_to_string(seeds().join(target).join(&name)).expect("a text");
            let is_damaged = name.starts_with("damaged");
            assert_eq!(accepts(&text), !is_damaged, "{target}/{name}");
        }
    }
}

/// Each format that can be imported has a seed under its name: the byte that chooses the importer,
/// and the format's sample.
#[test]
fn each_format_has_its_sample_as_a_seed() {
    for (at, (format, _)) in broadleaf_import::importable().enumerate() {
        let name = format.described.name;
        let seed = fs::read(seeds().join("import").join(name));
        let seed = seed.unwrap_or_else(|error| panic!("{name}: {error}"));
        let (choice, sample) = seed.split_first().expect("a byte");
        assert_eq!(usize::from(*choice), at, "{name}");
        assert!(sample == format.sample, "{name}: copy the sample again");
    }
}

/// Seeds of kept entries are whole, unless their names begin with `damaged`.
#[test]
fn entries_are_damaged_or_not_as_their_names_say() {
    for name in names(&seeds().join("cache")) {
        let file = fs::File::open(seeds().join("cache").join(&name)).expect("a seed");
        let is_whole = broadleaf_study::cache::read_whole(&file).is_ok();
        assert_eq!(
            is_whole,
            !name.starts_with("damaged"),
            "cache/{name}: if the form of entries changed, compare the sample of Lackey with an \
             empty XDG_CACHE_HOME, and copy the two entries"
        );
    }
}

/// Reads a journal to its end.
fn reads_whole(text: &str) -> bool {
    let Ok((_, mut ticks)) = broadleaf_governor::journal::read(text.as_bytes()) else {
        return false;
    };
    ticks.by_ref().all(|tick| tick.is_ok()) && ticks.torn_bytes() == 0
}
