//! Limits in folders that look like cgroups, and below the root of a real process.

use super::*;

const PID: u32 = 4711;

/// Folders that look like mounts of cgroups, one below this process's root and one below another
/// process's root.
struct Mounts(tempfile::TempDir);

impl Mounts {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a cgroup of version 2 with a limit, and the processes in it.
    fn cgroup(&self, path: &str, limit: &str, processes: &str) {
        self.write(&format!("{path}/memory.max"), limit);
        self.write(&format!("{path}/memory.current"), "100\n");
        self.write(&format!("{path}/cgroup.procs"), processes);
    }

    fn limits(&self, cgroups: &str) -> LimitFiles {
        let own = CgroupMount {
            root: &self.0.path().join("own"),
            read: read_own,
        };
        let theirs = CgroupMount {
            root: &self.0.path().join("theirs"),
            read: read_own,
        };
        limits_in(&own, &theirs, cgroups, PID)
    }

    fn limit(&self, cgroups: &str) -> Option<u64> {
        self.limits(cgroups).left().map(|left| left.limit)
    }
}

#[test]
fn the_nearest_limit_of_all_above_holds() {
    let mounts = Mounts::new();
    mounts.write("own/a/memory.max", "1000\n");
    mounts.write("own/a/memory.current", "900\n");
    mounts.write("own/a/b/memory.max", "max\n");
    mounts.write("own/a/b/memory.current", "800\n");
    let left = |cgroups: &str| mounts.limits(cgroups).left();
    assert_eq!(
        left("0::/a/b\n"),
        Some(Headroom {
            bytes: 100,
            limit: 1000
        })
    );
    assert_eq!(left("0::/\n"), None);
    mounts.write("own/memory/c/memory.limit_in_bytes", "500\n");
    mounts.write("own/memory/c/memory.usage_in_bytes", "600\n");
    mounts.write("own/memory/memory.limit_in_bytes", "9223372036854771712\n");
    mounts.write("own/memory/memory.usage_in_bytes", "600\n");
    assert_eq!(
        left("5:cpu,memory:/c\n0::/\n"),
        Some(Headroom {
            bytes: 0,
            limit: 500
        })
    );
    assert_eq!(left("nonsense"), None);
    // The kernel drops pages of files if they are in the way.
    mounts.write(
        "own/a/memory.stat",
        "anon 100\nactive_file 300\ninactive_file 400\nslab_reclaimable 20\nslab 90\n",
    );
    assert_eq!(left("0::/a\n").map(|left| left.bytes), Some(820));
}

/// A service in a container reads `/..` before cgroups of other containers. The root of its own
/// mount is its own cgroup.
#[test]
fn the_limit_of_this_container_is_not_that_of_others() {
    let mounts = Mounts::new();
    mounts.cgroup("own", "256\n", "1\n17\n");
    mounts.cgroup("own/a", "128\n", "18\n");
    for path in [
        "/../cri-2.scope",
        "/../../../kubepods-burstable.slice/pod.slice/cri-2.scope",
        "/../a",
        "/..",
        // Version 1, or a service in the namespace of the host.
        "/kubepods/burstable/pod/2",
        "/",
    ] {
        let limits = mounts.limits(&format!("0::{path}\n"));
        assert_eq!(limits.left(), None, "{path}");
        assert_eq!(limits.is_hidden(), path.starts_with("/.."), "{path}");
    }
    // The container's own processes have its limit.
    assert_eq!(mounts.limit("0::/a\n"), Some(128));
    mounts.cgroup("own", "256\n", "1\n4711\n");
    assert_eq!(mounts.limit("0::/\n"), Some(256));
}

#[test]
fn the_root_of_a_process_in_another_container_has_its_limit() {
    let mounts = Mounts::new();
    mounts.cgroup("own", "256\n", "1\n");
    mounts.cgroup("theirs", "512\n", "4711\n4712\n");
    let other = "0::/../../kubepods-burstable.slice/pod.slice/cri-2.scope\n";
    assert_eq!(mounts.limit(other), Some(512));
    assert!(!mounts.limits(other).is_hidden());
    // A container with cgroups of its own, and a container in the namespace of the host.
    mounts.cgroup("theirs", "512\n", "4712\n");
    mounts.cgroup("theirs/pod.slice/cri-2.scope", "384\n", "4711\n");
    assert_eq!(mounts.limit(other), Some(384));
    // Another process's cgroup is not the one.
    mounts.cgroup("theirs/pod.slice/cri-2.scope", "384\n", "14711\n");
    assert_eq!(mounts.limit(other), None);
    assert!(mounts.limits(other).is_hidden());
    // Version 1 has paths of the host, and shows the container's cgroup as the root.
    mounts.write("own/memory/memory.limit_in_bytes", "256\n");
    mounts.write("own/memory/memory.usage_in_bytes", "100\n");
    mounts.write("theirs/memory/memory.limit_in_bytes", "640\n");
    mounts.write("theirs/memory/memory.usage_in_bytes", "100\n");
    mounts.write("theirs/memory/cgroup.procs", "4711\n");
    assert_eq!(mounts.limit("9:memory:/kubepods/pod/2\n"), Some(640));
}

#[test]
fn below_the_root_of_another_process_only_files_of_cgroups_are_read() {
    let mounts = Mounts::new();
    mounts.write("memory.max", "7\n");
    let path = mounts.0.path().join("memory.max");
    assert_eq!(read_own(&path).as_deref(), Some("7\n"));
    assert_eq!(read_theirs(&path), None);
    // A pipe does not block.
    let pipe = mounts.0.path().join("cgroup.procs");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert_eq!(read_theirs(&pipe), None);
    // A file of a cgroup is read through the root of this process.
    let own = Path::new("/proc/self/root").join(&ROOT[1..]);
    for file in ["cgroup.procs", "memory/cgroup.procs"].map(|file| own.join(file)) {
        if file.is_file() {
            assert!(read_theirs(&file).is_some(), "{}", file.display());
        }
    }
}
