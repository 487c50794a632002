//! The report page: one HTML file that holds its results, draws them and works offline.

mod answered;
mod answers;
mod measured_answer;
mod plain;

use std::collections::BTreeSet;

use broadleaf_metrics::{CellResult, PageAnswer, all_metrics};
use serde::Serialize;
use serde_json::{Value, json};

use plain::plain_answers;

pub use answered::Answered;
pub(crate) use answers::replay_choice;
pub use answers::{advice_answer, live_answer, paper_answer, replay_answer};
pub use measured_answer::baseline_answer;

/// The page without results. `make web` builds it from `web/`.
const EMPTY_PAGE: &str = include_str!("../../../../web/dist/report.html");
/// The part of the page that holds the results.
const EMPTY_RECORDS: &str = r#"<script id="broadleaf-records" type="application/json">[]</script>"#;

/// The part of the page for readers without JavaScript.
const WITHOUT_SCRIPTS: &str = "<noscript>";

/// A page with records. The first record decides what the page shows.
#[derive(Clone, Debug, Default)]
pub struct Page {
    records: Vec<String>,
}

impl Page {
    /// A page without a record.
    pub fn new() -> Self {
        Self::default()
    }

    /// The page of a record, with its answer and the meaning of its metrics, as HTML.
    ///
    /// # Errors
    /// If the record has no form in JSON.
    pub fn answering(
        record: &impl Serialize,
        answer: &PageAnswer,
    ) -> Result<String, serde_json::Error> {
        let page = Self::new().with(record)?.with(answer)?.with_metrics()?;
        Ok(page.html())
    }

    /// Adds a record: an object with a schema, as `--format json` prints it.
    ///
    /// # Errors
    /// If the record has no form in JSON.
    pub fn with(mut self, record: &impl Serialize) -> Result<Self, serde_json::Error> {
        self.records.push(serde_json::to_string(record)?);
        Ok(self)
    }

    /// Adds the results of policies that are compared with, even if nobody asked for them.
    ///
    /// # Errors
    /// If a result has no form in JSON.
    pub fn with_references(self, results: &[CellResult]) -> Result<Self, serde_json::Error> {
        self.with(&json!({ "schema": "broadleaf.references/1", "results": results }))
    }

    /// Adds the meaning of the metrics that the records have.
    ///
    /// # Errors
    /// If there is none; metrics always have a form in JSON.
    pub fn with_metrics(self) -> Result<Self, serde_json::Error> {
        let mut named = BTreeSet::new();
        for record in &self.records {
            add_names(&serde_json::from_str(record)?, &mut named);
        }
        let metrics: Vec<Value> = all_metrics()
            .filter(|metric| named.contains(metric.name))
            .map(|metric| {
                json!({ "name": metric.name, "unit": metric.unit, "sentence": metric.sentence,
                    "less_is_better": metric.less_is_better })
            })
            .collect();
        self.with(&json!({ "schema": "broadleaf.metrics/1", "metrics": metrics }))
    }

    /// Returns the page as HTML.
    pub fn html(&self) -> String {
        // In a script of a page, only `<` can end the script.
        let records = self.records.join(",\n").replace('<', "\\u003c");
        let filled = EMPTY_RECORDS.replace("[]", &format!("[{records}]"));
        let read = |record: &String| serde_json::from_str(record).ok();
        let all: Vec<Value> = self.records.iter().filter_map(read).collect();
        let plain = format!("{WITHOUT_SCRIPTS}{}", plain_answers(&all));
        let page = EMPTY_PAGE.replacen(EMPTY_RECORDS, &filled, 1);
        page.replacen(WITHOUT_SCRIPTS, &plain, 1)
    }
}

/// Adds the names of all fields of a value.
fn add_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                names.insert(name.clone());
                add_names(field, names);
            }
        }
        // The elements of a list have the same fields.
        Value::Array(elements) => {
            for element in elements.iter().take(1) {
                add_names(element, names);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(html: &str) -> Vec<Value> {
        let start = EMPTY_RECORDS.strip_suffix("[]</script>").unwrap();
        let (_, rest) = html.split_once(start).expect("the page has records");
        let (records, _) = rest.split_once("</script>").expect("the records end");
        serde_json::from_str(records).expect("records are JSON")
    }

    #[test]
    fn the_built_page_has_one_place_for_records_and_loads_nothing() {
        assert_eq!(EMPTY_PAGE.matches(EMPTY_RECORDS).count(), 1);
        assert_eq!(EMPTY_PAGE.matches(WITHOUT_SCRIPTS).count(), 1);
        for loading in ["src=\"", "href=\"http", "url(http", "import("] {
            assert!(!EMPTY_PAGE.contains(loading), "the page loads: {loading}");
        }
        assert!(EMPTY_PAGE.len() < 500_000, "{} bytes", EMPTY_PAGE.len());
    }

    #[test]
    fn records_come_back_as_they_were() {
        let hostile = json!({ "schema": "broadleaf.compare/1",
            "notes": ["</script><script>alert(1)</script>", "<!-- $& $1 \u{2028} [] -->"] });
        let other = json!({ "schema": "broadleaf.advice/1" });
        let page = Page::new().with(&hostile).unwrap().with(&other).unwrap();
        let html = page.html();
        assert_eq!(records(&html), [hostile, other]);
        assert!(!html.contains("alert(1)</script>"));
        assert_eq!(records(&Page::new().html()), [] as [Value; 0]);
    }

    #[test]
    fn readers_without_scripts_get_the_answer() {
        let advice = json!([{ "machine": "zen5", "sentence": "Stay.", "commands": [] }]);
        let record = json!({ "schema": "broadleaf.compare/1", "advice": advice });
        let html = Page::new().with(&record).unwrap().html();
        let (_, rest) = html.split_once(WITHOUT_SCRIPTS).unwrap();
        let (shown, _) = rest.split_once("</noscript>").unwrap();
        assert!(shown.contains("<h1>Stay.</h1>"), "{shown}");
        assert_eq!(records(&html), [record]);
    }

    #[test]
    fn metrics_are_those_of_the_records() {
        let record = json!({ "schema": "broadleaf.compare/1", "results": [{ "walk_cycles": 1 }] });
        let html = Page::new()
            .with(&record)
            .unwrap()
            .with_metrics()
            .unwrap()
            .html();
        let found = records(&html);
        let metrics = found[1]["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), 1);
        assert_eq!(metrics[0]["name"], "walk_cycles");
        assert_eq!(metrics[0]["less_is_better"], true);
    }
}
