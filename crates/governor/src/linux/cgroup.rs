//! The memory limits of a process's cgroup.

use crate::seen::Headroom;
use std::path::{Path, PathBuf};

/// The mount point of the cgroups.
const ROOT: &str = "/sys/fs/cgroup";

/// The files with a limit and its usage, of a cgroup and of its parents.
#[derive(Debug, Default)]
pub(super) struct LimitFiles(Vec<(PathBuf, PathBuf)>);

/// Returns the limit files of a process.
pub(super) fn limits(proc: &Path, pid: u32) -> LimitFiles {
    let cgroups =
        std::fs::read_to_string(proc.join(pid.to_string()).join("cgroup")).unwrap_or_default();
    limits_below(Path::new(ROOT), &cgroups)
}

fn limits_below(root: &Path, cgroups: &str) -> LimitFiles {
    let mut found = Vec::new();
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (below, limit, used) = if controllers.is_empty() {
            (root.to_owned(), "memory.max", "memory.current")
        } else if controllers.split(',').any(|name| name == "memory") {
            (
                root.join("memory"),
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )
        } else {
            continue;
        };
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = below.join(folder);
            if folder.join(limit).is_file() {
                found.push((folder.join(limit), folder.join(used)));
            }
        }
    }
    LimitFiles(found)
}

impl LimitFiles {
    /// Returns the headroom of the nearest limit, if there is one.
    pub(super) fn left(&self) -> Option<Headroom> {
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .ok()?
                .trim()
                .parse::<u64>()
                .ok()
        };
        let each = self.0.iter().filter_map(|(limit_at, used)| {
            // "max" means no limit. Version 1 writes a number that no machine reaches.
            let limit = read(limit_at).filter(|limit| *limit < 1 << 60)?;
            let cached = limit_at.parent().map_or(0, cached);
            Some(Headroom {
                bytes: limit.saturating_sub(read(used)?.saturating_sub(cached)),
                limit,
            })
        });
        // The nearest limit is the one closest to a shortage. Memory is short if less than a
        // fiftieth is left.
        each.min_by_key(|left| i128::from(left.bytes) - i128::from(left.limit / 50))
    }
}

/// Returns the charged bytes that the cgroup can give back: pages of files, and the kernel's
/// reclaimable caches.
fn cached(cgroup: &Path) -> u64 {
    let stat = std::fs::read_to_string(cgroup.join("memory.stat")).unwrap_or_default();
    let of = |line: &str| {
        let (name, bytes) = line.split_once(' ')?;
        let counts = matches!(name, "active_file" | "inactive_file" | "slab_reclaimable");
        counts.then(|| bytes.trim().parse::<u64>().ok())?
    };
    stat.lines().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_limit_of_all_above_holds() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/memory.max", "1000\n");
        write("a/memory.current", "900\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "800\n");
        let left = |cgroups: &str| limits_below(root.path(), cgroups).left();
        assert_eq!(
            left("0::/a/b\n"),
            Some(Headroom {
                bytes: 100,
                limit: 1000
            })
        );
        assert_eq!(left("0::/\n"), None);
        write("memory/c/memory.limit_in_bytes", "500\n");
        write("memory/c/memory.usage_in_bytes", "600\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.usage_in_bytes", "600\n");
        assert_eq!(
            left("5:cpu,memory:/c\n0::/\n"),
            Some(Headroom {
                bytes: 0,
                limit: 500
            })
        );
        assert_eq!(left("nonsense"), None);
        // The kernel drops pages of files if they are in the way.
        write(
            "a/memory.stat",
            "anon 100\nactive_file 300\ninactive_file 400\nslab_reclaimable 20\nslab 90\n",
        );
        assert_eq!(left("0::/a\n").map(|left| left.bytes), Some(820));
    }
}
