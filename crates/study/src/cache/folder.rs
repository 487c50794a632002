//! The folder of the cache: finding an entry, and adding one.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use broadleaf_filter::Family;
use broadleaf_machine::Machine;
use broadleaf_model::foresight::ForeseenPromotions;
use tempfile::NamedTempFile;

use super::entry::{self, EntryTail, Facts, ReducedFacts};
use super::{folder_of_user, foreseen, tidy};
use crate::output::shown;
use crate::source::origin::Origin;
use crate::source::reduced::{family, hash_from_start};
use crate::unfinished::Unfinished;

/// The ending of the name of a reduced trace.
const REDUCED: &str = ".reduced";
/// The ending of the name of results.
pub(super) const RESULTS: &str = ".results";
/// The beginning of the name of an entry that is being written.
pub(super) const NEW: &str = ".new-";
/// New files to try in turn if other commands sweep them away.
const LOCK_ATTEMPTS: usize = 20;
/// Hexadecimal digits of a hash in a name.
pub(super) const DIGITS: usize = 32;

/// A folder of reduced traces and results, bounded in size.
#[derive(Clone, Debug)]
pub struct TraceCache {
    folder: PathBuf,
    /// The maximum bytes of all entries.
    limit: u64,
    /// True once a warning has said that nothing can be kept. Clones share it.
    warned: Arc<AtomicBool>,
}

/// An entry of the cache.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    /// The trace of the entry, and the use of the entry.
    pub facts: Facts,
    /// The size of its file.
    pub bytes: u64,
    /// When a comparison read or wrote the entry last.
    pub used: SystemTime,
}

/// An entry that was found for a trace.
pub(crate) struct FoundEntry {
    /// The reduced form.
    pub(crate) origin: Origin,
    /// The promotions that other policies foresee, as earlier comparisons found them.
    pub(crate) foreseen: ForeseenPromotions,
    /// The facts of the entry.
    pub(crate) facts: ReducedFacts,
}

impl TraceCache {
    /// The user's cache. `None` if `limit` is 0, or if the user has no cache folder.
    pub fn of_user(limit: u64) -> Option<Self> {
        let folder = folder_of_user().filter(|_| limit > 0)?;
        Some(Self::new(folder, limit))
    }

    /// A cache in `folder` of at most `limit` bytes.
    pub fn new(folder: PathBuf, limit: u64) -> Self {
        Self {
            folder,
            limit,
            warned: Arc::default(),
        }
    }

    /// Returns true the first time, for a warning that is given once.
    pub(super) fn warns_now(&self) -> bool {
        !self.warned.swap(true, Ordering::Relaxed)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The maximum bytes of all entries.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The reduced form of a trace for these machines, if there is one. A damaged entry is removed.
    ///
    /// The key is the hash of the trace's bytes, so changed content is never accepted. A trace of a
    /// size that no entry names is not hashed. `known_hash` is the trace's hash if the trace was
    /// read before.
    pub(crate) fn find(
        &self,
        trace: &Origin,
        machines: &[Machine],
        known_hash: Option<&str>,
    ) -> Option<FoundEntry> {
        let (file, size) = (trace.file()?, trace.size()?);
        let of_size = size_in_name(size);
        let mut candidates = self.files();
        candidates.retain(|path| {
            let name = name_of(path);
            name.ends_with(REDUCED) && name.starts_with(&of_size)
        });
        if candidates.is_empty() {
            return None;
        }
        let hash = match known_hash {
            Some(hash) => hash.to_owned(),
            None => hash_of(file)?,
        };
        candidates.retain(|path| name_of(path).starts_with(&name_prefix(size, &hash)));
        let wanted = family(machines);
        let serves = |facts: &ReducedFacts| {
            facts.hash == hash
                && facts.bytes == size
                && facts.filter == broadleaf_filter::filter_in_words()
                && wanted.is_within(&Family::parse(&facts.family))
        };
        candidates.into_iter().find_map(|path| {
            // Another comparison may have removed the entry.
            let file = File::open(&path).ok()?;
            match open(&file, serves) {
                Ok(found) => {
                    let (facts, body) = found?;
                    use_now(&file);
                    let foreseen = foreseen::from_runs(&facts.foreseen);
                    let origin = Origin::of_entry(shown(&path), file, body, size).ok()?;
                    Some(FoundEntry {
                        origin,
                        foreseen,
                        facts,
                    })
                }
                Err(error) => {
                    remove_damaged(&path, &error, trace.name());
                    None
                }
            }
        })
    }

    /// Adds an entry, which appears whole or not at all. Removes stale entries and entries above
    /// the limit.
    ///
    /// # Errors
    /// If the entry cannot be written. A failure costs speed only.
    pub(crate) fn keep(&self, facts: &ReducedFacts, parts: &[Vec<u8>]) -> io::Result<()> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        // An entry that is larger than its trace saves nothing.
        if bytes > self.limit.min(facts.bytes) {
            return Ok(());
        }
        let any = Facts::Reduced(facts.clone());
        self.add(&entry_name(facts), &any, |file| {
            entry::write(file, facts, parts)
        })
    }

    /// Writes the facts of an entry anew. The entry stays whole meanwhile.
    ///
    /// # Errors
    /// If the entry cannot be read or written. A failure costs speed only.
    pub(crate) fn keep_facts(&self, facts: &ReducedFacts) -> io::Result<()> {
        let known = match File::open(self.folder.join(entry_name(facts))) {
            // Another comparison removed the entry.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            known => known?,
        };
        let any = Facts::Reduced(facts.clone());
        self.add(&entry_name(facts), &any, |file| {
            entry::write_again(file, &known, facts)
        })
    }

    /// Adds the entry of that name that `write` writes, and tidies up.
    pub(super) fn add(
        &self,
        name: &str,
        facts: &Facts,
        write: impl FnOnce(&mut File) -> io::Result<u64>,
    ) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder)?;
        let Some(mut new) = self.locked_file()? else {
            return Ok(());
        };
        let unfinished = Unfinished::new(new.path());
        if write(new.as_file_mut())? > self.limit {
            return Ok(());
        }
        let path = self.folder.join(name);
        new.persist(&path)?;
        drop(unfinished);
        tidy::tidy(self, &path, facts);
        Ok(())
    }

    /// A new file whose lock shows other commands that the file is no leftover. `None` if no file
    /// can be locked.
    fn locked_file(&self) -> io::Result<Option<NamedTempFile>> {
        for _ in 0..LOCK_ATTEMPTS {
            // Mode 0600: an entry reveals what a program did.
            let new = tempfile::Builder::new()
                .prefix(NEW)
                .tempfile_in(&self.folder)?;
            // Another command may sweep the file away before the file has its lock.
            if new.as_file().try_lock().is_ok() && new.as_file().metadata()?.nlink() > 0 {
                return Ok(Some(new));
            }
        }
        Ok(None)
    }

    /// All entries that can be read, the last used first.
    pub fn entries(&self) -> Vec<CacheEntry> {
        let of = |path: PathBuf| {
            let file = File::open(path).ok()?;
            let (tail, metadata) = (entry::tail(&file).ok()?, file.metadata().ok()?);
            Some(CacheEntry {
                facts: tail.facts,
                bytes: metadata.len(),
                used: metadata.modified().ok()?,
            })
        };
        let mut entries: Vec<CacheEntry> = self.files().into_iter().filter_map(of).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        entries
    }

    /// Removes all entries, and the temporary files of killed commands. Returns the number of
    /// removed entries.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self) -> io::Result<usize> {
        let mut removed = 0;
        for path in self.files() {
            match fs::remove_file(path) {
                Ok(()) => removed += 1,
                // Another command removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        tidy::sweep(&self.folder);
        Ok(removed)
    }

    /// The paths of all entries.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let Ok(found) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let paths = found.filter_map(|file| Some(file.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths.collect();
        paths.retain(|path| {
            let name = name_of(path);
            let is_entry = name.ends_with(REDUCED) || name.ends_with(RESULTS);
            is_entry && !name.starts_with(NEW)
        });
        paths.sort();
        paths
    }
}

/// Opens and checks a reduced trace whose facts `serves` accepts. Returns its facts and the bytes
/// of its body; `None` if another trace or family needs the entry.
fn open(
    file: &File,
    serves: impl Fn(&ReducedFacts) -> bool,
) -> io::Result<Option<(ReducedFacts, u64)>> {
    let tail = entry::tail(file)?;
    let EntryTail {
        facts: Facts::Reduced(facts),
        body,
        ..
    } = &tail
    else {
        return Ok(None);
    };
    if !serves(facts) {
        return Ok(None);
    }
    entry::check(file, &tail)?;
    Ok(Some((facts.clone(), *body)))
}

/// Sets the time of the last use. Without the right to set it, the entry ages.
pub(super) fn use_now(file: &File) {
    let _ = file.set_modified(SystemTime::now());
}

/// Removes a damaged entry, with a warning.
pub(super) fn remove_damaged(path: &Path, error: &io::Error, trace: &str) {
    let removed = match fs::remove_file(path) {
        Ok(()) => "was removed",
        Err(_) => "cannot be removed",
    };
    log::warn!(
        "{}: is damaged ({error}) and {removed}; {trace} itself is read, which takes longer",
        shown(path)
    );
}

/// The hash of a trace's bytes. The trace's decoder reads on in the same open file: its place there
/// stays.
pub(super) fn hash_of(file: File) -> Option<String> {
    hash_from_start(&file).ok()
}

pub(super) fn name_of(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("")
}

pub(super) fn size_in_name(size: u64) -> String {
    format!("{size:x}-")
}

pub(super) fn name_prefix(size: u64, hash: &str) -> String {
    let digits = hash.rsplit(':').next().unwrap_or_default();
    let digits = digits.get(..DIGITS).unwrap_or(digits);
    format!("{}{digits}-", size_in_name(size))
}

/// The name of an entry: the size of the trace, its hash, and the hash of the fingerprint.
fn entry_name(facts: &ReducedFacts) -> String {
    let fingerprint = format!("{}\n{}", facts.filter, facts.family);
    let fingerprint = blake3::hash(fingerprint.as_bytes()).to_hex();
    let prefix = name_prefix(facts.bytes, &facts.hash);
    format!("{prefix}{}{REDUCED}", &fingerprint[..DIGITS / 2])
}
