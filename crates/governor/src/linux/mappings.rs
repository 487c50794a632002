//! The mappings of a process.

use crate::seen::{BLOCK_BYTES, LiveBacking, LiveMapping, has_reserved_name};
use std::io;
use std::path::Path;

/// Returns the mappings of a process, sorted by address.
pub(super) fn of(proc: &Path, pid: u32) -> io::Result<Vec<LiveMapping>> {
    let folder = proc.join(pid.to_string());
    // File names are arbitrary bytes except the line feed.
    let bytes = std::fs::read(folder.join("maps"))?;
    let text = String::from_utf8_lossy(&bytes);
    let mounts = std::fs::read(folder.join("mountinfo")).unwrap_or_default();
    let mounts = DisklessMounts::of(&String::from_utf8_lossy(&mounts));
    let read = text.lines().map(|line| mapping(line, &mounts));
    let all: Option<Vec<LiveMapping>> = read.collect();
    all.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "a line of maps is not as expected",
        )
    })
}

/// Parses one line: `00400000-00452000 r-xp 00000000 08:02 173521   /usr/bin/dbus-daemon`.
fn mapping(line: &str, mounts: &DisklessMounts) -> Option<LiveMapping> {
    let mut rest = line;
    let mut word = || {
        let trimmed = rest.trim_start();
        let (word, after) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        rest = after;
        Some(word).filter(|word| !word.is_empty())
    };
    let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (start, end) = word()?.split_once('-')?;
    let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
    let rights = word()?;
    let offset = hexadecimal(word()?)?;
    let (major, minor) = word()?.split_once(':')?;
    let device = (
        u32::from_str_radix(major, 16).ok()?,
        u32::from_str_radix(minor, 16).ok()?,
    );
    let inode: u64 = word()?.parse().ok()?;
    let name = rest.trim_start();
    let backing = if inode == 0 {
        without_file(name)
    } else {
        of_file(name, device, mounts)
    };
    let is_shared = backing == LiveBacking::Shmem;
    Some(LiveMapping {
        start,
        end,
        backing,
        writable: rights.as_bytes().get(1) == Some(&b'w'),
        congruent: start.wrapping_sub(offset) % BLOCK_BYTES == 0,
        name: name.to_owned(),
        inode: if is_shared { inode } else { 0 },
        offset: if is_shared { offset } else { 0 },
    })
}

/// Returns the backing of a mapping without a file. Private memory may have a name: the kernel
/// names heap and stacks, and a program may name its memory.
fn without_file(name: &str) -> LiveBacking {
    let is_private = name.is_empty()
        || name == "[heap]"
        || name.starts_with("[stack")
        || name.starts_with("[anon:");
    if is_private {
        LiveBacking::Anonymous
    } else {
        LiveBacking::Other
    }
}

fn of_file(name: &str, device: (u32, u32), mounts: &DisklessMounts) -> LiveBacking {
    /// Names of files that are in no visible file system. They belong to the kernel's own file
    /// system in memory.
    const UNSEEN: [&str; 3] = ["/memfd:", "/SYSV", "/dev/zero"];
    if has_reserved_name(name) || mounts.reserved.contains(&device) {
        LiveBacking::Other
    } else if device == (0, 1)
        || UNSEEN.iter().any(|unseen| name.starts_with(unseen))
        || name.starts_with("[anon_shmem:")
    {
        LiveBacking::Shmem
    } else if name.starts_with("/dev/") && !name.starts_with("/dev/shm/") {
        LiveBacking::Other
    } else if mounts.in_memory.contains(&device) {
        LiveBacking::Shmem
    } else {
        LiveBacking::File
    }
}

/// The devices of mounted file systems that have no disk.
#[derive(Default)]
struct DisklessMounts {
    /// Those with ordinary pages: tmpfs and ramfs.
    in_memory: Vec<(u32, u32)>,
    /// Those with reserved huge pages: hugetlbfs.
    reserved: Vec<(u32, u32)>,
}

impl DisklessMounts {
    /// Parses `mountinfo`.
    fn of(mounts: &str) -> Self {
        let of = |kinds: &[&str]| {
            let device = |line: &str| {
                let (mounted, kind) = line.split_once(" - ")?;
                let kind = kind.split_whitespace().next()?;
                let (major, minor) = mounted.split_whitespace().nth(2)?.split_once(':')?;
                let device = (major.parse().ok()?, minor.parse().ok()?);
                kinds.contains(&kind).then_some(device)
            };
            mounts.lines().filter_map(device).collect()
        };
        Self {
            in_memory: of(&["tmpfs", "ramfs"]),
            reserved: of(&["hugetlbfs"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_line_has_its_backing() {
        let mounts = "24 1 0:25 / /dev/shm rw shared:3 - tmpfs tmpfs rw
            25 1 0:41 / /mnt/pool rw - hugetlbfs none rw,pagesize=2M
            26 1 0:42 / /proc rw - proc proc rw";
        let mounts = DisklessMounts::of(mounts);
        let backing = |line: &str| mapping(line, &mounts).map(|mapping| mapping.backing);
        for (line, is_reserved) in [
            ("7f00-7f10 rw-s 0 00:29 12 /mnt/pool/buffers", true),
            ("7f00-7f10 rw-s 0 00:0f 12 /anon_hugepage (deleted)", true),
            ("7f00-7f10 rw-s 0 00:0f 12 /memfd:hugetlb (deleted)", true),
            ("7f00-7f10 rw-s 0 00:01 12 /memfd:buffers (deleted)", false),
            ("7f00-7f10 rw-s 0 00:05 12 /dev/nvidia0", false),
            ("7f00-7f10 r-xp 0 00:00 0 [vdso]", false),
            ("7f00-7f10 rw-s 0 00:2a 12 /mnt/file", false),
        ] {
            let reserved = mapping(line, &mounts).map(|mapping| mapping.is_reserved());
            assert_eq!(reserved, Some(is_reserved), "{line}");
        }
        for (line, expected) in [
            (
                "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 ",
                LiveBacking::Anonymous,
            ),
            (
                "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]",
                LiveBacking::Anonymous,
            ),
            (
                "7ffc0000-7ffd0000 rw-p 00000000 00:00 0     [stack]",
                LiveBacking::Anonymous,
            ),
            (
                "7ffc0000-7ffd0000 rw-p 00000000 00:00 0     [anon:glibc: malloc]",
                LiveBacking::Anonymous,
            ),
            (
                "7ffc0000-7ffd0000 r-xp 00000000 00:00 0     [vdso]",
                LiveBacking::Other,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:01 1034 /memfd:a name (deleted)",
                LiveBacking::Shmem,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:01 7 /SYSVx (deleted)",
                LiveBacking::Shmem,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:01 7 /dev/zero (deleted)",
                LiveBacking::Shmem,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:19 12 /dev/shm/PostgreSQL.1",
                LiveBacking::Shmem,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:05 12 /dev/nvidia0",
                LiveBacking::Other,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:0f 12 /anon_hugepage (deleted)",
                LiveBacking::Other,
            ),
            (
                "7f00-7f10 r-xp 00002000 fe:00 12 /usr/lib/a b.so",
                LiveBacking::File,
            ),
        ] {
            assert_eq!(backing(line), Some(expected), "{line}");
        }
        let odd = mapping(
            "7f00-7f10 r-xp 00002000 fe:00 12 /usr/a\u{fffd}  b",
            &mounts,
        )
        .unwrap();
        assert_eq!(odd.name, "/usr/a\u{fffd}  b");
        for torn in [
            "",
            "7f00",
            "7f00-7f10 r-xp",
            "7f00-xyz r-xp 0 00:00 0",
            "7f00-7f10 r-xp 0 0000 0",
        ] {
            assert_eq!(mapping(torn, &mounts), None, "{torn}");
        }
    }
}
