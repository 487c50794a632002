//! The memory limits of a process's cgroup.

use super::calls;
use crate::seen::Headroom;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The mount point of the cgroups.
const ROOT: &str = "/sys/fs/cgroup";

/// The most bytes that are read of a file below the root of another process.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file of a cgroup.
type CgroupReader = fn(&Path) -> Option<String>;

/// A mount of the cgroups.
struct CgroupMount<'a> {
    root: &'a Path,
    read: CgroupReader,
}

/// The files with a limit and its usage, of a cgroup and of its parents.
#[derive(Debug, Default)]
pub(super) struct LimitFiles {
    files: Vec<LimitFile>,
    is_hidden: bool,
}

/// The limit of one cgroup.
#[derive(Debug)]
struct LimitFile {
    cgroup: PathBuf,
    limit: &'static str,
    used: &'static str,
    read: CgroupReader,
}

/// Returns the limit files of a process.
pub(super) fn limits(proc: &Path, pid: u32) -> LimitFiles {
    let process = proc.join(pid.to_string());
    let cgroups = || std::fs::read_to_string(process.join("cgroup")).unwrap_or_default();
    let own = CgroupMount {
        root: Path::new(ROOT),
        read: read_own,
    };
    let theirs = CgroupMount {
        root: &process.join("root").join(&ROOT[1..]),
        read: read_theirs,
    };
    let before = cgroups();
    let mut limits = limits_in(&own, &theirs, &before, pid);
    // A process that ends has no root any more.
    limits.is_hidden &= cgroups() == before;
    limits
}

/// Returns the limit files of a process with these lines of `/proc/PID/cgroup`. `theirs` is the
/// mount below the root of the process.
fn limits_in(
    own: &CgroupMount<'_>,
    theirs: &CgroupMount<'_>,
    cgroups: &str,
    pid: u32,
) -> LimitFiles {
    let mut limits = LimitFiles::default();
    let mut is_shown = false;
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (hierarchy, limit, used) = if controllers.is_empty() {
            ("", "memory.max", "memory.current")
        } else if controllers.split(',').any(|name| name == "memory") {
            ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
        } else {
            continue;
        };
        let own_cgroup = own.cgroup_at(hierarchy, path, pid).map(|at| (at, own));
        let Some((cgroup, mount)) =
            own_cgroup.or_else(|| Some((theirs.cgroup_with(hierarchy, path, pid)?, theirs)))
        else {
            limits.is_hidden |= leads_out(path);
            continue;
        };
        is_shown = true;
        let root = mount.root.join(hierarchy);
        let parents = cgroup.ancestors().take_while(|at| at.starts_with(&root));
        limits.files.extend(
            parents
                .filter(|cgroup| cgroup.join(limit).is_file())
                .map(|cgroup| LimitFile {
                    cgroup: cgroup.to_owned(),
                    limit,
                    used,
                    read: mount.read,
                }),
        );
    }
    // The other version of cgroups is not in charge of memory.
    limits.is_hidden &= !is_shown;
    limits
}

/// Returns true for the path of a cgroup outside of this process's cgroup namespace. The kernel
/// then begins the path with a `/..` for each parent (`cgroup_namespaces(7)`).
fn leads_out(path: &str) -> bool {
    path.split('/').any(|name| name == "..")
}

impl CgroupMount<'_> {
    /// Returns the folder of the cgroup at `path`, if the mount shows it. In a container, the root
    /// of the mount is the container's own cgroup. Its limit must not count for other processes.
    fn cgroup_at(&self, hierarchy: &str, path: &str, pid: u32) -> Option<PathBuf> {
        let root = self.root.join(hierarchy);
        let below = path.trim_start_matches('/');
        if below.is_empty() {
            return self.holds(&root, pid).then_some(root);
        }
        let cgroup = root.join(below);
        (!leads_out(path) && cgroup.is_dir()).then_some(cgroup)
    }

    /// Returns the folder of the cgroup that lists the process. `path` is the path of the cgroup in
    /// another namespace, so the mount may begin at any part of the path.
    fn cgroup_with(&self, hierarchy: &str, path: &str, pid: u32) -> Option<PathBuf> {
        let root = self.root.join(hierarchy);
        let names = path.split('/');
        let names: Vec<&str> = names.filter(|name| !matches!(*name, "" | "..")).collect();
        let mut ends = (0..=names.len()).map(|from| &names[from..]);
        ends.find_map(|end| {
            let cgroup = root.join(end.iter().collect::<PathBuf>());
            self.holds(&cgroup, pid).then_some(cgroup)
        })
    }

    /// Returns true if the cgroup lists the process. Parents of its cgroup do not list it.
    fn holds(&self, cgroup: &Path, pid: u32) -> bool {
        let processes = (self.read)(&cgroup.join("cgroup.procs")).unwrap_or_default();
        processes.lines().any(|line| line.parse() == Ok(pid))
    }
}

fn read_own(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Reads a file below the root of another process, if the file belongs to a cgroup. The process may
/// have put a pipe there, which must not block, or a file without end.
fn read_theirs(path: &Path) -> Option<String> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    let opened = File::options().read(true).custom_flags(flags).open(path);
    let file = opened.ok().filter(calls::is_of_cgroup)?;
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

impl LimitFiles {
    /// Returns true if the cgroup is outside of this process's cgroup namespace, and the root of
    /// its process does not show the cgroup either.
    pub(super) const fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// Returns the headroom of the nearest limit, if there is one.
    pub(super) fn left(&self) -> Option<Headroom> {
        let each = self.files.iter().filter_map(LimitFile::left);
        // The nearest limit is the one closest to a shortage. Memory is short if less than a
        // fiftieth is left.
        each.min_by_key(|left| i128::from(left.bytes) - i128::from(left.limit / 50))
    }
}

impl LimitFile {
    fn left(&self) -> Option<Headroom> {
        let bytes = |name| self.text(name)?.trim().parse::<u64>().ok();
        // "max" means no limit. Version 1 writes a number that no machine reaches.
        let limit = bytes(self.limit).filter(|limit| *limit < 1 << 60)?;
        let used = bytes(self.used)?.saturating_sub(self.cached());
        Some(Headroom {
            bytes: limit.saturating_sub(used),
            limit,
        })
    }

    /// Returns the charged bytes that the cgroup can give back: pages of files, and the kernel's
    /// reclaimable caches.
    fn cached(&self) -> u64 {
        let stat = self.text("memory.stat").unwrap_or_default();
        let of = |line: &str| {
            let (name, bytes) = line.split_once(' ')?;
            let counts = matches!(name, "active_file" | "inactive_file" | "slab_reclaimable");
            counts.then(|| bytes.trim().parse::<u64>().ok())?
        };
        stat.lines().filter_map(of).sum()
    }

    fn text(&self, name: &str) -> Option<String> {
        (self.read)(&self.cgroup.join(name))
    }
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
