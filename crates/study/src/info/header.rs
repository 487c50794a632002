//! The header of a recording, as JSON and as facts.

use broadleaf_trace::{EndRun, FaultCosts, Grain, Header, MeasuredEnds};
use serde_json::{Value, json};

use super::shown;
use crate::measured_ends::measured_sentence;
use crate::windows::{plan_json, sentence};

pub(super) fn as_json(header: &Header) -> Value {
    let options = header.options;
    json!({
        "command": header.command,
        "program": header.program.as_ref().map(|program| json!({
            "path": program.path,
            "hash": hash(&program.hash),
        })),
        "machine": header.machine,
        "recorder": header.recorder,
        "recorded_at": Some(header.time).filter(|&time| time > 0),
        "instruction_counts": options.instruction_counts,
        "instruction_pages": options.instruction_pages,
        "events": options.events,
        "children": options.children,
        "windows": header.windows.map(|plan| plan_json(&plan)),
        "measured": header.measured.as_ref().map(measured_json),
        "notes": header.notes,
    })
}

/// The runs of each round, with base pages and with huge pages, and the costs of page faults. A
/// cost that is not known is null.
fn measured_json(measured: &MeasuredEnds) -> Value {
    let run = |run: &EndRun| {
        json!({
            "user_seconds": run.user_micros as f64 * 1e-6,
            "system_seconds": run.system_micros as f64 * 1e-6,
            "elapsed_seconds": run.elapsed_micros as f64 * 1e-6,
            "page_faults": run.faults,
            "rss_bytes_peak": run.rss_bytes_peak,
            "huge_bytes_peak": run.huge_bytes_peak,
        })
    };
    let rounds = measured.rounds.iter();
    let rounds =
        rounds.map(|[base, huge]| json!({ "base_pages": run(base), "huge_pages": run(huge) }));
    let known = |nanos: u64| Some(nanos).filter(|nanos| *nanos > 0);
    json!({
        "rounds": rounds.collect::<Vec<Value>>(),
        "fault_nanoseconds": {
            "base_page": known(measured.costs.base_nanos),
            "huge_page": known(measured.costs.huge_nanos),
            "copy_into_huge_page": known(measured.costs.collapse_nanos),
        },
    })
}

/// The costs of page faults in words, if all are known.
fn fault_costs(costs: FaultCosts) -> Option<String> {
    let micros = |nanos: u64| (nanos > 0).then_some(nanos as f64 * 1e-3);
    Some(format!(
        "{:.2} us a page fault, {:.0} us a fault of a huge page, {:.0} us a copy into a huge page",
        micros(costs.base_nanos)?,
        micros(costs.huge_nanos)?,
        micros(costs.collapse_nanos)?
    ))
}

/// Labels and texts, without those that the header leaves empty.
pub(super) fn facts(header: &Header) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !header.command.is_empty() {
        facts.push(("command", shown(&header.command)));
    }
    if let Some(program) = &header.program {
        let hash = hash(&program.hash)
            .map(|hash| format!(", {hash}"))
            .unwrap_or_default();
        facts.push(("program", format!("{}{hash}", program.path)));
    }
    for (label, text) in [("machine", &header.machine), ("recorder", &header.recorder)] {
        if !text.is_empty() {
            facts.push((label, text.clone()));
        }
    }
    if header.time > 0 {
        facts.push(("recorded", date(header.time)));
    }
    let grain = match header.grain {
        Grain::Page => "4 KiB pages",
        Grain::Line => "64-byte lines",
    };
    let also: Vec<&str> = [
        (header.options.instruction_counts, "instruction counts"),
        (header.options.instruction_pages, "instruction fetches"),
        (header.options.events, "events"),
        (header.options.children, "children"),
    ]
    .into_iter()
    .filter_map(|(is, name)| is.then_some(name))
    .collect();
    let also = if also.is_empty() {
        String::new()
    } else {
        format!(", with {}", also.join(", "))
    };
    facts.push(("holds", format!("{grain}{also}")));
    facts.extend(header.windows.map(|plan| ("windows", sentence(&plan))));
    if let Some(measured) = &header.measured {
        facts.push(("measured", measured_sentence(measured)));
        facts.extend(fault_costs(measured.costs).map(|costs| ("measured", costs)));
    }
    facts.extend(header.notes.iter().map(|note| ("note", note.clone())));
    facts
}

/// A hash as results write it, or `None` if it is not known.
fn hash(hash: &[u8; 32]) -> Option<String> {
    hash.iter()
        .any(|&byte| byte != 0)
        .then(|| format!("blake3:{}", blake3::Hash::from_bytes(*hash).to_hex()))
}

/// Seconds since 1970 as a date and time of day, in universal time.
pub fn date(time: u64) -> String {
    let (days, second) = (time / 86400, time % 86400);
    // Years begin in March here, so that a leap day is the last of its year (Hinnant,
    // "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        for (time, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_200, "2024-03-01 00:00:00 UTC"),
            (4_102_444_799, "2099-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(date(time), text);
        }
    }
}
