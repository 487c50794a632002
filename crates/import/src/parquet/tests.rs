use std::io::{Cursor, Write};
use std::sync::Arc;

use ::parquet::basic::Compression as PageCompression;
use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use broadleaf_trace::Grain;
use flate2::write::GzEncoder;

use super::PARQUET;
use crate::batch::ImportBatch;
use crate::import::{ImportCounts, ImportOptions};
use crate::source::ImportSource;
use crate::testing::import_bytes;

/// A column's values. An optional one is null where it is `None`.
enum Values {
    Wide(Vec<i64>),
    Narrow(Vec<i32>),
    Words(Vec<&'static str>),
    Optional(Vec<Option<i64>>),
}

/// A file with one group of rows for each list of columns.
fn file(schema: &str, compression: PageCompression, groups: &[Vec<Values>]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message m {{ {schema} }}")).expect("a schema");
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
    for group in groups {
        let mut rows = writer.next_row_group().unwrap();
        for values in group {
            let mut column = rows.next_column().unwrap().expect("a column");
            match values {
                Values::Wide(all) => column
                    .typed::<Int64Type>()
                    .write_batch(all, None, None)
                    .unwrap(),
                Values::Narrow(all) => column
                    .typed::<Int32Type>()
                    .write_batch(all, None, None)
                    .unwrap(),
                Values::Words(all) => {
                    let all: Vec<ByteArray> = all.iter().map(|word| (*word).into()).collect();
                    let typed = column.typed::<ByteArrayType>();
                    typed.write_batch(&all, None, None).unwrap()
                }
                Values::Optional(all) => {
                    let levels: Vec<i16> = all.iter().map(|it| i16::from(it.is_some())).collect();
                    let some: Vec<i64> = all.iter().flatten().copied().collect();
                    let typed = column.typed::<Int64Type>();
                    typed.write_batch(&some, Some(&levels), None).unwrap()
                }
            };
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn refused(bytes: Vec<u8>) -> String {
    import_bytes(PARQUET.import.as_ref(), bytes).unwrap_err()
}

const PLAIN: PageCompression = PageCompression::UNCOMPRESSED;

#[test]
fn rows_of_all_groups_and_compressions_are_read() {
    let schema = "required int64 address (INTEGER(64,false)); required binary kind (STRING); \
                  required int32 size; required int64 note;";
    let group = |first: i64| {
        vec![
            Values::Wide((0..20_000).map(|row| first + 64 * row).collect()),
            Values::Words(["load", "STORE", "i", "w"].repeat(5000)),
            Values::Narrow(vec![8; 20_000]),
            Values::Wide(vec![0; 20_000]),
        ]
    };
    let snappy = PageCompression::SNAPPY;
    for compression in [PLAIN, snappy, PageCompression::LZ4_RAW] {
        // Addresses of the kernel, which are negative as signed numbers.
        let bytes = file(schema, compression, &[group(4096), group(-(1 << 40))]);
        let expected = ImportCounts {
            records: 40_000,
            instructions: 10_000,
            loads: 10_000,
            stores: 20_000,
        };
        let (_, counts, left_out) = import_bytes(PARQUET.import.as_ref(), bytes).unwrap();
        assert_eq!((counts, left_out[0].count), (expected, 1));
    }
}

/// The progress of an import never exceeds its input: a copied file is counted once.
#[test]
fn bytes_are_counted_once() {
    let rows = vec![Values::Wide((0..20_000).map(|row| 64 * row).collect())];
    let plain = file("required int64 address;", PLAIN, &[rows]);
    let mut compressed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    compressed.write_all(&plain).unwrap();
    let compressed = compressed.finish().unwrap();
    let options = ImportOptions {
        grain: Grain::Page,
        fetches: false,
        physical: false,
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("plain.parquet", plain), ("x.parquet.gz", compressed)] {
        let size = bytes.len() as u64;
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let of_file = ImportSource::open(&path, name).unwrap();
        for source in [of_file, ImportSource::stream(name, Cursor::new(bytes))] {
            let meter = source.meter();
            let mut importer = (PARQUET.import.as_ref().unwrap().open)(source, &options).unwrap();
            while importer.read(&mut ImportBatch::default()).unwrap() {}
            let read = meter.read();
            assert!(
                read <= size && read > size * 9 / 10,
                "{name}: {read} of {size}"
            );
        }
    }
}

#[test]
fn wrong_files_and_rows_are_refused_with_their_place() {
    let address = "required int64 address;";
    for (schema, columns, part) in [
        (
            "required int64 addr;",
            vec![Values::Wide(vec![1])],
            "): no column is called \"address\"; there are: addr",
        ),
        (
            "required binary address (STRING);",
            vec![Values::Words(vec!["1"])],
            "x: row group 1 (at byte 4): column \"address\" (at byte 4): it holds BYTE_ARRAY, not \
             integers",
        ),
        (
            "required int64 address (TIMESTAMP(MILLIS,true));",
            vec![Values::Wide(vec![1])],
            "column \"address\" (at byte 4): it holds INT64, not integers",
        ),
        (
            address,
            vec![Values::Wide(vec![1, -1])],
            "x: row group 1 (at byte 4): row 2: -1 is negative",
        ),
        (
            "optional int64 address;",
            vec![Values::Optional(vec![Some(1), None])],
            "from row 1 on, column \"address\" (at byte 4): a value is null",
        ),
        (
            "required int64 address; required int32 size;",
            vec![Values::Wide(vec![1]), Values::Narrow(vec![0])],
            "row 1: the size is not between 1 and 65536",
        ),
        (
            "required int64 address; required binary kind (STRING);",
            vec![Values::Wide(vec![1]), Values::Words(vec!["jump"])],
            "row 1: the kind is none of load, store and fetch",
        ),
    ] {
        let error = refused(file(schema, PLAIN, &[columns]));
        assert!(error.contains(part), "{error}");
    }
    let mut damaged = PARQUET.sample.to_vec();
    damaged[40] ^= 0xff;
    let error = refused(damaged);
    assert!(error.starts_with("x: row group 1 (at byte 4): "), "{error}");
    let error = refused(b"address,kind\n1,load\n".to_vec());
    assert_eq!(
        error,
        "x: is no Parquet file: it does not begin with PAR1 (at byte 0)"
    );
}
