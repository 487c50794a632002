//! `replay`: makes the decisions of a governor's journal again.

use std::io::Write;

use broadleaf_report::{Answered, View, replay_answer, replay_table};
use broadleaf_study::failure::Failure;
use broadleaf_study::journal::{ReplayRequest, asked_policies, replay};
use broadleaf_study::output::json;
use broadleaf_study::page::replay_page;

use crate::args::{Replay, TableOrJson, write_page};

pub(crate) fn run(options: &Replay, view: View) -> Result<(), Failure> {
    options.result.refuse([&*options.journal])?;
    let page = options
        .result
        .open_page(&options.page, &[&options.journal])?;
    let policies = asked_policies(&options.policy)?;
    let mut out = options.result.create()?;
    let view = options.result.view(view);
    let replayed = replay(ReplayRequest {
        journal: &options.journal,
        policies,
        max_added: &options.max_added,
        configuration: &format!("{options:?}"),
    })?;
    let text = match options.format {
        TableOrJson::Table => replay_table(&replayed, view),
        TableOrJson::Json => {
            let answer = &replay_answer(&replayed);
            let record = &replayed;
            json(&Answered { record, answer })?
        }
    };
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    write_page(page, || replay_page(&replayed))?;
    match replayed.difference {
        None => Ok(()),
        Some(difference) => Err(Failure::Failed(format!(
            "{}: a decision differs from the recorded one: {difference}",
            replayed.journal
        ))),
    }
}
