//! Questions to a data set: filters and means by group, and SQL by an installed DuckDB.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use broadleaf_report::{Align, Column, Grid, MeansPanel, View, command_line, means_svg, next};

use super::data_set::DataSet;
use crate::failure::Failure;
use crate::output::shown;
use broadleaf_units::no_key;

/// The columns that a table without `--by` groups rows by.
const USUAL_GROUPS: [&str; 3] = ["experiment", "policy", "machine"];
/// The figures that a table without `--mean` shows.
const USUAL_FIGURES: [&str; 4] = ["l1_misses", "l2_misses", "walk_cycles", "page_faults"];

/// A question to a data set.
#[derive(Clone, Debug, Default)]
pub struct ResultQuestion {
    /// Conditions that rows meet: `COLUMN=VALUE`.
    pub filters: Vec<String>,
    /// The columns of groups; empty for the experiment, the policy and the machine.
    pub by: Vec<String>,
    /// The columns whose means are shown; empty for the usual ones.
    pub means: Vec<String>,
}

/// The answer to a question: the groups in the order of their first rows.
struct GroupedMeans {
    by: Vec<String>,
    figures: Vec<String>,
    groups: Vec<Group>,
    /// The number of cells, and the versions that computed them.
    origin: String,
}

/// The cells that have equal values in the columns of groups.
struct Group {
    key: Vec<String>,
    cells: u64,
    means: Vec<Mean>,
}

/// Answers a question with a table: one row for each group, with its cells and its means.
///
/// # Errors
/// If the data set is empty or damaged, no column has a name, or no row meets the conditions.
pub fn result_table(
    folder: &Path,
    question: &ResultQuestion,
    view: View,
) -> Result<String, Failure> {
    let answer = answer(folder, question)?;
    let mut grid = Grid::new();
    for name in &answer.by {
        grid = grid.column(name, Align::Left);
    }
    grid = grid.column("cells", Align::Right);
    for name in &answer.figures {
        grid = grid.column(name, Align::Right);
    }
    for group in answer.groups {
        let means = group.means.iter().map(Mean::text);
        let cells = group.cells.to_string();
        grid.row(group.key.into_iter().chain([cells]).chain(means));
    }
    let sql = "select * from results limit 10";
    let again = command_line(&["broadleaf", "results", &folder.to_string_lossy(), sql]);
    Ok(grid.render(view) + &next(&again))
}

/// Answers a question with a picture (SVG): a panel for each figure. The last column of the groups
/// is the horizontal axis, and the others make the lines.
///
/// # Errors
/// As [`result_table`]; or no column of figures holds numbers.
pub fn result_picture(folder: &Path, question: &ResultQuestion) -> Result<String, Failure> {
    let GroupedMeans {
        by,
        figures,
        groups,
        origin,
    } = answer(folder, question)?;
    let (axis, of_lines) = by.split_last().expect("a question has columns of groups");
    let name = |group: &Group| match of_lines.is_empty() {
        true => "all".to_owned(),
        false => group.key[..of_lines.len()].join(", "),
    };
    let place = |group: &Group| group.key[of_lines.len()].clone();
    let mut places: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for group in &groups {
        for (all, one) in [(&mut places, place(group)), (&mut lines, name(group))] {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    // Numbers, with a unit or without, are in order. Names stay in that of the rows.
    let number = |text: &String| {
        let end = text.find(|mark: char| !mark.is_ascii_digit() && mark != '.');
        text[..end.unwrap_or(text.len())].parse::<f64>().ok()
    };
    if let Some(numbers) = places.iter().map(number).collect::<Option<Vec<_>>>() {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|one, other| numbers[*one].total_cmp(&numbers[*other]));
        places = order.into_iter().map(|at| places[at].clone()).collect();
    }
    let panels: Vec<MeansPanel> = (figures.into_iter().enumerate())
        .map(|(at, figure)| MeansPanel {
            figure,
            lines: (lines.iter())
                .map(|line| {
                    let mean = |wanted: &String| {
                        let is_it =
                            |group: &&Group| place(group) == *wanted && name(group) == *line;
                        groups.iter().find(is_it)?.means[at].value()
                    };
                    (line.clone(), places.iter().map(mean).collect())
                })
                .collect(),
        })
        .collect();
    means_svg(&panels, axis, &places, &origin).map_err(Failure::wrong)
}

fn answer(folder: &Path, question: &ResultQuestion) -> Result<GroupedMeans, Failure> {
    let rows = rows(folder)?;
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let known = |name: &str| match names.contains(&name) {
        true => Ok(()),
        false => Err(Failure::Wrong(format!(
            "{}: {}",
            shown(folder),
            no_key(name, &names)
        ))),
    };
    let mut filters = Vec::new();
    for filter in &question.filters {
        let (name, value) = filter.split_once('=').ok_or_else(|| {
            Failure::Wrong(format!("{filter:?} is no condition: write COLUMN=VALUE"))
        })?;
        known(name.trim())?;
        filters.push((name.trim(), value.trim()));
    }
    let or_usual = |given: &[String], usual: &[&str]| match given.is_empty() {
        true => usual.iter().map(|name| (*name).to_owned()).collect(),
        false => given.to_vec(),
    };
    let by = or_usual(&question.by, &USUAL_GROUPS);
    let means = or_usual(&question.means, &USUAL_FIGURES);
    by.iter().chain(&means).try_for_each(|name| known(name))?;
    // The groups in the order of their first rows.
    let mut order: Vec<Vec<&str>> = Vec::new();
    let mut groups: BTreeMap<Vec<&str>, (u64, Vec<Mean>)> = BTreeMap::new();
    let mut versions = BTreeSet::new();
    for row in &rows {
        let text = |name: &str| row.get(name).map_or("", String::as_str);
        if !filters.iter().all(|(name, wanted)| text(name) == *wanted) {
            continue;
        }
        versions.insert(text("version"));
        let key: Vec<&str> = by.iter().map(|name| text(name)).collect();
        if !groups.contains_key(&key) {
            order.push(key.clone());
        }
        let group = groups.entry(key);
        let (count, sums) = group.or_insert_with(|| (0, vec![Mean::default(); means.len()]));
        *count += 1;
        for (sum, name) in sums.iter_mut().zip(&means) {
            if let Ok(number) = text(name).parse::<f64>() {
                sum.add(number);
            }
        }
    }
    if order.is_empty() {
        return Err(Failure::Wrong(format!(
            "{}: no cell meets the conditions",
            shown(folder)
        )));
    }
    let group = |key: Vec<&str>| {
        let (cells, means) = groups[&key].clone();
        let key = key.into_iter().map(str::to_owned).collect();
        Group { key, cells, means }
    };
    let cells: u64 = groups.values().map(|(cells, _)| cells).sum();
    let versions: Vec<&str> = versions.into_iter().collect();
    Ok(GroupedMeans {
        origin: format!("{cells} cells of broadleaf {}", versions.join(", ")),
        groups: order.into_iter().map(group).collect(),
        by,
        figures: means,
    })
}

/// A sum of numbers, and their count.
#[derive(Clone, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, number: f64) {
        self.sum += number;
        self.count += 1;
    }

    /// The mean; `None` if no row of the group has a value.
    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The mean; empty if no row of the group has a value.
    fn text(&self) -> String {
        match self.value() {
            None => String::new(),
            Some(mean) if mean.fract() == 0.0 || mean.abs() >= 1e6 => format!("{mean:.0}"),
            Some(mean) => format!("{mean:.3}"),
        }
    }
}

/// The rows of a data set, each with the names of its columns.
fn rows(folder: &Path) -> Result<Vec<BTreeMap<String, String>>, Failure> {
    let data = DataSet::new(folder);
    let mut rows = Vec::new();
    for experiment in data.experiments() {
        for columns in data.columns(&experiment)? {
            let count = columns.first().map_or(0, |column| column.values.len());
            rows.extend((0..count).map(|row| {
                let value = |column: &Column| (column.name.clone(), column.values.text(row));
                let mut fields: BTreeMap<String, String> = columns.iter().map(value).collect();
                fields.insert("experiment".to_owned(), experiment.clone());
                fields
            }));
        }
    }
    match rows.is_empty() {
        true => Err(Failure::Wrong(format!(
            "{}: has no results: run broadleaf sweep EXPERIMENT.toml -o {}",
            shown(folder),
            crate::output::argument(folder)
        ))),
        false => Ok(rows),
    }
}

/// The program that runs SQL by the Python module, with the folder's view `results`.
const PYTHON: &str = "\
import sys, duckdb
connection = duckdb.connect()
connection.sql(sys.argv[1])
answer = connection.sql(sys.argv[2])
if answer is not None:
    answer.show(max_rows=10000)
";

/// Runs SQL on the view `results` of a data set, by the command `duckdb` or Python's module
/// `duckdb`. Returns what DuckDB prints.
///
/// # Errors
/// If neither is installed, or DuckDB refuses the SQL.
pub fn result_sql(folder: &Path, sql: &str) -> Result<String, Failure> {
    if DataSet::new(folder).experiments().is_empty() {
        return rows(folder).map(|_| String::new());
    }
    let view = view_of(folder);
    let by_command = Command::new("duckdb")
        .args(["-c", &view, "-c", sql])
        .output();
    let output = match by_command {
        Err(error) if error.kind() == ErrorKind::NotFound => Command::new("python3")
            .args(["-c", PYTHON, &view, sql])
            .output(),
        output => output,
    };
    let none = || {
        Failure::Wrong(
            "SQL needs DuckDB: install the command duckdb (https://duckdb.org), or pip install \
             duckdb; without SQL, --where, --by and --mean need nothing"
                .to_owned(),
        )
    };
    let output = output.map_err(|_| none())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        if complaint.contains("No module named 'duckdb'") {
            return Err(none());
        }
        let last = complaint.trim();
        let last = last.find("Error: ").map_or(last, |at| &last[at..]);
        return Err(Failure::Wrong(format!("DuckDB refuses the SQL: {last}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The statement that makes the view `results`.
pub fn view_of(folder: &Path) -> String {
    let files = folder.join("experiment=*/*.parquet");
    let files = files.to_string_lossy().replace('\'', "''");
    format!(
        "create view results as select * from read_parquet('{files}', hive_partitioning = true, \
         union_by_name = true)"
    )
}
