//! The result record of `compare`.

use crate::{
    AddressMap, CACHE_METRICS, CacheResult, CurvePoint, METRICS, MachineSummary, MemoryAsked,
    MemoryResult, MetricFigure, MetricValue, MissSample, Recommendation, RunTime, TlbResult, Walks,
    WindowEstimates,
};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The name and version of the schema of [`Comparison`].
pub const COMPARE_SCHEMA: &str = "broadleaf.compare/1";

/// The result of one policy on one machine. The [`crate::Metric`] with a field's name describes the
/// field. JSON has the stored fields and then the computed metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct CellResult {
    /// The policy's catalogue name, with its parameter.
    pub policy: String,
    /// The policy's name as the user wrote it, for scripts that search for that name; empty if no
    /// user named the policy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// The machine's name.
    pub machine: String,
    /// Loads plus stores.
    pub accesses: u64,
    /// Lookups that missed every first-level structure.
    pub l1_misses: u64,
    /// Lookups that missed the second level too.
    pub l2_misses: u64,
    /// Walks by page size: `walks_4k`, `walks_2m` and so on.
    #[serde(flatten)]
    pub walks: Walks,
    /// The cost of walks by the machine's table, in cycles.
    pub walk_cycles: u64,
    /// References to pages that were not resident.
    pub page_faults: u64,
    /// The faults of `4k` less the faults of this policy.
    pub faults_saved: i64,
    /// Promotions of blocks to superpages.
    pub promotions: u64,
    /// Superpages that were broken up.
    pub demotions: u64,
    /// Anonymous pages that a promotion filled and that were never touched.
    pub extra_zeroed_pages: u64,
    /// File-backed pages that a promotion filled and that were never touched.
    pub extra_disk_read_pages: u64,
    /// Clean pages in superpages that hold a dirty page.
    pub false_dirty_pages: u64,
    /// Clean pages of anonymous memory in superpages that hold a dirty page.
    pub false_dirty_pages_anonymous: u64,
    /// Clean pages of files in superpages that hold a dirty page.
    pub false_dirty_pages_file: u64,
    /// Clean pages in superpages.
    pub clean_pages_in_superpages: u64,
    /// Clean pages of anonymous memory in superpages.
    pub clean_pages_in_superpages_anonymous: u64,
    /// Clean pages of files in superpages.
    pub clean_pages_in_superpages_file: u64,
    /// Distinct base pages touched.
    pub touched_pages: u64,
    /// Distinct base pages of anonymous memory that were touched.
    pub touched_pages_anonymous: u64,
    /// Distinct base pages of files that were touched.
    pub touched_pages_file: u64,
    /// Base-page frames held at the end.
    pub resident_pages: u64,
    /// The peak of base-page frames held.
    pub peak_resident_pages: u64,
    /// Blocks ever touched.
    pub regions: u64,
    /// Blocks of anonymous memory ever touched.
    pub regions_anonymous: u64,
    /// Blocks of files ever touched.
    pub regions_file: u64,
    /// The number of refusals, by the reason's stable name.
    pub refusals: BTreeMap<String, u64>,
    /// The program's run time with base pages, divided by the run time under the policy; `None` if
    /// nothing is known about the ratio.
    pub run_time: Option<RunTime>,
    /// The misses of TLBs with other geometries; absent without `--curve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Vec<CurvePoint>>,
    /// The misses by interval of the trace; absent without `--over-time`, and with limited memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misses_over_time: Option<Vec<MissSample>>,
    /// Estimates for the whole program; absent if the trace holds the whole program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimates: Option<WindowEstimates>,
    /// The other counts of the TLB; absent if the TLB has sets of ways with exact LRU replacement
    /// alone.
    #[serde(flatten)]
    pub tlb: Option<TlbResult>,
    /// The counts of the caches; `None` if the machine has none. [`crate::CACHE_METRICS`] are their
    /// fields.
    #[serde(skip)]
    pub caches: Option<CacheResult>,
    /// The results of the frame-level model; absent if the model without frames ran.
    #[serde(flatten)]
    pub memory: Option<MemoryResult>,
}

impl Serialize for CellResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            // The function that the derive of `remote = "Self"` writes: the stored fields.
            #[serde(flatten, serialize_with = "CellResult::serialize")]
            stored: &'a CellResult,
            #[serde(flatten)]
            computed: ComputedFields<'a>,
        }
        let computed = ComputedFields(self);
        let whole = Whole {
            stored: self,
            computed,
        };
        whole.serialize(serializer)
    }
}

/// Reads what [`Serialize`] wrote, but for the counts of caches. Computed metrics are computed
/// again, so their fields are passed over.
impl<'de> Deserialize<'de> for CellResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The function that the derive of `remote = "Self"` writes.
        CellResult::deserialize(deserializer)
    }
}

/// The metrics of caches and the computed metrics of a result, as fields. A metric without a value
/// has no field.
struct ComputedFields<'a>(&'a CellResult);

impl Serialize for ComputedFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let caches = self.0.caches.as_ref();
        if let Some(caches) = caches.filter(|caches| !caches.cores.is_empty()) {
            map.serialize_entry("cores", &caches.cores)?;
        }
        for metric in CACHE_METRICS {
            match metric.value(self.0) {
                Some(MetricValue::Count(count)) => map.serialize_entry(metric.name, &count)?,
                Some(MetricValue::Ratio(ratio)) => map.serialize_entry(metric.name, &ratio)?,
                _ => {}
            }
        }
        for metric in METRICS {
            if let MetricFigure::Computed(of) = metric.figure
                && let Some(value) = of(self.0)
            {
                map.serialize_entry(metric.name, &value)?;
            }
        }
        map.end()
    }
}

/// The replayed trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// The path, as the user named it; empty until the host fills it in.
    pub path: String,
    /// `blake3:` and the hash of the trace's bytes; empty until the host fills it in.
    pub hash: String,
    /// Loads plus stores.
    pub accesses: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Instructions; zero if the trace does not count them.
    pub instructions: u64,
    /// Distinct base pages touched.
    pub pages: u64,
    /// True if the trace has events that change an address space.
    pub events: bool,
    /// True if each reference is a sample, one of many; absent otherwise. False until the host
    /// fills it in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub samples: bool,
}

/// The build, the configuration and the host of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The version of Broadleaf.
    pub version: String,
    /// The commit of the build.
    pub commit: String,
    /// The hash of the request: policies with parameters, and the machines' full descriptions.
    pub config_hash: String,
    /// The computer that ran the comparison.
    pub host: String,
}

/// The result of `compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The replayed trace.
    pub trace: TraceSummary,
    /// The memory of the frame-level model; absent without that model, and until the host fills it
    /// in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryAsked>,
    /// The TLBs of the machines, beside which curves are read; absent without `--curve`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineSummary>,
    /// One result for each policy and machine: policies in the requested order, machines within
    /// each.
    pub results: Vec<CellResult>,
    /// Maps of memory over time; absent without `--map` or `--html`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<AddressMap>,
    /// One recommendation for each machine with a choice; empty until the host fills it in.
    pub advice: Vec<Recommendation>,
    /// A description of unreadable parts, if the trace is damaged; `None` until the host fills it
    /// in.
    pub damage: Option<String>,
    /// Notes on the trace and the model that the interpretation of the figures needs.
    pub notes: Vec<String>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

impl Comparison {
    /// Makes a comparison with the current schema.
    pub fn new(
        trace: TraceSummary,
        results: Vec<CellResult>,
        notes: Vec<String>,
        provenance: Provenance,
    ) -> Self {
        Self {
            schema: COMPARE_SCHEMA.to_string(),
            trace,
            memory: None,
            machines: Vec::new(),
            results,
            maps: Vec::new(),
            advice: Vec::new(),
            damage: None,
            notes,
            provenance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_documented_fields_in_the_documented_order() {
        let json = serde_json::to_string(&CellResult::default()).unwrap();
        let documented = [
            "policy",
            "machine",
            "accesses",
            "l1_misses",
            "l2_misses",
            "walks_4k",
            "walks_2m",
            "walk_cycles",
            "page_faults",
            "faults_saved",
            "promotions",
            "demotions",
            "extra_zeroed_pages",
            "extra_disk_read_pages",
            "false_dirty_pages",
            "false_dirty_pages_anonymous",
            "false_dirty_pages_file",
            "clean_pages_in_superpages",
            "clean_pages_in_superpages_anonymous",
            "clean_pages_in_superpages_file",
            "touched_pages",
            "touched_pages_anonymous",
            "touched_pages_file",
            "resident_pages",
            "peak_resident_pages",
            "regions",
            "regions_anonymous",
            "regions_file",
            "refusals",
            "run_time",
        ];
        let mut rest = json.as_str();
        for name in documented {
            let at = rest
                .find(&format!("\"{name}\":"))
                .unwrap_or_else(|| panic!("{name} is missing or too early in {json}"));
            rest = &rest[at..];
        }
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().unwrap().len(), documented.len());
    }

    #[test]
    fn a_curve_is_last_if_requested() {
        let result = CellResult {
            curve: Some(vec![CurvePoint {
                page_size: 4096,
                sets: 1,
                ways: 64,
                misses: 7,
            }]),
            ..CellResult::default()
        };
        let json = serde_json::to_string(&result).unwrap();
        let end = r#""run_time":null,"curve":[{"page_size":4096,"sets":1,"ways":64,"misses":7}]}"#;
        assert!(json.ends_with(end), "{json}");
    }

    #[test]
    fn memory_is_described_in_a_sentence() {
        let asked = |bytes, start: &str, swap_bytes| MemoryAsked {
            bytes,
            start: start.to_owned(),
            swap_bytes,
            files: "disk".to_owned(),
            occupied: 0.3,
            movable: 0.505,
            seed: 7,
            costs: [("disk".to_owned(), 5), ("fault".to_owned(), 6)].into(),
            ..MemoryAsked::default()
        };
        let size = |bytes| format!("{bytes} B");
        assert_eq!(
            asked(None, "empty", None).sentence(size),
            "Memory: unlimited, empty at first; unlimited swap; files begin on the disk."
        );
        let mut asked = asked(Some(4096), "grouped", Some(0));
        assert_eq!(
            asked.sentence(size),
            "Memory: 4096 B, 30% of it occupied at first (50.5% of that movable, seed 7); no swap; \
             files begin on the disk."
        );
        asked.costs_changed = vec!["fault".to_owned()];
        let sentence = asked.sentence(size);
        assert!(
            sentence.ends_with("files begin on the disk; costs in cycles: fault=6."),
            "{sentence}"
        );
    }

    #[test]
    fn a_comparison_carries_its_schema() {
        let comparison = Comparison::new(
            TraceSummary::default(),
            vec![],
            vec![],
            Provenance::default(),
        );
        let value = serde_json::to_value(&comparison).unwrap();
        assert_eq!(value["schema"], COMPARE_SCHEMA);
        for part in ["trace", "results", "advice", "notes", "provenance"] {
            assert!(!value[part].is_null(), "{part}");
        }
        for field in [
            "path",
            "hash",
            "accesses",
            "loads",
            "stores",
            "instructions",
            "pages",
            "events",
        ] {
            assert!(!value["trace"][field].is_null(), "{field}");
        }
    }
}
