//! The referenced memory of each mapping: `clear_refs`, and then `Referenced` in `smaps`
//! (`proc(5)`).

use super::{FoundHeat, HeatMeter, MappingHeat, no};
use crate::seen::ProcessId;
use std::time::Duration;

/// Clears the reference bits, waits, and reads how much of each mapping is referenced.
pub(super) fn measure(
    meter: &HeatMeter,
    process: ProcessId,
    window: Duration,
) -> Result<FoundHeat, String> {
    clear(meter, process)?;
    meter.rest(window)?;
    Ok(FoundHeat {
        mappings: mappings(meter, process)?,
        ..FoundHeat::default()
    })
}

/// Clears the reference bits of all pages of the process.
pub(super) fn clear(meter: &HeatMeter, process: ProcessId) -> Result<(), String> {
    let path = meter.of_process(process, "clear_refs");
    let file = std::fs::OpenOptions::new().write(true).open(&path);
    let cleared = file.and_then(|mut file| std::io::Write::write_all(&mut file, b"1\n"));
    cleared.map_err(|error| no(&path, &error))
}

/// Reads `smaps`: the mappings with resident pages.
pub(super) fn mappings(meter: &HeatMeter, process: ProcessId) -> Result<Vec<MappingHeat>, String> {
    let path = meter.of_process(process, "smaps");
    let bytes = std::fs::read(&path).map_err(|error| no(&path, &error))?;
    let mut found = parsed(&String::from_utf8_lossy(&bytes));
    found.retain(|mapping| mapping.resident_bytes > 0);
    Ok(found)
}

fn parsed(text: &str) -> Vec<MappingHeat> {
    let mut found: Vec<MappingHeat> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = heading(line) {
            found.push(mapping);
        } else if let Some(mapping) = found.last_mut() {
            if let Some(bytes) = kilobytes(line, "Rss:") {
                mapping.resident_bytes = bytes;
            } else if let Some(bytes) = kilobytes(line, "Referenced:") {
                mapping.referenced_bytes = bytes;
            }
        }
    }
    found
}

/// Parses the first line of a mapping: `00400000-00452000 r-xp 00000000 08:02 173521   /usr/bin/x`.
fn heading(line: &str) -> Option<MappingHeat> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let mut name = rest;
    for _ in 0..4 {
        name = name
            .trim_start()
            .split_once(' ')
            .map_or("", |(_, rest)| rest);
    }
    Some(MappingHeat {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        name: name.trim_start().to_owned(),
        resident_bytes: 0,
        referenced_bytes: 0,
    })
}

/// Returns the bytes of a line such as `Rss:   44 kB`.
pub(super) fn kilobytes(line: &str, name: &str) -> Option<u64> {
    let number = line.strip_prefix(name)?.split_whitespace().next()?;
    Some(number.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mapping_has_its_figures() {
        let found = parsed(
            "7f00-7f10 rw-p 00000000 00:00 0 \nSize: 64 kB\nRss:      44 kB\nReferenced:  8 kB\n\
             7f20-7f30 r-xp 00000000 fe:00 7      /usr/lib/a b.so\nRss: 0 kB\nReferenced: 0 kB\n",
        );
        let name = |at: usize| found[at].name.as_str();
        assert_eq!((found.len(), name(0), name(1)), (2, "", "/usr/lib/a b.so"));
        assert_eq!((found[0].start, found[0].end), (0x7f00, 0x7f10));
        assert_eq!(found[0].resident_bytes, 44 << 10);
        assert_eq!(found[0].referenced_bytes, 8 << 10);
    }
}
