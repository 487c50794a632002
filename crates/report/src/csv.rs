//! Comma-separated values: a header and one row for each result.

use std::io::{self, Write};

use broadleaf_metrics::Comparison;

use crate::{Column, columns};

/// Writes the results of comparisons as CSV (RFC 4180, lines end with a newline alone): the columns
/// of [`columns`].
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_csv(
    comparisons: &[Comparison],
    refusals: &[&str],
    out: &mut dyn Write,
) -> io::Result<()> {
    write_columns(&columns(comparisons, refusals), out)
}

/// Writes columns of equal length as CSV.
///
/// # Errors
/// Returns the errors of `out`.
pub(crate) fn write_columns(columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
    let header: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    writeln!(out, "{}", header.join(","))?;
    let rows = columns.first().map_or(0, |column| column.values.len());
    for row in 0..rows {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| quoted(&column.values.text(row)))
            .collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// Returns the field as RFC 4180 requires: in quotes if it contains a separator.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{CellResult, Provenance, TraceSummary};

    #[test]
    fn a_row_for_each_result_under_one_header() {
        let mut one = CellResult {
            policy: "pop-64".to_owned(),
            asked: "pop-064".to_owned(),
            accesses: 5,
            faults_saved: -2,
            ..CellResult::default()
        };
        one.refusals.insert("too_few_resident".to_owned(), 3);
        let two = CellResult {
            policy: "odd,\"name\"".to_owned(),
            ..CellResult::default()
        };
        let mut out = Vec::new();
        let trace = TraceSummary {
            path: "a,b.bl".to_owned(),
            ..TraceSummary::default()
        };
        let compared = Comparison::new(trace, vec![one, two], vec![], Provenance::default());
        write_csv(&[compared], &["not_covered", "too_few_resident"], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with(
            "trace,trace_hash,version,policy,asked,machine,accesses,l1_misses,l2_misses,walks_4k,walks_2m,walk_cycles,"
        ));
        assert!(lines[0].contains(",regions_file,"));
        assert!(lines[0].ends_with(",refusal_not_covered,refusal_too_few_resident,samples"));
        assert!(
            lines[1].starts_with("\"a,b.bl\",,,pop-64,pop-064,,5,0,")
                && lines[1].contains(",-2,")
                && lines[1].ends_with(",0,3,no")
        );
        assert!(lines[2].starts_with("\"a,b.bl\",,,\"odd,\"\"name\"\"\",,,0,"));
    }
}
