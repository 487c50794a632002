use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use broadleaf_machine::{Machine, machine};
use broadleaf_trace::reduced::{
    KeptVisit, Manner, ReducedHeader, ReducedReader, ReducedWriter, Sums,
};
use broadleaf_units::{BlockNumber, SpaceId};

use super::{KeptValue, ReducedFacts, TraceCache, TraceContent, size_in};
use crate::source::origin::{Origin, PassCount};
use crate::source::reduced::{family, hash};

/// A cache folder, and traces beside it.
struct CacheFolder(tempfile::TempDir);

impl CacheFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn cache(&self, limit: u64) -> TraceCache {
        TraceCache::new(self.0.path().join("caches").join("broadleaf"), limit)
    }

    /// A trace of this many bytes, all alike: the cache does not look into traces.
    fn trace(&self, name: &str, byte: u8) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, [byte; 5000]).expect("a trace");
        path
    }
}

fn skylake() -> Vec<Machine> {
    vec![machine("skylake").expect("a machine")]
}

fn part(page: u64) -> Vec<u8> {
    let to = ReducedWriter::new(Vec::new(), &ReducedHeader::default());
    let mut writer = to.expect("a writer");
    let visit = KeptVisit {
        page,
        time: 0,
        loads_before_store: 0,
        manner: Manner::LOAD,
    };
    let sums = Sums {
        loads: 1,
        data: true,
        ..Sums::default()
    };
    writer.visits(&[visit], &sums).expect("written");
    writer.finish().expect("written").0
}

fn facts(trace: &Path, machines: &[Machine]) -> ReducedFacts {
    ReducedFacts {
        path: trace.display().to_string(),
        hash: hash(File::open(trace).expect("a trace")).expect("a hash"),
        bytes: trace.metadata().expect("a trace").len(),
        accesses: 2,
        filter: broadleaf_filter::filter_in_words(),
        family: family(machines).to_string(),
        foreseen: BTreeMap::from([("freebsd".to_owned(), vec![(0, 5, 2)])]),
    }
}

fn keep(cache: &TraceCache, trace: &Path) {
    let kept = cache.keep(&facts(trace, &skylake()), &[part(1), part(2)]);
    kept.expect("it can be written");
}

/// The reduced form that the cache has, as bytes.
fn found(cache: &TraceCache, trace: &Path, machines: &[Machine]) -> Option<Vec<u8>> {
    let origin = Origin::open(trace, PassCount::One, false).expect("a trace");
    let mut bytes = Vec::new();
    let mut entry = cache.find(&origin, machines, None)?.origin;
    assert_eq!(entry.size(), Some(5000), "limits go by the trace's size");
    entry.bytes().unwrap().read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

fn set_used(path: &Path, ago: u64) {
    let time = SystemTime::now() - Duration::from_secs(ago);
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// A kept trace comes back as one reduced trace of all parts, and only the user can read its entry.
#[test]
fn what_is_kept_is_found() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    assert!(found(&cache, &trace, &skylake()).is_none());
    keep(&cache, &trace);
    let bytes = found(&cache, &trace, &skylake()).expect("an entry");
    let mut reader = ReducedReader::new(&*bytes).unwrap();
    assert_eq!(reader.header().trace, facts(&trace, &skylake()).hash);
    let mut parts = 0;
    while reader.next_part().unwrap().is_some() {
        parts += 1;
    }
    assert_eq!(parts, 2);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(cache.folder()), 0o700);
    assert_eq!(mode(&cache.files()[0]), 0o600);
    // A copy of the trace has the same content, and its entry.
    let copy = place.0.path().join("copy");
    fs::copy(&trace, &copy).unwrap();
    assert!(found(&cache, &copy, &skylake()).is_some());
}

/// An entry brings the promotions along that its comparison found, unless they take too much room.
#[test]
fn promotions_that_others_foresee_are_found() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    let foreseen = |runs: Vec<(u32, u64, u64)>| {
        let policy = "freebsd".to_owned();
        let facts = ReducedFacts {
            foreseen: BTreeMap::from([(policy.clone(), runs)]),
            ..facts(&trace, &skylake())
        };
        cache.keep(&facts, &[part(1)]).expect("it can be written");
        let origin = Origin::open(&trace, PassCount::One, false).expect("a trace");
        let mut entry = cache.find(&origin, &skylake(), None).expect("an entry");
        entry.foreseen.remove(&policy)
    };
    let blocks = foreseen(vec![(3, 5, 2)]).expect("promotions");
    assert_eq!(blocks.len(), 2);
    assert!(blocks.contains(&(SpaceId(3), BlockNumber(6))));
    let many = (0..1 << 16).map(|block| (1, 2 * block, 1));
    assert_eq!(foreseen(many.collect()), None);
}

/// Content of the same length is no key, whatever the times of the file say. Once the changed trace
/// is kept, the entry of the old content is gone.
#[test]
fn changed_content_is_not_accepted() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    keep(&cache, &trace);
    let time = trace.metadata().unwrap().modified().unwrap();
    place.trace("a", 2);
    File::open(&trace).unwrap().set_modified(time).unwrap();
    assert!(found(&cache, &trace, &skylake()).is_none());
    let old = cache.files();
    keep(&cache, &trace);
    assert!(found(&cache, &trace, &skylake()).is_some());
    assert_eq!(cache.files().len(), 1);
    assert_ne!(cache.files(), old);
}

/// The whole hash counts, and not only its part in the entry's name.
#[test]
fn an_entry_under_another_name_does_not_serve() {
    let place = CacheFolder::new();
    let cache = place.cache(1 << 20);
    let traces = [place.trace("a", 1), place.trace("b", 2)];
    keep(&cache, &traces[0]);
    let of_first = cache.files()[0].clone();
    let bytes = fs::read(&of_first).unwrap();
    fs::remove_file(&of_first).unwrap();
    keep(&cache, &traces[1]);
    let of_second = cache.files()[0].clone();
    fs::write(&of_second, bytes).unwrap();
    assert!(found(&cache, &traces[1], &skylake()).is_none());
    fs::rename(&of_second, &of_first).unwrap();
    assert!(found(&cache, &traces[0], &skylake()).is_some());
}

/// Machines with other first levels, and entries of another filter, do not serve.
#[test]
fn another_fingerprint_does_not_serve() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    let both = ["skylake", "skylake-va23"].map(|name| machine(name).expect("a machine"));
    keep(&cache, &trace);
    assert!(found(&cache, &trace, &both[1..]).is_none());
    assert!(found(&cache, &trace, &both).is_none());
    // An entry for both takes the place of the one for skylake, and serves each.
    cache.keep(&facts(&trace, &both), &[part(1)]).unwrap();
    assert_eq!(cache.files().len(), 1);
    for machines in [&both[..], &both[1..], &both[..1]] {
        assert!(found(&cache, &trace, machines).is_some());
    }
    let older = ReducedFacts {
        filter: "filter 0".to_owned(),
        ..facts(&trace, &skylake())
    };
    cache.clear().unwrap();
    cache.keep(&older, &[part(1)]).unwrap();
    assert_eq!(cache.files().len(), 1);
    assert!(found(&cache, &trace, &skylake()).is_none());
    // The entry is stale: the next entry, of any trace, takes its place.
    keep(&cache, &place.trace("b", 2));
    assert_eq!(cache.files().len(), 1);
}

/// The least recently used entries go first, and reading is a use.
#[test]
fn the_limit_is_kept() {
    let place = CacheFolder::new();
    let traces = [1, 2, 3].map(|byte| place.trace(&byte.to_string(), byte));
    let cache = place.cache(1 << 20);
    keep(&cache, &traces[0]);
    let one = cache.files()[0].clone();
    let bytes = one.metadata().unwrap().len();
    let cache = place.cache(2 * bytes + bytes / 2);
    keep(&cache, &traces[1]);
    assert_eq!(cache.files().len(), 2);
    for path in cache.files() {
        set_used(&path, if path == one { 2000 } else { 1000 });
    }
    assert!(found(&cache, &traces[0], &skylake()).is_some());
    keep(&cache, &traces[2]);
    assert_eq!(cache.files().len(), 2);
    assert!(found(&cache, &traces[1], &skylake()).is_none(), "used last");
    assert!(found(&cache, &traces[0], &skylake()).is_some());
    // An entry larger than the limit is not kept, and drives out no other.
    let small = place.cache(bytes / 2);
    keep(&small, &place.trace("4", 4));
    assert_eq!(small.files().len(), 2);
}

/// An entry with any byte changed, or cut short, is removed and not read.
#[test]
fn a_damaged_entry_is_removed() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    keep(&cache, &trace);
    let path = cache.files()[0].clone();
    let whole = fs::read(&path).unwrap();
    let mut damages: Vec<Vec<u8>> = (0..whole.len())
        .map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            bytes
        })
        .collect();
    damages.extend(
        (0..whole.len())
            .step_by(7)
            .map(|length| whole[..length].to_vec()),
    );
    for bytes in damages {
        fs::write(&path, bytes).unwrap();
        assert!(found(&cache, &trace, &skylake()).is_none());
    }
    fs::write(&path, &whole).unwrap();
    assert!(found(&cache, &trace, &skylake()).is_some());
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(found(&cache, &trace, &skylake()).is_none());
    assert!(!path.exists(), "it stays");
}

/// A command that reads an entry reads it whole while another command writes the entry anew.
#[test]
fn an_entry_in_use_stays_whole() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    keep(&cache, &trace);
    let path = cache.files()[0].clone();
    let written = fs::read(&path).unwrap();
    let mut in_use = File::open(&path).unwrap();
    let kept = cache.keep(&facts(&trace, &skylake()), &[part(3), part(4), part(5)]);
    kept.expect("it can be written");
    assert_ne!(fs::read(&path).unwrap(), written);
    let mut read = Vec::new();
    in_use.read_to_end(&mut read).unwrap();
    assert_eq!(read, written);
}

/// An entry that cannot be written to its end leaves nothing.
#[test]
fn an_entry_appears_whole_or_not_at_all() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    let broken = vec![0; 500];
    let parts = [part(1), broken];
    assert!(cache.keep(&facts(&trace, &skylake()), &parts).is_err());
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 0);
    keep(&cache, &trace);
    let whole = fs::read(&cache.files()[0]).unwrap();
    assert!(cache.keep(&facts(&trace, &skylake()), &parts).is_err());
    assert_eq!(fs::read(&cache.files()[0]).unwrap(), whole);
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 1);
}

/// Commands that keep and read one entry at the same time never see a part of it.
#[test]
fn commands_at_once_see_whole_entries() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    let parts: Vec<Vec<u8>> = (0..20).map(part).collect();
    keep(&cache, &trace);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let kept = cache.keep(&facts(&trace, &skylake()), &parts);
                    kept.expect("it can be written");
                    assert!(found(&cache, &trace, &skylake()).is_some());
                }
            });
        }
    });
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 1);
}

/// A reduced form that is larger than its trace saves nothing, so it is not kept.
#[test]
fn larger_than_the_trace_is_not_kept() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    let parts: Vec<Vec<u8>> = (0..200).map(part).collect();
    assert!(parts.iter().map(Vec::len).sum::<usize>() > 5000);
    cache.keep(&facts(&trace, &skylake()), &parts).unwrap();
    assert!(cache.files().is_empty());
}

/// Looking for an entry does not move the place in the trace that a decoder reads on from.
#[test]
fn the_place_in_the_trace_stays() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    keep(&cache, &trace);
    let origin = Origin::open(&trace, PassCount::One, false).expect("a trace");
    let mut file = origin.file().expect("a file");
    file.seek(SeekFrom::Start(1234)).unwrap();
    assert!(cache.find(&origin, &skylake(), None).is_some());
    assert_eq!(file.stream_position().unwrap(), 1234);
}

/// The temporary file of a killed command is removed; one that a command is writing is not.
#[test]
fn leftovers_are_swept() {
    let place = CacheFolder::new();
    let (cache, trace) = (place.cache(1 << 20), place.trace("a", 1));
    fs::create_dir_all(cache.folder()).unwrap();
    let (left, written) = (cache.folder().join(".new-1"), cache.folder().join(".new-2"));
    fs::write(&left, "half").unwrap();
    let file = File::create(&written).unwrap();
    file.lock().unwrap();
    keep(&cache, &trace);
    assert!(!left.exists(), "it stays");
    assert!(written.exists(), "another command writes it");
    drop(file);
    assert_eq!(cache.clear().unwrap(), 1);
    assert!(!written.exists(), "it stays");
}

#[test]
fn sizes_in_the_environment() {
    assert_eq!(size_in("512M".as_ref()).ok(), Some(512 << 20));
    assert_eq!(size_in("0".as_ref()).ok(), Some(0));
    assert_eq!(size_in("".as_ref()).ok(), Some(super::DEFAULT_SIZE));
    let error = size_in("much".as_ref()).expect_err("no size").to_string();
    assert!(error.contains("BROADLEAF_CACHE_SIZE: \"much\""), "{error}");
}

#[test]
fn a_kept_value_is_found_for_its_trace_and_its_request_alone() {
    let folder = CacheFolder::new();
    let (cache, path) = (folder.cache(1 << 20), folder.trace("a.bl", 1));
    let of_bytes = |digit: &str| TraceContent {
        hash: format!("blake3:{}", digit.repeat(64)),
        bytes: 5000,
    };
    let (own, other) = (of_bytes("a"), of_bytes("b"));
    let value =
        |content, request| KeptValue::new(&cache, &path, content, 7, request, "numbers".to_owned());
    assert_eq!(value(&own, "one").find::<Vec<u64>>(), None);
    value(&own, "one").keep(&[1, 2, u64::MAX]);
    let found = value(&own, "one").find::<Vec<u64>>();
    assert_eq!(found, Some(vec![1, 2, u64::MAX]));
    assert_eq!(value(&own, "two").find::<Vec<u64>>(), None);
    assert_eq!(value(&other, "one").find::<Vec<u64>>(), None);
    // Damaged bytes are no value, and go.
    for file in cache.files() {
        let mut bytes = fs::read(&file).expect("an entry");
        bytes[1] ^= 1;
        fs::write(&file, bytes).expect("an entry");
    }
    assert_eq!(value(&own, "one").find::<Vec<u64>>(), None);
    assert!(cache.files().is_empty());
}
