//! `paper`: experiments of a paper, done again, with its figures beside ours.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::args::Paper as Arguments;
use crate::commands::record::record;
use crate::progress::Bars;
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::names;
use broadleaf_study::output::{Access, Output, print, shown};
use broadleaf_study::papers::{PAPERS, Paper, PaperClaim, PaperSetting, Scale, csv};

pub(crate) fn run(options: &Arguments) -> Result<(), Failure> {
    let paper = find(&options.name)?;
    let scale = match (options.tiny, options.full) {
        (true, _) => Scale::Tiny,
        (_, true) => Scale::Full,
        _ => Scale::Quick,
    };
    let setting = PaperSetting {
        scale,
        cycles_per_access: (options.cycles_per_access).unwrap_or(paper.cycles_per_access),
        without: mechanism(paper, options.without.as_deref())?,
        folder: options.output.clone(),
        watch: &Bars,
        record: |options, path| record(options, path, false, true),
    };
    let experiments = || {
        let all = paper.experiments.iter();
        all.filter(|experiment| scale == Scale::Full || !experiment.only_full)
    };
    // Refused before anything is done, if something stands there.
    let mut files = Vec::new();
    if let Some(folder) = &options.output {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Wrong(format!("{}: {}", shown(folder), reason(&error))))?;
        let csv = experiments().flat_map(|experiment| experiment.tables);
        for name in csv.map(|table| format!("{table}.csv")) {
            files.push(Output::create(
                Some(&folder.join(name)),
                options.force,
                Access::Everyone,
            )?);
        }
        let claims = folder.join("claims.csv");
        files.push(Output::create(
            Some(&claims),
            options.force,
            Access::Everyone,
        )?);
        let text = folder.join(format!("{}.txt", paper.name));
        files.push(Output::create(
            Some(&text),
            options.force,
            Access::Everyone,
        )?);
    }
    let mut text = head(paper, &setting);
    print(&text)?;
    let mut contents = Vec::new();
    let mut claims = vec![PaperClaim::COLUMNS.map(str::to_owned).to_vec()];
    let mut fail = Vec::new();
    let mut not_shown = 0;
    for experiment in experiments() {
        for (table, name) in (experiment.run)(&setting)?.iter().zip(experiment.tables) {
            let shown = format!("\n{}", table.text(paper.source));
            print(&shown)?;
            text.push_str(&shown);
            contents.push(table.csv());
            for claim in &table.claims {
                claims.push(claim.cells(name).to_vec());
                not_shown += usize::from(claim.is_not_shown);
                if !claim.agrees {
                    fail.push(claim.text.clone());
                }
            }
        }
    }
    contents.push(csv(claims.iter()));
    let all = claims.len() - 1;
    let last = format!(
        "\n{} of {all} claims agree with the {}{}.\n",
        all - fail.len(),
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
    if options.strict && !fail.is_empty() {
        return Err(Failure::Failed(format!(
            "{} of {all} claims of {} do not agree or are not shown: {}",
            fail.len(),
            paper.name,
            fail.join("; ")
        )));
    }
    Ok(())
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

/// The mechanism that is turned off, if the paper's system has it.
fn mechanism(paper: &Paper, without: Option<&str>) -> Result<Option<String>, Failure> {
    let (Some(mechanism), switches) = (without, paper.switches) else {
        return Ok(None);
    };
    let Some(policy) = switches else {
        let why = format!("no mechanism of {} can be turned off", paper.name);
        return Err(Failure::Wrong(why));
    };
    // Refused, with those that there are, where there is none of that name.
    names::policy(&format!("{policy}(without={mechanism})"))?;
    Ok(Some(mechanism.to_owned()))
}

fn head(paper: &Paper, setting: &PaperSetting) -> String {
    let mut out = format!("{}\n\n", paper.title);
    for line in broadleaf_study::papers::wrapped(paper.remarks, 100) {
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
