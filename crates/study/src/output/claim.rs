//! The claim to a file's name, from the start of a command to its end.
//!
//! A claim is a file `.broadleaf-HASH` in the target's folder, named by the hash of the target's
//! name, and a lock on this file (`flock`). Two commands that write the same file meet in the same
//! claim: the second is refused before it does anything. The kernel releases the lock of a command
//! that dies; a claim that can be locked is an orphan, and the next command removes it.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::shown;
use crate::failure::{Failure, reason};
use crate::unfinished::Unfinished;

const PREFIX: &str = ".broadleaf-";
/// Hexadecimal digits of the hash.
const DIGITS: usize = 16;
/// The maximum time for which another command's sweep holds the lock of an orphan.
const SWEEP: Duration = Duration::from_millis(100);

/// The users who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner alone: a trace holds command lines.
    Owner,
    /// All users that the umask allows.
    Everyone,
}

/// A file without a name of its own yet, and the name that it is to get.
#[derive(Debug)]
pub(crate) struct NameClaim {
    pub(crate) file: File,
    /// The path of the file: at first the claim's own path.
    at: PathBuf,
    target: PathBuf,
    /// True if a file has the target's name and is to be replaced.
    replaces: bool,
    /// The owner and the group of that file, if the new file has others.
    owner: Option<(u32, u32)>,
    /// The lock on that file, unless this user cannot read it.
    _old: Option<File>,
    /// Removes the file if a signal ends the command.
    unfinished: Option<Unfinished>,
    /// True if dropping the claim keeps the file.
    keep: bool,
}

/// Why a name cannot be claimed.
#[derive(Debug)]
pub enum ClaimRefused {
    /// A file has the name, or another command has claimed the name.
    Taken(Failure),
    /// Nothing can be written there.
    Impossible(Failure),
}

impl From<ClaimRefused> for Failure {
    fn from(refused: ClaimRefused) -> Self {
        match refused {
            ClaimRefused::Taken(failure) | ClaimRefused::Impossible(failure) => failure,
        }
    }
}

impl NameClaim {
    /// Claims `target`, which is no link. A file that it replaces (`force`) gives its mode to the
    /// new one.
    pub(crate) fn take(target: &Path, force: bool, access: Access) -> Result<Self, ClaimRefused> {
        let name = shown(target);
        let cannot = |error: io::Error| {
            ClaimRefused::Impossible(Failure::Wrong(format!(
                "{name}: cannot write there: {}",
                reason(&error)
            )))
        };
        let busy = || {
            ClaimRefused::Taken(Failure::Wrong(format!(
                "{name}: another broadleaf command is writing this file: wait for it to end, or \
                 give another name with -o"
            )))
        };
        let folder = folder_of(target);
        sweep(folder);
        let mode = match access {
            Access::Owner => 0o600,
            Access::Everyone => 0o666,
        };
        let at = folder.join(claim_name(target));
        let in_the_way = |why: &str| {
            let at = shown(&at);
            ClaimRefused::Taken(Failure::Wrong(format!(
                "{name}: cannot claim this name: {at} {why}. If no broadleaf command writes \
                 {name}, remove {at}; otherwise give another name with -o"
            )))
        };
        let file = match (lock_new(&at, mode), at.symlink_metadata()) {
            (Ok(Some(file)), _) => file,
            (Ok(None), Ok(there)) if !is_ours(&there) => {
                return Err(in_the_way("is no regular file of this user"));
            }
            (Ok(None), _) => return Err(busy()),
            (Err(error), Ok(_)) => {
                let why = format!("cannot be opened: {}", reason(&error));
                return Err(in_the_way(&why));
            }
            (Err(error), Err(_)) => return Err(cannot(error)),
        };
        let mut claim = Self {
            unfinished: Some(Unfinished::new(&at)),
            file,
            at,
            target: target.to_owned(),
            replaces: false,
            owner: None,
            _old: None,
            keep: false,
        };
        match target.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(error)),
            Ok(there) => {
                let old = open_now(target, false).ok();
                let locked = old.as_ref().map(File::try_lock);
                if matches!(locked, Some(Err(TryLockError::WouldBlock))) {
                    return Err(busy());
                }
                if !force {
                    return Err(ClaimRefused::Taken(exists(&name)));
                }
                // Without the bits that would run a file as its owner, who may be root.
                let mode = fs::Permissions::from_mode(there.mode() & 0o777);
                claim.file.set_permissions(mode).map_err(cannot)?;
                if geteuid().is_root() {
                    let new = claim.file.metadata().map_err(cannot)?;
                    let owner = (there.uid(), there.gid());
                    claim.owner = (owner != (new.uid(), new.gid())).then_some(owner);
                }
                (claim.replaces, claim._old) = (true, old);
            }
        }
        Ok(claim)
    }

    /// Returns true if a file has the target's name and is to be replaced.
    pub(crate) const fn replaces(&self) -> bool {
        self.replaces
    }

    /// The name that was claimed.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The path of the file.
    pub(crate) fn at(&self) -> &Path {
        &self.at
    }

    /// Gives the file this name, which is free.
    pub(crate) fn rename_to(&mut self, name: &Path) -> io::Result<()> {
        rename_new(&self.at, name)?;
        self.unfinished = Some(Unfinished::new(name));
        name.clone_into(&mut self.at);
        Ok(())
    }

    /// Renames the file to its target for good, and replaces an older file if that was claimed.
    pub(crate) fn keep_as_target(&mut self) -> io::Result<()> {
        let was_kept = self.keep;
        // Before the renaming: a signal after the renaming must not remove the target.
        self.keep();
        self.give_to_owner();
        let renamed = if self.replaces {
            fs::rename(&self.at, &self.target)
        } else {
            rename_new(&self.at, &self.target)
        };
        match renamed {
            Ok(()) => self.at.clone_from(&self.target),
            Err(_) => self.keep = was_kept,
        }
        renamed
    }

    /// Gives a file that root wrote to the owner of the file that it replaces. Not before it is
    /// renamed: root's sweep removes files of root.
    ///
    /// A failure ends no command: the file has the older file's mode, so at most root's group gains
    /// a right.
    fn give_to_owner(&self) {
        let Some((user, group)) = self.owner else {
            return;
        };
        if let Err(error) = fchown(&self.file, Some(user), Some(group)) {
            log::warn!(
                "{0}: the file that it replaces belongs to user {user} and group {group}, \
                 the new one to root: {1}. To change that: chown {user}:{group} {0}",
                shown(&self.target),
                reason(&error)
            );
        }
    }

    /// Marks the file to be kept, even if the command fails later.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
        self.unfinished = None;
    }

    /// Returns true if the file is to be kept.
    pub(crate) const fn is_kept(&self) -> bool {
        self.keep
    }

    /// Renames the file to its target so that the name survives a crash of the machine, and keeps
    /// it.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.at != self.target {
            self.keep_as_target()?;
        }
        self.keep();
        // Some file systems cannot sync a folder, and do not need it.
        drop(File::open(folder_of(&self.at)).and_then(|folder| folder.sync_all()));
        Ok(())
    }
}

impl io::Write for NameClaim {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NameClaim {
    fn drop(&mut self) {
        if !self.keep {
            // The file may be gone already.
            drop(fs::remove_file(&self.at));
        }
    }
}

/// The error for a target that exists.
pub(crate) fn exists(name: &str) -> Failure {
    Failure::Wrong(format!("{name}: exists already; --force overwrites it"))
}

/// Removes the claims of this user in a folder whose commands have died.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_claim(&entry.file_name()) {
            // Another command may remove the same claim at the same time.
            drop(remove_orphan(&entry.path()));
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The name of this user's claim to `target`. A user cannot remove what another user's command
/// left.
fn claim_name(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&geteuid().as_raw().to_le_bytes());
    hasher.update(name.as_encoded_bytes());
    format!("{PREFIX}{}", &hasher.finalize().to_hex()[..DIGITS])
}

fn is_claim(name: &std::ffi::OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// A new file at `path`, locked. `None` if another command's lock is on the file that is there.
fn lock_new(path: &Path, mode: u32) -> io::Result<Option<File>> {
    let until = Instant::now() + SWEEP;
    loop {
        let new = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path);
        match new {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Not there any more: its command has ended meanwhile.
                match remove_orphan(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            new => {
                let file = new?;
                // A file system without locks lets no sweep lock the file either.
                let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
                if locked && is_at(&file, path)? {
                    return Ok(Some(file));
                }
            }
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Removes a claim of this user that no command holds.
fn remove_orphan(path: &Path) -> io::Result<()> {
    // Before the file is opened: to open a device may have effects.
    if !is_ours(&path.symlink_metadata()?) {
        return Ok(());
    }
    // NFS locks a file that is open for writing alone.
    let file = open_now(path, true)?;
    if is_ours(&file.metadata()?) && file.try_lock().is_ok() && is_at(&file, path)? {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Opens a file to read, and to write if `writes`. Follows no link, and waits for no writer if the
/// file is a pipe.
fn open_now(path: &Path, writes: bool) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .write(writes)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Returns true for a regular file of this user.
fn is_ours(data: &fs::Metadata) -> bool {
    data.is_file() && data.uid() == geteuid().as_raw()
}

/// Returns true if `path` names this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    let file = file.metadata()?;
    Ok((file.dev(), file.ino()) == (there.dev(), there.ino()))
}

/// Renames a file to a name that must be free.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system cannot do it in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        done => Ok(done?),
    }
}
