//! The rule by which a comparison chooses: a line below the table, and in full for
//! `broadleaf explain rule`.

use broadleaf_metrics::{CellResult, Comparison, RunTimeBasis};

use crate::advice::{BASELINE, cycles_of};
use crate::grid::paragraph;
use crate::recommendation::{Context, machines, of_machine};
use crate::{Align, Grid, Style, View};

/// The rule in full, by which [`advise`](crate::advise) chooses, for readers who prefer another.
/// Empty lines separate paragraphs.
pub const RULE_IN_FULL: &str = "Only policies that can be run are considered. A policy that uses \
    memory up is left out, and so is a policy that raises the peak of memory by more than 10% \
    over 4k. Of the others, the policy with the fewest lost cycles is best. Policies that lose \
    hardly more are as good. Of these, the policy that adds the least memory is chosen.\n\n\
    If the recording holds a measurement (`record --measure`) from which the user and system time \
    under each policy are known, processor time takes the place of lost cycles. Policies within 1% \
    of the time with 4 KiB pages are as good. 4 KiB pages are kept unless a policy saves 3%, and \
    its range holds no loss. The rest of this rule is for other recordings.\n\n\
    Lost cycles are walk cycles. If memory is modelled down to the frame, lost cycles are those of \
    walks, faults and bookkeeping. A machine that needs no frames counts walk cycles alone, even \
    beside a machine that needs them.\n\n\
    Policies lose hardly more within 0.01 cycles per access, or within 1% of the run time. If \
    faults have costs, a hundredth of the lost cycles of 4k is hardly more too.\n\n\
    4 KiB pages are kept unless a policy saves enough: 0.01 cycles per access, and 3% of the run \
    time. A measured range that holds a loss shows no gain. If faults have costs, the policy must \
    also save a hundredth of the lost cycles of 4k.\n\n\
    The run time is the user time of a measurement, and otherwise comes from a table of walk \
    costs. It is not known with limited memory, on a machine with one level of TLBs, or without a \
    count of instructions. Then cycles alone decide.";

/// The name of the figure that policies are compared by if user and system time were measured.
const PROCESSOR_TIME: &str = "processor time";

/// The counts and the source of run times that a recommendation for one machine uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Basis {
    /// The counts that are compared: the kind of cycles, or processor time.
    counts: &'static str,
    /// The origin of the run times.
    run_time: &'static str,
}

impl Basis {
    /// Returns the basis of the results on one machine.
    fn of(machine: &str, results: &[&CellResult], context: &Context<'_>) -> Self {
        let has_basis = |basis| {
            let mut others = results.iter().filter(|result| result.policy != BASELINE);
            others.any(|result| result.run_time.is_some_and(|known| known.basis == basis))
        };
        Self {
            counts: match results.first() {
                Some(_) if context.is_by_time(machine, results) => PROCESSOR_TIME,
                Some(result) if !context.is_by_walks(machine) => cycles_of(result),
                _ => "walk cycles",
            },
            run_time: match [RunTimeBasis::Measured, RunTimeBasis::Table].map(has_basis) {
                [true, true] => "a measurement, and a table where so marked",
                [true, false] => "a measurement",
                [false, true] => "a table",
                [false, false] => "not known",
            },
        }
    }

    /// The basis beside a machine's name.
    fn beside_name(self) -> String {
        format!(" (by {}; run time: {})", self.counts, self.run_time)
    }

    /// The basis as a superlative.
    fn least(self) -> String {
        match self.counts {
            PROCESSOR_TIME => format!("least {PROCESSOR_TIME}"),
            cycles => format!("fewest {cycles}"),
        }
    }
}

/// Returns the text after the name of a machine above its table: its basis, if machines of the
/// comparison differ.
pub(crate) fn beside_name(machine: &str, comparison: &Comparison, context: &Context<'_>) -> String {
    let all = bases(comparison, context);
    match are_equal(&all) {
        true => String::new(),
        false => (all.iter())
            .find(|(name, _)| *name == machine)
            .map_or(String::new(), |(_, basis)| basis.beside_name()),
    }
}

/// Renders the rule: a line, or a table if machines answer by different rules.
pub(crate) fn rule(comparison: &Comparison, context: &Context<'_>, view: View) -> String {
    let all = bases(comparison, context);
    if let Some((_, basis)) = all.first().filter(|_| are_equal(&all)) {
        let text = format!(
            "Rule: {}, 10% more memory at most (broadleaf explain rule)",
            basis.least()
        );
        return paragraph(&text, Style::Faint, view);
    }
    let text = "Rule: fewest cycles or least time, 10% more memory at most (broadleaf explain \
                rule). Machines differ in what counts, or in the origin of run times:";
    let mut grid = Grid::new()
        .column("machine", Align::Left)
        .column("counts", Align::Left)
        .column("run time", Align::Left);
    for (machine, basis) in all {
        grid.row([machine, basis.counts, basis.run_time]);
    }
    paragraph(text, Style::Faint, view) + &grid.render(view)
}

/// The basis of each machine of a comparison.
fn bases<'a>(comparison: &'a Comparison, context: &Context<'_>) -> Vec<(&'a str, Basis)> {
    let of = |machine| {
        (
            machine,
            Basis::of(machine, &of_machine(comparison, machine), context),
        )
    };
    machines(comparison).into_iter().map(of).collect()
}

fn are_equal(all: &[(&str, Basis)]) -> bool {
    all.windows(2).all(|pair| pair[0].1 == pair[1].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Provenance, RunTime, TraceSummary};

    fn result(machine: &str, basis: Option<RunTimeBasis>) -> CellResult {
        CellResult {
            policy: "greedy".to_owned(),
            machine: machine.to_owned(),
            run_time: basis.map(|basis| RunTime::of_gains([0.0, 0.1, 0.2], basis)),
            ..CellResult::default()
        }
    }

    fn with_context<T>(
        results: Vec<CellResult>,
        of: impl FnOnce(&Comparison, &Context<'_>) -> T,
    ) -> T {
        let trace = TraceSummary::default();
        let comparison = Comparison::new(trace, results, vec![], Provenance::default());
        let context = Context {
            references: &[],
            can_be_run: &|_| true,
            by_walks: &[],
        };
        of(&comparison, &context)
    }

    #[test]
    fn one_rule_is_one_line_of_eighty_columns() {
        let results = ["skylake", "zen4"].map(|name| result(name, Some(RunTimeBasis::Table)));
        with_context(results.to_vec(), |comparison, context| {
            let view = View {
                width: Some(80),
                ..View::default()
            };
            let text = rule(comparison, context, view);
            assert!(text.starts_with("Rule: fewest walk cycles, "), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
            assert_eq!(beside_name("zen4", comparison, context), "");
        });
    }

    #[test]
    fn different_rules_are_told_for_each_machine_and_in_one_table() {
        let measured = Some(RunTimeBasis::Measured);
        let results = vec![
            result("skylake", measured),
            result("skylake", Some(RunTimeBasis::Table)),
            result("zen4", measured),
            result("romer1995", None),
        ];
        with_context(results, |comparison, context| {
            let text = rule(comparison, context, View::default());
            for line in [
                "Machines differ",
                "\nskylake    walk cycles  a measurement, and a table where so marked\n",
                "\nzen4       walk cycles  a measurement\n",
                "\nromer1995  walk cycles  not known\n",
            ] {
                assert!(text.contains(line), "{line} is missing in\n{text}");
            }
            assert_eq!(
                beside_name("zen4", comparison, context),
                " (by walk cycles; run time: a measurement)"
            );
        });
    }
}
