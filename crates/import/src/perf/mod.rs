//! Memory samples of perf, as `perf script` prints them.

use broadleaf_trace::{DataAccess, Header};
use broadleaf_units::Described;

use crate::error::ImportError;
use crate::foreign_format::ForeignFormat;
use crate::import::{ImportEntry, ImportOptions, LeftOut, OpenedImport};
use crate::lines::{hexadecimal, leading_digits, shown, words};
use crate::parsed::{LineParser, ParsedLines};
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

/// Parses samples. The starts that it keeps spare work, and change no sample.
#[derive(Default)]
struct PerfParser {
    /// How the last samples of two events began, the last one first. The next sample mostly begins
    /// as one of these.
    known: [PerfStart; 2],
}

/// The start of a sample, up to its event, and the kind of access that the event implies.
#[derive(Debug, Default)]
struct PerfStart {
    /// The bytes up to the colon of the event. Empty if there was no sample yet.
    bytes: Vec<u8>,
    /// The first byte of the event's name.
    event_at: usize,
    is_load: bool,
    is_store: bool,
    /// A name of a data source may be in it.
    has_letter_o: bool,
}

impl PerfStart {
    fn event(&self) -> &[u8] {
        &self.bytes[self.event_at..]
    }

    /// Becomes the start of a sample with these bytes, whose event begins at `event_at`.
    fn become_start(&mut self, bytes: &[u8], event_at: usize) {
        let event = &bytes[event_at..];
        if self.event() != event {
            self.is_load = holds(event, b"load");
            self.is_store = holds(event, b"store");
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.event_at = event_at;
        self.has_letter_o = memchr::memchr(b'O', bytes).is_some();
    }

    /// The bytes after this start, if the line begins so and its next byte ends the event.
    #[inline]
    fn rest_of<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        let rest = line.strip_prefix(self.bytes.as_slice())?;
        let is_whole = matches!(rest, [b' ' | b'\t', ..]);
        Some(rest).filter(|_| is_whole && !self.bytes.is_empty())
    }
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let reader = PerfReader(ParsedLines::new::<PerfParser>(source.decompressed()?)?);
    Ok(Box::new(ReferenceImporter::new(reader, options)))
}

/// Returns true if a word is the name of an event, with the colon after it. A time has no letter.
fn is_event(word: &[u8]) -> bool {
    word.ends_with(b":") && word.iter().any(u8::is_ascii_alphabetic)
}

fn holds(text: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(text, wanted).is_some()
}

/// The first event of a line: the bytes before it, and those up to its colon.
fn event(line: &[u8]) -> Option<(usize, usize)> {
    for colon in memchr::memchr_iter(b':', line) {
        let (before, after) = line.split_at(colon + 1);
        if !matches!(after, [] | [b' ' | b'\t', ..]) {
            continue;
        }
        let begin = memchr::memrchr2(b' ', b'\t', before).map_or(0, |blank| blank + 1);
        if is_event(&before[begin..]) {
            return Some((begin, colon + 1));
        }
    }
    None
}

/// The address and the instruction's address of a sample with nothing else after its event. `None`
/// for other samples, which are not wrong for that.
#[inline]
fn plain_addresses(rest: &[u8]) -> Option<(u64, Option<u64>)> {
    let (first, rest) = leading_hexadecimal(rest)?;
    match leading_hexadecimal(rest) {
        Some((instruction, [])) => Some((first, Some(instruction))),
        None if rest.is_empty() => Some((first, None)),
        Some(_) | None => None,
    }
}

/// The hexadecimal number after blanks, and the bytes after it: none, or a blank and others.
#[inline]
fn leading_hexadecimal(mut text: &[u8]) -> Option<(u64, &[u8])> {
    // Columns are aligned by many blanks.
    while let Some((b"        ", rest)) = text.split_first_chunk::<8>() {
        text = rest;
    }
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    let (number, count) = leading_digits(text);
    let rest = &text[count..];
    if (1..=16).contains(&count) && matches!(rest, [] | [b' ' | b'\t', ..]) {
        return Some((number, rest));
    }
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t'));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    Some((hexadecimal(word)?, rest))
}

/// The kind of access of a sample whose event or data source names these, and its reference.
#[inline]
fn sample((is_load, is_store): (bool, bool), first: u64, instruction: Option<u64>) -> Reference {
    let access = match (is_load, is_store) {
        _ if first == 0 || first >= KERNEL => return Reference::Nothing,
        (true, false) => DataAccess::Load,
        (false, true) => DataAccess::Store,
        (true, true) | (false, false) => return Reference::Nothing,
    };
    match instruction {
        Some(address) if address < KERNEL => Reference::Both(address, access, first, first),
        _ => Reference::Data(access, first, first),
    }
}

/// The reference of a line. `known` becomes the starts of the last samples.
#[inline]
fn reference(line: &[u8], known: &mut [PerfStart; 2]) -> Result<Reference, String> {
    if let Some(reference) = known_start(line, known) {
        return Ok(reference);
    }
    let (begin, end) = event(line).ok_or(
        "no event, which is a word with a colon at its end: print samples by `perf script -F \
         event,addr,ip`, without call chains",
    )?;
    let (event, mut words) = (&line[begin..end], words(&line[end..]));
    let address = words.next().unwrap_or_default();
    let first = hexadecimal(address)
        .ok_or_else(|| format!("{} is no hexadecimal address of 64 bits", shown(address)))?;
    // With the data source, its number comes after the address, in hexadecimal too.
    let names_source = memchr::memchr(b'O', line).is_some();
    let has_source = names_source && holds(line, b"|OP ");
    let instruction = words.next().filter(|_| !has_source);
    let instruction =
        instruction.and_then(|word| hexadecimal(word.strip_suffix(b":").unwrap_or(word)));
    if known[0].event() != event {
        known.swap(0, 1);
    }
    known[0].become_start(&line[..end], begin);
    let is_load = known[0].is_load || names_source && holds(line, b"OP LOAD");
    let is_store = known[0].is_store || names_source && holds(line, b"OP STORE");
    Ok(sample((is_load, is_store), first, instruction))
}

/// The reference of a line that begins as one of the last samples did, and holds addresses alone
/// after its event. `None` for other lines. The first event of such a line is the known one: it
/// follows from the bytes up to it, and the blank after it.
#[inline]
fn known_start(line: &[u8], known: &mut [PerfStart; 2]) -> Option<Reference> {
    let rest = match known[0].rest_of(line) {
        Some(rest) => rest,
        None => {
            let rest = known[1].rest_of(line)?;
            known.swap(0, 1);
            rest
        }
    };
    let start = &known[0];
    if start.has_letter_o {
        return None;
    }
    let (first, instruction) = plain_addresses(rest)?;
    Some(sample((start.is_load, start.is_store), first, instruction))
}

impl LineParser for PerfParser {
    #[inline]
    fn is_record(line: &[u8]) -> bool {
        !line.starts_with(b"#") && !line.trim_ascii().is_empty()
    }

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Reference, String> {
        reference(line, &mut self.known)
    }
}

struct PerfReader(ParsedLines);

impl ReferenceReader for PerfReader {
    #[inline]
    fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        self.0.next()
    }

    fn bad(&self, reason: &str) -> ImportError {
        self.0.bad(reason)
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

    /// A sample is read alike after any other samples.
    #[test]
    fn samples_do_not_depend_on_those_before() {
        let lines = [
            " 4711 cpu/mem-loads,ldlat=30/P:     7f1234567890     55d0c0ffee00",
            " 4711 cpu/mem-loads,ldlat=30/P:     7f1234567890",
            " 4711 cpu/mem-loads,ldlat=30/P:     7f1234567890  ",
            " 4711 cpu/mem-loads,ldlat=30/P:\t7f1234567890 0x55d0c0ffee04 main",
            " 4711 cpu/mem-loads,ldlat=30/P:x: 7f1234567890 55d0c0ffee04",
            " 4711 cpu/mem-loads,ldlat=30/P: 7f1234567890 55d0c0ffee04: main",
            " 4711 cpu/mem-loads,ldlat=30/P: ffff888100000000 ffffffff81000000",
            " 4711 cpu/mem-loads,ldlat=30/P: 7f1234567890 5080022 |OP STORE|LVL L1 hit 401000",
            " 4711 cpu/mem-loads,ldlat=30/P: y 401000",
            " 4711 cpu/mem-loads,ldlat=30/P:",
            " 4711 cpu/mem-stores/P:             7f1234568000     55d0c0ffee04",
            " 4712 cpu/mem-stores/P:             7f1234568000     55d0c0ffee04",
            " 4712 ibs_op//: 601000 401000",
            " 4712 ibs_op//: 601000 5080022 |OP LOAD|LVL L1 hit 401000",
            " OP LOAD 1 ibs_op//: 601000 401000",
            " |OP LOAD 1 ibs_op//: 601000 401000",
            "1 9.5: 1 cpu/mem-loads/: 601000 401000",
            "1 9.6: 1 cpu/mem-loads/: 601040 401000",
        ];
        let alone = |line: &str| reference(line.as_bytes(), &mut Default::default());
        let mut known = Default::default();
        for before in lines {
            for line in lines {
                for _ in 0..2 {
                    let found = reference(line.as_bytes(), &mut known);
                    assert_eq!(found, alone(line), "{line} after {before}");
                }
                let _ = reference(before.as_bytes(), &mut known);
            }
        }
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
