//! What every format of the catalogue keeps to. No test here names a format.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use broadleaf_import::{
    Compression, Compressor, FOREIGN_FORMATS, ForeignFormat, ImportSource, exportable, importable,
};
use broadleaf_trace::synth::SplitMix64;
use broadleaf_units::Described;

use crate::common::{
    PAGES, Trickle, all_options, export, import_bytes, import_source, references, through_a_trace,
};

fn each(mut test: impl FnMut(&ForeignFormat, Vec<u8>)) {
    let mut count = 0;
    for (format, _) in importable() {
        test(format, format.sample.to_vec());
        count += 1;
    }
    assert!(count >= 3, "{count}");
}

#[test]
fn entries_are_complete() {
    let names: BTreeSet<&str> = FOREIGN_FORMATS
        .iter()
        .map(|format| format.described.name)
        .collect();
    assert_eq!(
        names.len(),
        FOREIGN_FORMATS.len(),
        "two formats have one name"
    );
    for format in FOREIGN_FORMATS {
        let Described {
            name,
            summary,
            explanation,
            ..
        } = format.described;
        assert!(format.import.is_some() || format.export.is_some(), "{name}");
        for (exists, verb) in [
            (format.import.is_some(), "import"),
            (format.export.is_some(), "export"),
        ] {
            let command = format!("`{verb} {name}`");
            let is_told = explanation.contains(&command);
            assert_eq!(is_told, exists, "{name}: {command}");
        }
        let has_layout = !format.layout.is_empty();
        let is_whole = |(part, content): &(&str, &str)| !part.is_empty() && !content.is_empty();
        assert!(has_layout && format.layout.iter().all(is_whole), "{name}");
        assert!(!summary.ends_with('.'), "{name}");
        assert!(explanation.ends_with('.'), "{name}");
    }
}

/// The sample is worth something: it holds instructions, loads, stores, and every way to import it
/// makes what a trace can hold.
#[test]
fn samples_are_imported_in_every_way() {
    each(|format, bytes| {
        for options in all_options() {
            let imported = import_bytes(format, &bytes, options)
                .unwrap_or_else(|error| panic!("{}: {error}", format.described.name));
            let counts = imported.counts;
            assert!(counts.records > 0 && counts.instructions > 0, "{counts:?}");
            assert!(counts.loads > 0 && counts.stores > 0, "{counts:?}");
            let visits = imported.visits();
            let loads: u64 = visits.iter().map(|visit| u64::from(visit.loads)).sum();
            let stores: u64 = visits.iter().map(|visit| u64::from(visit.stores)).sum();
            let instructions = visits.iter().map(|visit| u64::from(visit.instructions));
            assert_eq!((loads, stores), (counts.loads, counts.stores));
            assert_eq!(instructions.sum::<u64>(), counts.instructions);
            let has_fetches = visits.iter().any(|visit| visit.fetch);
            assert_eq!(has_fetches, options.fetches, "{}", format.described.name);
            let again = through_a_trace(&imported);
            let data = |items: &[_]| {
                let visits = items.iter().filter_map(|item| match item {
                    crate::common::OwnedItem::Visit(visit) => Some(visit),
                    crate::common::OwnedItem::Event(_) => None,
                });
                references(visits, options.fetches)
            };
            assert_eq!(
                data(&again),
                data(&imported.items),
                "{}",
                format.described.name
            );
            assert!(
                !imported.header.notes.is_empty(),
                "{}",
                format.described.name
            );
        }
    });
}

#[test]
fn nothing_is_refused_by_its_name() {
    each(|format, _| {
        let error = import_bytes(format, b"", PAGES).unwrap_err().to_string();
        assert_eq!(
            error, "x: is empty, not a trace",
            "{}",
            format.described.name
        );
    });
}

#[test]
fn every_prefix_is_read_or_refused_with_its_name() {
    each(|format, bytes| {
        let whole = import_bytes(format, &bytes, PAGES).expect("the sample is whole");
        for length in 0..bytes.len() {
            match import_bytes(format, &bytes[..length], PAGES) {
                Ok(imported) => {
                    assert!(imported.counts.accesses() <= whole.counts.accesses());
                }
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.starts_with("x: ") && error.len() > 12, "{error}");
                }
            }
        }
        let refused = (0..bytes.len())
            .filter(|&length| import_bytes(format, &bytes[..length], PAGES).is_err());
        assert!(
            refused.count() > 1,
            "{}: no cut is noticed",
            format.described.name
        );
    });
}

#[test]
fn damage_and_garbage_end_without_a_panic() {
    let mut random = SplitMix64::new(21);
    each(|format, bytes| {
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << random.below(8);
            let options = all_options().nth(random.below(4) as usize);
            let options = options.expect("there are four ways");
            if let Ok(imported) = import_bytes(format, &damaged, options) {
                through_a_trace(&imported);
            }
        }
        for _ in 0..300 {
            let length = random.below(2000) as usize;
            let garbage: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            let _ = import_bytes(format, &garbage, PAGES);
            // The bytes follow a valid beginning.
            let cut = random.below(bytes.len() as u64) as usize;
            let both = [&bytes[..cut], &garbage].concat();
            let _ = import_bytes(format, &both, PAGES);
        }
    });
}

#[test]
fn the_size_of_reads_makes_no_difference() {
    each(|format, bytes| {
        let entry = format.import.as_ref().expect("the format is read");
        for options in all_options() {
            let whole = import_bytes(format, &bytes, options).expect("the sample is whole");
            for most in [1, 7, 64] {
                let bytes = Cursor::new(bytes.clone());
                let source = ImportSource::stream("x", Trickle { bytes, most });
                let slow = import_source(entry, source, options).expect("the same bytes");
                assert_eq!(slow, whole, "{}", format.described.name);
            }
        }
    });
}

#[test]
fn compressed_samples_give_the_same() {
    each(|format, bytes| {
        let whole = import_bytes(format, &bytes, PAGES).expect("the sample is whole");
        for compression in [
            Compression::Gzip,
            Compression::Xz,
            Compression::Zstd,
            Compression::Lz4,
        ] {
            let mut compressor = Compressor::new(Vec::new(), compression).unwrap();
            compressor.write_all(&bytes).unwrap();
            let compressed = compressor.finish().unwrap();
            let imported = import_bytes(format, &compressed, PAGES).expect("a compressed sample");
            assert_eq!(imported, whole, "{}", format.described.name);
            let cut = &compressed[..compressed.len() - 9];
            let error = import_bytes(format, cut, PAGES).unwrap_err().to_string();
            assert!(error.contains("cut short"), "{compression:?}: {error}");
        }
    });
}

/// Returns true if a refusal names a byte of the input.
pub(crate) fn names_a_byte(refusal: &str) -> bool {
    let mut places = refusal.split("byte ").skip(1);
    places.any(|place| place.starts_with(|first: char| first.is_ascii_digit()))
}

/// The bytes as each compression that is read stores them.
fn stored(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![("plain", bytes.to_vec())];
    for (name, compression) in [
        ("gzip", Compression::Gzip),
        ("xz", Compression::Xz),
        ("zstd", Compression::Zstd),
        ("LZ4", Compression::Lz4),
    ] {
        let mut compressor = Compressor::new(Vec::new(), compression).unwrap();
        compressor.write_all(bytes).unwrap();
        all.push((name, compressor.finish().unwrap()));
    }
    let mut snappy = snap::write::FrameEncoder::new(Vec::new());
    snappy.write_all(bytes).unwrap();
    all.push(("Snappy", snappy.into_inner().unwrap()));
    all
}

/// A refusal of a cut or damaged input names a byte, unless nothing is left of the input.
#[test]
fn damage_is_refused_with_its_place() {
    each(|format, bytes| {
        let name = format.described.name;
        for (compression, stored) in stored(&bytes) {
            let mut refused = 0;
            let mut check = |damage: &str, at: usize, damaged: &[u8]| {
                let Err(error) = import_bytes(format, damaged, PAGES) else {
                    return;
                };
                let error = error.to_string();
                refused += 1;
                assert!(
                    names_a_byte(&error) || error == "x: is empty, not a trace",
                    "{name}, {compression}, {damage} at byte {at}: {error}"
                );
            };
            for at in 0..stored.len() {
                check("cut", at, &stored[..at]);
                for bit in 0..8 {
                    let mut flipped = stored.clone();
                    flipped[at] ^= 1 << bit;
                    check("bit flipped", at, &flipped);
                }
            }
            assert!(
                refused > stored.len() / 2,
                "{name}, {compression}: {refused}"
            );
        }
    });
}

#[test]
fn endless_zeros_are_refused() {
    each(|format, _| {
        let entry = format.import.as_ref().expect("the format is read");
        let source = ImportSource::stream("x", std::io::repeat(0));
        let error = import_source(entry, source, PAGES).unwrap_err();
        assert!(error.to_string().starts_with("x: "), "{error}");
    });
}

/// What a format writes it reads, with the same references in the same order.
#[test]
fn an_export_that_is_imported_has_the_same_references() {
    let mut count = 0;
    for (format, entry) in exportable() {
        if format.import.is_none() {
            continue;
        }
        count += 1;
        for (of, _) in importable() {
            let imported = import_bytes(of, of.sample, PAGES).expect("the sample is whole");
            let (bytes, _) = export(entry, &imported.header, &imported.items);
            let again = import_bytes(format, &bytes, PAGES).expect("an export is whole");
            assert_eq!(
                references(&again.visits(), false),
                references(&imported.visits(), false),
                "{} from {}",
                format.described.name,
                of.described.name
            );
        }
    }
    assert!(count >= 1);
}
