//! What a recording leaves behind that was killed: its folders, which the next one removes.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Folders of rings are called this and something more.
pub(super) const RINGS: &str = "broadleaf-rings-";
/// The pipe in it that its recording reads.
pub(super) const CONTROL: &str = "control";
/// A link in it to the folder of the tool.
pub(super) const TOOL: &str = "tool";
/// A recording that has just begun may not have opened its pipe yet, and a program that outlived its recorder may still need the tool.
const OLD: Duration = Duration::from_secs(3600);

/// Removes the folders of rings beside this one that nobody reads any more. What cannot be removed stays.
pub(super) fn sweep(own: &Path) {
    let (Some(folder), Ok(data)) = (own.parent(), fs::metadata(own)) else {
        return;
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(RINGS.as_bytes()) {
            // Where it fails, another recording removes it just now, or somebody has put something into it.
            drop(remove(&entry.path(), data.uid(), OLD));
        }
    }
}

/// Anyone may put a folder of that name there, with a link to anything: only what this user made, and nobody else can change, is removed.
fn remove(rings: &Path, user: u32, old: Duration) -> io::Result<()> {
    let data = fs::symlink_metadata(rings)?;
    let ours = data.is_dir() && data.uid() == user && data.mode() & 0o077 == 0;
    let young = data.modified()?.elapsed().is_ok_and(|age| age < old);
    if !ours || young || is_read(&rings.join(CONTROL)) {
        return Ok(());
    }
    if let Ok(tool) = fs::read_link(rings.join(TOOL)) {
        fs::remove_dir_all(tool)?;
    }
    fs::remove_dir_all(rings)
}

/// Whether a process has a pipe open for reading.
fn is_read(pipe: &Path) -> bool {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(pipe)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    #[test]
    fn what_nobody_reads_goes_with_its_tool_once_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let (rings, tool) = (folder.path().join("rings"), folder.path().join("tool"));
        fs::create_dir(&rings).unwrap();
        fs::create_dir(&tool).unwrap();
        let user = fs::metadata(&tool).unwrap().uid();
        symlink(&tool, rings.join(TOOL)).unwrap();
        let pipe = rings.join(CONTROL);
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );

        remove(&rings, user, Duration::ZERO).unwrap();
        assert!(rings.exists(), "others may look into it");
        fs::set_permissions(&rings, fs::Permissions::from_mode(0o700)).unwrap();
        remove(&rings, user + 1, Duration::ZERO).unwrap();
        assert!(rings.exists(), "it is another user's");
        remove(&rings, user, OLD).unwrap();
        assert!(rings.exists(), "it is young");
        let reader = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe)
            .unwrap();
        remove(&rings, user, Duration::ZERO).unwrap();
        assert!(rings.exists(), "it is read");
        drop(reader);
        remove(&rings, user, Duration::ZERO).unwrap();
        assert!(!rings.exists() && !tool.exists());
    }
}
