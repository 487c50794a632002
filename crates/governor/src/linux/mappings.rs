//! The mappings of a process.

use crate::seen::{BLOCK_BYTES, Behind, Mapping};
use procfs_core::FromRead;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps};
use std::io;
use std::path::Path;

/// The mappings of a process, by address.
pub(super) fn of(proc: &Path, pid: u32) -> io::Result<Vec<Mapping>> {
    let folder = proc.join(pid.to_string());
    let bytes = std::fs::read(folder.join("maps"))?;
    let bad = |error: procfs_core::ProcError| {
        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
    };
    let maps = MemoryMaps::from_read(bytes.as_slice()).map_err(bad)?;
    let mounts = std::fs::read_to_string(folder.join("mountinfo")).unwrap_or_default();
    let in_memory = in_memory(&mounts);
    Ok(maps
        .0
        .into_iter()
        .map(|map| mapping(map, &in_memory))
        .collect())
}

fn mapping(map: MemoryMap, in_memory: &[(i32, i32)]) -> Mapping {
    let (start, end) = map.address;
    let behind = behind(&map, in_memory);
    Mapping {
        start,
        end,
        behind,
        writable: map.perms.contains(MMPermissions::WRITE),
        congruent: start.wrapping_sub(map.offset) % BLOCK_BYTES == 0,
        name: name(&map.pathname),
    }
}

fn behind(map: &MemoryMap, in_memory: &[(i32, i32)]) -> Behind {
    match &map.pathname {
        // Private memory without a name has no inode; shared memory without one has that of a file that was taken away.
        MMapPath::Anonymous
        | MMapPath::Heap
        | MMapPath::Stack
        | MMapPath::TStack(_)
        | MMapPath::Other(_)
            if map.inode == 0 =>
        {
            match &map.pathname {
                MMapPath::Other(name) if !name.starts_with("anon:") => Behind::Other,
                _ => Behind::Anonymous,
            }
        }
        MMapPath::Vsys(_) => Behind::Shmem,
        MMapPath::Path(path) => {
            let text = path.to_string_lossy();
            if text.starts_with("/anon_hugepage") {
                Behind::Other
            } else if map.dev == (0, 1)
                || text.starts_with("/memfd:")
                || text.starts_with("/SYSV")
                || text.starts_with("/dev/zero")
            {
                Behind::Shmem
            } else if text.starts_with("/dev/") && !text.starts_with("/dev/shm/") {
                Behind::Other
            } else if in_memory.contains(&map.dev) {
                Behind::Shmem
            } else {
                Behind::File
            }
        }
        _ => Behind::Other,
    }
}

fn name(path: &MMapPath) -> String {
    match path {
        MMapPath::Path(path) => path.to_string_lossy().into_owned(),
        MMapPath::Heap => "[heap]".to_owned(),
        MMapPath::Stack => "[stack]".to_owned(),
        MMapPath::TStack(thread) => format!("[stack:{thread}]"),
        MMapPath::Vdso => "[vdso]".to_owned(),
        MMapPath::Vvar => "[vvar]".to_owned(),
        MMapPath::Vsyscall => "[vsyscall]".to_owned(),
        MMapPath::Rollup => "[rollup]".to_owned(),
        MMapPath::Anonymous => String::new(),
        MMapPath::Vsys(key) => format!("/SYSV{key:08x}"),
        MMapPath::Other(other) => format!("[{other}]"),
    }
}

/// The devices of mounted file systems that have no disk.
fn in_memory(mounts: &str) -> Vec<(i32, i32)> {
    let device = |line: &str| {
        let (mounted, kind) = line.split_once(" - ")?;
        if !matches!(kind.split_whitespace().next(), Some("tmpfs" | "ramfs")) {
            return None;
        }
        let (major, minor) = mounted.split_whitespace().nth(2)?.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    mounts.lines().filter_map(device).collect()
}
