//! Policies that are Python classes.

use broadleaf_policy::{Effort, GivenPolicy, Needs, Point, Policy, Refusal, Verdict};
use broadleaf_policy::{NameRefused, View as BlockView};
use broadleaf_study::compare::PolicyChoice;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::errors::invalid;
use crate::needs::needs_of;
use crate::run::FirstError;
use crate::view::{POINTS, PolicyView};
use crate::words::word_of;

/// A policy whose decisions a Python object makes. After an exception it is not asked again, and
/// the run ends.
struct PythonPolicy {
    name: String,
    needs: Needs,
    decide: Py<PyAny>,
    effort: Option<Py<PyAny>>,
    rank: Option<Py<PyAny>>,
    may_be_due: Option<Py<PyAny>>,
    /// The names of the points as Python strings, in the order of [`Point::ALL`].
    points: Vec<Py<PyString>>,
    error: FirstError,
}

/// Returns the policies of an argument: names, expressions, classes and objects.
///
/// # Errors
/// If an element is none of these, or a class cannot be a policy.
pub(crate) fn choices(
    py: Python<'_>,
    policies: Vec<Bound<'_, PyAny>>,
    error: &FirstError,
) -> PyResult<Vec<PolicyChoice>> {
    let choice = |policy: Bound<'_, PyAny>| match policy.cast::<PyString>() {
        Ok(name) => Ok(PolicyChoice::Named(name.to_cow()?.into_owned())),
        Err(_) => given(py, &policy, error).map(PolicyChoice::Given),
    };
    policies.into_iter().map(choice).collect()
}

/// Takes a class, of which it makes an object, or an object with a method `decide`.
fn given(py: Python<'_>, policy: &Bound<'_, PyAny>, error: &FirstError) -> PyResult<GivenPolicy> {
    let object = match policy.cast::<PyType>() {
        Ok(class) => class.call0()?,
        Err(_) => policy.clone(),
    };
    let class = object.get_type();
    if !object.hasattr("decide")? {
        return Err(PyTypeError::new_err(format!(
            "{} is no policy: a policy is a name, an expression, or an object with a method \
             decide(point, view)",
            class.name()?
        )));
    }
    let name = match object.getattr_opt("name")? {
        Some(name) if !name.is_none() => name.extract()?,
        _ => class.name()?.to_string(),
    };
    let needs = match object.getattr_opt("needs")? {
        Some(needs) if !needs.is_none() => needs_of(py, &name, &needs)?,
        _ => Needs::default(),
    };
    // Methods of the base class are defaults that need no call.
    let base = py.import("broadleaf._policy")?.getattr("Policy")?;
    let own = |method: &str| -> PyResult<Option<Py<PyAny>>> {
        let theirs = class.getattr_opt(method)?;
        let of_base = base.getattr_opt(method)?;
        match (theirs, of_base) {
            (None, _) => Ok(None),
            (Some(theirs), Some(of_base)) if theirs.is(&of_base) => Ok(None),
            (Some(_), _) => Ok(Some(object.getattr(method)?.unbind())),
        }
    };
    let points = Point::ALL.iter().map(|point| word_of(point, &POINTS));
    let points = points.map(|name| PyString::intern(py, name).unbind());
    let python = PythonPolicy {
        name,
        needs,
        decide: object.getattr("decide")?.unbind(),
        effort: own("effort")?,
        rank: own("rank")?,
        may_be_due: own("may_be_due")?,
        points: points.collect(),
        error: error.clone(),
    };
    GivenPolicy::new(python).map_err(|refused: NameRefused| invalid(py, refused))
}

/// The verdict of a word: `promote`, `demote`, `pass`, or the name of a refusal.
fn verdict(policy: &str, answer: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    let wrong = |text: &str| {
        PyValueError::new_err(format!(
            "policy {policy}: decide returned {text}: return \"promote\", \"demote\", \"pass\", or \
             the name of a refusal (broadleaf.names(\"refusals\"))"
        ))
    };
    let Ok(word) = answer.cast::<PyString>() else {
        return Err(wrong(&answer.repr()?.to_cow()?));
    };
    let word = word.to_cow()?;
    Ok(match &*word {
        "promote" => Verdict::Promote,
        "demote" => Verdict::Demote,
        "pass" => Verdict::Pass,
        word => {
            let refusal = Refusal::ALL.iter().find(|refusal| refusal.name() == word);
            Verdict::Stay(*refusal.ok_or_else(|| wrong(&format!("{word:?}")))?)
        }
    })
}

/// The effort of a word.
fn effort(policy: &str, answer: &Bound<'_, PyAny>) -> PyResult<Effort> {
    let word: String = answer.extract()?;
    match &*word {
        "none" => Ok(Effort::None),
        "later" => Ok(Effort::Later),
        "now" => Ok(Effort::Now),
        word => Err(PyValueError::new_err(format!(
            "policy {policy}: effort returned {word:?}: return \"none\", \"later\" or \"now\""
        ))),
    }
}

impl PythonPolicy {
    /// Calls a method, and keeps its exception. `None` after an exception.
    fn ask<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.error.is_set() {
            return None;
        }
        match Python::attach(call) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.error.set(error);
                None
            }
        }
    }

    fn point(&self, py: Python<'_>, point: Point) -> Py<PyString> {
        let place = Point::ALL.iter().position(|known| *known == point);
        self.points[place.unwrap_or(0)].clone_ref(py)
    }
}

impl Policy for PythonPolicy {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn decide(&self, point: Point, view: &BlockView) -> Verdict {
        let answer = self.ask(|py| {
            let arguments = (self.point(py, point), PolicyView(*view));
            verdict(&self.name, self.decide.call1(py, arguments)?.bind(py))
        });
        answer.unwrap_or(Verdict::Pass)
    }

    fn may_be_due(&self, charged: &BlockView) -> bool {
        let Some(method) = &self.may_be_due else {
            return true;
        };
        let answer = self.ask(|py| method.call1(py, (PolicyView(*charged),))?.extract(py));
        answer.unwrap_or(false)
    }

    fn effort(&self, point: Point, view: &BlockView) -> Effort {
        let Some(method) = &self.effort else {
            return Effort::None;
        };
        let answer = self.ask(|py| {
            let arguments = (self.point(py, point), PolicyView(*view));
            effort(&self.name, method.call1(py, arguments)?.bind(py))
        });
        answer.unwrap_or_default()
    }

    fn rank(&self, view: &BlockView) -> u64 {
        let Some(method) = &self.rank else {
            return 0;
        };
        let answer = self.ask(|py| method.call1(py, (PolicyView(*view),))?.extract(py));
        answer.unwrap_or(0)
    }
}
