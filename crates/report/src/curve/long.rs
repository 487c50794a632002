//! Curves in long form: one row for each point, for programs that plot and fit.

use std::io::{self, Write};

use broadleaf_metrics::{CellResult, Comparison, CurvePoint};

use crate::csv::write_columns;
use crate::parquet::{self, WriteParquetError};
use crate::{Column, Values};

/// A point of a curve, with its comparison and its result.
type LongPoint<'a> = (&'a Comparison, &'a CellResult, CurvePoint);

/// Writes the points of all curves as CSV: the trace, its hash, the version, the policy, the
/// machine, and the geometry with its misses.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_curves_csv(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    write_columns(&long(comparisons), out)
}

/// Writes the points of all curves as Parquet, with the columns of [`write_curves_csv`].
///
/// # Errors
/// Returns an error if `out` fails.
pub fn write_curves_parquet(
    comparisons: &[Comparison],
    out: impl Write + Send,
) -> Result<(), WriteParquetError> {
    parquet::write_columns("curve", &long(comparisons), Vec::new(), out)
}

fn long(comparisons: &[Comparison]) -> Vec<Column> {
    let points: Vec<LongPoint<'_>> = (comparisons.iter())
        .flat_map(|comparison| {
            comparison
                .results
                .iter()
                .map(move |result| (comparison, result))
        })
        .flat_map(|(comparison, result)| {
            let curve = result.curve.iter().flatten();
            curve.map(move |point| (comparison, result, *point))
        })
        .collect();
    let text = |name: &str, of: fn(&LongPoint<'_>) -> String| Column {
        name: name.to_owned(),
        values: Values::Text(points.iter().map(of).collect()),
    };
    let count = |name: &str, of: fn(&LongPoint<'_>) -> u64| Column {
        name: name.to_owned(),
        values: Values::Count(points.iter().map(of).collect()),
    };
    vec![
        text("trace", |(comparison, ..)| comparison.trace.path.clone()),
        text("trace_hash", |(comparison, ..)| {
            comparison.trace.hash.clone()
        }),
        text("version", |(comparison, ..)| {
            comparison.provenance.version.clone()
        }),
        text("policy", |(_, result, _)| result.policy.clone()),
        text("machine", |(_, result, _)| result.machine.clone()),
        count("page_size", |(.., point)| point.page_size),
        count("entries", |(.., point)| point.entries()),
        count("sets", |(.., point)| point.sets),
        count("ways", |(.., point)| point.ways),
        count("misses", |(.., point)| point.misses),
        count("accesses", |(_, result, _)| result.accesses),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Provenance, TraceSummary};

    #[test]
    fn each_point_is_a_row() {
        let point = |ways, misses| CurvePoint {
            page_size: 4096,
            sets: 2,
            ways,
            misses,
        };
        let result = |policy: &str| CellResult {
            policy: policy.to_owned(),
            machine: "m".to_owned(),
            accesses: 90,
            curve: Some(vec![point(1, 9), point(2, 5)]),
            ..CellResult::default()
        };
        let trace = TraceSummary {
            path: "x.bl".to_owned(),
            hash: "blake3:7".to_owned(),
            ..TraceSummary::default()
        };
        let results = vec![result("4k"), result("greedy")];
        let comparison = Comparison::new(trace, results, vec![], Provenance::default());
        let mut out = Vec::new();
        write_curves_csv(&[comparison], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "trace,trace_hash,version,policy,machine,page_size,entries,sets,ways,misses,accesses\n\
             x.bl,blake3:7,,4k,m,4096,2,2,1,9,90\n\
             x.bl,blake3:7,,4k,m,4096,4,2,2,5,90\n\
             x.bl,blake3:7,,greedy,m,4096,2,2,1,9,90\n\
             x.bl,blake3:7,,greedy,m,4096,4,2,2,5,90\n"
        );
    }
}
