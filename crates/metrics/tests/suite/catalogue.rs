//! The rules that every metric of the catalogue keeps.

use crate::common::whole_result;
use broadleaf_metrics::{
    CACHE_METRICS, CellResult, MEMORY_METRICS, METRICS, Metric, MetricFigure, MetricValue,
    SAMPLE_METRICS, TLB_METRICS, all_metrics, metric,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The fields of a result that name the cell.
const LABELS: [&str; 2] = ["policy", "machine"];

/// The metrics of a result.
fn of_results() -> impl Iterator<Item = &'static Metric> {
    let own = METRICS.iter().chain(TLB_METRICS).chain(CACHE_METRICS);
    own.chain(MEMORY_METRICS).copied()
}

fn fields(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

fn names<'a>(metrics: impl IntoIterator<Item = &'a Metric>) -> BTreeSet<String> {
    let names = metrics.into_iter().map(|metric| metric.name.to_owned());
    names.collect()
}

#[test]
fn names_are_unique_and_sentences_end() {
    for (at, metric) in all_metrics().enumerate() {
        assert!(
            all_metrics()
                .take(at)
                .all(|other| other.name != metric.name),
            "{}",
            metric.name
        );
        assert!(metric.sentence.ends_with('.'), "{}", metric.name);
        assert!(!metric.sentence.contains("  "), "{}", metric.name);
        assert!(!metric.unit.is_empty(), "{}", metric.name);
    }
    assert_eq!(metric("regions").unwrap().unit, "blocks");
    assert!(metric("region").is_none());
}

#[test]
fn every_figure_of_a_result_is_in_the_catalogue_and_the_other_way_round() {
    let result = CellResult {
        memory: None,
        tlb: None,
        caches: None,
        ..whole_result()
    };
    let mut found = fields(&serde_json::to_value(result).unwrap());
    found.retain(|field| !LABELS.contains(&field.as_str()));
    assert_eq!(found, names(METRICS.iter().copied()));
}

#[test]
fn every_figure_of_a_tlb_is_in_the_catalogue_and_the_other_way_round() {
    let without = CellResult {
        tlb: None,
        ..whole_result()
    };
    let without = fields(&serde_json::to_value(without).unwrap());
    let with = fields(&serde_json::to_value(whole_result()).unwrap());
    let added: BTreeSet<String> = with.difference(&without).cloned().collect();
    assert_eq!(added, names(TLB_METRICS.iter().copied()));
}

#[test]
fn every_figure_of_caches_is_in_the_catalogue_and_the_other_way_round() {
    let without = CellResult {
        caches: None,
        ..whole_result()
    };
    let without = fields(&serde_json::to_value(without).unwrap());
    let with = fields(&serde_json::to_value(whole_result()).unwrap());
    let added: BTreeSet<String> = with.difference(&without).cloned().collect();
    assert_eq!(added, names(CACHE_METRICS.iter().copied()));
}

#[test]
fn every_figure_of_memory_is_in_the_catalogue_and_the_other_way_round() {
    let whole = whole_result();
    let memory = whole.memory.clone().unwrap();
    let without = CellResult {
        memory: None,
        ..whole.clone()
    };
    let without = fields(&serde_json::to_value(without).unwrap());
    let with = fields(&serde_json::to_value(whole).unwrap());
    let added: BTreeSet<String> = with.difference(&without).cloned().collect();
    assert_eq!(added, names(MEMORY_METRICS.iter().copied()));
    let sample = fields(&serde_json::to_value(memory.at_peak).unwrap());
    let own: BTreeSet<String> = sample.difference(&with).cloned().collect();
    assert_eq!(own, names(SAMPLE_METRICS));
}

/// The value as JSON.
fn as_json(value: MetricValue) -> Value {
    match value {
        MetricValue::Count(count) => json!(count),
        MetricValue::Difference(difference) => json!(difference),
        MetricValue::Ratio(ratio) => {
            assert!(ratio.is_finite(), "{ratio}");
            json!(ratio)
        }
    }
}

/// The field of a run time that a column holds, and the field inside, if that field is an object.
fn place_in_run_time(column: &str) -> [&str; 2] {
    let key = match column {
        "fault_seconds_saved" => return ["fault_seconds", "saved"],
        "zeroing_seconds_paid" => return ["fault_seconds", "paid"],
        column => column.strip_prefix("run_time_").unwrap(),
    };
    for end in ["low", "high"] {
        if let Some(range) = key.strip_suffix(&format!("_seconds_{end}")) {
            return [&key[..range.len() + "_seconds".len()], end];
        }
    }
    [
        key,
        if key.ends_with("_seconds") {
            "middle"
        } else {
            ""
        },
    ]
}

#[test]
fn every_metric_of_a_whole_result_has_the_value_of_its_field() {
    let whole = whole_result();
    let written = serde_json::to_value(&whole).unwrap();
    for metric in of_results() {
        let (name, field) = (metric.name, &written[metric.name]);
        let value = metric.value(&whole).map(as_json);
        match metric.figure {
            MetricFigure::Several => {
                assert!(field.is_array() || field.is_object(), "{name}: {field}");
                assert_eq!(value, None, "{name}");
            }
            MetricFigure::Parts(parts) if name == "run_time" => {
                for part in parts {
                    let [key, inner] = place_in_run_time(part.name);
                    let field = match inner {
                        "" => &field[key],
                        inner => &field[key][inner],
                    };
                    match part.figure {
                        MetricFigure::Word(of) => assert_eq!(of(&whole), field.as_str()),
                        _ => assert_eq!(part.value(&whole).map(as_json).as_ref(), Some(field)),
                    }
                }
                let places = parts.iter().map(|part| place_in_run_time(part.name));
                let keys: BTreeSet<String> = places.map(|[key, _]| key.to_owned()).collect();
                assert_eq!(keys, fields(field));
            }
            MetricFigure::Parts(parts) => {
                for part in parts {
                    let key = part.name.strip_prefix(&format!("{name}_"));
                    let value = part.value(&whole).map(as_json);
                    assert_eq!(value.as_ref(), Some(&field[key.unwrap()]), "{}", part.name);
                }
                let keys = fields(field).into_iter();
                let keys: BTreeSet<String> = keys.map(|key| format!("{name}_{key}")).collect();
                assert_eq!(keys, names(parts));
            }
            _ => assert_eq!(value.as_ref(), Some(field), "{name}"),
        }
    }
    let of_sample = |metric: &Metric| matches!(metric.figure, MetricFigure::OfSample);
    assert!(SAMPLE_METRICS.iter().all(of_sample));
    assert!(!of_results().any(of_sample));
}

#[test]
fn a_result_without_memory_has_no_value_of_memory_or_of_other_tlbs() {
    let of_some = MEMORY_METRICS.iter().chain(TLB_METRICS);
    for metric in of_some.chain(CACHE_METRICS) {
        assert_eq!(
            metric.value(&CellResult::default()),
            None,
            "{}",
            metric.name
        );
    }
}

/// A metric that divides has no value if the divisor is 0. No field of JSON is then written.
#[test]
fn computed_metrics_follow_the_stored_ones_and_need_figures() {
    let is_computed = |metric: &&Metric| matches!(metric.figure, MetricFigure::Computed(_));
    let stored = METRICS.iter().take_while(|metric| !is_computed(metric));
    let computed = &METRICS[stored.count()..];
    assert!(computed.iter().all(is_computed));
    assert!(!MEMORY_METRICS.iter().any(is_computed));
    let written = serde_json::to_value(CellResult::default()).unwrap();
    for metric in computed {
        assert_eq!(
            metric.value(&CellResult::default()),
            None,
            "{}",
            metric.name
        );
        assert!(written.get(metric.name).is_none(), "{}", metric.name);
    }
    let text = serde_json::to_string(&whole_result()).unwrap();
    let place = |name: &str| text.find(&format!("\"{name}\":")).unwrap();
    let last_stored = of_results().filter(|metric| !is_computed(metric));
    let last_stored = last_stored.map(|metric| place(metric.name)).max().unwrap();
    for metric in computed {
        assert!(place(metric.name) > last_stored, "{}", metric.name);
    }
}
