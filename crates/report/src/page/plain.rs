//! The answer of a report page for readers without JavaScript: plain HTML.

use serde_json::Value;

/// The record of an answer.
const ANSWER: &str = "broadleaf.answer/";

/// Returns the answers of records, as HTML: each sentence with its commands. Comparisons answer for
/// each machine, and several comparisons for each trace.
pub(super) fn plain_answers(records: &[Value]) -> String {
    records.iter().map(|record| of_record(record, "")).collect()
}

/// The answers of one record. `about` is their subject.
fn of_record(record: &Value, about: &str) -> String {
    let is_answer = text(record, "schema").starts_with(ANSWER);
    let mut answers = match is_answer {
        true => of_answer(record, text(record, "about")),
        false => String::new(),
    };
    for advice in list(record, "advice") {
        let about = match (about, text(advice, "machine")) {
            ("", machine) => machine.to_owned(),
            (trace, machine) => format!("{trace}, {machine}"),
        };
        answers.push_str(&of_answer(advice, &about));
    }
    for comparison in list(record, "comparisons") {
        let trace = text(&comparison["trace"], "path");
        answers.push_str(&of_record(comparison, trace));
    }
    answers
}

/// One answer: its subject, its sentences and its commands.
fn of_answer(answer: &Value, about: &str) -> String {
    let mut html = format!("<p>{}</p>", escaped(about));
    html.push_str(&format!("<h1>{}</h1>", escaped(text(answer, "sentence"))));
    for sentence in ["run_time", "page_faults"].map(|name| text(answer, name)) {
        if !sentence.is_empty() {
            html.push_str(&format!("<p>{}</p>", escaped(sentence)));
        }
    }
    let commands = list(answer, "commands").iter().map(|command| {
        let (purpose, line) = (text(command, "purpose"), text(command, "command"));
        match line {
            "" => format!("<li>{}</li>", escaped(purpose)),
            _ => format!(
                "<li>{}<pre><code>{}</code></pre></li>",
                escaped(purpose),
                escaped(line)
            ),
        }
    });
    let commands: String = commands.collect();
    if !commands.is_empty() {
        html.push_str(&format!("<ul>{commands}</ul>"));
    }
    html
}

/// The text of a field, or nothing.
fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or("")
}

/// The elements of a field, or none.
fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_machine_of_each_trace_has_an_answer() {
        let advice = json!({ "machine": "zen5", "sentence": "Choose pop-64 <now>.",
            "run_time": "1 to 2 s.", "commands": [
                { "purpose": "under the policy", "command": "run -- 'a & b'" },
                { "purpose": "nothing else", "command": "" }] });
        let comparison = json!({ "schema": "broadleaf.compare/1", "advice": [advice],
            "trace": { "path": "a.bl" } });
        let wanted = "<h1>Choose pop-64 &lt;now&gt;.</h1><p>1 to 2 s.</p><ul><li>under the \
                      policy<pre><code>run -- 'a &amp; b'</code></pre></li><li>nothing \
                      else</li></ul>";
        let one = plain_answers(std::slice::from_ref(&comparison));
        assert_eq!(one, format!("<p>zen5</p>{wanted}"));
        let several = json!({ "schema": "broadleaf.comparisons/1", "comparisons": [comparison] });
        let several = plain_answers(&[several]);
        assert_eq!(several, format!("<p>a.bl, zen5</p>{wanted}"));
    }

    #[test]
    fn other_records_answer_by_a_record_of_their_own() {
        let advice = json!({ "schema": "broadleaf.advice/1", "advice": { "sentence": "twice" } });
        let answer = json!({ "schema": "broadleaf.answer/1", "about": "sort",
            "sentence": "Stay with base pages.", "commands": [] });
        let found = plain_answers(&[advice, answer, json!({ "schema": "broadleaf.metrics/1" })]);
        assert_eq!(found, "<p>sort</p><h1>Stay with base pages.</h1>");
    }
}
