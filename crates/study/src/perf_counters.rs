//! Counters over time, from the output of `perf stat -I MILLISECONDS -x,`.
//!
//! Zhu 2018 (chapter 4) compares simulated miss rates with those of a processor's counters, read
//! every 100 ms. Misses of the code side are subtracted. Where they were not counted, they are
//! interpolated.

use std::collections::BTreeMap;

use thiserror::Error;

/// The counts of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterSample {
    /// Loads and stores from the beginning to the end of the interval.
    pub time: f64,
    /// Loads and stores of the interval.
    pub accesses: f64,
    /// Misses of all levels of the data TLB: misses of code are subtracted.
    pub walks: f64,
}

/// The counters of a run, interval by interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterCurve {
    /// The intervals in which accesses and walks were counted, in order.
    pub samples: Vec<CounterSample>,
    /// The events that were added up to accesses, to walks, and to walks of code.
    pub events: [Vec<String>; 3],
    /// Intervals that were left out, because accesses or walks were not counted in them.
    pub left_out: u64,
}

/// A file that holds no counters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CountersError {
    /// A line is not one of `perf stat -I`.
    #[error("line {line}: {what}; the file must be the output of `perf stat -I 100 -x, -e EVENTS`")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The fault.
        what: String,
    },
    /// The file lacks the events of a role.
    #[error("no event of the file counts {role}: add {events} to `perf stat -e`")]
    NoEvents {
        /// The role.
        role: &'static str,
        /// The names that perf has for such events.
        events: String,
    },
    /// The counters of no interval are complete.
    #[error("in no interval were accesses and walks both counted: count fewer events at a time")]
    NoInterval,
}

/// Families of events of one role. The first family of which the file has an event is taken, and
/// its events are added up.
type Families = &'static [&'static [&'static str]];

/// Loads and stores.
const ACCESSES: Families = &[
    &["mem_inst_retired.any"],
    &["mem_inst_retired.all_loads", "mem_inst_retired.all_stores"],
    &["mem_uops_retired.all_loads", "mem_uops_retired.all_stores"],
    &["ls_dispatch.ld_dispatch", "ls_dispatch.store_dispatch"],
    &["mem_access"],
    &["l1-dcache-loads", "l1-dcache-stores"],
];

/// Misses of all levels of the data TLB.
const WALKS: Families = &[
    &[
        "mem_inst_retired.stlb_miss_loads",
        "mem_inst_retired.stlb_miss_stores",
    ],
    &[
        "mem_uops_retired.stlb_miss_loads",
        "mem_uops_retired.stlb_miss_stores",
    ],
    &[
        "dtlb_load_misses.walk_completed",
        "dtlb_store_misses.walk_completed",
    ],
    &["ls_l1_d_tlb_miss.all_l2_miss"],
    &["dtlb_walk"],
    &["dtlb-load-misses", "dtlb-store-misses"],
];

/// Misses of all levels of the TLB for code.
const CODE: Families = &[
    &["itlb_misses.walk_completed"],
    &["bp_l1_tlb_miss_l2_tlb_miss"],
    &["itlb_walk"],
    &["itlb-load-misses"],
];

/// Reads the output of `perf stat -I MILLISECONDS -x,`: lines of time, value, unit and event.
///
/// # Errors
/// If a line has another form, the events are others, or no interval is complete.
pub fn counters(text: &str) -> Result<CounterCurve, CountersError> {
    let rows = rows(text)?;
    let [accesses, walks, code] = [ACCESSES, WALKS, CODE].map(|families| family(&rows, families));
    let missing = |role, families: Families| CountersError::NoEvents {
        role,
        events: families
            .last()
            .map_or(String::new(), |last| last.join(" and ")),
    };
    let accesses = accesses.ok_or_else(|| missing("loads and stores", ACCESSES))?;
    let walks = walks.ok_or_else(|| missing("misses of the data TLB", WALKS))?;
    let code = code.unwrap_or_default();
    let of = |interval: &Interval, events: &[String]| -> Option<f64> {
        events
            .iter()
            .map(|event| interval.1.get(event).copied()?)
            .sum()
    };
    let mut curve = CounterCurve::default();
    let of_code = interpolated(rows.iter().map(|row| of(row, &code)));
    let mut time = 0.0;
    for (row, of_code) in rows.iter().zip(of_code) {
        let (Some(count), Some(misses)) = (of(row, &accesses), of(row, &walks)) else {
            curve.left_out += 1;
            continue;
        };
        time += count;
        curve.samples.push(CounterSample {
            time,
            accesses: count,
            walks: (misses - of_code).max(0.0),
        });
    }
    if curve.samples.iter().all(|sample| sample.accesses == 0.0) {
        return Err(CountersError::NoInterval);
    }
    curve.events = [accesses, walks, code];
    Ok(curve)
}

/// The time of an interval as it is written, and the count of each event; `None` where the event
/// was not counted.
type Interval = (String, BTreeMap<String, Option<f64>>);

fn rows(text: &str) -> Result<Vec<Interval>, CountersError> {
    let mut rows: Vec<Interval> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: String| CountersError::Line { line: at + 1, what };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [time, value, _, event, ..] = fields[..] else {
            let count = fields.len();
            return Err(wrong(format!(
                "it has {count} fields between commas, not 4 or more"
            )));
        };
        if time.parse::<f64>().is_err() {
            return Err(wrong(format!("{time:?} is no time in seconds")));
        }
        let count = match value {
            "<not counted>" | "<not supported>" => None,
            value => match value.parse::<f64>() {
                Ok(count) if count.is_finite() && count >= 0.0 => Some(count),
                _ => return Err(wrong(format!("{value:?} is no count"))),
            },
        };
        if rows.last().is_none_or(|(known, _)| known != time) {
            rows.push((time.to_owned(), BTreeMap::new()));
        }
        if let Some((_, counts)) = rows.last_mut() {
            counts.insert(plain(event), count);
        }
    }
    Ok(rows)
}

/// The name of an event without its unit's name, its modifiers and its capitals:
/// `cpu_core/L1-dcache-loads/u` and `L1-dcache-loads:u` are `l1-dcache-loads`.
fn plain(event: &str) -> String {
    let inside = event.split('/').nth(1).unwrap_or(event);
    let name = inside.split(':').next().unwrap_or(inside);
    name.to_ascii_lowercase()
}

/// The events of the first family of which one was counted.
fn family(rows: &[Interval], families: Families) -> Option<Vec<String>> {
    let is_counted = |event: &str| {
        let mut counts = rows.iter().filter_map(|(_, counts)| counts.get(event));
        counts.any(Option::is_some)
    };
    families.iter().find_map(|family| {
        let found: Vec<String> = (family.iter())
            .filter(|event| is_counted(event))
            .map(|event| (*event).to_owned())
            .collect();
        (!found.is_empty()).then_some(found)
    })
}

/// Fills gaps on the line between the values before and after. Before the first value and after
/// the last, that value holds. Without any value, all are 0.
fn interpolated(values: impl Iterator<Item = Option<f64>>) -> Vec<f64> {
    let values: Vec<Option<f64>> = values.collect();
    let known: Vec<(usize, f64)> = (values.iter().enumerate())
        .filter_map(|(at, value)| Some((at, (*value)?)))
        .collect();
    let at = |at: usize| {
        let after = known.partition_point(|(known, _)| *known < at);
        match (
            after.checked_sub(1).map(|before| known[before]),
            known.get(after),
        ) {
            (Some((from, low)), Some(&(to, high))) => {
                low + (high - low) * (at - from) as f64 / (to - from) as f64
            }
            (Some((_, value)), None) | (None, Some(&(_, value))) => value,
            (None, None) => 0.0,
        }
    };
    (0..values.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_role_are_added_and_code_is_subtracted() {
        let text = "\
            # started on Thu Nov 26\n\
            0.100,1000,,mem_inst_retired.all_loads:u,100,100.00,,\n\
            0.100,500,,mem_inst_retired.all_stores:u,100,100.00,,\n\
            0.100,30,,cpu/mem_inst_retired.stlb_miss_loads/u,100,100.00,,\n\
            0.100,10,,itlb_misses.walk_completed,100,50.00,,\n\
            0.200,2000,,mem_inst_retired.all_loads:u,100,100.00,,\n\
            0.200,500,,mem_inst_retired.all_stores:u,100,100.00,,\n\
            0.200,50,,cpu/mem_inst_retired.stlb_miss_loads/u,100,100.00,,\n\
            0.200,<not counted>,,itlb_misses.walk_completed,0,0.00,,\n\
            0.300,1000,,mem_inst_retired.all_loads:u,100,100.00,,\n\
            0.300,0,,mem_inst_retired.all_stores:u,100,100.00,,\n\
            0.300,5,,cpu/mem_inst_retired.stlb_miss_loads/u,100,100.00,,\n\
            0.300,20,,itlb_misses.walk_completed,100,50.00,,\n";
        let found = counters(text).unwrap();
        let all: Vec<(f64, f64)> = (found.samples.iter())
            .map(|sample| (sample.time, sample.walks))
            .collect();
        // In the second interval, code missed 15 times between 10 and 20; no count is negative.
        assert_eq!(all, [(1500.0, 20.0), (4000.0, 35.0), (5000.0, 0.0)]);
        assert_eq!(found.events[1], ["mem_inst_retired.stlb_miss_loads"]);
        assert_eq!(found.left_out, 0);
    }

    #[test]
    fn intervals_without_accesses_are_left_out_and_counted() {
        let text = "0.1,100,,L1-dcache-loads\n0.1,5,,dTLB-load-misses\n\
            0.2,<not counted>,,L1-dcache-loads\n0.2,5,,dTLB-load-misses\n";
        let found = counters(text).unwrap();
        assert_eq!((found.samples.len(), found.left_out), (1, 1));
    }

    #[test]
    fn damaged_files_are_refused_with_their_line() {
        let refused = |text: &str| counters(text).unwrap_err().to_string();
        assert!(refused("0.1;100").starts_with("line 1: it has 1 fields"));
        assert!(refused("\nx,100,,cycles").starts_with("line 2: \"x\" is no time"));
        assert!(refused("0.1,-5,,cycles").starts_with("line 1: \"-5\" is no count"));
        assert!(refused("0.1,inf,,cycles").starts_with("line 1: \"inf\" is no count"));
        let no_walks = refused("0.1,100,,L1-dcache-loads");
        assert!(no_walks.contains("dtlb-load-misses"), "{no_walks}");
        assert!(refused("").contains("loads and stores"));
        let never = "0.1,0,,L1-dcache-loads\n0.1,5,,dTLB-load-misses";
        assert_eq!(counters(never), Err(CountersError::NoInterval));
    }

    #[test]
    fn gaps_lie_on_lines() {
        let values = [None, Some(2.0), None, None, Some(8.0), None].into_iter();
        assert_eq!(interpolated(values), [2.0, 2.0, 4.0, 6.0, 8.0, 8.0]);
        assert_eq!(interpolated([None, None].into_iter()), [0.0, 0.0]);
    }
}
