//! `list`: what the catalogues hold.

use broadleaf_machine::{machine, machine_names, parts};
use broadleaf_metrics::all_metrics;
use broadleaf_policy::{FORM, Kind, Parameter, Refusal};
use broadleaf_report::{Align, Grid, View};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::formats::FORMATS;
use crate::args::{Catalogue, List, TableOrJson};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};

pub(crate) fn run(options: &List, view: View) -> Result<(), Failure> {
    let text = match (options.what, options.format) {
        (Some(what), TableOrJson::Table) => listed(what)?.grid.render(view),
        (Some(what), TableOrJson::Json) => json(&Value::Array(listed(what)?.json))?,
        (None, TableOrJson::Table) => {
            let tables = Catalogue::value_variants()
                .iter()
                .map(|&what| Ok(listed(what)?.grid.render(view)));
            tables.collect::<Result<Vec<_>, Failure>>()?.join("\n")
        }
        (None, TableOrJson::Json) => {
            let catalogues = Catalogue::value_variants().iter().filter_map(|&what| {
                let name = what.to_possible_value()?.get_name().to_owned();
                Some(listed(what).map(|listed| (name, Value::Array(listed.json))))
            });
            json(&Value::Object(catalogues.collect::<Result<_, Failure>>()?))?
        }
    };
    print(&text)
}

fn listed(what: Catalogue) -> Result<Listed, Failure> {
    Ok(match what {
        Catalogue::Policies => policies(),
        Catalogue::Machines => machines()?,
        Catalogue::Tlbs => part("TLB"),
        Catalogue::PageTables => part("page table"),
        Catalogue::Replacements => part("replacement"),
        Catalogue::Caches => part("cache"),
        Catalogue::Formats => formats(),
        Catalogue::Metrics => metrics(),
        Catalogue::Refusals => refusals(),
    })
}

/// The catalogue of a kind of parts of machines.
fn part(kind: &str) -> Listed {
    let mut all = parts().into_iter();
    let entries = all.find(|(of, _)| *of == kind);
    described(
        kind,
        &entries.map(|(_, entries)| entries).unwrap_or_default(),
    )
}

/// A catalogue, for both kinds of readers.
struct Listed {
    grid: Grid,
    json: Vec<Value>,
}

fn policies() -> Listed {
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("what it does", Align::Left);
    let mut json = Vec::new();
    for entry in broadleaf_policy::catalogue() {
        // What else can be told to a policy, `explain` says.
        let ready = if entry.number().is_some() {
            format!(" ({})", entry.examples.join(", "))
        } else {
            String::new()
        };
        grid.row([entry.syntax.to_owned(), format!("{}{ready}", entry.summary)]);
        let (options, numbers): (Vec<_>, Vec<_>) =
            (entry.parameters.iter()).partition(|parameter| parameter.default.is_some());
        let options: Vec<Value> = options.into_iter().map(parameter).collect();
        // A family has one, and its name is none without it.
        let number = numbers.into_iter().next().map(parameter);
        json.push(
            json!({ "name": entry.name, "syntax": entry.syntax, "summary": entry.summary,
            "explanation": entry.explanation, "source": entry.source, "parameter": number, "options": options,
            "examples": entry.examples, "by_default": entry.by_default }),
        );
    }
    grid.row([FORM.syntax, FORM.summary]);
    let options: Vec<Value> = FORM.options.iter().map(parameter).collect();
    json.push(
        json!({ "name": FORM.name, "syntax": FORM.syntax, "summary": FORM.summary,
        "explanation": FORM.explanation, "source": FORM.source, "parameter": null, "options": options,
        "examples": FORM.examples, "by_default": false }),
    );
    Listed { grid, json }
}

/// What may be given to a policy, for programs.
fn parameter(parameter: &Parameter) -> Value {
    let mut fields = json!({ "name": parameter.name, "meaning": parameter.meaning });
    match parameter.kind {
        Kind::Number { unit, least, most } => {
            fields["unit"] = json!(unit);
            fields["least"] = json!(least);
            fields["most"] = json!(most);
        }
        Kind::Word(words) => fields["words"] = json!(words),
        Kind::Sizes => fields["unit"] = json!("page sizes"),
    }
    if let Some(default) = parameter.default {
        fields["values"] = json!(parameter.kind.in_words());
        fields["default"] = json!(default.written());
    }
    fields
}

fn machines() -> Result<Listed, Failure> {
    let mut grid = Grid::new()
        .column("machine", Align::Left)
        .column("what it is", Align::Left);
    let mut json = Vec::new();
    for name in machine_names() {
        let machine = machine(name).map_err(Failure::failed)?;
        grid.row([name, &machine.summary]);
        json.push(
            json!({ "name": name, "summary": machine.summary, "explanation": machine.explanation,
            "source": machine.source }),
        );
    }
    Ok(Listed { grid, json })
}

fn described(kind: &str, entries: &[broadleaf_units::Described]) -> Listed {
    let mut grid = Grid::new()
        .column(kind, Align::Left)
        .column("what it is", Align::Left);
    let mut json = Vec::new();
    for entry in entries {
        grid.row([entry.name, entry.summary]);
        json.push(
            json!({ "name": entry.name, "summary": entry.summary, "explanation": entry.explanation,
            "source": entry.source }),
        );
    }
    Listed { grid, json }
}

fn formats() -> Listed {
    let mut grid = Grid::new()
        .column("format", Align::Left)
        .column("what it is", Align::Left);
    let mut json = Vec::new();
    for format in FORMATS {
        grid.row([format.name, format.summary]);
        json.push(json!({ "name": format.name, "summary": format.summary, "explanation": format.explanation,
            "source": format.source }));
    }
    Listed { grid, json }
}

fn metrics() -> Listed {
    let mut grid = Grid::new()
        .column("metric", Align::Left)
        .column("unit", Align::Left)
        .column("what it counts", Align::Left);
    let mut json = Vec::new();
    for metric in all_metrics() {
        grid.row([metric.name, metric.unit, metric.sentence]);
        json.push(
            json!({ "name": metric.name, "unit": metric.unit, "sentence": metric.sentence,
            "less_is_better": metric.less_is_better }),
        );
    }
    Listed { grid, json }
}

fn refusals() -> Listed {
    let mut grid = Grid::new()
        .column("refusal", Align::Left)
        .column("what it means", Align::Left);
    let mut json = Vec::new();
    for reason in Refusal::ALL {
        grid.row([reason.name(), reason.sentence()]);
        json.push(json!({ "name": reason.name(), "sentence": reason.sentence() }));
    }
    Listed { grid, json }
}
