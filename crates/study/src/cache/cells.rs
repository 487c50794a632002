//! Results that entries of other requests hold.
//!
//! A result depends on its own policy and machine alone, unless all machines observe one memory. A
//! comparison takes each result that an entry has, whatever else the entry's comparison asked for.
//! An entry whose notes are about its whole plan serves the same request alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_model::{NoteAbout, Outcome, ReplayNote};

use super::entry::{self, Facts, ResultCells, ResultFacts};
use super::folder::{RESULTS, TraceCache, name_of, name_prefix, remove_damaged, use_now};
use super::results::{self, Stored, TraceContent, build};

/// The results of a request that the cache has.
pub(crate) struct KnownResults {
    /// The bytes of the trace.
    pub(crate) content: TraceContent,
    /// The request's policies and machines.
    wanted: ResultCells,
    /// The result of each policy on each machine, machines inside.
    results: Vec<Option<CellResult>>,
    trace: TraceSummary,
    notes: Vec<ReplayNote>,
}

impl ResultCells {
    /// The number of results.
    const fn len(&self) -> usize {
        self.policies.len() * self.machines.len()
    }

    /// Returns true if some policies and machines are among those of an entry.
    pub(super) fn meets(&self, cells: &Self) -> bool {
        let meets = |own: &[String], others: &[String]| own.iter().any(|one| others.contains(one));
        meets(&self.policies, &cells.policies) && meets(&self.machines, &cells.machines)
    }

    /// Returns true if the results of an entry are such as those of these policies and machines
    /// would be, if the trace is the same.
    pub(super) fn may_take_from(&self, facts: &ResultFacts) -> bool {
        facts.build == build()
            && facts.cells.as_ref().is_some_and(|cells| {
                cells.conditions == self.conditions && (cells.curves || !self.curves)
            })
    }
}

/// Places of policies and machines in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingResults {
    /// The policies that lack a result on any machine.
    pub(crate) policies: Vec<usize>,
    /// The machines that lack a result under any policy.
    pub(crate) machines: Vec<usize>,
}

impl KnownResults {
    /// The results of an entry of the same request.
    pub(super) fn whole(content: TraceContent, mut stored: Stored) -> Self {
        Self {
            content,
            wanted: ResultCells::default(),
            notes: stored.take_notes(),
            results: stored.results.into_iter().map(Some).collect(),
            trace: stored.trace,
        }
    }

    /// No result of a request for the trace of this content.
    pub(super) fn none(content: TraceContent, wanted: &ResultCells) -> Self {
        Self {
            content,
            results: vec![None; wanted.len()],
            wanted: wanted.clone(),
            trace: TraceSummary::default(),
            notes: Vec::new(),
        }
    }

    /// Returns true if any result is known.
    pub(super) fn is_any(&self) -> bool {
        self.results.iter().any(Option::is_some)
    }

    /// Adds the results that entries of other requests hold. A damaged entry is removed; `trace` is
    /// the name of the trace in the warning.
    pub(super) fn add_from(&mut self, cache: &TraceCache, trace: &str) {
        let prefix = name_prefix(self.content.bytes, &self.content.hash);
        let mut entries = Vec::new();
        for path in cache.files() {
            let name = name_of(&path);
            if !name.starts_with(&prefix) || !name.ends_with(RESULTS) {
                continue;
            }
            // Another command may have removed the entry, and another check finds damage.
            let Ok(file) = File::open(&path) else {
                continue;
            };
            if let Ok(tail) = entry::tail(&file)
                && let Facts::Results(facts) = tail.facts
                && self.may_take_from(&facts)
                && let Some(cells) = facts.cells
                && self.wanted.meets(&cells)
            {
                entries.push((self.new_in(&cells).len(), path, cells));
            }
        }
        // Those with the most results first: the others are seldom read then.
        entries.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        for (_, path, cells) in entries {
            let new = self.new_in(&cells);
            if new.is_empty() {
                continue;
            }
            let Ok(file) = File::open(&path) else {
                continue;
            };
            let serves = |facts: &ResultFacts| self.may_take_from(facts);
            let body = results::open(&file, serves);
            let read = |body: &[u8]| results::read(body, cells.len());
            match body.and_then(|body| body.as_deref().map(read).transpose()) {
                Ok(Some(stored)) => {
                    use_now(&file);
                    self.take(new, stored);
                }
                Ok(None) => {}
                Err(error) => remove_damaged(&path, &error, trace),
            }
        }
    }

    /// Returns true if an entry's results are such as this request would have.
    fn may_take_from(&self, facts: &ResultFacts) -> bool {
        facts.hash == self.content.hash
            && facts.bytes == self.content.bytes
            && self.wanted.may_take_from(facts)
    }

    /// The results of an entry that are not known yet: by their place in the entry, their place
    /// in this request.
    fn new_in(&self, cells: &ResultCells) -> BTreeMap<usize, usize> {
        let places = |wanted: &[String], held: &[String]| -> Vec<(usize, usize)> {
            let place = |(to, name): (usize, &String)| {
                let from = held.iter().position(|one| one == name)?;
                Some((from, to))
            };
            wanted.iter().enumerate().filter_map(place).collect()
        };
        let machines = places(&self.wanted.machines, &cells.machines);
        let mut new = BTreeMap::new();
        for (from, to) in places(&self.wanted.policies, &cells.policies) {
            for (from_machine, to_machine) in &machines {
                let to = to * self.wanted.machines.len() + to_machine;
                if self.results[to].is_none() {
                    new.insert(from * cells.machines.len() + from_machine, to);
                }
            }
        }
        new
    }

    /// Takes results and their notes out of an entry, by the places of results there and here.
    fn take(&mut self, mut places: BTreeMap<usize, usize>, mut stored: Stored) {
        let notes = stored.take_notes();
        self.trace = stored.trace;
        for (place, result) in stored.results.into_iter().enumerate() {
            let Some(&to) = places.get(&place) else {
                continue;
            };
            let policy = &self.wanted.policies[to / self.wanted.machines.len()];
            if result.policy != *policy {
                places.remove(&place);
                continue;
            }
            let curve = result.curve.filter(|_| self.wanted.curves);
            self.results[to] = Some(CellResult { curve, ..result });
        }
        self.notes = joined(std::mem::take(&mut self.notes), notes, &places);
    }

    /// The policies and machines whose results are not all known. `None` if all results are known.
    pub(crate) fn missing(&self) -> Option<MissingResults> {
        let machines = self.wanted.machines.len();
        let places = self.results.iter().enumerate();
        let missing: Vec<usize> = places
            .filter(|(_, result)| result.is_none())
            .map(|(place, _)| place)
            .collect();
        if missing.is_empty() {
            return None;
        }
        let sorted = |place: &dyn Fn(usize) -> usize| {
            let mut all: Vec<usize> = missing.iter().map(|&missing| place(missing)).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        Some(MissingResults {
            policies: sorted(&|place| place / machines),
            machines: sorted(&|place| place % machines),
        })
    }

    /// The outcome of the request, if all results are known.
    pub(crate) fn outcome(self) -> Outcome {
        Outcome {
            trace: self.trace,
            results: self.results.into_iter().flatten().collect(),
            notes: self.notes,
            ..Outcome::default()
        }
    }

    /// The outcome of the request: that of the missing policies and machines, with the results that
    /// are known.
    pub(crate) fn with(mut self, missing: &MissingResults, part: Outcome) -> Outcome {
        let machines = self.wanted.machines.len();
        let places = missing.policies.iter().flat_map(|policy| {
            let places = missing.machines.iter();
            places.map(move |machine| policy * machines + machine)
        });
        let places: BTreeMap<usize, usize> = places.enumerate().collect();
        for (place, result) in part.results.into_iter().enumerate() {
            self.results[places[&place]] = Some(result);
        }
        Outcome {
            results: self.results.into_iter().flatten().collect(),
            notes: joined(self.notes, part.notes, &places),
            ..part
        }
    }
}

/// Notes with those of more results. `places` has the place here for the place of each of these
/// results there. The order is that of one replay of all.
fn joined(
    known: Vec<ReplayNote>,
    more: Vec<ReplayNote>,
    places: &BTreeMap<usize, usize>,
) -> Vec<ReplayNote> {
    let (mut of_trace, mut of_results, mut of_plan) = (Vec::new(), BTreeMap::new(), Vec::new());
    let here = |place: &usize| places.get(place).copied();
    let all = [(known, None), (more, Some(here))];
    for (notes, here) in all {
        for note in notes {
            match note.about {
                NoteAbout::Trace if of_trace.contains(&note) => {}
                NoteAbout::Trace => of_trace.push(note),
                NoteAbout::Plan => of_plan.push(note),
                NoteAbout::Results(results) => {
                    let results = match here {
                        Some(here) => results.iter().filter_map(here).collect(),
                        None => results,
                    };
                    let of: &mut BTreeSet<usize> = of_results.entry(note.text).or_default();
                    of.extend(results);
                }
            }
        }
    }
    let of_results = of_results.into_iter().filter(|(_, of)| !of.is_empty());
    let mut of_results: Vec<ReplayNote> = of_results
        .map(|(text, of)| ReplayNote {
            about: NoteAbout::Results(of.into_iter().collect()),
            text,
        })
        .collect();
    of_results.sort_by_key(|note| match &note.about {
        NoteAbout::Results(results) => results.first().copied(),
        NoteAbout::Trace | NoteAbout::Plan => None,
    });
    [of_trace, of_results, of_plan].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(policies: &[&str], machines: &[&str]) -> ResultCells {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        ResultCells {
            policies: owned(policies),
            machines: owned(machines),
            ..ResultCells::default()
        }
    }

    fn unknown(wanted: &ResultCells) -> KnownResults {
        let content = TraceContent {
            hash: String::new(),
            bytes: 0,
        };
        KnownResults::none(content, wanted)
    }

    fn result(policy: &str, machine: &str) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            machine: machine.to_owned(),
            ..CellResult::default()
        }
    }

    fn note(about: NoteAbout, text: &str) -> ReplayNote {
        let text = text.to_owned();
        ReplayNote { about, text }
    }

    /// A note about results goes along with the results that are taken, and no further.
    #[test]
    fn notes_go_with_their_results() {
        let idle = |places: &[usize]| note(NoteAbout::Results(places.to_vec()), "idle");
        let places = BTreeMap::from([(7, 0), (8, 3)]);
        let known = vec![idle(&[2])];
        assert_eq!(joined(known.clone(), vec![idle(&[5, 6])], &places), known);
        assert_eq!(
            joined(known, vec![idle(&[6, 7, 8])], &places),
            [idle(&[0, 2, 3])]
        );
    }

    /// The part that is replayed has all missing results, and the known ones among them.
    #[test]
    fn missing_results_are_policies_and_machines() {
        let mut known = unknown(&wanted(&["a", "b", "c"], &["x", "y"]));
        let held = wanted(&["c", "d", "a"], &["y", "x"]);
        let places = known.new_in(&held);
        assert_eq!(places, BTreeMap::from([(0, 5), (1, 4), (4, 1), (5, 0)]));
        for (policy, machine) in [("a", "x"), ("c", "x"), ("c", "y")] {
            let row = ["a", "b", "c"].iter().position(|name| *name == policy);
            let column = usize::from(machine == "y");
            known.results[2 * row.expect("a row") + column] = Some(result(policy, machine));
        }
        assert_eq!(known.new_in(&held), BTreeMap::from([(4, 1)]));
        let missing = known.missing().expect("b has no result");
        assert_eq!(
            (&missing.policies[..], &missing.machines[..]),
            (&[0, 1][..], &[0, 1][..])
        );
        let part = Outcome {
            results: vec![
                result("a", "x"),
                result("a", "y"),
                result("b", "x"),
                result("b", "y"),
            ],
            notes: vec![
                note(NoteAbout::Trace, "no events"),
                note(NoteAbout::Results(vec![0]), "a is idle on x"),
                note(NoteAbout::Results(vec![2, 3]), "b is idle"),
                note(NoteAbout::Plan, "of two machines"),
            ],
            ..Outcome::default()
        };
        known.notes = vec![
            note(NoteAbout::Trace, "no events"),
            note(NoteAbout::Results(vec![4, 5]), "c is idle"),
        ];
        let whole = known.with(&missing, part);
        let names = whole
            .results
            .iter()
            .map(|one| (&*one.policy, &*one.machine));
        let in_order = ["a", "b", "c"].map(|policy| [(policy, "x"), (policy, "y")]);
        assert!(names.eq(in_order.into_iter().flatten()));
        let expected = [
            note(NoteAbout::Trace, "no events"),
            note(NoteAbout::Results(vec![0]), "a is idle on x"),
            note(NoteAbout::Results(vec![2, 3]), "b is idle"),
            note(NoteAbout::Results(vec![4, 5]), "c is idle"),
            note(NoteAbout::Plan, "of two machines"),
        ];
        assert_eq!(whole.notes, expected);
    }
}
