//! Programs that run in a booted guest, so that the kernel's references count.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use broadleaf_metrics::{CellResult, MemoryResult};
use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_record::system::GuestFile;
use broadleaf_report::number::grouped;
use xxhash_rust::xxh3::Xxh3Default;

use super::kept::{KeptResults, ResultsFile};
use super::means::{by_reservation, saved};
use super::none;
use super::policies::{FREEBSD, GREEDY, POLICIES, POP_64};
use super::programs::IN_GUEST;
use super::runs::{MACHINE, RunReplay, ZhuRun, ZhuRuns};
use crate::failure::{Failure, reason};
use crate::papers::programs::RecordedProgram;
use crate::papers::recorded::{open, recorded_in_guest};
use crate::papers::{PaperSetting, Scale, Table};

/// The policy that needs the promotions of another beforehand, which recordings of whole systems do
/// not give.
const FORESIGHT: &str = "foresight";

/// The policies of the replays.
fn policies() -> impl Iterator<Item = &'static str> {
    let all = POLICIES.iter().map(|one| one.policy);
    all.filter(|policy| *policy != FORESIGHT)
}

/// The recordings of programs in a guest.
pub(super) struct GuestRuns(pub(super) Vec<ZhuRun>);

/// Records and replays the programs of the scale in the setting's guest; none without one.
pub(super) fn all(setting: &PaperSetting) -> Result<GuestRuns, Failure> {
    let mut runs = Vec::new();
    let Some(guest) = &setting.guest else {
        return Ok(GuestRuns(runs));
    };
    let mark = mark_of(guest)?;
    for (program, work) in &IN_GUEST {
        let work = work[match setting.scale {
            Scale::Tiny => 0,
            Scale::Quick => 1,
            Scale::Full => 2,
        }];
        match program.lacks() {
            _ if work == 0 => {}
            Some(file) => log::warn!(
                "{} is left out of the guest: there is no {file}; install {}",
                program.name,
                program.packages
            ),
            None => runs.push(run(setting, (guest, &mark), program, work)?),
        }
    }
    Ok(GuestRuns(runs))
}

/// A mark of a guest for the names of its recordings: another kernel, other programs or other
/// symbols give another mark.
fn mark_of(guest: &Path) -> Result<String, Failure> {
    let failed =
        |error: std::io::Error| Failure::failed(format!("{}: {}", guest.display(), reason(&error)));
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(guest).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let about = entry.metadata().map_err(failed)?;
        if about.is_file() {
            files.insert(entry.file_name(), about.len());
        }
    }
    let mut hasher = Xxh3Default::new();
    for (name, bytes) in &files {
        hasher.update(name.as_bytes());
        hasher.update(&[0]);
        hasher.update(&bytes.to_le_bytes());
    }
    let symbols = std::fs::read(guest.join("symbols")).map_err(failed)?;
    hasher.update(&symbols);
    Ok(format!("{:08x}", hasher.digest() >> 32))
}

/// Records and replays a program in a guest, which comes with its mark.
fn run(
    setting: &PaperSetting,
    (guest, mark): (&Path, &str),
    program: &'static RecordedProgram,
    work: u32,
) -> Result<ZhuRun, Failure> {
    let inputs = Scratch::new(Purpose::Work)
        .map_err(|error| Failure::Failed(format!("a folder for inputs: {}", reason(&error))))?;
    let name = format!("zhu2018-{}-{work}-guest-{mark}", program.name);
    let folder = setting.folder.as_deref().unwrap_or(inputs.path());
    let path = folder.join(format!("{name}.bl"));
    let file = ResultsFile::beside(&path);
    let mut results = match path.exists() {
        true => file.read(),
        false => KeptResults::default(),
    };
    if !path.exists() {
        let command = (program.prepare)(inputs.path(), work)?;
        results.command = command.join(" ");
        let files = files_of(inputs.path())?;
        let words = command.into_iter().map(Into::into);
        recorded_in_guest(setting, guest, &name, words, files, inputs.path())?;
    }
    let (_, references) = open(&path)?;
    if results.references != references || results.cells.is_empty() {
        results.references = references;
        let replay = RunReplay {
            setting,
            name: &name,
            path: &path,
            references,
        };
        let policies: Vec<&str> = policies().collect();
        results.cells = replay.cells(&policies, &[MACHINE])?;
        file.write(&mut results)?;
    }
    Ok(ZhuRun { program, results })
}

/// The inputs of a program, for the home folder of the guest's user.
fn files_of(folder: &Path) -> Result<Vec<GuestFile>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::failed(format!("{}: {}", folder.display(), reason(&error)))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let about = entry.metadata().map_err(failed)?;
        if about.is_file() {
            use std::os::unix::fs::PermissionsExt as _;
            files.push(GuestFile {
                path: format!("root/{}", entry.file_name().to_string_lossy()),
                content: std::fs::read(entry.path()).map_err(failed)?,
                is_program: about.permissions().mode() & 0o100 != 0,
            });
        }
    }
    Ok(files)
}

/// The share of a figure that the kernel's addresses have, in percent.
fn kernels_share(cell: &CellResult, kernel: Option<u64>, all: u64) -> String {
    let share = |kernel: u64| 100.0 * kernel as f64 / all.max(1) as f64;
    let known = cell.memory.as_ref().and(kernel);
    known.map_or_else(none, |kernel| format!("{:.1} %", share(kernel)))
}

/// The recordings, beside those of user mode.
pub(super) fn recordings(all: &ZhuRuns, guests: &GuestRuns) -> Table {
    let text = "Programs that run in a booted Linux under QEMU, with the references of its kernel \
                and of all processes. The kernel's pages have the recorded sizes under every \
                policy. Shares are those of the kernel's addresses in the misses under freebsd. \
                A guest is recorded with --guest FOLDER. If the guest has the module of kernel \
                events, it reserves blocks where its mappings allow that. Else every touched block \
                counts as reserved.";
    let columns = [
        "program",
        "thesis's",
        "references: user mode",
        "guest",
        "reservations: user mode",
        "guest",
        "by",
        "kernel: DTLB misses",
        "STLB misses",
    ];
    let title = "Section 3.2: programs in a booted guest, with kernel references";
    let mut table = Table::new(title, text, &columns);
    for run in &guests.0 {
        let user = user_mode(all, run);
        let memory = |of: fn(&MemoryResult) -> Option<u64>| of(run.of(FREEBSD)?.memory.as_ref()?);
        let shares = run.of(FREEBSD).map_or([none(), none()], |cell| {
            [
                kernels_share(cell, memory(|one| one.kernel_l1_misses), cell.l1_misses),
                kernels_share(cell, memory(|one| one.kernel_walks), cell.l2_misses),
            ]
        });
        let first = [
            run.program.name.to_owned(),
            run.program.represents.to_owned(),
            user.map_or_else(none, |user| grouped(user.results.references)),
            grouped(run.results.references),
            user.map_or_else(none, |user| format!("{:.0}", user.reservations())),
            format!("{:.0}", run.reservations()),
            reserving(run).to_owned(),
        ];
        table.row(first.into_iter().chain(shares));
    }
    table
}

/// The source of a guest's reservations.
fn reserving(run: &ZhuRun) -> &'static str {
    let cell = run.of(FREEBSD).and_then(|cell| cell.memory.as_ref());
    match cell.and_then(|memory| memory.part_filled_superpages_broken) {
        Some(_) => "RV_ events",
        None => "each block",
    }
}

/// The recording of the same program in user mode.
fn user_mode<'a>(all: &'a ZhuRuns, run: &ZhuRun) -> Option<&'a ZhuRun> {
    let mut runs = all.runs.iter();
    runs.find(|user| user.program.name == run.program.name)
}

/// A figure of both recordings: its name, and its value for a policy.
type GuestFigure = (&'static str, fn(&ZhuRun, &str) -> Option<f64>);

const FIGURES: [GuestFigure; 5] = [
    ("DTLB misses", |run, policy| {
        run.to_freebsd(policy, |cell| cell.l1_misses)
    }),
    ("STLB misses", |run, policy| {
        run.to_freebsd(policy, |cell| cell.l2_misses)
    }),
    ("walk cycles", |run, policy| {
        run.to_freebsd(policy, |cell| cell.walk_cycles)
    }),
    ("faults saved", |run, policy| {
        by_reservation(run, policy, saved)
    }),
    ("zeroed", |run, policy| {
        by_reservation(run, policy, |cell| cell.extra_zeroed_pages)
    }),
];

/// The figures of the policies, with kernel references and without.
pub(super) fn policies_in_guests(all: &ZhuRuns, guests: &GuestRuns) -> Table {
    let text = "The figures of table 6.5 for each program of the guest, with the kernel's \
                references (guest) and without (user): ratios to freebsd, and base pages for each \
                touched reservation. Foresight needs the promotions of another policy beforehand, \
                which recordings of whole systems do not give.";
    let mut columns = vec!["program".to_owned(), "policy".to_owned()];
    for (name, _) in FIGURES {
        columns.extend([format!("{name}: user"), "guest".to_owned()]);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "Table 6.5 for programs in a booted guest";
    let mut table = Table::new(title, text, &columns);
    for run in &guests.0 {
        let user = user_mode(all, run);
        for policy in POLICIES.iter().filter(|one| one.policy != FORESIGHT) {
            let mut cells = vec![run.program.name.to_owned(), policy.name.to_owned()];
            for (_, figure) in FIGURES {
                let values = [
                    user.and_then(|user| figure(user, policy.policy)),
                    figure(run, policy.policy),
                ];
                let written = |value: f64| format!("{value:.2}");
                cells.extend(values.map(|value| value.map_or_else(none, written)));
            }
            table.row(cells);
        }
    }
    if guests.0.is_empty() {
        return table;
    }
    let (_, walks) = FIGURES[2];
    let ordered = |run: &ZhuRun| {
        let of = |policy| walks(run, policy).unwrap_or(f64::NAN);
        of(GREEDY) <= of(POP_64) && of(POP_64) <= 1.0
    };
    let count = guests.0.iter().filter(|run| ordered(run)).count();
    let text = "with kernel references, greedy walks least, then pop-64, then FreeBSD";
    let claim = table.direction(count == guests.0.len(), text);
    claim.words(
        "in the means of all programs",
        format!("in {count} of {} programs", guests.0.len()),
    );
    claim.because("promotions change the frames and the times at which the kernel's pages miss");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording of one guest is never taken for that of another.
    #[test]
    fn guests_have_marks_of_their_own() {
        let of = |symbols: &str, kernel: &[u8]| {
            let folder = Scratch::new(Purpose::Work).expect("a folder");
            std::fs::write(folder.path().join("symbols"), symbols).expect("room");
            std::fs::write(folder.path().join("vmlinuz"), kernel).expect("room");
            mark_of(folder.path()).expect("a guest")
        };
        let first = of("kernel 6.1\n", b"kernel");
        assert_eq!(first.len(), 8);
        assert_eq!(first, of("kernel 6.1\n", b"kernel"));
        assert_ne!(first, of("kernel 6.2\n", b"kernel"));
        assert_ne!(first, of("kernel 6.1\n", b"another"));
    }
}
