//! Memory samples of perf, as `perf script` prints them.

use broadleaf_trace::{DataAccess, Header};
use broadleaf_units::Described;

use crate::catalogue::ForeignFormat;
use crate::error::ImportError;
use crate::import::{ImportEntry, ImportOptions, LeftOut, OpenedImport};
use crate::lines::{LineWords, Lines, hexadecimal, shown, words};
use crate::references::{Reference, ReferenceImporter, ReferenceReader};
use crate::source::ImportSource;

/// The catalogue's entry.
pub(crate) static PERF: ForeignFormat = ForeignFormat {
    described: Described {
        name: "perf",
        summary: "memory samples of perf, as printed by `perf script -F event,addr,ip`",
        explanation: "One sample a line, recorded by `perf mem record`. The first word with a \
                  letter that ends in a colon is the event; the next word is the address, in \
                  hexadecimal; a hexadecimal word after that is the instruction's address, unless \
                  the data source is printed. A sample is a load or a store by the name of its \
                  event, or else by the words OP LOAD and OP STORE. Samples of the kernel, without \
                  an address or of no known kind are left out, and so are lines that begin with #. \
                  A sample is one reference of many: the pages of a result are those of samples, \
                  and its counts, ratios and times are not those of the program. The recording \
                  says so. Read by `import perf`, also from standard input and compressed.",
        source: "perf-script(1) and perf-mem(1)",
    },
    layout: &[
        (
            "a word with `:` at its end",
            "the event: the name holds `load` or `store`; words before it are not read",
        ),
        ("the next word", "the address, hexadecimal"),
        (
            "the word after that",
            "the address of the instruction, hexadecimal; the number of the data source if it is \
             printed",
        ),
        (
            "`OP LOAD`, `OP STORE`",
            "the kind of an access whose event has neither in its name",
        ),
        ("`# TEXT`", "skipped"),
    ],
    endings: &[],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
        records: "samples",
    }),
    export: None,
    sample: include_bytes!("sample"),
};

/// The first address of the kernel, on processors that perf takes memory samples on.
const KERNEL: u64 = 1 << 63;

struct PerfReader {
    lines: Lines,
    /// The event of the last sample. The next sample mostly has the same one.
    last: PerfEvent,
}

/// An event: its name, and the kind of access that the name implies.
#[derive(Debug, Default)]
struct PerfEvent {
    name: Vec<u8>,
    is_load: bool,
    is_store: bool,
}

impl PerfEvent {
    /// Becomes the event of that name.
    #[inline]
    fn become_named(&mut self, name: &[u8]) {
        if self.name != name {
            self.name = name.to_vec();
            self.is_load = holds(name, b"load");
            self.is_store = holds(name, b"store");
        }
    }
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let lines = Lines::new(source.decompressed()?);
    let last = PerfEvent::default();
    let reader = PerfReader { lines, last };
    Ok(Box::new(ReferenceImporter::new(reader, options)))
}

/// Returns true if a word is the name of an event, with the colon after it. A time has no letter.
fn is_event(word: &[u8]) -> bool {
    word.ends_with(b":") && word.iter().any(u8::is_ascii_alphabetic)
}

fn holds(text: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(text, wanted).is_some()
}

/// The first event of a line, and the words after it.
#[inline]
fn event(line: &[u8]) -> Option<(&[u8], LineWords<'_>)> {
    for colon in memchr::memchr_iter(b':', line) {
        let (before, after) = line.split_at(colon + 1);
        if !matches!(after, [] | [b' ' | b'\t', ..]) {
            continue;
        }
        let begin = memchr::memrchr2(b' ', b'\t', before).map_or(0, |blank| blank + 1);
        if is_event(&before[begin..]) {
            return Some((&before[begin..], words(after)));
        }
    }
    None
}

fn reference(line: &[u8], last: &mut PerfEvent) -> Result<Reference, String> {
    let (event, mut words) = event(line).ok_or(
        "no event, which is a word with a colon at its end: print samples by `perf script -F \
         event,addr,ip`, without call chains",
    )?;
    let address = words.next().unwrap_or_default();
    let first = hexadecimal(address)
        .ok_or_else(|| format!("{} is no hexadecimal address of 64 bits", shown(address)))?;
    // With the data source, its number comes after the address, in hexadecimal too.
    let names_source = memchr::memchr(b'O', line).is_some();
    let has_source = names_source && holds(line, b"|OP ");
    let instruction = words.next().filter(|_| !has_source);
    let instruction =
        instruction.and_then(|word| hexadecimal(word.strip_suffix(b":").unwrap_or(word)));
    last.become_named(event);
    let is_load = last.is_load || names_source && holds(line, b"OP LOAD");
    let is_store = last.is_store || names_source && holds(line, b"OP STORE");
    let access = match (is_load, is_store) {
        _ if first == 0 || first >= KERNEL => return Ok(Reference::Nothing),
        (true, false) => DataAccess::Load,
        (false, true) => DataAccess::Store,
        (true, true) | (false, false) => return Ok(Reference::Nothing),
    };
    Ok(match instruction {
        Some(address) if address < KERNEL => Reference::Both(address, access, first, first),
        _ => Reference::Data(access, first, first),
    })
}

impl ReferenceReader for PerfReader {
    fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        let found = loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some(line) if line.trim_ascii().is_empty() || line.starts_with(b"#") => {}
                Some(line) => break reference(line, &mut self.last),
            }
        };
        found.map(Some).map_err(|reason| self.lines.bad(reason))
    }

    fn bad(&self, reason: &str) -> ImportError {
        self.lines.bad(reason)
    }

    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.notes.push(
            "imported from memory samples of perf: each reference is a sample, one of many, so \
             only the pages that are used follow from it, and no counts, ratios or times"
                .to_owned(),
        );
    }

    fn left_out(&self, nothing: u64) -> Vec<LeftOut> {
        LeftOut::some(&[(
            nothing,
            "samples of the kernel, without an address or of no known kind",
        )])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::import_text;

    #[test]
    fn samples_of_several_forms_are_read() {
        let text = "\
# captured on: Thu Nov 26 2026
 4711 cpu/mem-loads,ldlat=30/P:     7f1234567890     55d0c0ffee00
 redis-server 4711 [001] 123.456789:     1 cpu/mem-stores/P:  7f1234568000  55d0c0ffee04 f (/bin/x)
 x 1 9.5: 1 ibs_op//: 601000 5080022 |OP LOAD|LVL L1 hit|SNP N/A|TLB L1 hit|LCK No 7 401000 main
 x 1 9.6: 1 ibs_op//: 601000 5080022 |OP N/A|LVL N/A| 0 401000 main
 x 1 9.7: cpu/mem-loads/: 0 401000
 x 1 9.8: cpu/mem-loads/: ffff888100000000 ffffffff81000000
";
        let (visits, counts, left_out) = import_text(PERF.import.as_ref(), text).unwrap();
        assert_eq!((counts.loads, counts.stores, counts.records), (2, 1, 6));
        // The word after the third sample's address is its data source.
        assert_eq!(counts.instructions, 2);
        assert_eq!(left_out[0].count, 3);
        let units: Vec<u64> = visits.iter().map(|visit| visit.unit).collect();
        assert_eq!(units, [0x7_f123_4567, 0x7_f123_4568, 0x601]);
    }

    #[test]
    fn other_lines_are_refused_with_their_place() {
        for (text, says) in [
            ("7f1234567890 main\n", "line 1 (at byte 0): no event"),
            (
                "# x\n1 mem-loads: y\n",
                "line 2 (at byte 4): \"y\" is no hexadecimal address",
            ),
            ("1 mem-loads:\n", "\"\" is no hexadecimal address"),
        ] {
            let refused = import_text(PERF.import.as_ref(), text).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
    }
}
