//! The owners of rows, and the number of programs for which a property holds.

use super::published::{PROGRAMS, Published};
use super::runs::ProgramRun;
use crate::papers::{PaperClaim, Table};

/// The cells that name the owner of a row: the paper, a kernel, or a recording.
pub(super) fn whose(program: &str, whose: &str) -> [String; 2] {
    [program.to_owned(), whose.to_owned()]
}

/// The paper's programs in its order, each with the runs that represent it; then the runs that
/// represent none.
pub(super) fn grouped(
    runs: &[ProgramRun],
) -> impl Iterator<Item = (&str, Option<&'static Published>, Vec<&ProgramRun>)> {
    let of = |name: &str| -> Vec<&ProgramRun> {
        runs.iter().filter(|run| run.program == name).collect()
    };
    let others = runs
        .iter()
        .filter(|run| Published::of(run.program).is_none());
    let published = PROGRAMS.iter();
    published
        .map(move |program| (program.program, Some(program), of(program.program)))
        .chain(others.map(|run| (run.program, None, vec![run])))
}

/// The kernel of a program.
pub(super) fn kernel<'a>(runs: &'a [ProgramRun], program: &str) -> Option<&'a ProgramRun> {
    runs.iter()
        .find(|run| run.program == program && !run.recorded)
}

/// Returns true if a property holds for the kernels of all these programs.
pub(super) fn all_of(
    runs: &[ProgramRun],
    programs: &[&str],
    holds: impl Fn(&ProgramRun) -> Option<bool>,
) -> bool {
    let mut kernels = programs.iter().map(|program| kernel(runs, program));
    kernels.all(|run| run.and_then(&holds) == Some(true))
}

/// Adds a claim that holds for `paper` of the paper's ten programs. The claim agrees if it holds
/// for at least the same share of ours.
pub(super) fn claim_of<'t>(
    table: &'t mut Table,
    runs: &[ProgramRun],
    paper: usize,
    text: &str,
    holds: impl Fn(&ProgramRun) -> Option<bool>,
) -> &'t mut PaperClaim {
    let those = runs.iter().filter(|run| holds(run) == Some(true)).count();
    let (_, counted) = most(runs, holds);
    let share = match paper {
        10 => "all programs".to_owned(),
        _ => format!("{paper} of 10 programs or more"),
    };
    let agrees = is_share(those, runs.len(), paper);
    let claim = table.direction(agrees, format!("in {share}, {text}"));
    claim.words(&format!("{paper} of 10 programs"), counted)
}

/// Returns true if `those` of `all` are at least `paper` of ten.
const fn is_share(those: usize, all: usize, paper: usize) -> bool {
    those > 0 && those * 10 >= paper * all
}

/// Returns true if a property holds for more than half of the runs; also returns their number, and
/// the other runs.
pub(super) fn most(
    runs: &[ProgramRun],
    holds: impl Fn(&ProgramRun) -> Option<bool>,
) -> (bool, String) {
    let name = |run: &ProgramRun| match run.recorded {
        true => format!("{} (recorded)", run.program),
        false => run.program.to_owned(),
    };
    let others = runs.iter().filter(|run| holds(run) != Some(true));
    let others: Vec<String> = others.map(name).collect();
    let (all, those) = (runs.len(), runs.len() - others.len());
    let but = if others.is_empty() {
        String::new()
    } else {
        format!(", not for {}", others.join(", "))
    };
    (2 * those > all, format!("{those} of {all} programs{but}"))
}

#[cfg(test)]
mod tests {
    use super::is_share;

    #[test]
    fn the_papers_share_is_reached_or_not() {
        assert!(is_share(9, 10, 9) && is_share(12, 13, 9) && is_share(10, 10, 10));
        assert!(!is_share(8, 10, 9) && !is_share(11, 13, 9) && !is_share(9, 10, 10));
        assert!(!is_share(0, 0, 10));
    }
}
