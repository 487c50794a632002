//! The recorder of whole systems. Its plugin (`recorder/qemu/system`, in C) runs inside
//! `qemu-system-x86_64` and writes to the ring of the other recorders, so all share their reader.
//!
//! This module makes QEMU's command, and the guest's part of the file system that holds the
//! command to run. `workloads/guest` builds guests.

mod archive;
mod clock;
mod report;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::qemu::quoted;
use crate::valgrind::{Options, RecordError};

use clock::GuestClock;

pub use report::{GuestReport, KernelEventCounts, TranslationCheck};

/// The plugin for QEMU 7.2, which has version 1 of the interface. It is empty if the build had no C
/// compiler.
static PLUGIN_1: &[u8] = include_bytes!(env!("BROADLEAF_QEMU_SYSTEM_1"));
/// The plugin for QEMU 10, which has version 4, with registers.
static PLUGIN_4: &[u8] = include_bytes!(env!("BROADLEAF_QEMU_SYSTEM_4"));
pub(crate) const PLUGIN_FILE: &str = "broadleaf-qemu-system.so";
const QEMU: &str = "qemu-system-x86_64";
/// The file of the guest's memory, in the folder of rings.
const MEMORY: &str = "memory";
const FILES: &str = "files";
const SERIAL: &str = "report";
const SUMMARY: &str = "summary";
const CONSOLE: &str = "console";
/// The name of the command's script in the guest.
const SCRIPT: &str = "etc/broadleaf/command";
/// The size of the guest's memory above which QEMU splits it into two pieces.
const MOST_MEMORY: u64 = 2816 << 20;

/// A file that a guest gets for one recording.
#[derive(Clone, Debug)]
pub struct GuestFile {
    /// The path in the guest, without the first slash.
    pub path: String,
    /// The content.
    pub content: Vec<u8>,
    /// True if the file is a program.
    pub is_program: bool,
}

/// The machine of a guest that is recorded.
#[derive(Clone, Debug)]
pub struct GuestMachine {
    /// The folder that `workloads/guest/build.py` made.
    pub folder: PathBuf,
    /// The program of QEMU; without it, `qemu-system-x86_64` of `PATH`.
    pub qemu: Option<PathBuf>,
    /// Memory in bytes. Linux makes no huge pages by itself in less than 1 GiB.
    pub memory: u64,
    /// Processors, which run in turn.
    pub processors: u32,
    /// If true, each translation is compared with QEMU's own.
    pub check: bool,
    /// Files beside those of the folder.
    pub files: Vec<GuestFile>,
    /// If true, the guest's console is not shown; the report has it.
    pub keeps_console: bool,
}

/// A guest that is about to run.
pub(crate) struct System<'a> {
    machine: &'a GuestMachine,
    qemu: PathBuf,
    version: String,
    plugin: &'static [u8],
    kernel: String,
    /// True if the guest's kernel emits events to a page.
    kernel_events: bool,
    clock: GuestClock,
}

impl<'a> System<'a> {
    /// Finds QEMU, and checks the guest's folder.
    ///
    /// # Errors
    /// [`RecordError`] if QEMU is not installed, has another version of the plugin interface, or if
    /// the folder is no guest's.
    pub(crate) fn find(machine: &'a GuestMachine) -> Result<Self, RecordError> {
        let guest = |why: String| RecordError::Guest {
            folder: machine.folder.clone(),
            why,
        };
        if PLUGIN_1.is_empty() || PLUGIN_4.is_empty() {
            return Err(RecordError::QemuNotBuilt);
        }
        if machine.memory > MOST_MEMORY || machine.memory < 64 << 20 {
            return Err(guest(format!(
                "it can have 64 to {} MiB of memory",
                MOST_MEMORY >> 20
            )));
        }
        for name in ["vmlinuz", "initramfs", "symbols"] {
            if !machine.folder.join(name).is_file() {
                return Err(guest(format!(
                    "it holds no {name}: build it with workloads/guest/build.py"
                )));
            }
        }
        let symbols = fs::read_to_string(machine.folder.join("symbols"))?;
        let kernel = symbols
            .lines()
            .find_map(|line| line.strip_prefix("kernel "));
        let qemu = match &machine.qemu {
            Some(qemu) => qemu.clone(),
            None => crate::valgrind::find_program(OsStr::new(QEMU))
                .map_err(|_| RecordError::NoQemuSystem)?,
        };
        let version = version(&qemu).map_err(|error| RecordError::NoProgram {
            program: qemu.clone().into_os_string(),
            error,
        })?;
        let major = version.split('.').next().and_then(|text| text.parse().ok());
        let plugin = match major {
            Some(7) => PLUGIN_1,
            Some(10..) => PLUGIN_4,
            _ => return Err(RecordError::QemuVersion { qemu, version }),
        };
        Ok(Self {
            machine,
            qemu,
            version,
            plugin,
            kernel: kernel.unwrap_or_default().to_owned(),
            kernel_events: emits_events(&symbols),
            clock: GuestClock::of(&symbols, counts_instructions(machine, plugin)),
        })
    }

    /// The plugin for this QEMU.
    pub(crate) const fn plugin(&self) -> &'static [u8] {
        self.plugin
    }

    /// Returns true if the guest's kernel, or a module of it, emits events.
    pub(crate) const fn emits_events(&self) -> bool {
        self.kernel_events
    }

    /// The path of the guest's kernel.
    pub(crate) fn kernel_path(&self) -> PathBuf {
        self.machine.folder.join("vmlinuz")
    }

    /// The guest's kernel and processor in a line.
    pub(crate) fn description(&self) -> String {
        format!(
            "Linux {} in a guest of QEMU {}, {} MiB, {} processor(s)",
            self.kernel,
            self.version,
            self.machine.memory >> 20,
            self.machine.processors
        )
    }

    /// Facts that users of the trace have to know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "a whole system: references of the kernel and of all processes; addresses of the upper \
             half belong to space 0"
                .to_owned(),
            self.clock.in_words().to_owned(),
            "the guest's processor has no PCIDs, so each address space counts as if it had one of \
             its own"
                .into(),
        ];
        if self.kernel_events {
            notes.push(
                "the guest's kernel emits events: from the first RV_ event on, reservations are \
                 the kernel's"
                    .into(),
            );
        }
        if self.machine.processors > 1 {
            notes.push(format!(
                "{} processors ran in turn",
                self.machine.processors
            ));
        }
        if self.plugin.as_ptr() == PLUGIN_1.as_ptr() {
            notes.push(
                "QEMU 7.2 hides the addresses of single-page invalidations: an entry is dropped \
                 where the page table's own entry has changed"
                    .into(),
            );
        }
        notes
    }

    /// Returns the command that runs the guest, with the plugin of this path. `rings` is the folder
    /// of rings, which also gets the guest's memory.
    ///
    /// # Errors
    /// The system's error if a file cannot be written or has no room.
    pub(crate) fn command(
        &self,
        plugin: &Path,
        rings: &Path,
        options: &Options,
    ) -> io::Result<Command> {
        let memory = rings.join(MEMORY);
        File::create(&memory)?.set_len(self.machine.memory)?;
        let mut files = fs::read(self.machine.folder.join("initramfs"))?;
        for file in &self.machine.files {
            files.extend(archive::of_file(&file.path, &file.content, file.is_program));
        }
        files.extend(archive::of_file(SCRIPT, &script(&options.command), false));
        fs::write(rings.join(FILES), files)?;
        let size = self.machine.memory.to_string();
        let mut command = Command::new(&self.qemu);
        command.args(["-machine", "q35,memory-backend=m"]);
        command.args(["-accel", "tcg,thread=single", "-cpu", "max,la57=off"]);
        command.args(self.clock.options());
        command.arg("-smp").arg(self.machine.processors.to_string());
        command.arg("-m").arg(format!("{}B", size));
        command.arg("-object").arg(joined(&[
            "memory-backend-file,id=m,share=on,size=".as_ref(),
            size.as_ref(),
            ",mem-path=".as_ref(),
            &quoted(memory.as_os_str()),
        ]));
        if let Some(data) = data_beside(&self.qemu) {
            command
                .arg("-L")
                .arg(data)
                .args(["-L", "/usr/share/seabios"]);
        }
        command.args(["-nodefaults", "-display", "none", "-no-reboot"]);
        let console = rings.join(CONSOLE);
        command
            .arg("-serial")
            .arg(match self.machine.keeps_console {
                true => joined(&["file:".as_ref(), console.as_os_str()]),
                false => "stdio".into(),
            });
        command.arg("-serial");
        command.arg(joined(&["file:".as_ref(), rings.join(SERIAL).as_os_str()]));
        command.arg("-kernel").arg(self.kernel_path());
        command.arg("-initrd").arg(rings.join(FILES));
        let words = "console=ttyS0 nokaslr quiet loglevel=3 panic=-1 tsc=reliable";
        command
            .arg("-append")
            .arg(format!("{words}{}", self.clock.words()));
        let on = |is: bool| if is { "on" } else { "off" };
        command.arg("-plugin").arg(joined(&[
            &quoted(plugin.as_os_str()),
            ",ring=".as_ref(),
            &quoted(rings.as_os_str()),
            ",memory=".as_ref(),
            &quoted(memory.as_os_str()),
            ",symbols=".as_ref(),
            &quoted(self.machine.folder.join("symbols").as_os_str()),
            ",summary=".as_ref(),
            &quoted(rings.join(SUMMARY).as_os_str()),
            format!(
                ",shift={},code={},check={},events={}",
                options.grain.shift(),
                on(options.instructions),
                on(self.machine.check),
                on(self.kernel_events)
            )
            .as_ref(),
        ]));
        Ok(command)
    }

    /// Reads the reports of the guest and of the plugin.
    pub(crate) fn report(&self, rings: &Path) -> GuestReport {
        let text = |name: &str| fs::read_to_string(rings.join(name)).unwrap_or_default();
        GuestReport {
            console: text(CONSOLE),
            ..GuestReport::of(
                &text(SERIAL),
                &text(SUMMARY),
                self.machine.check,
                self.kernel_events,
            )
        }
    }
}

/// Returns true if a guest's clock can follow its instructions. QEMU 7.2 gives each of several
/// processors the time of all, so that its firmware waits for minutes.
fn counts_instructions(machine: &GuestMachine, plugin: &[u8]) -> bool {
    machine.processors == 1 || plugin.as_ptr() == PLUGIN_4.as_ptr()
}

/// Returns true if a file of symbols announces events: by a module, or by a page of the kernel.
fn emits_events(symbols: &str) -> bool {
    let mut names = symbols.lines().filter_map(|line| line.split(' ').next());
    names.any(|name| name == "kernel-events" || name == "broadleaf_events")
}

fn joined(parts: &[&OsStr]) -> OsString {
    parts.iter().copied().collect()
}

/// A script that executes a command in the guest.
fn script(command: &[OsString]) -> Vec<u8> {
    let mut script = b"exec".to_vec();
    for word in command {
        script.extend(b" '");
        for byte in word.as_bytes() {
            match byte {
                b'\'' => script.extend(b"'\\''"),
                byte => script.push(*byte),
            }
        }
        script.push(b'\'');
    }
    script.push(b'\n');
    script
}

/// The version of QEMU, as "7.2.22".
fn version(qemu: &Path) -> io::Result<String> {
    let output = Command::new(qemu)
        .arg("--version")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != "version");
    Ok(words.nth(1).unwrap_or("of unknown version").to_owned())
}

/// The folder of a QEMU's firmware, if it lies beside a QEMU that is not installed.
fn data_beside(qemu: &Path) -> Option<PathBuf> {
    let data = qemu.parent()?.parent()?.join("share/qemu");
    let installed = qemu.starts_with("/usr") || qemu.starts_with("/bin");
    (!installed && data.is_dir()).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_announce_events() {
        assert!(!emits_events("kernel 6.1\ninit_top_pgt 0x1\n"));
        assert!(emits_events("kernel 6.1\nkernel-events 1\n"));
        assert!(emits_events("broadleaf_events 0xffffffff82000000\n"));
    }

    #[test]
    fn words_reach_the_guest_as_they_are() {
        let words = ["sh", "-c", "echo 'a b' $HOME"].map(OsString::from);
        let expected = "exec 'sh' '-c' 'echo '\\''a b'\\'' $HOME'\n";
        assert_eq!(script(&words), expected.as_bytes());
    }
}
