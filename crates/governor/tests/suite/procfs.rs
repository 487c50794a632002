//! Reading of process files, as a kernel wrote them and damaged.

use broadleaf_governor::{
    BLOCK_BYTES, Kernel, KernelError, Linux, LiveBacking, LivePages, PAGE_BYTES, ProcessId,
};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proc")
}

/// Returns a copy of the recorded files, to be changed.
fn copied() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let (from, name) = entry
                .map(|entry| (entry.path(), entry.file_name()))
                .unwrap();
            if from.is_dir() {
                copy(&from, &to.join(name));
            } else {
                fs::copy(&from, to.join(name)).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&recorded(), folder.path());
    folder
}

/// Writes `pagemap` entries for pages of a process.
fn write_pagemap(proc: &Path, pid: u32, entries: impl IntoIterator<Item = (u64, u64)>) {
    let file = fs::File::create(proc.join(pid.to_string()).join("pagemap")).unwrap();
    // A sparse file, as large as the address space.
    file.set_len(1 << 38).unwrap();
    for (page, entry) in entries {
        file.write_all_at(&entry.to_le_bytes(), page * 8).unwrap();
    }
}

fn process(linux: &mut Linux, pid: u32) -> ProcessId {
    linux.process(pid).expect("a process of that number")
}

#[test]
fn what_is_known_of_a_process_is_read() {
    let mut linux = Linux::at(recorded());
    let commands: Vec<String> = (101..=104)
        .map(|pid| {
            let id = process(&mut linux, pid);
            linux.vitals(id).unwrap().command
        })
        .collect();
    assert_eq!(
        commands,
        ["redis-server", "python3", "bash", "a (odd) name"]
    );
    let python = process(&mut linux, 102);
    let vitals = linux.vitals(python).unwrap();
    assert!(vitals.rss_bytes > 40 << 20 && vitals.rss_bytes.is_multiple_of(PAGE_BYTES));
    assert!(vitals.faults > 1000 && vitals.image > 1 << 46);
    let described = linux.describe(python);
    assert_eq!(described.uid, Some(0));
    assert_eq!(
        described.command_line[..2],
        ["/opt/python/bin/python3", "-c"]
    );
    assert_eq!(described.cgroup.as_deref(), Some("/"));
    assert_eq!(described.thp_forbidden, Some(false));
    let later = ProcessId {
        started: python.started + 1,
        ..python
    };
    assert_eq!(
        linux.vitals(later),
        Err(KernelError::Gone),
        "another of that number"
    );
    let mut all: Vec<_> = linux.all().iter().map(|id| id.pid).collect();
    all.sort();
    assert_eq!(all, [101, 102, 103, 104]);
}

#[test]
fn children_of_all_threads_are_found() {
    let proc = copied();
    let mut linux = Linux::at(proc.path().to_owned());
    let shell = process(&mut linux, 103);
    // The shell's children are not among the recorded processes.
    assert_eq!(linux.children(shell), []);
    let thread = proc.path().join("103/task/199");
    fs::create_dir(&thread).unwrap();
    fs::write(thread.join("children"), "102 104 torn").unwrap();
    fs::write(proc.path().join("103/task/103/children"), "101 ").unwrap();
    let mut children: Vec<_> = linux.children(shell).iter().map(|id| id.pid).collect();
    children.sort();
    assert_eq!(children, [101, 102, 104]);
    let pages = linux.pages(shell);
    assert_eq!(pages, Err(KernelError::Gone), "it has no pagemap");
}

#[test]
fn mappings_are_what_they_are() {
    let proc = copied();
    for pid in 101..=104 {
        write_pagemap(proc.path(), pid, []);
    }
    let mut linux = Linux::at(proc.path().to_owned());
    for pid in 101..=104 {
        let id = process(&mut linux, pid);
        let LivePages {
            mappings, blocks, ..
        } = linux.pages(id).unwrap();
        assert_eq!(blocks, []);
        let lines = fs::read_to_string(recorded().join(format!("{pid}/maps"))).unwrap();
        assert_eq!(mappings.len(), lines.lines().count());
        for (mapping, line) in mappings.iter().zip(lines.lines()) {
            let text = |text: &str| line.ends_with(text);
            let expected = if text("[heap]") || text("[stack]") || !line.contains(['/', '[']) {
                LiveBacking::Anonymous
            } else if line.contains('/') {
                LiveBacking::File
            } else {
                LiveBacking::Other
            };
            assert_eq!(mapping.backing, expected, "{line}");
            assert_eq!(mapping.writable, line.contains(" rw"), "{line}");
        }
    }
}

#[test]
fn the_backing_of_a_mapping_follows_from_its_name_and_device() {
    let proc = copied();
    let maps = "\
7f0000000000-7f0000200000 rw-s 00000000 00:01 7 /memfd:a (deleted)
7f0000200000-7f0000400000 rw-s 00001000 00:01 8 /SYSV00000000 (deleted)
7f0000400000-7f0000600000 rw-s 00000000 00:16 9 /dev/shm/a
7f0000600000-7f0000800000 rw-s 00000000 00:0f 1 /anon_hugepage (deleted)
7f0000800000-7f0000a00000 rw-s 00000000 00:05 1 /dev/dri/card0
7f0000a00000-7f0000c00000 rw-s 00000000 00:01 2 /dev/zero (deleted)
7f0000c00000-7f0000e00000 rw-p 00000000 00:00 0 [anon:arena]
7f0000e00000-7f0001000000 rw-p 00200000 fd:00 3 /a file with spaces
";
    fs::write(proc.path().join("101/maps"), maps).unwrap();
    write_pagemap(proc.path(), 101, []);
    let mut linux = Linux::at(proc.path().to_owned());
    let id = process(&mut linux, 101);
    let mappings = linux.pages(id).unwrap().mappings;
    let backing: Vec<_> = mappings.iter().map(|mapping| mapping.backing).collect();
    let shmem = LiveBacking::Shmem;
    let (anonymous, file, other) = (
        LiveBacking::Anonymous,
        LiveBacking::File,
        LiveBacking::Other,
    );
    let expected = [shmem, shmem, shmem, other, other, shmem, anonymous, file];
    assert_eq!(backing, expected);
    let congruent: Vec<_> = mappings.iter().map(|mapping| mapping.congruent).collect();
    let expected = [true, false, true, true, true, true, true, true];
    assert_eq!(congruent, expected);
}

#[test]
fn blocks_are_read_from_pagemap() {
    let proc = copied();
    let mut linux = Linux::at(proc.path().to_owned());
    let id = process(&mut linux, 102);
    // The thread's stack and bytearray lie in mappings of several blocks.
    let maps = fs::read_to_string(recorded().join("102/maps")).unwrap();
    let start = maps
        .lines()
        .find(|line| line.starts_with("7f781f508000"))
        .unwrap();
    let start = u64::from_str_radix(&start[..12], 16).unwrap();
    let block = start.div_ceil(BLOCK_BYTES);
    let page = block * 512;
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const EXCLUSIVE: u64 = 1 << 56;
    let in_order = (0..512).map(|at| (page + 1024 + at, PRESENT | EXCLUSIVE | (5120 + at)));
    // The same, and the first frame does not begin an extent.
    let shifted = (0..512).map(|at| (page + 2048 + at, PRESENT | (5121 + at)));
    let entries = [
        (page, PRESENT | EXCLUSIVE),
        (page + 7, PRESENT),
        (page + 8, SWAPPED),
        (page + 511, PRESENT),
        // This page lies before the first whole block.
        (page - 1, PRESENT),
    ];
    write_pagemap(proc.path(), 102, in_order.chain(shifted).chain(entries));
    let blocks = linux.pages(id).unwrap().blocks;
    let seen: Vec<_> = blocks
        .iter()
        .map(|seen| (seen.block - block, seen.present, seen.swapped, seen.huge))
        .collect();
    assert_eq!(
        seen,
        [(0, 3, 1, false), (2, 0, 0, true), (4, 512, 0, false)]
    );
    let some = linux.blocks(id, block..block + 3).unwrap();
    assert_eq!(some.len(), 3);
    assert_eq!((some[0], some[2]), (blocks[0], blocks[1]));
    assert!(some[1].is_empty());
    assert_eq!(linux.shared(id, block), Ok(2));
    assert_eq!(linux.shared(id, block + 2), Ok(0));
}

#[test]
fn torn_and_strange_files_are_errors_and_no_panics() {
    let proc = copied();
    write_pagemap(proc.path(), 102, []);
    let path = |file: &str| proc.path().join("102").join(file);
    let mut linux = Linux::at(proc.path().to_owned());
    let id = process(&mut linux, 102);
    for file in [
        "stat",
        "maps",
        "status",
        "cgroup",
        "mountinfo",
        "cmdline",
        "task/102/children",
    ] {
        let whole = fs::read(path(file)).unwrap_or_default();
        let cuts = (0..whole.len()).step_by(whole.len() / 97 + 1);
        let mut damaged: Vec<Vec<u8>> = cuts.map(|cut| whole[..cut].to_vec()).collect();
        for at in (0..whole.len()).step_by(whole.len() / 97 + 1) {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            damaged.push(bytes.clone());
            bytes[at] = b'\n';
            damaged.push(bytes);
        }
        damaged.push(b"99999999999999999999999999 99999999999999999999-1 rw".to_vec());
        for bytes in damaged {
            fs::write(path(file), bytes).unwrap();
            let _ = linux.process(102);
            let _ = linux.vitals(id);
            let _ = linux.pages(id);
            let _ = linux.children(id);
            let _ = linux.headroom(id);
            let _ = linux.describe(id);
        }
        fs::write(path(file), whole).unwrap();
    }
    for (file, bytes) in [
        ("stat", &b""[..]),
        ("stat", b"102 (torn"),
        ("stat", b"102 (a) S 1 2"),
    ] {
        let whole = fs::read(path(file)).unwrap();
        fs::write(path(file), bytes).unwrap();
        assert_eq!(linux.process(102), None);
        assert!(matches!(linux.vitals(id), Err(KernelError::Errno(_))));
        fs::write(path(file), whole).unwrap();
    }
    fs::write(path("maps"), "7f0000000000-7f00").unwrap();
    assert!(matches!(linux.pages(id), Err(KernelError::Errno(_))));
    fs::remove_file(path("stat")).unwrap();
    assert_eq!(linux.vitals(id), Err(KernelError::Gone));
}

#[test]
fn a_process_that_waits_for_its_parent_has_ended() {
    let proc = copied();
    let mut linux = Linux::at(proc.path().to_owned());
    let id = process(&mut linux, 104);
    let path = proc.path().join("104/stat");
    let stat = fs::read_to_string(&path).unwrap();
    fs::write(&path, stat.replace(") S ", ") Z ")).unwrap();
    assert_eq!(linux.vitals(id), Err(KernelError::Gone));
}
