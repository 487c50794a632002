//! Files of drmemtrace that are archives, damaged, or none.

use std::fs;
use std::io::Write;

use broadleaf_import::ImportError;

use crate::contract::names_a_byte;
use crate::drmemtrace::{Pen, import, import_path, two_threads};

fn refusal(bytes: &[u8]) -> String {
    import(bytes).unwrap_err().to_string()
}

/// A zip archive with a chunk for each of `chunks`.
fn zipped(chunks: &[&[u8]]) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for (number, chunk) in chunks.iter().enumerate() {
        let name = format!("chunk.{number:04}");
        let method = match number % 2 {
            0 => rawzip::CompressionMethod::DEFLATE,
            _ => rawzip::CompressionMethod::STORE,
        };
        let file = archive.new_file(&name).compression_method(method);
        let (mut entry, config) = file.start().unwrap();
        let descriptor = if number % 2 == 0 {
            let level = flate2::Compression::default();
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, level);
            let mut writer = config.wrap(encoder);
            writer.write_all(chunk).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(chunk).unwrap();
            writer.finish().unwrap().1
        };
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}

#[test]
fn chunks_of_a_zip_archive_are_one_file() {
    let [(_, first), _] = two_threads();
    let plain = import(&first).unwrap();
    // Cut between records, as DynamoRIO does, and inside one.
    for cut in [12 * 11, 12 * 11 + 5] {
        let (a, b) = first.split_at(cut);
        let bytes = zipped(&[a, b, &[]]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drmemtrace.app.7.1.trace.zip");
        fs::write(&path, &bytes).unwrap();
        assert_eq!(import_path(&path).unwrap(), plain);
        assert_eq!(import_path(folder.path()).unwrap(), plain);
    }
    let error = import(&zipped(&[&first])).unwrap_err().to_string();
    assert!(error.contains("zip archive"), "{error}");
}

#[test]
fn cuts_and_damage_of_a_zip_archive_are_noticed() {
    let [(_, first), _] = two_threads();
    let plain = import(&first).unwrap();
    let bytes = zipped(&[&first]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drmemtrace.app.7.1.trace.zip");
    for length in (0..bytes.len()).step_by(3) {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = import_path(&path).unwrap_err().to_string();
        assert!(
            names_a_byte(&error) || length == 0,
            "cut at {length}: {error}"
        );
    }
    for at in (0..bytes.len()).step_by(2) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        match import_path(&path) {
            Ok(imported) => assert_eq!(imported.items, plain.items, "byte {at} is not checked"),
            Err(error) => {
                let error = error.to_string();
                assert!(names_a_byte(&error), "damage at {at}: {error}");
            }
        }
    }
}

#[test]
fn each_refusal_says_what_and_where() {
    let head = || Pen::head(7, 7, 1);
    let whole = head().load(0xa000).end(7);
    for (bytes, expected) in [
        (
            Pen::default().load(1).0,
            "x: record 1 (at byte 0): its type is 0, and a file of drmemtrace begins with a header",
        ),
        (
            Pen::default().record(25, 0, 8).0,
            "x: record 1 (at byte 0): the format has version 8, and versions up to 7 are known",
        ),
        (
            Pen::default().record(25, 0, 7 | 28 << 32).0,
            "x: record 1 (at byte 0): the version does not fit 32 bits: the trace was probably",
        ),
        (
            head().record(50, 0, 0).0,
            "x: record 10 (at byte 108): no record has type 50",
        ),
        (
            head().record(17, 9, 0).0,
            "x: record 10 (at byte 108): a bundle has more than 8 instructions",
        ),
        (
            head().record(0, 8, u64::MAX - 3).0,
            "x: record 10 (at byte 108): the reference reaches past the end",
        ),
        (
            Pen::default().record(25, 0, 7).load(1).0,
            "x: record 2 (at byte 12): a reference comes before the thread that makes it",
        ),
        (
            Pen::default().record(25, 0, 7).record(22, 8, 5).load(1).0,
            "x: record 3 (at byte 24): a reference comes before the process of its thread",
        ),
        (
            Pen::head(7, 1 << 33, 1).load(1).0,
            "x: record 10 (at byte 108): the thread's number does not fit 32 bits: the input is \
             damaged",
        ),
        (
            whole[..whole.len() - 12].to_vec(),
            "x: record 11 (at byte 120): the file ends after this record, without a footer",
        ),
    ] {
        let found = refusal(&bytes);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn folders_without_a_trace_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = || import_path(folder.path()).unwrap_err().to_string();
    assert!(
        refused().contains("is a directory without a file of drmemtrace"),
        "{}",
        refused()
    );
    fs::create_dir(folder.path().join("window.0000")).unwrap();
    assert!(refused().contains("for each window"), "{}", refused());
    fs::create_dir(folder.path().join("raw")).unwrap();
    assert!(refused().contains("-indir FOLDER"), "{}", refused());
    let gone = import_path(&folder.path().join("gone")).unwrap_err();
    assert!(matches!(gone, ImportError::Io { .. }), "{gone}");
}
