//! Machines as arguments: names, files, patterns, grids and dicts.

use std::path::PathBuf;

use broadleaf_machine::Machine;
use broadleaf_study::machines::machines as machines_by_name;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

use crate::errors::{exception, invalid};

/// Returns the machines of an argument, in order.
///
/// # Errors
/// The errors of the command, for names; those of the reader of machines, for dicts.
pub(crate) fn machines(py: Python<'_>, given: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Machine>> {
    let mut machines: Vec<Machine> = Vec::new();
    for given in given {
        let found = if let Ok(description) = given.cast::<PyDict>() {
            vec![of_dict(py, description)?]
        } else {
            let name = match given.cast::<PyString>() {
                Ok(name) => name.to_cow()?.into_owned(),
                Err(_) => given.extract::<PathBuf>()?.to_string_lossy().into_owned(),
            };
            machines_by_name(&[name]).map_err(|failure| exception(py, &failure))?
        };
        for machine in found {
            match machines.iter().find(|known| known.name == machine.name) {
                Some(known) if *known == machine => {}
                Some(_) => {
                    let name = &machine.name;
                    return Err(invalid(
                        py,
                        format!("two machines are called {name}: give one of them another name"),
                    ));
                }
                None => machines.push(machine),
            }
        }
    }
    Ok(machines)
}

/// A machine from a dict with the keys of a machine's TOML file. The reader of machines checks the
/// dict as TOML text.
fn of_dict(py: Python<'_>, description: &Bound<'_, PyDict>) -> PyResult<Machine> {
    let name = description.get_item("name")?;
    let name = name.map_or_else(|| "without a name".to_owned(), |name| name.to_string());
    let refuse = |error: &dyn std::fmt::Display| invalid(py, format!("machine {name}: {error}"));
    let value = toml_value(&name, description.as_any())?;
    let text = toml::to_string(&value).map_err(|error| refuse(&error))?;
    Machine::from_toml(&text).map_err(|error| {
        // The user does not see the text, so the message shows the line instead of its number.
        let line = text
            .lines()
            .nth(error.line.saturating_sub(1))
            .unwrap_or_default();
        refuse(&format!("`{line}`: {}", error.message))
    })
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
