//! Recordings of the same program at every grain, and with the pages of its instructions.

use broadleaf_trace::{Grain, Visit};

use crate::support::{TestRecording, can_record, compiled, folder, options, totals, trace_with};

#[test]
pub(crate) fn every_grain_counts_the_same() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("mixed", &["-static"], place.path()) else {
        return;
    };
    let record = |grain, instructions| -> TestRecording {
        let mut what = options(&[&program]);
        what.grain = grain;
        what.instructions = instructions;
        trace_with(&what).expect("the recording works")
    };
    let pages = record(Grain::Page, false).visits(0);
    let data = totals(&pages);

    // Lines are folded into their pages. A lead into a line of the same page is no visit of its
    // own.
    let mut folded: Vec<(u64, u64, u64)> = Vec::new();
    let count = |folded: &mut Vec<(u64, u64, u64)>, page, visit: &Visit| match folded.last_mut() {
        Some(last) if last.0 == page => {
            last.1 += u64::from(visit.loads);
            last.2 += u64::from(visit.stores);
        }
        _ => folded.push((page, u64::from(visit.loads), u64::from(visit.stores))),
    };
    let lines = record(Grain::Line, false).visits(0);
    assert_eq!(totals(&lines), data);
    lines
        .iter()
        .for_each(|visit| count(&mut folded, visit.unit >> 6, visit));
    let mut expected = Vec::new();
    pages
        .iter()
        .for_each(|visit| count(&mut expected, visit.unit, visit));
    assert!(
        folded == expected,
        "{} visits, {}",
        folded.len(),
        expected.len()
    );

    let fetched = record(Grain::Page, true).visits(0);
    assert_eq!(totals(&fetched), data);
    let data_of = |visits: &[Visit]| {
        let mut all = Vec::new();
        visits
            .iter()
            .filter(|visit| !visit.fetch)
            .for_each(|visit| count(&mut all, visit.unit, visit));
        all.retain(|(_, loads, stores)| loads + stores > 0);
        all
    };
    expected.retain(|(_, loads, stores)| loads + stores > 0);
    expected.dedup_by(|b, a| {
        a.0 == b.0 && {
            a.1 += b.1;
            a.2 += b.2;
            true
        }
    });
    let mut without = data_of(&fetched);
    without.dedup_by(|b, a| {
        a.0 == b.0 && {
            a.1 += b.1;
            a.2 += b.2;
            true
        }
    });
    assert!(
        without == expected,
        "data visits are the same with fetches between them"
    );
    assert!(fetched.iter().any(|visit| visit.fetch));
}
