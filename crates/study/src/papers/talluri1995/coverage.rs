//! Every numbered table of the thesis: the tables of this command that repeat it, or the reason why
//! none does.

use crate::failure::Failure;
use crate::papers::{Table, none};

/// How this command treats a table of the thesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoverageKind {
    /// Its figures follow from models, or from other tables.
    Recomputed,
    /// The experiment is repeated on recorded programs.
    Repeated,
    /// Its figures are inputs of the thesis's machine or programs.
    Input,
    /// It has words alone.
    Words,
}

impl CoverageKind {
    const fn text(self) -> &'static str {
        match self {
            Self::Recomputed => "recomputed",
            Self::Repeated => "repeated on recorded programs",
            Self::Input => "not produced",
            Self::Words => "not produced: words alone",
        }
    }
}

/// Tables of the thesis, and where this command has them.
struct Coverage {
    /// The names of the tables, separated by spaces. A name that ends with `*` stands for all
    /// tables that begin so.
    names: &'static str,
    kind: CoverageKind,
    /// The tables of this command.
    here: &'static str,
    /// What is missing, and why.
    missing: &'static str,
}

const fn covered(
    names: &'static str,
    kind: CoverageKind,
    here: &'static str,
    missing: &'static str,
) -> Coverage {
    Coverage {
        names,
        kind,
        here,
        missing,
    }
}

const COVERAGE: &[Coverage] = &[
    covered(
        "1-1 1-2",
        CoverageKind::Words,
        "",
        "definitions, and conditions under which pages share a block; `broadleaf explain` has \
         those of each TLB organisation",
    ),
    covered("1-3 8-2", CoverageKind::Recomputed, "headline", ""),
    covered(
        "2-1",
        CoverageKind::Recomputed,
        "measured-programs",
        "run times, misses of the caches and the peak of memory need the thesis's machine; \
         `programs` has our programs",
    ),
    covered("2-2", CoverageKind::Recomputed, "measured-programs", ""),
    covered("2-3", CoverageKind::Recomputed, "sensitivity", ""),
    covered("2-4", CoverageKind::Recomputed, "ideal-times", ""),
    covered(
        "2-5 4-1 4-3 4-5 4-6 4-9",
        CoverageKind::Recomputed,
        "chapters",
        "",
    ),
    covered(
        "3-1 3-2",
        CoverageKind::Recomputed,
        "chapters, relative-areas, access-times",
        "",
    ),
    covered(
        "3-3",
        CoverageKind::Recomputed,
        "chapters, equal-areas",
        "two speedups of 4-way superpage TLBs of 512 blocks: Appendix J lacks their misses",
    ),
    covered(
        "4-2 4-7 4-8 5-2 5-10 5-12 5-14",
        CoverageKind::Recomputed,
        "relative-areas, access-times",
        "",
    ),
    covered(
        "4-4 5-5 5-6",
        CoverageKind::Recomputed,
        "equal-areas, access-times",
        "",
    ),
    covered(
        "5-1 5-3 5-4 5-7 5-8 5-9 5-11 5-13 5-15",
        CoverageKind::Recomputed,
        "chapters",
        "",
    ),
    covered(
        "6-1",
        CoverageKind::Words,
        "",
        "mechanisms that each TLB needs of a system; `placement` has what they do",
    ),
    covered(
        "7-1 7-2 7-4",
        CoverageKind::Repeated,
        "lines-a-miss",
        "the thesis's rows need the references of its programs",
    ),
    covered(
        "7-3",
        CoverageKind::Repeated,
        "lines-a-miss, linear-lines",
        "the linear table alone follows from the thesis's own figures",
    ),
    covered(
        "7-5",
        CoverageKind::Repeated,
        "clustered-lines",
        "the thesis's rows need the references of its programs",
    ),
    covered(
        "7-6",
        CoverageKind::Repeated,
        "table-memory",
        "the thesis's rows need snapshots of its programs; the row of the kernel's own addresses \
         needs its kernel",
    ),
    covered(
        "7-7",
        CoverageKind::Repeated,
        "superpage-table-memory, clustered-memory",
        "as 7-6; the clustered table follows from the thesis's own figures",
    ),
    covered(
        "8-1",
        CoverageKind::Words,
        "",
        "ranks that the thesis assigns; relative-areas, access-times, chapters and lines-a-miss \
         have the figures behind them",
    ),
    covered("8-3", CoverageKind::Words, "", "conclusions"),
    covered("B-5", CoverageKind::Recomputed, "valid-bits", ""),
    covered("C-3", CoverageKind::Recomputed, "multiplexors", ""),
    covered(
        "H-4",
        CoverageKind::Recomputed,
        "preloading",
        "the columns of superpages: Appendix J lacks their misses",
    ),
    covered(
        "I4-3* I5-3*",
        CoverageKind::Recomputed,
        "appendix-i, appendix-i-cells, critical-penalties",
        "",
    ),
    covered(
        "I3-3b",
        CoverageKind::Recomputed,
        "appendix-i, appendix-i-cells",
        "two columns of TLBs of 512 blocks: Appendix J lacks their misses",
    ),
    covered(
        "I5-11c I5-11d I5-13a",
        CoverageKind::Recomputed,
        "appendix-i, appendix-i-cells",
        "one printed cell each, which the layout lost",
    ),
    covered(
        "I*",
        CoverageKind::Recomputed,
        "appendix-i, appendix-i-cells",
        "",
    ),
    covered(
        "J*",
        CoverageKind::Input,
        "recorded-misses",
        "misses that the thesis counted on its machine; our programs are counted with twelve of \
         its TLBs",
    ),
];

impl Coverage {
    /// Returns true if a table of the thesis is one of these.
    #[cfg(test)]
    fn has(&self, table: &str) -> bool {
        let mut names = self.names.split(' ');
        names.any(|name| match name.strip_suffix('*') {
            Some(beginning) => table.starts_with(beginning),
            None => name == table,
        })
    }
}

pub(super) fn table() -> Result<Table, Failure> {
    let mut table = Table::new(
        "Every numbered table of the thesis",
        "A star stands for all tables whose names begin so, except those of other rows. An input \
         is a table of figures that the thesis measured on its machine, with its programs.",
        &["thesis", "how", "tables here", "not produced, and why"],
    );
    for coverage in COVERAGE {
        let or_none = |text: &str| match text {
            "" => none(),
            text => text.to_owned(),
        };
        table.row([
            coverage.names.to_owned(),
            coverage.kind.text().to_owned(),
            or_none(coverage.here),
            or_none(coverage.missing),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::super::thesis::tables;
    use super::*;
    use crate::papers::PAPERS;

    /// The numbered tables without figures.
    const WITHOUT_FIGURES: [&str; 6] = ["1-1", "1-2", "1-3", "6-1", "8-1", "8-3"];

    #[test]
    fn every_numbered_table_of_the_thesis_is_covered() {
        let names = tables().map(|table| table.name);
        let all: Vec<&str> = names.chain(WITHOUT_FIGURES).collect();
        for name in &all {
            assert!(COVERAGE.iter().any(|coverage| coverage.has(name)), "{name}");
        }
        // No row is about a table that the thesis does not have.
        for coverage in COVERAGE {
            for one in coverage.names.split(' ') {
                let alone = covered(one, coverage.kind, "", "");
                assert!(all.iter().any(|name| alone.has(name)), "{one}");
            }
        }
    }

    #[test]
    fn tables_here_exist() {
        let mut papers = PAPERS.iter();
        let paper = papers.find(|paper| paper.name == "talluri1995");
        let experiments = paper.expect("the paper").experiments;
        let known: Vec<&str> = experiments
            .iter()
            .flat_map(|experiment| experiment.tables.iter().copied())
            .collect();
        for coverage in COVERAGE.iter().filter(|coverage| !coverage.here.is_empty()) {
            for table in coverage.here.split(", ") {
                assert!(known.contains(&table), "{table}");
            }
        }
    }
}
