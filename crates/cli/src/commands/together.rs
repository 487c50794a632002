//! `compare --together`: several traces at the same time, a core each.

use std::io::Write;
use std::path::{Path, PathBuf};

use broadleaf_model::MixWork;
use broadleaf_report::{View, mix_table, write_mix_csv, write_mix_parquet};
use broadleaf_study::compare::policies;
use broadleaf_study::failure::Failure;
use broadleaf_study::machines::machines;
use broadleaf_study::mix::{MixRequest, mix, mix_policies};
use broadleaf_study::output::json;
use broadleaf_study::policies_file;

use crate::args::{Compare, CompareFormat};
use crate::progress::Bars;

pub(crate) fn run(options: &Compare, view: View) -> Result<(), Failure> {
    let machine_files = options.machine.iter().map(Path::new);
    let traces = options.trace.iter().map(PathBuf::as_path);
    let named_file = options.policies.iter().map(PathBuf::as_path);
    options
        .result
        .refuse(machine_files.chain(traces).chain(named_file))?;
    if options.keep_going {
        return Err(Failure::wrong(
            "a mix needs whole traces, as a program that ends begins again: leave --keep-going out",
        ));
    }
    if options.format == CompareFormat::Svg {
        return Err(Failure::wrong(
            "SVG shows curves, and a mix has none: choose table, json, csv or parquet",
        ));
    }
    let machines = machines(&options.machine)?;
    let named = match &options.policies {
        Some(file) => policies_file::read(file)?,
        None => Vec::new(),
    };
    let usual = match options.policy.is_empty() && named.is_empty() {
        true => mix_policies(&machines),
        false => options.policy.clone(),
    };
    if usual.is_empty() && named.is_empty() {
        return Err(Failure::wrong(
            "none of these machines can run a mix: choose a machine with caches and cores, such as \
             --machine chen2014-4core",
        ));
    }
    let memory = options.memory.request()?;
    let asks_for_memory = memory.memory.is_some() || memory.pagetypeinfo.is_some();
    let request = MixRequest {
        traces: &options.trace,
        max_accesses: options.bound.max_accesses,
        work: MixWork {
            skipped: options.skip.unwrap_or(0),
            warming: options.warm.unwrap_or(0),
            counted: options.work,
        },
        policies: policies(&usual, &named, true)?,
        machines,
        memory: Some(&memory).filter(|_| asks_for_memory),
        threads: options.threads,
        watch: &Bars,
    };
    let mut out = options.result.create()?;
    if options.format == CompareFormat::Parquet && out.is_terminal() {
        return Err(Failure::wrong(
            "Parquet is no text: give a file with -o, or a pipe",
        ));
    }
    let mix = mix(request)?;
    let mut bytes = Vec::new();
    match options.format {
        CompareFormat::Table | CompareFormat::Svg => {
            bytes = mix_table(&mix, options.result.view(view)).into_bytes();
        }
        CompareFormat::Json => bytes = json(&mix)?.into_bytes(),
        CompareFormat::Csv => write_mix_csv(&mix, &mut bytes).map_err(Failure::failed)?,
        CompareFormat::Parquet => write_mix_parquet(&mix, &mut bytes).map_err(Failure::failed)?,
    }
    out.write_all(&bytes)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
