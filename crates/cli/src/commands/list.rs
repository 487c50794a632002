//! `list`: the entries of the catalogues.

use broadleaf_report::{View, next};
use broadleaf_study::catalogues::{areas, entries};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};
use clap::ValueEnum;
use serde_json::Value;

use crate::args::{Catalogue, ListArgs, TableOrJson};

pub(crate) fn run(options: &ListArgs, view: View) -> Result<(), Failure> {
    if options.area {
        return priced(options, view);
    }
    let text = match (options.what, options.format) {
        (Some(what), TableOrJson::Table) => table(what, view)? + &explain_next(),
        (Some(what), TableOrJson::Json) => json(&array(what)?)?,
        (None, TableOrJson::Table) => {
            let all = Catalogue::value_variants().iter();
            let tables: Result<Vec<_>, Failure> = all.map(|&what| table(what, view)).collect();
            tables?.join("\n") + &explain_next()
        }
        (None, TableOrJson::Json) => {
            let all = Catalogue::value_variants().iter().filter_map(|&what| {
                let name = what.to_possible_value()?.get_name().to_owned();
                Some(array(what).map(|array| (name, array)))
            });
            json(&Value::Object(all.collect::<Result<_, Failure>>()?))?
        }
    };
    print(&text)
}

/// The list of TLBs with areas.
fn priced(options: &ListArgs, view: View) -> Result<(), Failure> {
    if options.what != Some(Catalogue::Tlbs) {
        let why = "only TLBs have areas; write broadleaf list tlbs --area";
        return Err(Failure::Wrong(why.to_owned()));
    }
    let areas = areas()?;
    print(&match options.format {
        TableOrJson::Table => areas.grid.render(view) + &explain_next(),
        TableOrJson::Json => json(&Value::Array(areas.json))?,
    })
}

/// The next command of every list.
fn explain_next() -> String {
    next("broadleaf explain NAME")
}

fn table(what: Catalogue, view: View) -> Result<String, Failure> {
    Ok(entries(what.into())?.grid.render(view))
}

fn array(what: Catalogue) -> Result<Value, Failure> {
    Ok(Value::Array(entries(what.into())?.json))
}
