//! The QEMU recorder. Its plugin (`recorder/qemu`, in C) runs inside QEMU's user-mode programs and
//! writes to the ring of the Valgrind tool, so both recorders share their reader.
//!
//! This module finds the QEMU that runs a program, and makes QEMU's command.

mod guest;

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::valgrind::{Options, RecordError};

pub(crate) use guest::{Guest, Processor};

/// The plugin, as built with this program. It is empty if the build had no C compiler.
pub(crate) static PLUGIN: &[u8] = include_bytes!(env!("BROADLEAF_QEMU"));
/// The name of the plugin's file.
pub(crate) const PLUGIN_FILE: &str = "broadleaf-qemu.so";
/// The folder of AArch64 libraries that Debian's cross compilers install.
const AARCH64_LIBRARIES: &str = "/usr/aarch64-linux-gnu";
/// The variable by which the plugin is loaded before the C library.
const PRELOAD: &str = "LD_PRELOAD";
const FOREIGN_LIBRARIES: &str = "QEMU_LD_PREFIX";

/// A program with the QEMU that runs it.
pub(crate) struct Emulated {
    guest: Guest,
    qemu: PathBuf,
}

impl Emulated {
    /// Finds the QEMU for a program.
    ///
    /// # Errors
    /// [`RecordError`] if QEMU cannot run the program, is not installed or loads no plugins.
    pub(crate) fn find(program: &Path, arguments: &[OsString]) -> Result<Self, RecordError> {
        let guest = Guest::of(program, arguments)?;
        let name = guest.processor.qemu();
        let qemu = env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .ok_or(RecordError::NoQemu(name))?;
        if !loads_plugins(&qemu) {
            return Err(RecordError::NoPlugins(qemu));
        }
        Ok(Self { guest, qemu })
    }

    /// Returns the command that runs the program with the plugin of this path.
    pub(crate) fn command(&self, plugin: &Path, rings: &Path, options: &Options) -> Command {
        let mut command = Command::new(&self.qemu);
        // The plugin finds the program's name after this option: keep it first.
        command.arg("-0").arg(&self.guest.name);
        command.args(["-cpu", "max"]);
        match env::var_os(PRELOAD) {
            Some(own) => command.arg("-E").arg(joined(&[PRELOAD, "="], &own)),
            None => command.args(["-U", PRELOAD]),
        };
        command.env(PRELOAD, plugin);
        let prefix = self.libraries();
        if let Some(prefix) = prefix {
            command.args(["-L", prefix]);
        }
        command
            .arg("-plugin")
            .arg(self.plugin(plugin, rings, prefix, options));
        command.arg(&self.guest.file).args(&self.guest.arguments);
        command
    }

    /// The folder of the program's libraries, if they are foreign ones that Debian installs and the
    /// user names no other.
    fn libraries(&self) -> Option<&'static str> {
        let wanted = self.guest.processor == Processor::Aarch64
            && env::var_os(FOREIGN_LIBRARIES).is_none()
            && Path::new(AARCH64_LIBRARIES).is_dir();
        wanted.then_some(AARCH64_LIBRARIES)
    }

    /// The plugin's file with its options.
    fn plugin(
        &self,
        plugin: &Path,
        rings: &Path,
        prefix: Option<&str>,
        options: &Options,
    ) -> OsString {
        let on = |is: bool| if is { "on" } else { "off" };
        let folder = self.qemu.parent().unwrap_or(Path::new("/"));
        let mut text = quoted(plugin.as_os_str());
        for (name, path) in [(",ring=", rings), (",path=", folder)] {
            text.push(name);
            text.push(quoted(path.as_os_str()));
        }
        if let Some(prefix) = prefix {
            text.push(format!(",prefix={prefix}"));
        }
        text.push(format!(
            ",shift={},children={},dynamic={},interpreted={},words={}",
            options.grain.shift(),
            on(options.follow_children),
            on(self.guest.is_dynamic),
            on(self.guest.is_interpreted),
            1 + self.guest.arguments.len(),
        ));
        text
    }
}

fn joined(before: &[&str], last: &OsStr) -> OsString {
    let mut text: OsString = before.concat().into();
    text.push(last);
    text
}

/// Returns a text with its commas doubled, as QEMU's options want it.
pub(crate) fn quoted(text: &OsStr) -> OsString {
    let bytes = text.as_bytes().iter();
    let double =
        bytes.flat_map(|&byte| std::iter::repeat_n(byte, if byte == b',' { 2 } else { 1 }));
    OsString::from_vec(double.collect())
}

/// Returns true if a QEMU program has the option that loads a plugin. A statically linked one, such
/// as Debian's `qemu-user-static`, has none.
fn loads_plugins(qemu: &Path) -> bool {
    let help = Command::new(qemu)
        .arg("-help")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    help.is_ok_and(|help| memchr::memmem::find(&help.stdout, b"-plugin").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_doubled() {
        assert_eq!(quoted(OsStr::new("/a,b/c")), "/a,,b/c");
    }
}
