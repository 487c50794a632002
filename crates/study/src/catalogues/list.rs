//! `list`: the entries of the catalogues.

use broadleaf_machine::{machine, machine_names, parts};
use broadleaf_metrics::all_metrics;
use broadleaf_model::ALLOCATORS;
use broadleaf_policy::{FORM, Parameter, ParameterKind, Refusal};
use broadleaf_report::{Align, Grid};
use serde_json::{Value, json};

use super::formats::FORMATS;
use crate::failure::Failure;

/// The width of units whose words a narrow terminal wraps: that of "instruction".
const SHORTEST_UNIT: usize = 11;

/// A catalogue that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogueName {
    /// Policies.
    Policies,
    /// Machines.
    Machines,
    /// TLB organisations.
    Tlbs,
    /// Page tables.
    PageTables,
    /// Synonym tables.
    SynonymTables,
    /// Replacement rules of TLBs.
    Replacements,
    /// Cache hierarchies.
    Caches,
    /// Replacement rules of caches.
    CacheReplacements,
    /// Allocators of frames.
    Allocators,
    /// Formats of traces.
    Formats,
    /// Metrics.
    Metrics,
    /// Reasons why a block was not promoted.
    Refusals,
}

/// The entries of a catalogue.
///
/// # Errors
/// If a machine of the catalogue is wrong.
pub fn entries(what: CatalogueName) -> Result<CatalogueEntries, Failure> {
    Ok(match what {
        CatalogueName::Policies => policies(),
        CatalogueName::Machines => machines()?,
        CatalogueName::Tlbs => part("TLB"),
        CatalogueName::PageTables => part("page table"),
        CatalogueName::SynonymTables => part("synonym table"),
        CatalogueName::Replacements => part("replacement"),
        CatalogueName::Caches => part("cache"),
        CatalogueName::CacheReplacements => part("cache replacement"),
        CatalogueName::Allocators => allocators(),
        CatalogueName::Formats => formats(),
        CatalogueName::Metrics => metrics(),
        CatalogueName::Refusals => refusals(),
    })
}

/// The entries of a catalogue.
#[derive(Debug)]
pub struct CatalogueEntries {
    /// The entries as a table, for people.
    pub grid: Grid,
    /// The entries as JSON, for programs.
    pub json: Vec<Value>,
}

fn policies() -> CatalogueEntries {
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("what it does", Align::Left);
    let mut json = Vec::new();
    for entry in broadleaf_policy::catalogue() {
        // `explain` lists the other parameters.
        let ready = if entry.number().is_some() {
            format!(" ({})", entry.examples.join(", "))
        } else {
            String::new()
        };
        grid.row([entry.syntax.to_owned(), format!("{}{ready}", entry.summary)]);
        let (options, numbers): (Vec<_>, Vec<_>) =
            (entry.parameters.iter()).partition(|parameter| parameter.default.is_some());
        let options: Vec<Value> = options.into_iter().map(parameter).collect();
        // A family has one number, which its name must have.
        let number = numbers.into_iter().next().map(parameter);
        json.push(
            json!({ "name": entry.name, "syntax": entry.syntax, "summary": entry.summary,
            "explanation": entry.explanation, "source": entry.source,
            "parameter": number, "options": options,
            "examples": entry.examples, "by_default": entry.by_default }),
        );
    }
    grid.row([FORM.syntax, FORM.summary]);
    let options: Vec<Value> = FORM.options.iter().map(parameter).collect();
    json.push(
        json!({ "name": FORM.name, "syntax": FORM.syntax, "summary": FORM.summary,
        "explanation": FORM.explanation, "source": FORM.source,
        "parameter": null, "options": options,
        "examples": FORM.examples, "by_default": false }),
    );
    CatalogueEntries { grid, json }
}

/// A parameter of a policy, as JSON.
fn parameter(parameter: &Parameter) -> Value {
    let mut fields = json!({ "name": parameter.name, "meaning": parameter.meaning });
    match parameter.kind {
        ParameterKind::Number { unit, least, most } => {
            fields["unit"] = json!(unit);
            fields["least"] = json!(least);
            fields["most"] = json!(most);
        }
        ParameterKind::Word(words) => fields["words"] = json!(words),
        ParameterKind::Sizes => fields["unit"] = json!("page sizes"),
        ParameterKind::Shares => fields["unit"] = json!("shares of a cache"),
    }
    if let Some(default) = parameter.default {
        fields["values"] = json!(parameter.kind.in_words());
        fields["default"] = json!(default.written());
    }
    fields
}

fn machines() -> Result<CatalogueEntries, Failure> {
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
    Ok(CatalogueEntries { grid, json })
}

fn allocators() -> CatalogueEntries {
    let entries: Vec<_> = ALLOCATORS.iter().map(|entry| entry.described).collect();
    described("allocator", &entries)
}

/// The catalogue of a kind of parts of machines.
fn part(kind: &str) -> CatalogueEntries {
    let mut all = parts().into_iter();
    let entries = all.find(|(of, _)| *of == kind);
    described(
        kind,
        &entries.map(|(_, entries)| entries).unwrap_or_default(),
    )
}

fn described(kind: &str, entries: &[broadleaf_units::Described]) -> CatalogueEntries {
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
    CatalogueEntries { grid, json }
}

fn formats() -> CatalogueEntries {
    let mut grid = Grid::new()
        .column("format", Align::Left)
        .column("what it is", Align::Left);
    let mut json = Vec::new();
    for format in FORMATS {
        grid.row([format.name, format.summary]);
        let layout = format.layout.iter();
        let layout = layout.map(|(part, content)| json!({ "part": part, "content": content }));
        let layout: Vec<Value> = layout.collect();
        json.push(json!({ "name": format.name, "summary": format.summary,
            "explanation": format.explanation, "layout": layout, "source": format.source }));
    }
    CatalogueEntries { grid, json }
}

fn metrics() -> CatalogueEntries {
    let mut grid = Grid::new()
        .column("metric", Align::Left)
        .wrapped_column("unit", SHORTEST_UNIT)
        .column("what it counts", Align::Left);
    let mut json = Vec::new();
    for metric in all_metrics() {
        grid.row([metric.name, metric.unit, metric.sentence]);
        json.push(
            json!({ "name": metric.name, "unit": metric.unit, "sentence": metric.sentence,
            "less_is_better": metric.less_is_better }),
        );
    }
    CatalogueEntries { grid, json }
}

fn refusals() -> CatalogueEntries {
    let mut grid = Grid::new()
        .column("refusal", Align::Left)
        .column("what it means", Align::Left);
    let mut json = Vec::new();
    for reason in Refusal::ALL {
        grid.row([reason.name(), reason.sentence()]);
        json.push(json!({ "name": reason.name(), "sentence": reason.sentence() }));
    }
    CatalogueEntries { grid, json }
}
