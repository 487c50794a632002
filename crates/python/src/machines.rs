//! Machines as arguments: names, files, patterns, grids and dicts.

use std::path::PathBuf;

use broadleaf_machine::Machine;
use broadleaf_study::machines::machines as machines_by_name;
use broadleaf_tlb::Design;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use toml::Value;

use crate::errors::{exception, invalid};
use crate::parts::{NamedClass, page_table_of, rule_of};
use crate::run::FirstError;

/// Machines, with the classes of their parts for as long as the value lives.
#[derive(Default)]
pub(crate) struct AskedMachines {
    pub(crate) machines: Vec<Machine>,
    classes: Vec<NamedClass>,
}

impl AskedMachines {
    /// Returns true if a part of a machine is a class, which no cache of results knows.
    pub(crate) fn have_classes(&self) -> bool {
        !self.classes.is_empty()
    }
}

/// Returns the machines of an argument, in order.
///
/// # Errors
/// The errors of the command, for names; those of the reader of machines, for dicts.
pub(crate) fn machines(
    py: Python<'_>,
    given: Vec<Bound<'_, PyAny>>,
    error: &FirstError,
) -> PyResult<AskedMachines> {
    let mut asked = AskedMachines::default();
    for given in given {
        let found = if let Ok(description) = given.cast::<PyDict>() {
            vec![of_dict(py, description, error, &mut asked.classes)?]
        } else {
            let name = match given.cast::<PyString>() {
                Ok(name) => name.to_cow()?.into_owned(),
                Err(_) => given.extract::<PathBuf>()?.to_string_lossy().into_owned(),
            };
            machines_by_name(&[name]).map_err(|failure| exception(py, &failure))?
        };
        for machine in found {
            match (asked.machines.iter()).find(|known| known.name == machine.name) {
                Some(known) if *known == machine => {}
                Some(_) => {
                    let name = &machine.name;
                    let message =
                        format!("two machines are called {name}: give one of them another name");
                    return Err(invalid(py, message));
                }
                None => asked.machines.push(machine),
            }
        }
    }
    Ok(asked)
}

/// A machine from a dict with the keys of a machine's TOML file. The reader of machines checks the
/// dict as TOML text. Parts that are classes are put in afterwards.
fn of_dict(
    py: Python<'_>,
    description: &Bound<'_, PyDict>,
    error: &FirstError,
    classes: &mut Vec<NamedClass>,
) -> PyResult<Machine> {
    let name = description.get_item("name")?;
    let name = name.map_or_else(|| "without a name".to_owned(), |name| name.to_string());
    let refuse = |error: &dyn std::fmt::Display| invalid(py, format!("machine {name}: {error}"));
    let description = description.copy()?;
    let table = taken(&description, "page-table", "linear")?;
    let mut rules = Vec::new();
    if let Some(tlbs) = description
        .get_item("tlb")?
        .filter(|tlbs| tlbs.is_instance_of::<PyList>())
    {
        let copies = PyList::empty(py);
        for (place, tlb) in tlbs.try_iter()?.enumerate() {
            let copy = match tlb?.cast_into::<PyDict>() {
                Ok(tlb) => tlb.copy()?,
                Err(other) => {
                    copies.append(other.into_inner())?;
                    continue;
                }
            };
            rules.extend(taken(&copy, "replacement", "lru")?.map(|class| (place, class)));
            copies.append(copy)?;
        }
        description.set_item("tlb", copies)?;
    }
    let value = toml_value(&name, description.as_any())?;
    let text = toml::to_string(&value).map_err(|error| refuse(&error))?;
    let machine = Machine::from_toml(&text).map_err(|error| {
        // The user does not see the text, so the message shows the line instead of its number.
        let line = text
            .lines()
            .nth(error.line.saturating_sub(1))
            .unwrap_or_default();
        refuse(&format!("`{line}`: {}", error.message))
    });
    let mut machine = machine?;
    if let Some(class) = table {
        let (named, table) = page_table_of(&class, error)?;
        classes.push(named);
        machine.page_table = table;
    }
    if !rules.is_empty() {
        let mut structures = machine.design.structures().to_vec();
        for (place, class) in rules {
            let (named, rule) = rule_of(&class, error)?;
            classes.push(named);
            structures[place].replacement = rule;
        }
        machine.design = Design::new(structures).map_err(|error| refuse(&error))?;
    }
    Ok(machine)
}

/// Takes a class out of a table, and puts a name of the catalogue in its place.
fn taken<'py>(
    table: &Bound<'py, PyDict>,
    key: &str,
    name: &str,
) -> PyResult<Option<Bound<'py, PyType>>> {
    let Some(class) = table.get_item(key)? else {
        return Ok(None);
    };
    let Ok(class) = class.cast_into::<PyType>() else {
        return Ok(None);
    };
    table.set_item(key, name)?;
    Ok(Some(class))
}

/// A value of Python as a value of TOML.
fn toml_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(table) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            // Page sizes such as 4096 are no keys; `4k` is.
            Ok((key.extract::<String>()?, toml_value(name, &value)?))
        };
        let entries = table.iter().map(entry).collect::<PyResult<toml::Table>>()?;
        return Ok(Value::Table(entries));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let elements = value.try_iter()?;
        let elements = elements.map(|element| toml_value(name, &element?));
        return Ok(Value::Array(elements.collect::<PyResult<_>>()?));
    }
    Err(invalid(
        value.py(),
        format!(
            "machine {name}: {} is no value of a machine: write text, a number, True or False, a \
             list or a dict",
            value.repr()?
        ),
    ))
}
