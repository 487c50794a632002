//! The kernel's switch `enabled`, set for one run of a program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use broadleaf_governor::{allow_only_advised, allow_thp};
use broadleaf_study::answer::kernel::{SETTINGS, enabled};

/// A setting of the kernel's switch `enabled` under which a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSetting {
    /// `madvise`: huge pages in memory that the program advised.
    Advised,
    /// `always`: huge pages in all anonymous memory.
    Always,
}

impl KernelSetting {
    /// The kernel's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advised => "madvise",
            Self::Always => "always",
        }
    }

    /// Returns why no program can run under this setting here, and the remedy. `may_switch` allows
    /// to change the switch of the whole machine.
    pub fn why_not(self, may_switch: bool) -> Option<String> {
        let Some(system) = enabled(Path::new(SETTINGS)) else {
            return Some("this kernel has no switch for huge pages".to_owned());
        };
        let can_be_set = may_switch || system == self.name();
        match self {
            Self::Advised if can_be_set || system == "always" && is_for_one_program() => None,
            Self::Always if can_be_set => None,
            _ => Some(format!(
                "the machine's setting is {system}: --set-switch sets {} while the program runs, \
                 for all programs of the machine",
                self.name()
            )),
        }
    }

    /// Gives the programs that start from now on this setting, until the value is dropped.
    pub(super) fn apply(self) -> io::Result<Switched> {
        let folder = Path::new(SETTINGS);
        let system = enabled(folder).unwrap_or_default();
        if self == Self::Advised && system == "always" && allow_only_advised().is_ok() {
            return Ok(Switched(None));
        }
        allow_thp()?;
        if system == self.name() {
            return Ok(Switched(None));
        }
        Switched::to(folder.join("enabled"), self.name(), system)
    }
}

/// Returns true if the kernel limits one program to advised memory (Linux 6.18).
fn is_for_one_program() -> bool {
    let can = allow_only_advised().is_ok();
    let _ = allow_thp();
    can
}

/// A changed switch. It has its earlier value again when this value is dropped.
#[must_use]
pub(super) struct Switched(Option<(PathBuf, String)>);

impl Switched {
    fn to(file: PathBuf, value: &str, before: String) -> io::Result<Self> {
        fs::write(&file, value)?;
        Ok(Self(Some((file, before))))
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        if let Some((file, before)) = &self.0
            && let Err(error) = fs::write(file, before)
        {
            let file = file.display();
            log::warn!("{file} could not be set back to {before}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_has_its_earlier_value_after_the_run() {
        let folder = std::env::temp_dir().join(format!("broadleaf-switch-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("enabled");
        fs::write(&file, "always [madvise] never").unwrap();
        let switched = Switched::to(file.clone(), "always", "madvise".to_owned()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "always");
        drop(switched);
        assert_eq!(fs::read_to_string(&file).unwrap(), "madvise");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_switch_that_cannot_be_written_is_an_error() {
        let nowhere = PathBuf::from("/nonexistent/enabled");
        assert!(Switched::to(nowhere, "always", "madvise".to_owned()).is_err());
    }
}
