//! Failures of a study as Python exceptions.

use broadleaf_study::failure::Failure;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The classes of exceptions, which `broadleaf/_errors.py` defines.
struct Classes {
    invalid: Py<PyType>,
    failed: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let module = py.import("broadleaf._errors")?;
        let class = |name: &str| -> PyResult<Py<PyType>> {
            Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        Ok(Classes {
            invalid: class("InvalidInput")?,
            failed: class("WorkFailed")?,
        })
    })
}

/// An exception for wrong arguments or a wrong file: `broadleaf.InvalidInput`.
pub(crate) fn invalid(py: Python<'_>, message: impl ToString) -> PyErr {
    match classes(py) {
        Ok(classes) => PyErr::from_type(classes.invalid.bind(py).clone(), message.to_string()),
        Err(error) => error,
    }
}

/// The exception for a failure, with the same message.
pub(crate) fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    match failure {
        Failure::Wrong(message) => invalid(py, message),
        Failure::Failed(_) | Failure::Status(..) | Failure::NoReader => match classes(py) {
            Ok(classes) => PyErr::from_type(classes.failed.bind(py).clone(), failure.to_string()),
            Err(error) => error,
        },
    }
}
