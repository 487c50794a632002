//! Traces of drmemtrace that are longer than the importer's buffer: most records are plain, and the
//! importer reads them together.

use broadleaf_import::{ImportBatch, ImportOptions};
use broadleaf_trace::{DataAccess, Fold, Grain, Visit};

use crate::common::{PAGES, all_options, import_bytes, named};
use crate::drmemtrace::{Pen, import};

/// Records of a buffer of 64 KiB, and some more.
const LONG: u64 = 6000;

/// A number that seems random.
const fn mixed(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// The visits of a trace, each record by itself.
struct Slow {
    fold: Fold,
    fetches: bool,
    visits: Vec<Visit>,
    pointer: u64,
    next_pointer: u64,
}

impl Slow {
    fn instruction(&mut self, address: u64, size: u64) {
        (self.pointer, self.next_pointer) = (address, address + size);
        match self.fetches {
            _ if size == 0 => {}
            true => self.fold.fetch(address, &mut self.visits),
            false => self.fold.instruction(),
        }
    }

    fn data(&mut self, access: DataAccess, address: u64, size: u64) {
        let last = address + size.max(1) - 1;
        self.fold.access(access, address, last, &mut self.visits);
    }
}

/// A trace of all kinds of plain records with others between them, and its visits.
fn long(options: ImportOptions) -> (Vec<u8>, Vec<Visit>) {
    let mut pen = Pen::head(7, 7, 1);
    let mut slow = Slow {
        fold: Fold::new(options.grain),
        fetches: options.fetches,
        visits: Vec::new(),
        pointer: 0,
        next_pointer: 0,
    };
    for number in 0..3 * LONG {
        let (address, size) = (
            0x10_0000 + mixed(number) % 0x4_0000,
            mixed(number + 1) % 200,
        );
        pen = match mixed(number + 2) % 64 {
            0..=29 => {
                slow.instruction(address, size);
                let kind = [10, 13, 16, 31, 48][number as usize % 5];
                pen.record(kind, size as u16, address)
            }
            30..=45 => {
                slow.data(DataAccess::Load, address, size);
                pen.record(0, size as u16, address)
            }
            46..=59 => {
                slow.data(DataAccess::Store, address, size);
                pen.record(1, size as u16, address)
            }
            // Another iteration of the instruction before, and a fetch.
            60 => pen.record(30, 2, slow.pointer),
            61 => {
                slow.instruction(address | 1 << 30, 2);
                pen.record(30, 2, address | 1 << 30)
            }
            62 => {
                let next = slow.next_pointer;
                slow.instruction(next, 3);
                slow.instruction(next + 3, 5);
                pen.record(17, 2, u64::from_le_bytes([3, 5, 0, 0, 0, 0, 0, 0]))
            }
            _ => pen.marker(28, 1),
        };
    }
    slow.fold.cut(&mut slow.visits);
    (pen.end(7), slow.visits)
}

#[test]
fn plain_records_count_as_each_by_itself() {
    for options in all_options() {
        let (bytes, visits) = long(options);
        let imported = import_bytes(named("drmemtrace"), &bytes, options).unwrap();
        assert!(visits.len() > 1000);
        assert_eq!(imported.visits(), visits, "{options:?}");
    }
}

/// A refusal after a buffer of plain records names the record and its place.
#[test]
fn refusals_among_plain_records_name_their_place() {
    let plain = || (0..LONG).fold(Pen::head(7, 7, 1), |pen, number| pen.load(number << 12));
    let place = |after: u64| {
        let number = 9 + LONG + after;
        format!("x: record {number} (at byte {}): ", (number - 1) * 12)
    };
    let mut cut = plain().load(1).0;
    cut.truncate(cut.len() - 5);
    for (bytes, after, reason) in [
        (plain().record(50, 0, 0).0, 1, "no record has type 50"),
        (
            plain().record(0, 8, u64::MAX - 3).0,
            1,
            "the reference reaches past",
        ),
        (plain().record(17, 9, 0).0, 1, "a bundle has more than 8"),
        (
            plain().0,
            0,
            "the file ends after this record, without a footer",
        ),
        (
            plain().record(26, 0, 0).load(1).0,
            2,
            "the file ends after this record",
        ),
        (cut, 1, "the input ends after 7 of its 12 bytes"),
    ] {
        let found = import(&bytes).unwrap_err().to_string();
        let expected = place(after) + reason;
        assert!(found.starts_with(&expected), "{found}, not {expected}");
    }
}

/// One call makes about as many visits as any other, however long the references are.
#[test]
fn batches_of_long_references_are_bounded() {
    let pen = (0..2000).fold(Pen::head(7, 7, 1), |pen, number| {
        pen.record(0, u16::MAX, number << 20)
    });
    let options = ImportOptions {
        grain: Grain::Line,
        ..PAGES
    };
    let source = broadleaf_import::ImportSource::stream("x", std::io::Cursor::new(pen.end(7)));
    let import = named("drmemtrace").import.as_ref().unwrap();
    let mut importer = (import.open)(source, &options).unwrap();
    let (mut batch, mut all) = (ImportBatch::default(), 0);
    while importer.read(&mut batch).unwrap() {
        assert!(batch.len() < 12_000, "{}", batch.len());
        all += batch.len();
        batch.clear();
    }
    assert!(all > 2000 * 1024, "{all}");
}
