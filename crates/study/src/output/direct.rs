//! A file that can be read while it is written: a recording, or a journal.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use super::claim::{Access, ClaimRefused, NameClaim};
use super::{OutputTarget, place, resolved};

/// The time between two syncs of a recording. A crash of the machine loses at most this much.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// When a file that exists is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// When the new file is whole. Until then the new one is at `NAME.unfinished.ENDING`.
    WhenWhole,
    /// As soon as the new file holds more than its head.
    WhenBegun,
}

/// A file that has its name as soon as its head is written, so that its content can be read after
/// any failure.
///
/// A file that holds no more than its head is removed when this is dropped.
#[derive(Debug)]
pub struct Direct {
    to: DirectSink,
    replace: Replace,
    has_head: bool,
    kept: KeptPath,
    /// Ends the thread that syncs, when dropped.
    _syncing: Option<Syncing>,
}

/// A thread that syncs a file. The thread has ended when this is dropped, so that no copy of the
/// file's descriptor keeps the lock of its name.
#[derive(Debug)]
struct Syncing {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.end = None;
        // A thread that panicked has no copy either.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[derive(Debug)]
enum DirectSink {
    Special(File),
    Claimed(NameClaim),
}

/// The path of a [`Direct`]'s content, once there is some.
#[derive(Clone, Debug, Default)]
pub struct KeptPath(Arc<OnceLock<PathBuf>>);

impl KeptPath {
    /// The path of the kept content.
    pub fn at(&self) -> Option<&Path> {
        self.0.get().map(PathBuf::as_path)
    }

    /// Content at a place.
    #[cfg(test)]
    pub fn in_file(path: &Path) -> Self {
        Self(Arc::new(path.to_owned().into()))
    }
}

impl Direct {
    /// Claims `path` for a new file.
    ///
    /// # Errors
    /// If the name is taken and `force` is not given, or the file cannot be written.
    pub fn claim(
        path: &Path,
        force: bool,
        access: Access,
        replace: Replace,
    ) -> Result<Self, ClaimRefused> {
        let to = match place(&resolved(path), force, access)? {
            OutputTarget::Special(file) => DirectSink::Special(file),
            OutputTarget::New(claim) => DirectSink::Claimed(claim),
        };
        Ok(Self {
            to,
            replace,
            has_head: false,
            kept: KeptPath::default(),
            _syncing: None,
        })
    }

    /// A handle that gives the path of the content from now on.
    pub fn kept(&self) -> KeptPath {
        self.kept.clone()
    }

    /// Syncs the file every few seconds until it is finished or dropped, on a thread of its own:
    /// writing does not wait.
    pub fn sync_now_and_then(&mut self) {
        let DirectSink::Claimed(claim) = &self.to else {
            return;
        };
        let Ok(file) = claim.file.try_clone() else {
            return;
        };
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
                // The last sync reports errors.
                drop(file.sync_data());
            }
        });
        self._syncing = Some(Syncing {
            end: Some(end),
            thread: Some(thread),
        });
    }

    /// Replaces the first bytes of a file, which were written before. Does nothing if this is no
    /// file with a name of its own, such as a pipe.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn replace_start(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.to {
            DirectSink::Special(_) => Ok(()),
            DirectSink::Claimed(claim) => claim.file.write_all_at(bytes, 0),
        }
    }

    /// Syncs the whole file and renames it to its target.
    ///
    /// # Errors
    /// If a call fails. The content stays where [`Direct::kept`] says.
    pub fn finish(mut self) -> io::Result<()> {
        match &mut self.to {
            DirectSink::Special(file) => file.flush(),
            DirectSink::Claimed(claim) => claim.settle(),
        }
    }

    /// Before the first chunk: marks the file as worth keeping, and replaces the old file if that
    /// is due.
    fn begin(&mut self) -> io::Result<()> {
        let DirectSink::Claimed(claim) = &mut self.to else {
            return Ok(());
        };
        if claim.is_kept() {
            return Ok(());
        }
        if claim.replaces() && self.replace == Replace::WhenBegun {
            claim.keep_as_target()?;
        }
        claim.keep();
        self.kept.0.get_or_init(|| claim.at().to_owned());
        Ok(())
    }
}

/// Gives a file with a head its first name.
fn name_it(claim: &mut NameClaim, target: &Path, replace: Replace) -> io::Result<()> {
    if !claim.replaces() {
        return claim.rename_to(target);
    }
    if replace == Replace::WhenBegun {
        return Ok(());
    }
    for number in 0..u32::MAX {
        match claim.rename_to(&unfinished(target, number)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// `x.unfinished.bl` or `x.unfinished.1.bl` and so on, for `x.bl`.
fn unfinished(target: &Path, number: u32) -> PathBuf {
    let mut name = target.file_stem().unwrap_or_default().to_owned();
    name.push(".unfinished");
    if number > 0 {
        name.push(format!(".{number}"));
    }
    if let Some(ending) = target.extension() {
        name.push(".");
        name.push(ending);
    }
    target.with_file_name(name)
}

impl Write for Direct {
    /// Writes the head with the first call, in one piece, and chunks with later ones.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_head {
            self.begin()?;
        }
        let file = match &mut self.to {
            DirectSink::Special(file) => file,
            DirectSink::Claimed(claim) => &mut claim.file,
        };
        if self.has_head {
            return file.write(bytes);
        }
        file.write_all(bytes)?;
        self.has_head = true;
        if let DirectSink::Claimed(claim) = &mut self.to {
            let target = claim.target().to_owned();
            name_it(claim, &target, self.replace)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn direct(path: &Path, force: bool, replace: Replace) -> Direct {
        Direct::claim(path, force, Access::Owner, replace).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_file_has_its_name_from_its_head_on_and_goes_if_nothing_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bl");
        let mut file = direct(&path, false, Replace::WhenWhole);
        file.write_all(b"head").unwrap();
        assert_eq!(names(folder.path()), ["x.bl"]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(file.kept().at().is_none());
        drop(file);
        assert!(names(folder.path()).is_empty());
        let mut file = direct(&path, false, Replace::WhenWhole);
        file.write_all(b"head").unwrap();
        file.write_all(b"chunk").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"headchunk");
    }

    #[test]
    fn a_name_is_free_as_soon_as_its_file_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bl");
        for _ in 0..200 {
            let mut file = direct(&path, true, Replace::WhenWhole);
            file.sync_now_and_then();
            file.write_all(b"head").unwrap();
            file.write_all(b"chunk").unwrap();
            file.finish().unwrap();
        }
    }

    #[test]
    fn a_replaced_file_stays_until_the_new_one_is_whole_and_gives_it_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bl");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.bl");
        symlink("x.bl", &link).unwrap();
        // The file of an earlier unfinished recording stays, too.
        fs::write(folder.path().join("x.unfinished.bl"), "earlier").unwrap();
        let mut file = direct(&link, true, Replace::WhenWhole);
        let kept = file.kept();
        file.write_all(b"head").unwrap();
        file.write_all(b"chunk").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let unfinished = folder.path().join("x.unfinished.1.bl");
        assert_eq!(
            kept.at().unwrap().canonicalize().unwrap(),
            unfinished.canonicalize().unwrap()
        );
        assert_eq!(fs::read(&unfinished).unwrap(), b"headchunk");
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"headchunk");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["link.bl", "x.bl", "x.unfinished.bl"]);
    }

    #[test]
    fn a_file_that_is_read_meanwhile_is_replaced_when_it_has_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(&path, "old").unwrap();
        let mut file = direct(&path, true, Replace::WhenBegun);
        file.write_all(b"head").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.write_all(b"line").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"headline");
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"headline");
    }
}
