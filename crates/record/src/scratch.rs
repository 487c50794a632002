//! Temporary folders of one process. The next command removes the folders of a process that was
//! killed.
//!
//! A folder's owner holds a lock on it (`flock`), which the kernel releases when the owner dies. A
//! folder that can be locked has no owner.

#![allow(unsafe_code, reason = "the number of the user")]

use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A link in a folder to another folder of the same owner, which may lie in another `TMPDIR`.
pub(crate) const LINK: &str = "tool";
/// Length of the random end of a folder's name.
const RANDOM: usize = 6;

/// The purpose of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Shared memory and pipes between a recorder and its program.
    Rings,
    /// The Valgrind tool.
    Tool,
    /// Input, output and recordings of a program that a command runs for its own use.
    Work,
}

impl Purpose {
    const ALL: [Self; 3] = [Self::Rings, Self::Tool, Self::Work];

    const fn prefix(self) -> &'static str {
        match self {
            Self::Rings => "broadleaf-rings-",
            Self::Tool => "broadleaf-tool-",
            Self::Work => "broadleaf-work-",
        }
    }

    /// Returns the parent of folders of this purpose. Rings belong in memory, if the system has a
    /// place for files in memory.
    pub fn parent(self) -> PathBuf {
        let memory = Path::new("/dev/shm");
        if self == Self::Rings && memory.is_dir() {
            return memory.to_owned();
        }
        env::temp_dir()
    }
}

/// A folder with mode 0700. It is removed when the value is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// `None` if the file system has no locks; then no sweep can take the folder for an orphan.
    _lock: Option<File>,
}

impl Scratch {
    /// Creates a folder.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made in [`Purpose::parent`].
    pub fn new(purpose: Purpose) -> io::Result<Self> {
        Self::new_in(purpose, &purpose.parent())
    }

    fn new_in(purpose: Purpose, parent: &Path) -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new()
                .prefix(purpose.prefix())
                .rand_bytes(RANDOM)
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir_in(parent)?;
            // Another command's sweep may have locked and removed the folder before it was locked
            // here.
            let lock = match lock(folder.path()) {
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Ok(lock) => lock,
                Err(_) => None,
            };
            return Ok(Self {
                folder,
                _lock: lock,
            });
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folders whose owner has died. Folders that cannot be removed stay.
pub fn sweep() {
    let mut parents: Vec<PathBuf> = Purpose::ALL.map(Purpose::parent).into();
    parents.dedup();
    for parent in parents {
        sweep_in(&parent);
    }
}

fn sweep_in(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        // Another command may remove the same folder at the same time.
        drop(remove_orphan(&entry.path()));
    }
}

/// Removes a folder and its linked folder, if both belong to this user and have no owner.
fn remove_orphan(folder: &Path) -> io::Result<()> {
    if !is_scratch(folder) {
        return Ok(());
    }
    let Some(lock) = lock(folder)? else {
        return Ok(());
    };
    let data = lock.metadata()?;
    // SAFETY: the call has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    if data.uid() != user || data.mode() & 0o077 != 0 {
        return Ok(());
    }
    if let Ok(linked) = fs::read_link(folder.join(LINK)) {
        // If the linked folder is gone or belongs to another user, only the folder itself is
        // removed.
        drop(remove_orphan(&linked));
    }
    fs::remove_dir_all(folder)
}

/// Returns true if a path has the name of a scratch folder.
fn is_scratch(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    Purpose::ALL.iter().any(|purpose| {
        name.strip_prefix(purpose.prefix()).is_some_and(|end| {
            end.len() == RANDOM && end.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    })
}

/// Locks a folder. Returns `None` if another process holds the lock, or has just removed the
/// folder.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let lock = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(folder)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let (locked, there) = (lock.metadata()?, fs::symlink_metadata(folder)?);
    let is_there = (locked.dev(), locked.ino()) == (there.dev(), there.ino());
    Ok(is_there.then_some(lock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Creates the folders that a killed recorder leaves: two, one linked from the other.
    fn left(parent: &Path) -> (PathBuf, PathBuf) {
        let (rings, tool) = (
            parent.join("broadleaf-rings-abc123"),
            parent.join("elsewhere/broadleaf-tool-abc123"),
        );
        for folder in [&rings, &tool] {
            fs::create_dir_all(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        symlink(&tool, rings.join(LINK)).unwrap();
        (rings, tool)
    }

    #[test]
    fn folders_without_an_owner_go_with_the_folder_that_they_link_to() {
        let parent = tempfile::tempdir().unwrap();
        let (rings, tool) = left(parent.path());
        sweep_in(parent.path());
        assert!(!rings.exists() && !tool.exists());
    }

    #[test]
    fn a_link_to_nowhere_does_not_stop_the_sweep() {
        let parent = tempfile::tempdir().unwrap();
        let (rings, tool) = left(parent.path());
        fs::remove_dir_all(tool).unwrap();
        sweep_in(parent.path());
        assert!(!rings.exists());
    }

    #[test]
    fn folders_with_an_owner_stay() {
        let parent = tempfile::tempdir().unwrap();
        let owned = Scratch::new_in(Purpose::Rings, parent.path()).unwrap();
        sweep_in(parent.path());
        assert!(owned.path().exists());
        let (rings, tool) = left(parent.path());
        let lock = lock(&tool).unwrap().unwrap();
        sweep_in(parent.path());
        assert!(!rings.exists() && tool.exists());
        drop(lock);
    }

    #[test]
    fn folders_that_others_can_change_and_other_names_stay() {
        let parent = tempfile::tempdir().unwrap();
        let (rings, tool) = left(parent.path());
        fs::set_permissions(&rings, fs::Permissions::from_mode(0o770)).unwrap();
        let named = parent.path().join("broadleaf-tool-of-mine");
        fs::create_dir(&named).unwrap();
        fs::set_permissions(&named, fs::Permissions::from_mode(0o700)).unwrap();
        sweep_in(parent.path());
        assert!(rings.exists() && tool.exists() && named.exists());
    }
}
