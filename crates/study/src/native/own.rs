//! The machine file of the user, which `broadleaf probe` wrote on this computer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use broadleaf_machine::{CoreFacts, Machine};

use super::NATIVE;
use crate::failure::Failure;
use crate::in_file;
use crate::output::shown;

/// The words before the processor in the source of a machine file.
const MEASURED_ON: &str = "broadleaf probe on ";

/// The machine file: `broadleaf/machine.toml` in `XDG_CONFIG_HOME`, or in `.config` of the home
/// folder. `None` if neither is known. A relative path counts as none.
pub(crate) fn file_of_user() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("broadleaf/machine.toml"))
}

/// The facts of a core in words, by which a machine file is recognised.
pub(super) fn words(facts: &CoreFacts) -> String {
    let mut words = facts.identity.to_string().replace(['"', '\\'], "'");
    if let Some(core) = facts.core_type {
        words += &format!(", {core:?} core");
    }
    for feature in &facts.features {
        words += &format!(", {feature}");
    }
    let caches = [("L1I", facts.l1i_bytes), ("L2", facts.l2_bytes)];
    for (name, bytes) in caches {
        if let Some(bytes) = bytes {
            words += &format!(", {name} {} KiB", bytes >> 10);
        }
    }
    if facts.under_hypervisor {
        words += ", under a hypervisor";
    }
    words
}

/// Returns the machine of a file, if the file was measured on these cores. A note says why a file
/// is used or not.
///
/// # Errors
/// [`Failure::Wrong`] if the file cannot be read or describes no machine.
pub(super) fn own_machine(
    file: &Path,
    cores: &[(usize, CoreFacts)],
) -> Result<Option<(Machine, String)>, Failure> {
    if !file.is_file() {
        return Ok(None);
    }
    let name = shown(file);
    let text = in_file::read(file)?;
    let machine = Machine::from_toml(&text).map_err(|error| {
        Failure::Wrong(format!(
            "--machine {NATIVE}: {name}: {error}: run `broadleaf probe --force` to write it again"
        ))
    })?;
    let here: BTreeSet<String> = cores.iter().map(|(_, facts)| words(facts)).collect();
    let there = machine.source.strip_prefix(MEASURED_ON).unwrap_or("");
    let is_here = here.len() == 1 && here.contains(there);
    if !is_here {
        log::warn!(
            "--machine {NATIVE}: {name} was measured on another processor ({there}), and is not \
             used"
        );
        return Ok(None);
    }
    let note = format!("--machine {NATIVE}: {name}, measured on this processor ({there})");
    Ok(Some((machine, note)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_machine::{CoreIdentity, machine_text};

    fn core(stepping: u32) -> CoreFacts {
        let mut facts = CoreFacts::of(CoreIdentity::Cpuid {
            vendor: "AuthenticAMD".to_owned(),
            family: 0x1a,
            model: 2,
            stepping,
        });
        facts.l2_bytes = Some(1 << 20);
        facts.under_hypervisor = true;
        facts
    }

    #[test]
    fn a_file_is_used_on_the_processor_of_its_measurement_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("machine.toml");
        let cores = [(0, core(1)), (1, core(1))];
        assert!(own_machine(&file, &cores).expect("none").is_none());
        let skylake = machine_text("skylake").expect("a machine");
        let source = skylake
            .lines()
            .find(|line| line.starts_with("source = "))
            .expect("a source");
        let with = |words: &str| {
            let own = format!("source = \"{MEASURED_ON}{words}\"");
            std::fs::write(&file, skylake.replace(source, &own)).expect("a file");
        };
        with(&words(&core(1)));
        let (machine, note) = own_machine(&file, &cores).expect("read").expect("fits");
        assert_eq!(machine.name, "skylake");
        assert!(
            note.contains("stepping 1, L2 1024 KiB, under a hypervisor"),
            "{note}"
        );
        assert!(own_machine(&file, &[(0, core(2))]).expect("read").is_none());
        let mixed = [(0, core(1)), (1, core(2))];
        assert!(own_machine(&file, &mixed).expect("read").is_none());
        std::fs::write(&file, skylake).expect("a file");
        assert!(own_machine(&file, &cores).expect("read").is_none());
        std::fs::write(&file, "name = 1").expect("a file");
        let wrong = own_machine(&file, &cores).expect_err("no machine");
        assert!(wrong.to_string().contains("probe --force"), "{wrong}");
    }
}
