//! Reads of this machine's kernel.

use super::*;
use std::process::{Command, Stdio};

#[test]
fn no_state_of_an_ended_process_is_kept() {
    let mut linux = Linux::new();
    let mut child = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let id = linux.process(child.id()).unwrap();
    linux.headroom(id);
    // Nothing is mapped at that address.
    assert_ne!(linux.split(id, 1 << 20), Ok(()));
    assert_eq!((linux.handles.len(), linux.cgroups.len()), (1, 1));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(linux.vitals(id), Err(KernelError::Gone));
    assert_eq!((linux.handles.len(), linux.cgroups.len()), (0, 0));
}

#[test]
fn an_ended_process_is_gone_before_its_parent_waits_for_it() {
    let mut linux = Linux::new();
    let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    let id = linux.process(child.id()).unwrap();
    while linux.vitals(id) != Err(KernelError::Gone) {
        std::thread::yield_now();
    }
    assert_eq!(linux.pages(id), Err(KernelError::Gone));
    child.wait().unwrap();
    assert_eq!(linux.pages(id), Err(KernelError::Gone));
}

/// A page that was only read stays the kernel's page of zeroes. `pagemap` shows it as it shows
/// a page that a fork shares.
#[test]
fn pages_of_zeroes_are_not_shared() {
    const READ: u16 = 12;
    let mut memory = vec![0_u8; 2 * BLOCK_BYTES as usize];
    let first = (memory.as_ptr() as u64).div_ceil(BLOCK_BYTES);
    let begin = (first * BLOCK_BYTES - memory.as_ptr() as u64) as usize;
    let block = &mut memory[begin..][..BLOCK_BYTES as usize];
    for (at, page) in block.chunks_mut(PAGE_BYTES as usize).enumerate() {
        if at >= usize::from(READ) {
            page[0] = 1;
        } else {
            std::hint::black_box(page[0]);
        }
    }
    let mut linux = Linux::new();
    let own = linux.process(std::process::id()).unwrap();
    let seen = linux.blocks(own, first..first + 1).unwrap()[0];
    if !linux.scans() || seen.huge {
        eprintln!("skipped: no PAGEMAP_SCAN, or superpages without being asked for");
        return;
    }
    assert_eq!((seen.present, seen.zero), (PAGES as u16 - READ, READ));
    // Tests fork: a child shares these pages until it runs another program.
    let is_exclusive = |linux: &mut Linux| {
        (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            linux.shared(own, first) == Ok(0)
        })
    };
    assert!(is_exclusive(&mut linux));
    // On older kernels, frame numbers identify the page of zeroes, if they are visible.
    linux.scans = false;
    if linux.frames.are_visible() {
        assert!(is_exclusive(&mut linux));
        assert_eq!(linux.blocks(own, first..first + 1).unwrap()[0], seen);
    }
    drop(memory);
}

/// Before Linux 6.7, populations are read page by page.
#[test]
fn reading_counts_as_scanning_does() {
    const BLOCKS: u64 = 4;
    let mut memory = vec![0_u8; ((BLOCKS + 1) * BLOCK_BYTES) as usize];
    let first = (memory.as_ptr() as u64).div_ceil(BLOCK_BYTES);
    let begin = (first * BLOCK_BYTES - memory.as_ptr() as u64) as usize;
    // Every page of one block, every second of the next, and so on.
    for block in 0..BLOCKS as usize {
        let bytes = &mut memory[begin + block * BLOCK_BYTES as usize..][..BLOCK_BYTES as usize];
        for page in bytes.chunks_mut(PAGE_BYTES as usize).step_by(block + 1) {
            page[0] = 1;
        }
    }
    let mut linux = Linux::new();
    let own = linux.process(std::process::id()).unwrap();
    let scanned = linux.blocks(own, first..first + BLOCKS).unwrap();
    if !linux.scans() || scanned.iter().any(|seen| seen.huge) {
        eprintln!("skipped: no PAGEMAP_SCAN, or superpages without being asked for");
        return;
    }
    linux.scans = false;
    assert_eq!(linux.blocks(own, first..first + BLOCKS).unwrap(), scanned);
    let present = scanned.iter().map(|seen| seen.present);
    assert_eq!(present.collect::<Vec<_>>(), [512, 256, 171, 128]);
    drop(memory);
}

#[test]
fn threads_of_the_kernel_have_not_ended() {
    let mut linux = Linux::new();
    let kthreadd = linux.process(2);
    let is_one = |id: &ProcessId| {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", id.pid));
        name.is_ok_and(|name| name == "kthreadd\n")
    };
    let Some(kthreadd) = kthreadd.filter(is_one) else {
        eprintln!("skipped: a container without the kernel's threads");
        return;
    };
    assert_eq!(linux.pages(kthreadd), Err(KernelError::KernelThread));
}
