//! Programs to record: their commands, their inputs, and the packages that have them.

mod digits;
pub(super) mod inputs;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, reason};
use crate::papers::Scale;

/// The amount of work at a scale, in the program's own unit: steps, rounds, lines or functions.
pub(super) type WorkByScale = [u32; 3];

/// A program with its arguments, for a folder in which it finds its inputs.
pub(super) struct RecordedProgram {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    /// The program of the paper of that kind.
    pub(super) represents: &'static str,
    /// The Debian packages that it needs.
    pub(super) packages: &'static str,
    /// The files that the packages install.
    pub(super) needs: &'static [&'static str],
    /// The work at each scale. Zero leaves the program out of the scale.
    pub(super) work: WorkByScale,
    /// Makes the inputs, and returns the command.
    pub(super) prepare: fn(&Path, u32) -> Result<Vec<String>, Failure>,
}

/// The C compiler.
pub(super) const CC: &str = "/usr/bin/cc";

impl RecordedProgram {
    /// Returns true if the scale has the program.
    pub(super) const fn is_in(&self, scale: Scale) -> bool {
        self.work_at(scale) > 0
    }

    /// The amount of work at a scale.
    pub(super) const fn work_at(&self, scale: Scale) -> u32 {
        let [tiny, quick, full] = self.work;
        match scale {
            Scale::Tiny => tiny,
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// The first file that the program lacks on this computer.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let mut needs = self.needs.iter().copied();
        needs.find(|file| !Path::new(file).exists())
    }

    /// Makes the inputs in a folder, and returns the command.
    pub(super) fn command(&self, scale: Scale, folder: &Path) -> Result<Vec<OsString>, Failure> {
        let command = (self.prepare)(folder, self.work_at(scale))?;
        Ok(command.into_iter().map(OsString::from).collect())
    }
}

/// The words of a command, with the amount of work at the end. No word contains a space.
pub(super) fn words(command: &str, work: impl Into<Option<u32>>) -> Vec<String> {
    let work = work.into().map(|work| work.to_string());
    let words = command.split(' ').map(str::to_owned);
    words.chain(work).collect()
}

/// Runs a command that makes an input.
pub(super) fn done(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let run = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    let output = run.map_err(|error| Failure::failed(format!("{program}: {}", reason(&error))))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let command = arguments.join(" ");
    Err(Failure::failed(format!(
        "{program} {command} failed: {}",
        said.trim()
    )))
}

/// Compiles a program in C.
pub(super) fn compiled(
    folder: &Path,
    name: &str,
    source: &str,
    libraries: &[&str],
) -> Result<(), Failure> {
    let file = format!("{name}.c");
    inputs::write(folder, &file, source)?;
    let arguments = [&["-O2", "-o", name, &file], libraries].concat();
    done(folder, CC, &arguments)
}

/// The command that compiles a file in C. It is the compiler proper, which the driver `cc` only
/// starts.
pub(super) fn compilation(name: &str) -> Result<String, Failure> {
    let asked = Command::new(CC).arg("-print-prog-name=cc1").output();
    let output = asked.map_err(|error| Failure::failed(format!("{CC}: {}", reason(&error))))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let compiler = said.trim();
    Ok(format!("{compiler} -quiet -O2 -o {name}.s {name}.c"))
}
