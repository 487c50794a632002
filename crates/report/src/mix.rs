//! Mixes: which policy lets programs share a machine best, and which program takes cache from
//! which.

use std::io::{self, Write};

use broadleaf_metrics::{MixComparison, MixResult, MixedProgram};
use parquet::file::metadata::KeyValue;

use crate::csv::write_columns as write_csv_columns;
use crate::grid::paragraph;
use crate::parquet::{WriteParquetError, write_columns};
use crate::{Align, Cell, Column, Grid, Style, Values, View};

/// Renders the results of mixes, machine by machine.
pub fn mix_table(mix: &MixComparison, view: View) -> String {
    let names: Vec<&str> = mix.programs.iter().map(|one| &*one.name).collect();
    let mut out = format!("Together, a core each: {}\n", names.join(", "));
    let mut machines: Vec<&str> = Vec::new();
    for result in &mix.results {
        if !machines.contains(&&*result.machine) {
            machines.push(&result.machine);
        }
    }
    for machine in machines {
        let results: Vec<&MixResult> = (mix.results.iter())
            .filter(|one| one.machine == machine)
            .collect();
        let heading = format!(
            "{machine}. Cycles are estimates; the counts are exact. A speedup is a program's \
             instructions per cycle in the mix, divided by those alone under {}:",
            mix.alone_policy
        );
        out.push('\n');
        out.push_str(&paragraph(&heading, Style::Strong, view));
        out.push_str(&summary(&results, &mix.alone_policy).render(view));
        out.push('\n');
        out.push_str(&programs(&results).render(view));
        out.push('\n');
        out.push_str(&paragraph(&sentence(&results), Style::Strong, view));
    }
    for note in &mix.notes {
        out.push('\n');
        out.push_str(&paragraph(&format!("note: {note}"), Style::Faint, view));
    }
    out + "\nNext, for one program alone: broadleaf compare TRACE\n"
}

fn three(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.3}"))
}

/// The policies, a row each.
fn summary(results: &[&MixResult], baseline: &str) -> Grid {
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("weighted speedup", Align::Right)
        .column(&format!("% over {baseline}"), Align::Right)
        .column("harmonic speedup", Align::Right)
        .column("unfairness", Align::Right)
        .column("cache misses", Align::Right)
        .column("walks", Align::Right)
        .keys(1);
    let base = results.iter().find(|one| one.policy == baseline);
    let base = base.and_then(|one| one.weighted_speedup);
    let best = best(results).map(|best| &best.policy);
    for result in results {
        let over = result.weighted_speedup.zip(base);
        let over = over.map(|(own, base)| format!("{:+.1}", 100.0 * (own / base - 1.0)));
        let style = match best == Some(&result.policy) {
            true => Style::Strong,
            false => Style::Plain,
        };
        let misses = |one: &MixedProgram| one.counts.last_level_misses().iter().sum::<u64>();
        let cells = [
            result.policy.clone(),
            three(result.weighted_speedup),
            over.unwrap_or_default(),
            three(result.harmonic_speedup),
            three(result.unfairness),
            crate::number::short(result.programs.iter().map(misses).sum()),
            crate::number::short(result.programs.iter().map(|one| one.counts.walks).sum()),
        ];
        grid.row(cells.map(|text| Cell { text, style }));
    }
    grid
}

/// The programs of each policy, a row each.
fn programs(results: &[&MixResult]) -> Grid {
    let mut grid = Grid::new()
        .column("policy", Align::Left)
        .column("program", Align::Left)
        .column("IPC", Align::Right)
        .column("alone", Align::Right)
        .column("speedup", Align::Right)
        .column("cache MPKI", Align::Right)
        .column("TLB MPKI", Align::Right)
        .column("cache %", Align::Right)
        .column("gave way to", Align::Left)
        .keys(2);
    for result in results {
        let lines: u64 = (result.programs.iter())
            .map(|one| one.counts.last_level_lines)
            .sum();
        for (number, program) in result.programs.iter().enumerate() {
            let mpki = program.llc_mpki.map(|causes| causes.iter().sum());
            let share = 100.0 * program.counts.last_level_lines as f64 / lines.max(1) as f64;
            grid.row([
                if number == 0 {
                    result.policy.clone()
                } else {
                    String::new()
                },
                program.program.clone(),
                three(program.ipc),
                three(program.ipc_alone),
                three(program.speedup),
                three(mpki),
                three(program.tlb_mpki),
                format!("{share:.0}"),
                gave_way(number, result),
            ]);
        }
    }
    grid
}

/// The programs to which a program lost lines of the last level, as shares of all its lost lines.
fn gave_way(number: usize, result: &MixResult) -> String {
    let lost = &result.programs[number].counts.lines_lost_to;
    let all: u64 = lost.iter().sum();
    let mut others: Vec<(u64, &str)> = (lost.iter().zip(&result.programs).enumerate())
        .filter(|(core, (lines, _))| *core != number && **lines > 0)
        .map(|(_, (lines, program))| (*lines, &*program.program))
        .collect();
    others.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
    let shares = others.iter().filter_map(|(lines, name)| {
        let share = 100.0 * *lines as f64 / all as f64;
        (share >= 0.5).then(|| format!("{name} {share:.0} %"))
    });
    shares.collect::<Vec<_>>().join(", ")
}

fn best<'r>(results: &[&'r MixResult]) -> Option<&'r MixResult> {
    let known = results.iter().filter(|one| one.weighted_speedup.is_some());
    let by = |one: &&&MixResult| one.weighted_speedup.unwrap_or(0.0);
    known
        .copied()
        .rev() // The first of equals.
        .max_by(|one, other| by(&one).total_cmp(&by(&other)))
}

/// The answer: the best policy, and the program that suffers most from the others.
fn sentence(results: &[&MixResult]) -> String {
    let Some(best) = best(results) else {
        return "Without instructions, there is no speedup.".to_owned();
    };
    let mut text = format!(
        "{} has the highest weighted speedup, {} of {}",
        best.policy,
        three(best.weighted_speedup),
        best.programs.len()
    );
    let slowest = best
        .programs
        .iter()
        .enumerate()
        .min_by(|(_, one), (_, other)| {
            let of = |program: &MixedProgram| program.speedup.unwrap_or(f64::INFINITY);
            of(one).total_cmp(&of(other))
        });
    if let Some((number, slowest)) = slowest {
        text.push_str(&format!(
            ". {} has the lowest speedup there, {}",
            slowest.program,
            three(slowest.speedup)
        ));
        let way = gave_way(number, best);
        if !way.is_empty() {
            text.push_str(&format!("; its lines of the last level gave way to {way}"));
        }
    }
    text.push('.');
    text
}

/// The columns: one row for each program under each policy on each machine.
pub fn mix_columns(mix: &MixComparison) -> Vec<Column> {
    let rows: Vec<(&MixResult, &MixedProgram)> = (mix.results.iter())
        .flat_map(|result| result.programs.iter().map(move |program| (result, program)))
        .collect();
    let trace = |of: fn(&broadleaf_metrics::MixedTrace) -> &String| {
        let text = |(_, program): &(&MixResult, &MixedProgram)| {
            let found = mix.programs.iter().find(|one| one.name == program.program);
            found.map_or(String::new(), |one| of(one).clone())
        };
        Values::Text(rows.iter().map(text).collect())
    };
    let text = |of: fn(&MixResult, &MixedProgram) -> String| {
        Values::Text(
            rows.iter()
                .map(|(result, program)| of(result, program))
                .collect(),
        )
    };
    let count = |of: fn(&MixedProgram) -> u64| {
        Values::Count(rows.iter().map(|(_, program)| of(program)).collect())
    };
    let ratio = |of: fn(&MixResult, &MixedProgram) -> Option<f64>| {
        Values::Ratio(
            rows.iter()
                .map(|(result, program)| of(result, program))
                .collect(),
        )
    };
    let version = vec![mix.provenance.version.clone(); rows.len()];
    let cause = |cause: usize| {
        let of =
            |(_, program): &(&MixResult, &MixedProgram)| program.counts.last_level_misses()[cause];
        Values::Count(rows.iter().map(of).collect())
    };
    let columns = [
        ("trace", trace(|one| &one.path)),
        ("trace_hash", trace(|one| &one.hash)),
        ("version", Values::Text(version)),
        ("policy", text(|result, _| result.policy.clone())),
        ("machine", text(|result, _| result.machine.clone())),
        ("program", text(|_, program| program.program.clone())),
        ("core", count(|program| program.counts.core as u64)),
        (
            "weighted_speedup",
            ratio(|result, _| result.weighted_speedup),
        ),
        (
            "harmonic_speedup",
            ratio(|result, _| result.harmonic_speedup),
        ),
        ("unfairness", ratio(|result, _| result.unfairness)),
        ("ipc", ratio(|_, program| program.ipc)),
        ("ipc_alone", ratio(|_, program| program.ipc_alone)),
        ("speedup", ratio(|_, program| program.speedup)),
        ("instructions", count(|program| program.counts.instructions)),
        (
            "cycles",
            count(|program| program.counts.cycles.unwrap_or(0)),
        ),
        ("walks", count(|program| program.counts.walks)),
        ("walk_cycles", count(|program| program.counts.walk_cycles)),
        ("llc_misses_data", cause(0)),
        ("llc_misses_walk", cause(1)),
        ("llc_misses_instruction", cause(2)),
        (
            "last_level_lines",
            count(|program| program.counts.last_level_lines),
        ),
        (
            "last_level_lines_peak",
            count(|program| program.counts.last_level_lines_peak),
        ),
        (
            "lines_lost",
            count(|program| program.counts.lines_lost_to.iter().sum()),
        ),
        ("transfers", count(|program| program.counts.transfers)),
        (
            "shootdowns_sent",
            count(|program| program.counts.shootdowns_sent),
        ),
        (
            "shootdowns_received",
            count(|program| program.counts.shootdowns_received),
        ),
        ("again", count(|program| program.again)),
    ];
    let columns = columns.into_iter().map(|(name, values)| Column {
        name: name.to_owned(),
        values,
    });
    columns.collect()
}

/// Writes the rows of [`mix_columns`] as CSV.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_mix_csv(mix: &MixComparison, out: &mut dyn Write) -> io::Result<()> {
    write_csv_columns(&mix_columns(mix), out)
}

/// Writes the rows of [`mix_columns`] as Parquet. The file's metadata has the keys
/// `broadleaf.schema`, `broadleaf.notes` and `broadleaf.provenance`.
///
/// # Errors
/// Returns an error if `out` fails or a value does not fit the format.
pub fn write_mix_parquet(
    mix: &MixComparison,
    out: impl Write + Send,
) -> Result<(), WriteParquetError> {
    let json = |name: &str, text: Result<String, serde_json::Error>| {
        let text = text.map_err(|error| parquet::errors::ParquetError::External(error.into()))?;
        Ok::<_, WriteParquetError>(KeyValue::new(format!("broadleaf.{name}"), text))
    };
    let metadata = vec![
        KeyValue::new("broadleaf.schema".to_owned(), mix.schema.clone()),
        json("notes", serde_json::to_string(&mix.notes))?,
        json("provenance", serde_json::to_string(&mix.provenance))?,
    ];
    write_columns("mix", &mix_columns(mix), metadata, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{CellResult, CoreResult, MixedTrace, Provenance};

    fn mix() -> MixComparison {
        let program = |name: &str, cycles, lost: [u64; 2]| {
            let counts = CoreResult {
                instructions: 1000,
                cycles: Some(cycles),
                last_level_lines: 10,
                lines_lost_to: lost.to_vec(),
                ..CoreResult::default()
            };
            let alone = CoreResult {
                cycles: Some(1000),
                ..counts.clone()
            };
            MixedProgram::new(name, counts, Some(&alone), 0)
        };
        let of = |policy: &str, cycles: [u64; 2]| {
            let whole = CellResult {
                policy: policy.to_owned(),
                machine: "m".to_owned(),
                ..CellResult::default()
            };
            let programs = vec![
                program("one", cycles[0], [5, 15]),
                program("two", cycles[1], [0, 3]),
            ];
            MixResult::new(whole, programs)
        };
        MixComparison {
            schema: broadleaf_metrics::MIX_SCHEMA.to_owned(),
            programs: ["one", "two"]
                .map(|name| MixedTrace {
                    name: name.to_owned(),
                    path: format!("{name}.bl"),
                    ..MixedTrace::default()
                })
                .into(),
            skipped: 0,
            warming: 0,
            work: None,
            alone_policy: "4k".to_owned(),
            alone: Vec::new(),
            results: vec![of("4k", [2000, 1000]), of("greedy", [1250, 1000])],
            notes: vec!["a remark".to_owned()],
            provenance: Provenance::default(),
        }
    }

    #[test]
    fn the_table_says_who_took_cache_from_whom() {
        let text = mix_table(&mix(), View::default());
        let row = text
            .lines()
            .find(|line| line.contains("+20.0"))
            .expect("a row");
        assert!(row.contains("greedy") && row.contains("1.800"), "{text}");
        assert!(text.contains("two 75 %"), "{text}");
        assert!(
            text.contains("greedy has the highest weighted speedup, 1.800 of 2"),
            "{text}"
        );
        assert!(text.contains("note: a remark"));
        let cut = View {
            width: Some(60),
            ..View::default()
        };
        let widest = mix_table(&mix(), cut);
        assert!(widest.lines().all(|line| line.len() <= 60), "{widest}");
    }

    #[test]
    fn rows_of_programs() {
        let mut out = Vec::new();
        write_mix_csv(&mix(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 5);
        assert!(text.starts_with("trace,trace_hash,version,policy,machine,program,core,"));
        assert!(text.contains("one.bl,,,greedy,m,one,0,1.8,"), "{text}");
        let mut out = Vec::new();
        write_mix_parquet(&mix(), &mut out).unwrap();
        assert!(out.starts_with(b"PAR1"));
    }
}
