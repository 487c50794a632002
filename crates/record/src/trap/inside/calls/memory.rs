//! Calls about memory: the engine answers them with mappings of the memory file.

use std::ops::Range;

use super::{Answer, failed};
use crate::trap::inside::engine::Engine;
use crate::trap::inside::layout::{END, LOWEST, PAGE, page_end};
use crate::trap::inside::regions::RegionKind;
use crate::trap::inside::space::Contents;

/// The end of the addresses that a mapping with `MAP_32BIT` can have.
const END_OF_32_BITS: u64 = 1 << 31;

/// Answers a call about memory.
pub(super) fn answer(engine: &mut Engine, number: i64, arguments: [u64; 6]) -> Option<Answer> {
    let [start, bytes, third, ..] = arguments;
    Some(match number {
        libc::SYS_mmap => map(engine, arguments).into(),
        libc::SYS_munmap => unmap(engine, start, bytes).into(),
        libc::SYS_mprotect | libc::SYS_pkey_mprotect => {
            protect(engine, start, bytes, third as i32).into()
        }
        libc::SYS_mremap => remap(engine, arguments).into(),
        libc::SYS_madvise => advise(engine, start, bytes, third as i32).into(),
        libc::SYS_brk => Answer::Result(end_heap(engine, start) as i64),
        // Memory that is locked or advised would be the engine's.
        libc::SYS_mlock
        | libc::SYS_munlock
        | libc::SYS_mlockall
        | libc::SYS_munlockall
        | libc::SYS_mlock2
        | libc::SYS_mbind
        | libc::SYS_set_mempolicy => Answer::Result(0),
        libc::SYS_remap_file_pages => failed(libc::EINVAL),
        _ => return None,
    })
}

/// The range of a call: whole pages, inside the addresses that the program has.
fn range_of(start: u64, bytes: u64) -> Result<Range<u64>, i32> {
    if !start.is_multiple_of(PAGE) {
        return Err(libc::EINVAL);
    }
    let bytes = page_end(bytes).ok_or(libc::ENOMEM)?;
    let end = start.checked_add(bytes).filter(|end| *end <= END);
    Ok(start..end.ok_or(libc::ENOMEM)?)
}

fn map(engine: &mut Engine, arguments: [u64; 6]) -> Result<u64, i32> {
    let [hint, bytes, protection, flags, file, offset] = arguments;
    let (protection, flags, file) = (protection as i32, flags as i32, file as i32);
    let bytes = page_end(bytes)
        .filter(|bytes| *bytes > 0)
        .ok_or(libc::EINVAL)?;
    if !offset.is_multiple_of(PAGE) {
        return Err(libc::EINVAL);
    }
    let is_fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    let start = if is_fixed {
        hint
    } else if flags & libc::MAP_32BIT != 0 {
        let found = engine
            .space
            .regions
            .highest_free(bytes, END_OF_32_BITS, LOWEST);
        found.ok_or(libc::ENOMEM)?
    } else {
        engine.space.place(bytes, hint).ok_or(libc::ENOMEM)?
    };
    let range = range_of(start, bytes)?;
    if range.start < LOWEST {
        return Err(libc::EPERM);
    }
    if flags & libc::MAP_FIXED_NOREPLACE != 0 && !engine.space.regions.is_free(&range) {
        return Err(libc::EEXIST);
    }
    let contents = if flags & libc::MAP_ANONYMOUS != 0 {
        Contents::Zeroes
    } else {
        Contents::File(file, offset)
    };
    let is_shared = flags & libc::MAP_TYPE != libc::MAP_PRIVATE;
    engine.forget(&range, true);
    engine
        .space
        .map(&range, contents, protection & PROTECTIONS, is_shared)?;
    Ok(start)
}

/// The protections that count: growth flags do not.
const PROTECTIONS: i32 = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;

fn unmap(engine: &mut Engine, start: u64, bytes: u64) -> Result<(), i32> {
    let range = range_of(start, bytes)?;
    if range.is_empty() {
        return Err(libc::EINVAL);
    }
    engine.forget(&range, true);
    engine.space.unmap(&range)?;
    if engine.begin_at == Some(range.start) {
        engine.begin();
    }
    Ok(())
}

fn protect(engine: &mut Engine, start: u64, bytes: u64, protection: i32) -> Result<(), i32> {
    let range = range_of(start, bytes)?;
    let changed = engine.space.protect(&range, protection & PROTECTIONS)?;
    for part in &changed {
        engine.forget(part, false);
    }
    Ok(())
}

/// Moves or resizes a mapping.
fn remap(engine: &mut Engine, arguments: [u64; 6]) -> Result<u64, i32> {
    let [start, old_bytes, new_bytes, flags, place, _] = arguments;
    let flags = flags as i32;
    let old = range_of(start, old_bytes)?;
    let new_bytes = page_end(new_bytes)
        .filter(|bytes| *bytes > 0)
        .ok_or(libc::EINVAL)?;
    let mut parts = engine.space.regions.within(&old);
    let [(part, region)] = parts.as_mut_slice() else {
        return Err(libc::EFAULT);
    };
    if *part == old && region.is_private_file() {
        engine.space.own(&old, region)?;
        region.kind = RegionKind::Memory;
        engine.forget(&old, false);
    }
    if *part != old || region.kind == RegionKind::Code || flags & libc::MREMAP_DONTUNMAP != 0 {
        return Err(libc::EINVAL);
    }
    let region = *region;
    let is_file = region.kind == RegionKind::File;
    let is_fixed = flags & libc::MREMAP_FIXED != 0;
    let bytes = old.end - old.start;
    if !is_fixed && new_bytes <= bytes {
        if new_bytes < bytes {
            unmap(engine, old.start + new_bytes, bytes - new_bytes)?;
        }
        return Ok(old.start);
    }
    let more = old.end..old.start.saturating_add(new_bytes);
    if !is_fixed && !is_file && more.end <= END && engine.space.regions.is_free(&more) {
        let zeroes = Contents::Zeroes;
        engine
            .space
            .map(&more, zeroes, region.protection, region.shared)?;
        return Ok(old.start);
    }
    if flags & libc::MREMAP_MAYMOVE == 0 {
        return Err(libc::ENOMEM);
    }
    let to = if is_fixed {
        place
    } else {
        engine.space.place(new_bytes, 0).ok_or(libc::ENOMEM)?
    };
    let new = range_of(to, new_bytes)?;
    if new.start < old.end && old.start < new.end {
        return Err(libc::EINVAL);
    }
    engine.forget(&new, true);
    engine.forget(&old, true);
    if region.shared {
        engine.space.relocate(&old, &region, &new)?;
        return Ok(to);
    }
    engine
        .space
        .map(&new, Contents::Zeroes, region.protection, region.shared)?;
    engine
        .space
        .copy(&(old.start..old.start + bytes.min(new_bytes)), &region, to);
    engine.space.unmap(&old)?;
    Ok(to)
}

/// Pages that the program gives back are zeroes when it next refers to them. Other advice changes
/// nothing that is counted.
fn advise(engine: &mut Engine, start: u64, bytes: u64, advice: i32) -> Result<(), i32> {
    let range = range_of(start, bytes)?;
    match advice {
        libc::MADV_DONTNEED | libc::MADV_REMOVE | MADV_DONTNEED_LOCKED => {
            engine.forget(&range, true);
            for (part, region) in engine.space.regions.within(&range) {
                let is_own = !region.shared && !region.of_file;
                if region.kind == RegionKind::Memory && (is_own || advice == libc::MADV_REMOVE) {
                    engine.space.forget(&part, &region)?;
                }
            }
            Ok(())
        }
        libc::MADV_WIPEONFORK | libc::MADV_DONTFORK => Err(libc::EINVAL),
        _ => Ok(()),
    }
}

const MADV_DONTNEED_LOCKED: i32 = 24;

/// Moves the end of the heap, if it can be moved there. Returns the end.
fn end_heap(engine: &mut Engine, end: u64) -> u64 {
    let now = engine.heap.end;
    let (Some(old), Some(new)) = (page_end(now), page_end(end)) else {
        return now;
    };
    if end < engine.heap.start || new > END {
        return now;
    }
    let is_done = if new > old {
        let more = old..new;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        engine.space.regions.is_free(&more)
            && engine
                .space
                .map(&more, Contents::Zeroes, protection, false)
                .is_ok()
    } else if new < old {
        unmap(engine, new, old - new).is_ok()
    } else {
        true
    };
    if is_done {
        engine.heap.end = end;
    }
    engine.heap.end
}
