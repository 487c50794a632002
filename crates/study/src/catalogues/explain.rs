//! `explain`: one entry of the catalogues, in full.

use broadleaf_machine::{machine, machine_names, part_parameters, parts};
use broadleaf_metrics::{Metric, metric};
use broadleaf_model::Allocator;
use broadleaf_policy::{Expression, FORM, Parameter, ParseError, PolicyEntry, Refusal};
use broadleaf_price::EntryKind;
use broadleaf_report::{
    Grid, Heading, Meaning, Style, View, command_line, heading_named, live_heading_named,
    range_heading_named, wrap,
};
use broadleaf_tlb::StructureValue;
use broadleaf_units::Described;

use super::areas::area_facts;
use super::expressions;
use super::formats::{ADVICE_FORMATS, FORMATS};
use super::machines::{is_machine_text, of_machine, of_machines};
use super::names::names_beside_policies;
use super::next::{NEXT, next_command};
use super::support::of_organisation;
use super::terms::term;
use crate::failure::Failure;
use crate::names::{known_policies, no_policy, unknown};

/// The kind of words that name no part.
const WORD: &str = "word";

/// The longest line that reads easily.
const COMFORTABLE: usize = 100;

/// Explains a policy, expression, machine, metric, column, refusal, TLB, page table, allocator or
/// format. A file of a machine, a pattern of machines and a grid are names too.
///
/// # Errors
/// If nothing has the name, or an expression is wrong.
pub fn explain(name: &str, view: View) -> Result<String, Failure> {
    let name = name.trim();
    if name != FORM.name && Expression::is_meant_by(name) {
        let expression = Expression::parse(name).map_err(Failure::wrong)?;
        return Ok(expressions::spread_out(&expression, view));
    }
    crate::sweep::explained_or(name, view, || {
        let mut found = find(name)?;
        if let Some(term) = term(name).filter(|_| found.kind != WORD) {
            let Described {
                summary,
                explanation,
                ..
            } = &term.described;
            let as_word = format!("As a word: {summary}. {explanation}");
            found.paragraphs.insert(0, as_word);
        }
        if found.facts.iter().all(|(label, _)| *label != NEXT) {
            let next = next_command(found.kind, name, &found.heading);
            found.facts.push((NEXT, next));
        }
        Ok(found.render(view))
    })
}

/// The explanation of one entry.
pub(super) struct Explanation {
    pub(super) heading: String,
    pub(super) kind: &'static str,
    pub(super) summary: String,
    pub(super) paragraphs: Vec<String>,
    /// Labels and texts.
    pub(super) facts: Vec<(&'static str, String)>,
    /// What a TLB needs from a system: a sentence, and a table.
    pub(super) support: Option<(String, Option<Grid>)>,
}

impl Explanation {
    pub(super) fn render(&self, view: View) -> String {
        let width = view
            .width
            .map_or(COMFORTABLE, |width| width.min(COMFORTABLE));
        let heading = format!("{} ({}): {}", self.heading, self.kind, self.summary);
        // In a pipe, the heading is one line.
        let mut out = match view.width {
            Some(_) => wrap(&heading, width).join("\n"),
            None => heading,
        };
        if out.starts_with(&self.heading) {
            let strong = view.paint.apply(Style::Strong, &self.heading);
            out.replace_range(..self.heading.len(), &strong);
        }
        out.push('\n');
        for paragraph in &self.paragraphs {
            out.push_str(&format!("\n{}\n", wrap(paragraph, width).join("\n")));
        }
        if !self.facts.is_empty() {
            out.push('\n');
        }
        let label = self
            .facts
            .iter()
            .map(|(label, _)| label.len())
            .max()
            .unwrap_or(0)
            + 2;
        for (name, fact) in &self.facts {
            let start = view.paint.apply(
                Style::Faint,
                &format!("{name}:{}", " ".repeat(label - name.len() - 1)),
            );
            let indent = format!("\n{}", " ".repeat(label));
            out.push_str(&format!(
                "{start}{}\n",
                wrap(fact, width.saturating_sub(label).max(20)).join(&indent)
            ));
        }
        if let Some((sentence, table)) = &self.support {
            out.push_str(&format!("\n{}\n", wrap(sentence, width).join("\n")));
            if let Some(table) = table {
                out.push_str(&format!("\n{}", table.render(view)));
            }
        }
        out
    }
}

fn find(name: &str) -> Result<Explanation, Failure> {
    if let Some(entry) = broadleaf_policy::entry(name) {
        return Ok(policy(entry, None));
    }
    if name == FORM.name {
        return Ok(expressions::form());
    }
    match broadleaf_policy::parse(name) {
        Ok(parsed) => {
            let called = parsed.name();
            let mut catalogue = broadleaf_policy::catalogue().iter().copied();
            let family = broadleaf_policy::entry(&called)
                .or_else(|| catalogue.find(|entry| belongs(entry, name)));
            if let Some(entry) = family {
                return Ok(policy(entry, Some(called)));
            }
        }
        Err(ParseError::Unknown { .. }) => {}
        // The policy is known, and a parameter is wrong.
        Err(error) => return Err(no_policy(error)),
    }
    if is_machine_text(name)
        && let Some(found) = of_machines(name)?
    {
        return Ok(found);
    }
    if machine_names().any(|known| known == name) {
        return Ok(of_machine(&machine(name).map_err(Failure::failed)?));
    }
    if let Some(metric) = metric(name) {
        return Ok(of_metric(metric, metric.name));
    }
    match (heading_named(name), range_heading_named(name)) {
        (Some(heading), other) => return Ok(of_heading(heading, other)),
        (None, Some(heading)) => {
            let mut found = of_heading(heading, None);
            found
                .facts
                .push((NEXT, "broadleaf advise TRACE".to_owned()));
            return Ok(found);
        }
        (None, None) => {}
    }
    if let Some(heading) = live_heading_named(name) {
        let mut found = of_heading(heading, None);
        found
            .facts
            .push((NEXT, "broadleaf report --all".to_owned()));
        return Ok(found);
    }
    let refusal_name = name.strip_prefix("refusal_").unwrap_or(name);
    if let Some(refusal) = Refusal::ALL
        .iter()
        .find(|refusal| refusal.name() == refusal_name)
    {
        return Ok(Explanation {
            heading: refusal.name().to_owned(),
            kind: "refusal",
            summary: "why a block was not promoted at a decision point".to_owned(),
            paragraphs: vec![refusal.sentence().to_owned()],
            facts: vec![],
            support: None,
        });
    }
    if let Some(explanation) = of_parts(name) {
        return Ok(explanation);
    }
    if let Some(kind) = EntryKind::named(name) {
        return Ok(of_part("TLB entry", &kind.described));
    }
    if let Some(allocator) = Allocator::named(name) {
        return Ok(of_part("allocator", &allocator.described));
    }
    if let Some(explanation) = of_formats(name) {
        return Ok(explanation);
    }
    if let Some(term) = term(name) {
        return Ok(of_part(WORD, &term.described));
    }
    let mut known = known_policies(name);
    known.extend(names_beside_policies().map(str::to_owned));
    let known = known.iter().map(String::as_str);
    Err(unknown("nothing", name, known, "broadleaf list"))
}

/// A format of traces or of advice. perf has one of each.
fn of_formats(name: &str) -> Option<Explanation> {
    let mut explained: Option<Explanation> = None;
    for (kind, formats) in [
        ("trace format", FORMATS),
        ("format of advice", ADVICE_FORMATS),
    ] {
        let Some(format) = formats.iter().find(|format| format.name == name) else {
            continue;
        };
        let (summary, text, source) = (format.summary, format.explanation, format.source);
        let layout = format.layout.iter();
        let layout = layout.map(|&(part, content)| (part, content.to_owned()));
        match &mut explained {
            None => {
                explained = Some(Explanation {
                    heading: format.name.to_owned(),
                    kind,
                    summary: summary.to_owned(),
                    paragraphs: vec![text.to_owned()],
                    facts: layout.chain([("source", source.to_owned())]).collect(),
                    support: None,
                });
            }
            Some(first) => {
                let also = format!("As a {kind}: {summary}. {text} Source: {source}.");
                first.paragraphs.push(also);
            }
        }
    }
    explained
}

/// The parts of machines of that name. TLBs and caches have replacement rules of one name: the rule
/// of caches follows that of TLBs.
fn of_parts(name: &str) -> Option<Explanation> {
    let of_name = |(kind, entries): (&'static str, Vec<Described>)| {
        let entry = entries.into_iter().find(|entry| entry.name == name)?;
        Some((kind, entry))
    };
    let mut found = parts().into_iter().filter_map(of_name);
    let (kind, first) = found.next()?;
    let mut explanation = of_part(kind, &first);
    for (kind, entry) in found {
        let Described {
            summary,
            explanation: text,
            source,
            ..
        } = entry;
        let also = format!("As a {kind}: {summary}. {text} Source: {source}.");
        explanation.paragraphs.push(also);
    }
    Some(explanation)
}

fn of_part(kind: &'static str, entry: &Described) -> Explanation {
    let mut facts = EntryKind::named(entry.name).map_or_else(Vec::new, area_facts);
    facts.extend(structure_parameters(kind, entry.name));
    facts.push(("source", entry.source.to_owned()));
    Explanation {
        heading: entry.name.to_owned(),
        kind,
        summary: entry.summary.to_owned(),
        paragraphs: (entry.explanation.split("\n\n").map(str::to_owned)).collect(),
        facts,
        support: of_organisation(entry.name).filter(|_| kind == "TLB"),
    }
}

/// A metric, under its name or the name of a column.
fn of_metric(metric: &Metric, heading: &str) -> Explanation {
    let better = match metric.less_is_better {
        Some(true) => "less is better",
        Some(false) => "more is better",
        None => "a fact, neither good nor bad",
    };
    Explanation {
        heading: heading.to_owned(),
        kind: "metric",
        summary: format!("counted in {}", metric.unit),
        paragraphs: vec![metric.sentence.to_owned()],
        facts: vec![("reading", better.to_owned())],
        support: None,
    }
}

/// A column of a table, and the column of the same name in the table of `advise`.
fn of_heading(heading: &Heading, in_advice: Option<&Heading>) -> Explanation {
    let mut explanation = Explanation {
        heading: heading.name.to_owned(),
        kind: "column",
        summary: "a column of the tables".to_owned(),
        paragraphs: vec![],
        facts: vec![],
        support: None,
    };
    match heading.means {
        Meaning::Derived(text) => explanation.paragraphs.push(text.to_owned()),
        Meaning::Metric(name) => match metric(name) {
            Some(metric) => {
                explanation = of_metric(metric, heading.name);
                explanation.facts.push(("field", name.to_owned()));
            }
            None => explanation.paragraphs.push(name.to_owned()),
        },
    }
    if let Some(Meaning::Derived(text) | Meaning::Metric(text)) =
        in_advice.map(|heading| heading.means)
    {
        explanation
            .paragraphs
            .push(format!("In the table of `advise`: {text}"));
    }
    explanation
}

/// Returns true if a name that parses belongs to the family of this entry.
fn belongs(entry: &PolicyEntry, name: &str) -> bool {
    name.strip_prefix(entry.name)
        .is_some_and(|rest| rest.starts_with(['-', '(']))
}

/// The parameters of a part of a machine.
fn structure_parameters(kind: &str, name: &str) -> impl Iterator<Item = (&'static str, String)> {
    part_parameters(kind, name).iter().map(|key| {
        let default = match key.default {
            StructureValue::Size(None) => "the key has to be given".to_owned(),
            value => format!("{value} unless the key is given"),
        };
        (
            "parameter",
            format!("{}: {}, {}; {default}", key.name, key.summary, key.allowed),
        )
    })
}

/// The parameters that a name may have in brackets.
pub(super) fn parameters(parameters: &[Parameter]) -> impl Iterator<Item = (&'static str, String)> {
    parameters.iter().map(|parameter| {
        let default = parameter
            .default
            .map(|value| format!(" ({} unless you say otherwise)", value.written()))
            .unwrap_or_default();
        let text = format!(
            "{}, {}{default}: {}",
            parameter.name,
            parameter.kind.in_words(),
            parameter.meaning
        );
        ("parameter", text)
    })
}

fn policy(entry: &PolicyEntry, named: Option<String>) -> Explanation {
    let mut facts = Vec::new();
    if !entry.parameters.is_empty() {
        facts.push((
            "written",
            format!(
                "{}, for example {}",
                entry.syntax,
                entry.examples.join(", ")
            ),
        ));
    }
    facts.extend(parameters(entry.parameters));
    facts.push(("source", entry.source.to_owned()));
    let one = named.as_deref().unwrap_or(entry.examples[0]);
    let compare = ["broadleaf", "compare", "TRACE", "--policy"].map(str::to_owned);
    let asked = format!("4k,{one}");
    facts.push((NEXT, command_line(&[&compare[..], &[asked]].concat())));
    Explanation {
        heading: named.unwrap_or_else(|| entry.syntax.to_owned()),
        kind: "policy",
        summary: entry.summary.to_owned(),
        paragraphs: vec![entry.explanation.to_owned()],
        facts,
        support: None,
    }
}
