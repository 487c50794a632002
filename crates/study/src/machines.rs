//! Machines by name or file, and notes on machines in a comparison.

use std::path::PathBuf;

use broadleaf_accel::covers_all;
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_policy::Policy;
use broadleaf_report::BASELINE;
use broadleaf_units::PageSize;

use crate::failure::Failure;
use crate::native::{NATIVE, native};
use crate::{in_file, names};

/// Returns the machines of these names or files. One text may hold several, separated by commas.
/// `native` means the machines that fit this computer.
///
/// # Errors
/// Those of [`machine`] and [`native`], and [`Failure::Wrong`] if two files describe machines of one name.
pub fn machines(names: &[String]) -> Result<Vec<Machine>, Failure> {
    let mut machines: Vec<(&str, Machine)> = Vec::new();
    let names = names.iter().flat_map(|names| names::apart(names));
    let mut resolved = Vec::new();
    for name in names.map(str::trim) {
        match name {
            NATIVE => resolved.extend(native()?),
            name => resolved.push(name),
        }
    }
    for name in resolved {
        if machines.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let machine = machine(name)?;
        if let Some((other, _)) = machines
            .iter()
            .find(|(_, known)| known.name == machine.name)
        {
            return Err(Failure::Wrong(format!(
                "{other} and {name} both describe a machine called {}: give one of them another \
                 name",
                machine.name
            )));
        }
        machines.push((name, machine));
    }
    Ok(machines.into_iter().map(|(_, machine)| machine).collect())
}

/// Returns the machine with this name or from this file. `native` means the machine that fits the
/// first core of this computer that has one.
///
/// # Errors
/// Those of [`native`], and [`Failure::Wrong`] if the name is unknown, or if the file cannot be read or describes no
/// machine.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    if name == NATIVE {
        let fitting = native()?;
        let first = fitting.first().copied().unwrap_or(NATIVE);
        return names::machine(first);
    }
    let path = PathBuf::from(name);
    if path.extension().is_none_or(|ending| ending != "toml") {
        return names::machine(name);
    }
    let text = in_file::read(&path)?;
    Machine::from_toml(&text).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
}

/// Returns the machines on which these policies do not need the frame-level model.
pub(crate) fn without_frames(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Vec<String> {
    let alone = |machine: &&Machine| covers_all(policies, std::slice::from_ref(*machine));
    let names = machines.iter().filter(|machine| alone(machine).is_ok());
    names.map(|machine| machine.name.clone()).collect()
}

/// Notes for machines on which the base pages of the policy `4k` are larger.
pub(crate) fn base_page_notes(results: &[CellResult]) -> Vec<String> {
    let of_4k = results.iter().filter(|result| result.policy == BASELINE);
    let larger = of_4k.filter_map(|result| {
        let bytes = result.memory.as_ref()?.base_page_bytes;
        (bytes > PageSize::SIZE_4K.bytes()).then(|| {
            format!(
                "on {}, {BASELINE} means base pages of {} KiB",
                result.machine,
                bytes >> 10
            )
        })
    });
    larger.collect()
}
