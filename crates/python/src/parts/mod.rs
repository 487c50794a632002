//! Parts of machines that are Python classes: replacement rules and page tables.
//!
//! A machine names its parts by entries of catalogues, which build the state of a part by a plain
//! function. Each class of a run becomes an entry of its own, with a name that no other entry has.
//! The function finds the class by that name. An entry takes a few hundred bytes, which stay: the
//! types of machines want entries that live as long as the program.

mod page_table;
mod replacement;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use broadleaf_units::Described;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::run::FirstError;

pub(crate) use page_table::page_table_of;
pub(crate) use replacement::rule_of;

/// The classes of the runs that go on, by the names of their entries.
static CLASSES: Mutex<BTreeMap<&'static str, PartClass>> = Mutex::new(BTreeMap::new());
/// The number of the last entry.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A class of a run.
struct PartClass {
    class: Py<PyType>,
    error: FirstError,
}

fn classes() -> MutexGuard<'static, BTreeMap<&'static str, PartClass>> {
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a class, for as long as the value lives.
pub(crate) struct NamedClass(&'static str);

impl NamedClass {
    /// Names a class.
    fn new(class: &Bound<'_, PyType>, error: &FirstError) -> PyResult<Self> {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("{}#{number}", class.name()?);
        let name: &'static str = Box::leak(name.into_boxed_str());
        let part = PartClass {
            class: class.clone().unbind(),
            error: error.clone(),
        };
        classes().insert(name, part);
        Ok(Self(name))
    }

    /// The texts of the entry.
    const fn described(&self) -> Described {
        Described {
            name: self.0,
            summary: "a class of the user",
            explanation: "A Python class decides.",
            source: "the user",
        }
    }
}

impl Drop for NamedClass {
    fn drop(&mut self) {
        let part = classes().remove(self.0);
        // The count of references changes under the interpreter lock.
        Python::attach(|_| drop(part));
    }
}

/// An object of a class, which answers until the first exception of the run.
struct PartObject {
    object: Option<Py<PyAny>>,
    error: FirstError,
}

impl PartObject {
    /// Makes an object of the class of that name.
    fn new(name: &str, make: impl FnOnce(&Bound<'_, PyType>) -> PyResult<Py<PyAny>>) -> Self {
        let made = Python::attach(|py| {
            let classes = classes();
            let part = classes.get(name)?;
            let (class, error) = (part.class.clone_ref(py), part.error.clone());
            // The class may build another part.
            drop(classes);
            Some((make(class.bind(py)), error))
        });
        let (object, error) = match made {
            None => (None, FirstError::default()),
            Some((Ok(object), error)) => (Some(object), error),
            Some((Err(failure), error)) => {
                error.set(failure);
                (None, error)
            }
        };
        Self { object, error }
    }

    /// Asks the object, and keeps its exception. `None` after an exception.
    fn ask<T>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        if self.error.is_set() {
            return None;
        }
        match Python::attach(|py| ask(object.bind(py))) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.error.set(error);
                None
            }
        }
    }

    /// A copy of the object, with a state of its own.
    fn copy(&self) -> Self {
        let copied = self.ask(|object| {
            let copy = object.py().import("copy")?;
            Ok(copy.call_method1("deepcopy", (object,))?.unbind())
        });
        Self {
            object: copied,
            error: self.error.clone(),
        }
    }
}

impl std::fmt::Debug for PartObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartObject").finish_non_exhaustive()
    }
}
