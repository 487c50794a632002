//! `tables`: every page table for what a running process has mapped.

use std::io::Write;

use broadleaf_live::tables::{TablesRequest, tables};
use broadleaf_report::{View, live_tables};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::json;

use crate::args::{TableOrJson, Tables};

pub(crate) fn run(options: &Tables, view: View) -> Result<(), Failure> {
    let mut out = options.result.create()?;
    let view = options.result.view(view);
    let found = tables(&TablesRequest {
        pid: options.pid,
        names: &options.table,
        line_bytes: options.line,
        configuration: &format!("{options:?}"),
    })?;
    let text = match options.format {
        TableOrJson::Table => live_tables(&found, view),
        TableOrJson::Json => json(&found)?,
    };
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
