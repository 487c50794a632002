//! Starts the recorded program under Valgrind with Broadleaf's tool.

#![allow(unsafe_code, reason = "a pipe with a name")]

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use broadleaf_units::PageSize;

use super::control::Control;
use super::errors::RecordError;
use super::life::LifePipe;
use super::session::{Clock, Engine, Options};
use crate::qemu::{Emulated, PLUGIN, PLUGIN_FILE};
use crate::scratch::{self, Purpose, Scratch};
use crate::system::{self, GuestReport, System};
use crate::windows;

/// The tool, as built with this program. It is empty if the build had no Valgrind.
static TOOL: &[u8] = include_bytes!(env!("BROADLEAF_TOOL"));
/// Valgrind's launcher, of the version with which the tool was built. The core executes it for each
/// program that a recorded program executes. The first program needs none.
static LAUNCHER: &[u8] = include_bytes!(env!("BROADLEAF_LAUNCHER"));
/// The agent that reports the allocations of Java programs. It is empty without the tool.
static JAVA_AGENT: &[u8] = include_bytes!(env!("BROADLEAF_JAVA_AGENT"));
const JAVA_AGENT_FILE: &str = "broadleaf-java.so";
/// The variable from which every Java virtual machine takes options.
const JAVA_OPTIONS: &str = "JAVA_TOOL_OPTIONS";
/// The name of the tool's file: the core looks for it beside the launcher's other tools.
const TOOL_FILE: &str = "broadleaf-amd64-linux";
const LAUNCHER_FILE: &str = "valgrind";

/// The pipe in the folder of rings on which processes announce themselves.
const CONTROL: &str = "control";
/// The pipe in the same folder whose end signals the death of the recorder.
const LIFE: &str = "life";

/// The folders and pipes of one recording. They are removed when the value is dropped, in this
/// order.
///
/// A process takes a control pipe without a reader for the pipe of a dead recorder, so the folder
/// goes before the pipe is closed. [`LifePipe`] looks for remaining processes once no further
/// process can find the folder.
pub(super) struct Workplace {
    /// The folder of the tool. Programs may be run from there.
    tool: Scratch,
    /// The folder of the rings and the pipes.
    rings: Scratch,
    _life: LifePipe,
    /// The pipe on which processes announce themselves.
    pub(super) control: Control,
}

impl Workplace {
    pub(super) fn new(engine: Engine, system: Option<&System<'_>>) -> Result<Self, RecordError> {
        let plugin = system.map_or(PLUGIN, System::plugin);
        let files: &[(&str, &[u8])] = match engine {
            Engine::Valgrind if TOOL.is_empty() => return Err(RecordError::NotBuilt),
            Engine::Qemu if PLUGIN.is_empty() => return Err(RecordError::QemuNotBuilt),
            Engine::Valgrind => &[
                (TOOL_FILE, TOOL),
                (LAUNCHER_FILE, LAUNCHER),
                (JAVA_AGENT_FILE, JAVA_AGENT),
            ],
            Engine::Qemu => &[(PLUGIN_FILE, plugin)],
            Engine::QemuSystem => &[(system::PLUGIN_FILE, plugin)],
        };
        let tool = folder_for(Purpose::Tool)?;
        let in_tool = in_folder(Purpose::Tool);
        for (name, bytes) in files {
            let file = tool.path().join(name);
            fs::write(&file, bytes).map_err(in_tool)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(in_tool)?;
        }
        let rings = folder_for(Purpose::Rings)?;
        let in_rings = in_folder(Purpose::Rings);
        symlink(tool.path(), rings.path().join(scratch::LINK)).map_err(in_rings)?;
        let (life, control) = (rings.path().join(LIFE), rings.path().join(CONTROL));
        for pipe in [&life, &control] {
            let name = CString::new(pipe.as_os_str().as_bytes())?;
            // SAFETY: the path is a string that ends with a zero byte.
            if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
                return Err(in_rings(io::Error::last_os_error()));
            }
        }
        Ok(Self {
            _life: LifePipe::open(&life).map_err(in_rings)?,
            control: Control::open(&control).map_err(in_rings)?,
            tool,
            rings,
        })
    }

    /// The path of the ring with this name.
    pub(super) fn ring(&self, name: &str) -> PathBuf {
        self.rings.path().join(name)
    }

    /// Starts the program, under QEMU if it is `emulated`. Interrupts from the terminal reach it as
    /// if it ran alone.
    pub(super) fn start(
        &self,
        program: &Path,
        emulated: Option<&Emulated>,
        options: &Options,
    ) -> Result<Child, RecordError> {
        if let Some(emulated) = emulated {
            let plugin = self.tool.path().join(PLUGIN_FILE);
            let mut command = emulated.command(&plugin, self.rings.path(), options);
            (options.prepare)(&mut command);
            return spawn(&mut command).map_err(RecordError::Io);
        }
        let mut ring_folder = OsString::from("--ring-dir=");
        ring_folder.push(self.rings.path());
        let mut command = Command::new(self.tool.path().join(TOOL_FILE));
        self.arguments(&mut command, &ring_folder, options);
        if options.sites && program.file_name() == Some(OsStr::new("java")) {
            command.env(JAVA_OPTIONS, self.java_options());
        }
        (options.prepare)(&mut command);
        spawn(&mut command).map_err(RecordError::Io)
    }

    /// Starts a guest. Interrupts from the terminal reach QEMU.
    pub(super) fn start_system(
        &self,
        system: &System<'_>,
        options: &Options,
    ) -> Result<Child, RecordError> {
        let plugin = self.tool.path().join(system::PLUGIN_FILE);
        let mut command = system
            .command(&plugin, self.rings.path(), options)
            .map_err(in_folder(Purpose::Rings))?;
        (options.prepare)(&mut command);
        spawn(&mut command).map_err(RecordError::Io)
    }

    /// Reads the report of a guest.
    pub(super) fn report(&self, system: &System<'_>) -> GuestReport {
        system.report(self.rings.path())
    }

    /// The user's options for Java virtual machines, and the agent.
    fn java_options(&self) -> OsString {
        let mut options = std::env::var_os(JAVA_OPTIONS).unwrap_or_default();
        if !options.is_empty() {
            options.push(" ");
        }
        // Java takes quotes around an option with spaces.
        options.push("\"-agentpath:");
        options.push(self.tool.path().join(JAVA_AGENT_FILE));
        options.push("\"");
        options
    }

    fn arguments(&self, command: &mut Command, ring_folder: &OsStr, options: &Options) {
        command
            .env("VALGRIND_LIB", self.tool.path())
            .env("VALGRIND_LAUNCHER", self.tool.path().join(LAUNCHER_FILE))
            .args([
                "--tool=broadleaf",
                "-q",
                "--vgdb=no",
                "--aspace-minaddr=0x10000",
            ])
            .arg(ring_folder)
            .arg(format!("--unit-shift={}", options.grain.shift()))
            .arg(if options.follow_children {
                "--follow-children=yes"
            } else {
                "--follow-children=no"
            })
            .arg(format!("--align={}", mask(&options.align)))
            .args(clock_arguments(options.clock))
            .args(options.windows.iter().flat_map(windows::arguments))
            .args(options.code.then_some("--code=yes"))
            .args(options.sites.then_some(SITES).into_iter().flatten())
            .args(["--smc-check=all-non-file", "--"])
            .args(&options.command);
    }
}

/// Starts a command whose program this process has just written. A child that another thread forks
/// meanwhile holds the file open for writing until the child executes its own program, and a file
/// that is open for writing cannot be executed.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let start = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && start.elapsed() < BUSY =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            result => return result,
        }
    }
}

/// How long a forked child may take until it executes its own program.
const BUSY: Duration = Duration::from_secs(5);

/// The arguments for allocation sites. An allocator's first block must be a block of its own, and
/// its symbol is compared as it is in the file.
const SITES: [&str; 3] = ["--sites=yes", "--vex-guest-chase=no", "--demangle=no"];

/// A bit for each size, as the tool takes them.
fn mask(sizes: &[PageSize]) -> u64 {
    sizes.iter().fold(0, |mask, size| mask | size.bytes())
}

fn clock_arguments(clock: Clock) -> Vec<String> {
    let (name, rate) = match clock {
        Clock::Wall => ("wall", Clock::RATE),
        Clock::Program(rate) => ("program", rate),
        Clock::Date(rate) => ("date", rate),
    };
    vec![format!("--clock={name}"), format!("--clock-rate={rate}")]
}

fn folder_for(purpose: Purpose) -> Result<Scratch, RecordError> {
    Scratch::new(purpose).map_err(in_folder(purpose))
}

fn in_folder(purpose: Purpose) -> impl Fn(io::Error) -> RecordError + Copy {
    move |error| RecordError::Folder {
        folder: purpose.parent(),
        error,
    }
}

/// Returns kernel, processor and superpage settings in one line.
pub(super) fn machine() -> String {
    let line = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let processor = line("/proc/cpuinfo").and_then(|text| {
        text.lines().find_map(|l| {
            l.strip_prefix("model name")?
                .split_once(':')
                .map(|(_, name)| name.trim().to_owned())
        })
    });
    let parts = [
        line("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}")),
        processor,
        line("/sys/kernel/mm/transparent_hugepage/enabled")
            .map(|thp| format!("transparent superpages {thp}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
