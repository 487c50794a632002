//! Repeats the experiments of a paper, with its figures beside ours.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use broadleaf_metrics::{PAPER_SCHEMA, PaperRecord};
use broadleaf_report::paper_answer;

use crate::failure::{Failure, reason};
use crate::names;
use crate::output::{Access, Output, shown};
use crate::provenance::provenance;
use crate::watch::Watch;

use super::{Measure, PAPERS, Paper, PaperClaim, PaperSetting, Record, Scale, csv, wrapped};

/// The cycles of an access that misses no TLB, for a paper none of whose results depends on them.
const CYCLES_PER_ACCESS: f64 = 1.5;

/// A paper to repeat.
#[derive(Debug)]
pub struct PaperRequest<'a> {
    /// The name of the paper.
    pub name: &'a str,
    /// The amount of work.
    pub scale: Scale,
    /// The cycles of an access that misses no TLB. `None` takes the paper's.
    pub cycles_per_access: Option<f64>,
    /// The mechanism of the paper's system to turn off.
    pub without: Option<&'a str>,
    /// A folder for tables and recordings.
    pub folder: Option<&'a Path>,
    /// The folder of a guest to record programs in.
    pub guest: Option<&'a Path>,
    /// Overwrite tables that the folder has.
    pub force: bool,
    /// Receives the progress.
    pub watch: &'static dyn Watch,
    /// Records a program to a new file.
    pub record: Record,
    /// Measures the run time of a program.
    pub measure: Measure,
}

/// The claims of a paper that was repeated.
#[derive(Clone, Debug)]
pub struct RepeatedClaims {
    /// The name of the paper.
    pub paper: &'static str,
    /// The number of claims.
    pub all: usize,
    /// The claims that do not agree or are not shown.
    pub failed: Vec<String>,
    /// The tables and all claims.
    pub record: PaperRecord,
}

impl RepeatedClaims {
    /// Returns an error if a claim does not agree or is not shown.
    ///
    /// # Errors
    /// Names the claims.
    pub fn all_agree(&self) -> Result<(), Failure> {
        if self.failed.is_empty() {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "{} of {} claims of {} do not agree or are not shown: {}",
            self.failed.len(),
            self.all,
            self.paper,
            self.failed.join("; ")
        )))
    }
}

/// Repeats the experiments of a paper. `print` gets the text of each table as soon as the table is
/// done.
///
/// # Errors
/// If no paper or mechanism has the name, a file exists, an experiment fails, or `print` does.
pub fn repeat(
    request: &PaperRequest<'_>,
    print: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<RepeatedClaims, Failure> {
    let paper = find(request.name)?;
    let scale = request.scale;
    let setting = PaperSetting {
        scale,
        cycles_per_access: (request.cycles_per_access)
            .or(paper.cycles_per_access)
            .unwrap_or(CYCLES_PER_ACCESS),
        without: mechanism(paper, request.without)?,
        folder: request.folder.map(Path::to_owned),
        guest: guest(paper, request.guest)?,
        watch: request.watch,
        record: request.record,
        measure: request.measure,
    };
    let experiments = || {
        let all = paper.experiments.iter();
        all.filter(|experiment| scale == Scale::Full || !experiment.only_full)
    };
    // Files that exist are refused before anything is done.
    let files = match request.folder {
        Some(folder) => {
            let tables = experiments().flat_map(|experiment| experiment.tables.iter().copied());
            claim_files(folder, request.force, paper, tables)?
        }
        None => Vec::new(),
    };
    let mut text = head(paper, &setting);
    print(&text)?;
    let mut contents = Vec::new();
    let mut claims = vec![PaperClaim::COLUMNS.map(str::to_owned).to_vec()];
    let mut failed = Vec::new();
    let mut tables = Vec::new();
    let mut not_shown = 0;
    for experiment in experiments() {
        for (table, name) in (experiment.run)(&setting)?.iter().zip(experiment.tables) {
            let shown = format!("\n{}", table.text(paper.source));
            print(&shown)?;
            text.push_str(&shown);
            contents.push(table.csv());
            tables.push(table.record(name));
            for claim in &table.claims {
                claims.push(claim.cells(name).to_vec());
                not_shown += usize::from(claim.is_not_shown);
                if !claim.agrees {
                    failed.push(claim.text.clone());
                }
            }
        }
    }
    contents.push(csv(claims.iter()));
    let all = claims.len() - 1;
    let last = format!(
        "\n{} of {all} claims agree with the {}{}.\n",
        all - failed.len(),
        paper.source,
        match not_shown {
            0 => String::new(),
            1 => "; 1 claim is not shown".to_owned(),
            claims => format!("; {claims} claims are not shown"),
        }
    );
    print(&last)?;
    text.push_str(&last);
    contents.push(text);
    for (mut file, content) in files.into_iter().zip(contents) {
        (file.write_all(content.as_bytes()))
            .map_err(|error| Failure::writing(file.name(), &error))?;
        file.finish()?;
    }
    let record = PaperRecord {
        schema: PAPER_SCHEMA.to_owned(),
        paper: paper.name.to_owned(),
        title: paper.title.to_owned(),
        source: paper.source.to_owned(),
        remarks: paper
            .remarks
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        scale: scale.name().to_owned(),
        tables,
        claims: all as u64,
        agreeing: (all - failed.len()) as u64,
        not_shown: not_shown as u64,
        provenance: provenance(&format!("{} {scale:?} {:?}", paper.name, request.without)),
    };
    if let Some(suggested) = paper_answer(&record).commands.first() {
        log::info!("next: {}", suggested.command);
    }
    Ok(RepeatedClaims {
        paper: paper.name,
        all,
        record,
        failed,
    })
}

/// Claims the files of a folder: one for each table, one for all claims, and one for the text.
fn claim_files(
    folder: &Path,
    force: bool,
    paper: &Paper,
    tables: impl Iterator<Item = &'static str>,
) -> Result<Vec<Output>, Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::Wrong(format!("{}: {}", shown(folder), reason(&error))))?;
    let tables = tables.map(|table| format!("{table}.csv"));
    let others = ["claims.csv".to_owned(), format!("{}.txt", paper.name)];
    tables
        .chain(others)
        .map(|name| Output::create(Some(&folder.join(name)), force, Access::Everyone))
        .collect()
}

fn find(name: &str) -> Result<&'static Paper, Failure> {
    let found = PAPERS.iter().find(|paper| paper.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
        let near = names::unknown(
            "no paper",
            name,
            known.iter().copied(),
            "broadleaf paper --help",
        );
        Failure::Wrong(format!("{near}; the papers are {}", known.join(", ")))
    })
}

/// The mechanism to turn off, if the paper's system has it.
fn mechanism(paper: &Paper, without: Option<&str>) -> Result<Option<String>, Failure> {
    let (Some(mechanism), switches) = (without, paper.switches) else {
        return Ok(None);
    };
    let Some(policy) = switches else {
        let why = format!("no mechanism of {} can be turned off", paper.name);
        return Err(Failure::Wrong(why));
    };
    // An unknown name is refused, with the names of all mechanisms.
    names::policy(&format!("{policy}(without={mechanism})"))?;
    Ok(Some(mechanism.to_owned()))
}

/// The folder of a guest, for the paper that records programs in one.
fn guest(paper: &Paper, folder: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = folder else {
        return Ok(None);
    };
    if !paper.records_guests {
        let why = format!(
            "{} records no program in a guest: leave out --guest",
            paper.name
        );
        return Err(Failure::Wrong(why));
    }
    // A recording would find this out after all programs of user mode.
    if !folder.join("symbols").is_file() {
        return Err(Failure::Wrong(format!(
            "{} holds no guest: build one with workloads/guest/build.py",
            shown(folder)
        )));
    }
    Ok(Some(folder.to_owned()))
}

fn head(paper: &Paper, setting: &PaperSetting) -> String {
    let mut out = format!("{}\n\n", paper.title);
    for line in wrapped(paper.remarks, 100) {
        let _ = writeln!(out, "{line}");
    }
    let how = match setting.scale {
        Scale::Tiny => "tiny, as for tests",
        Scale::Quick => {
            "quick: memory and programs an eighth of the paper's, or less; --full for its sizes"
        }
        Scale::Full => "full",
    };
    let _ = writeln!(
        out,
        "\nScale: {how}. Cycles per access: {}.",
        setting.cycles_per_access
    );
    if let Some(mechanism) = &setting.without {
        let _ = writeln!(out, "Turned off: {mechanism}.");
    }
    out
}
