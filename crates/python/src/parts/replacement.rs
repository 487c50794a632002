//! Replacement rules of TLBs that are Python classes.

use broadleaf_tlb::{Replace, Replacement, ReplacementChoice, RuleNeed, WayUse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::{NamedClass, PartObject};
use crate::run::FirstError;

/// Makes a replacement rule of a class.
///
/// # Errors
/// If an attribute of the class is wrong.
pub(crate) fn rule_of(
    class: &Bound<'_, PyType>,
    error: &FirstError,
) -> PyResult<(NamedClass, ReplacementChoice)> {
    let named = NamedClass::new(class, error)?;
    let counts_uses: bool = class.getattr("counts_uses")?.extract()?;
    let rule = Replacement {
        described: named.described(),
        parameters: &[],
        refuses: |_| None,
        needs: match counts_uses {
            true => &[RuleNeed::Uses],
            false => &[],
        },
        ignores_hits: false,
        keeps_last: |_| None,
        build: |shape| {
            let name = shape.choice.entry().described.name;
            let object = PartObject::new(name, |class| {
                Ok(class.call1((shape.sets, shape.ways))?.unbind())
            });
            Box::new(PythonRule {
                fills_unused_first: object
                    .ask(|rule| rule.getattr("fills_unused_first")?.extract())
                    .unwrap_or(true),
                object,
            })
        },
    };
    let rule: &'static Replacement = Box::leak(Box::new(rule));
    Ok((named, ReplacementChoice::from(rule)))
}

/// The state of a rule.
#[derive(Debug)]
struct PythonRule {
    object: PartObject,
    fills_unused_first: bool,
}

/// The first way that may make room, for a rule that gave no answer.
fn first(ways: &[WayUse]) -> usize {
    let may = ways.iter().position(|way| *way != WayUse::Locked);
    may.unwrap_or(0)
}

const fn word(way: &WayUse) -> &'static str {
    match way {
        WayUse::Unused => "unused",
        WayUse::Used => "used",
        WayUse::Locked => "locked",
    }
}

impl Replace for PythonRule {
    fn hit(&mut self, set: usize, way: usize) {
        self.object
            .ask(|rule| rule.call_method1("hit", (set, way)).map(drop));
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.object
            .ask(|rule| rule.call_method1("fill", (set, way)).map(drop));
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let words: Vec<&str> = ways.iter().map(word).collect();
        let victim = self.object.ask(|rule| {
            let way: usize = rule.call_method1("victim", (set, words))?.extract()?;
            match ways.get(way) {
                Some(WayUse::Unused | WayUse::Used) => Ok(way),
                found => Err(PyValueError::new_err(format!(
                    "{}: victim returned way {way} of set {set}, which {}",
                    rule.get_type().name()?,
                    match found {
                        None => "the set does not have",
                        Some(_) => "is locked",
                    }
                ))),
            }
        });
        victim.unwrap_or_else(|| first(ways))
    }

    fn fills_unused_first(&self) -> bool {
        self.fills_unused_first
    }

    fn repeat(&mut self, set: usize, way: usize, times: u64) {
        self.object
            .ask(|rule| rule.call_method1("repeat", (set, way, times)).map(drop));
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(Self {
            object: self.object.copy(),
            fills_unused_first: self.fills_unused_first,
        })
    }
}
