//! `--machine native`: the machines that fit the processor of this computer.
//!
//! Each processor that this process may run on is asked, since the cores of one chip can differ.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod cpuid;
mod own;
mod proc;

use std::path::Path;

use broadleaf_machine::{CoreFacts, Machine, NativeFit, NoFit, native_machine};

use crate::failure::Failure;

pub(crate) use own::file_of_user;

/// The name of the machines of this computer.
pub const NATIVE: &str = "native";

/// What a user does if no machine fits.
const MEASURE: &str = "Measure its TLBs with `broadleaf probe`, or describe them in a file like \
                       those on the book's page of machines: --machine FILE.toml";

/// A kind of core of this computer, and the machine that fits it.
struct NativeCore {
    cpus: Vec<usize>,
    fit: Result<NativeFit, NoFit>,
}

/// Returns the names of the machines that fit the cores of this computer, each once, in the order
/// of the cores. Notes name each choice and its reason.
///
/// # Errors
/// [`Failure::Wrong`] if no machine fits any core.
pub fn native() -> Result<Vec<&'static str>, Failure> {
    let (names, notes) = chosen(&cores(Path::new("/")))?;
    for note in notes {
        log::info!("{note}");
    }
    log::info!("--machine {NATIVE}: no TLB was measured; `broadleaf probe` measures them");
    Ok(names)
}

/// Returns the machine that `broadleaf probe` measured on this computer, if its file is there and
/// belongs to these processors. A note names the file.
///
/// # Errors
/// [`Failure::Wrong`] if the file describes no machine.
pub(crate) fn own_machine() -> Result<Option<Machine>, Failure> {
    let Some(file) = file_of_user() else {
        return Ok(None);
    };
    let found = own::own_machine(&file, &cores(Path::new("/")))?;
    Ok(found.map(|(machine, note)| {
        log::info!("{note}");
        machine
    }))
}

/// The facts of a processor in words, by which its machine file is recognised.
pub(crate) fn fingerprint(cpu: usize) -> String {
    let cores = cores(Path::new("/"));
    let found = cores.iter().find(|(known, _)| *known == cpu);
    let facts = found.or(cores.first());
    facts.map_or_else(String::new, |(_, facts)| own::words(facts))
}

/// The facts of each processor.
fn cores(root: &Path) -> Vec<(usize, CoreFacts)> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let _ = root;
        cpuid::cores()
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    {
        proc::cores(root)
    }
}

/// The machines that fit these cores, and a note for each kind of core.
fn chosen(cores: &[(usize, CoreFacts)]) -> Result<(Vec<&'static str>, Vec<String>), Failure> {
    let mut kinds: Vec<NativeCore> = Vec::new();
    for (cpu, facts) in cores {
        let fit = native_machine(facts);
        match kinds.iter_mut().find(|kind| kind.fit == fit) {
            Some(kind) => kind.cpus.push(*cpu),
            None => kinds.push(NativeCore {
                cpus: vec![*cpu],
                fit,
            }),
        }
    }
    let (mut names, mut notes, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for kind in &kinds {
        let cpus = runs(&kind.cpus);
        match &kind.fit {
            Ok(fit) => {
                notes.push(format!(
                    "--machine {NATIVE}: CPU {cpus}: {} ({})",
                    fit.machine, fit.reason
                ));
                if !names.contains(&fit.machine) {
                    names.push(fit.machine);
                }
            }
            Err(none) => reasons.push(format!("CPU {cpus}: no machine fits {none}")),
        }
    }
    if kinds.is_empty() {
        reasons.push("the system does not say what its processor is".to_owned());
    }
    if names.is_empty() {
        let reasons = reasons.join(". ");
        return Err(Failure::Wrong(format!(
            "--machine {NATIVE}: {reasons}. {MEASURE}"
        )));
    }
    let left_out = reasons.into_iter();
    notes.extend(left_out.map(|reason| format!("--machine {NATIVE}: {reason}; it is left out")));
    Ok((names, notes))
}

/// Numbers in order as runs: `0-3,8`.
fn runs(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_machine::{CoreIdentity, CoreType};

    fn intel(model: u32, core_type: Option<CoreType>) -> CoreFacts {
        CoreFacts {
            core_type,
            ..CoreFacts::of(CoreIdentity::Cpuid {
                vendor: "GenuineIntel".to_owned(),
                family: 6,
                model,
                stepping: 2,
            })
        }
    }

    #[test]
    fn each_kind_of_core_has_its_machine() {
        let performance = intel(0x97, Some(CoreType::Performance));
        let efficiency = intel(0x97, Some(CoreType::Efficiency));
        let cores: Vec<(usize, CoreFacts)> = (0..6)
            .map(|cpu| {
                let facts = if cpu < 4 { &performance } else { &efficiency };
                (cpu, facts.clone())
            })
            .collect();
        let (names, notes) = chosen(&cores).expect("machines");
        assert_eq!(names, ["golden-cove", "gracemont"]);
        let of_model = "GenuineIntel family 0x6 model 0x97 stepping 2";
        assert_eq!(
            notes,
            [
                format!("--machine native: CPU 0-3: golden-cove ({of_model}, a performance core)"),
                format!("--machine native: CPU 4-5: gracemont ({of_model}, an efficiency core)"),
            ]
        );
    }

    #[test]
    fn cores_that_no_machine_fits_are_left_out_or_refused() {
        let (known, unknown) = (intel(0x5e, None), intel(0xfe, None));
        let (names, notes) = chosen(&[(0, known), (1, unknown.clone())]).expect("a machine");
        assert_eq!(names, ["skylake-plru"]);
        assert!(notes[1].contains("CPU 1: no machine fits"), "{notes:?}");
        assert!(notes[1].ends_with("it is left out"), "{notes:?}");
        let error = chosen(&[(0, unknown.clone()), (2, unknown)]).expect_err("none fits");
        let said = error.to_string();
        assert!(
            said.contains("CPU 0,2: no machine fits GenuineIntel"),
            "{said}"
        );
        assert!(
            said.contains("no built-in machine is for this model"),
            "{said}"
        );
        assert!(said.ends_with("--machine FILE.toml"), "{said}");
        let said = chosen(&[]).expect_err("no core").to_string();
        assert!(said.contains("does not say"), "{said}");
    }

    #[test]
    fn numbers_are_written_as_runs() {
        assert_eq!(runs(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(runs(&[]), "");
    }
}
