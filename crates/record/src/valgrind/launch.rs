//! The recorded program, started under Valgrind with our tool.

#![allow(unsafe_code, reason = "a pipe with a name")]

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::{env, fs};

use super::leftovers;
use super::session::{Clock, Options, RecordError};

/// The tool, as it was built with this program; empty where it was not.
static TOOL: &[u8] = include_bytes!(env!("BROADLEAF_TOOL"));
/// Where distributions keep what Valgrind's core looks for beside a tool.
const VALGRIND_FOLDERS: [&str; 3] = [
    "/usr/libexec/valgrind",
    "/usr/lib/x86_64-linux-gnu/valgrind",
    "/usr/lib/valgrind",
];
const BESIDE: [&str; 2] = ["default.supp", "vgpreload_core-amd64-linux.so"];

/// The folders of one recording. They go when this is dropped.
pub(super) struct Workplace {
    /// Holds the tool; somewhere programs may be run from.
    tool: tempfile::TempDir,
    /// Holds the rings and the control pipe; in memory where the system has a place for that.
    pub(super) rings: tempfile::TempDir,
}

/// What a program refers to is nobody else's business, and what it runs under nobody else's to change.
fn ours() -> fs::Permissions {
    fs::Permissions::from_mode(0o700)
}

impl Workplace {
    pub(super) fn new() -> Result<Self, RecordError> {
        if TOOL.is_empty() {
            return Err(RecordError::NotBuilt);
        }
        let folder = VALGRIND_FOLDERS
            .iter()
            .map(Path::new)
            .find(|folder| folder.join(BESIDE[0]).exists())
            .ok_or(RecordError::NoValgrind)?;
        let tool = tempfile::Builder::new()
            .prefix("broadleaf-tool-")
            .permissions(ours())
            .tempdir()?;
        let binary = tool.path().join("broadleaf-amd64-linux");
        fs::write(&binary, TOOL)?;
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755))?;
        for name in BESIDE {
            symlink(folder.join(name), tool.path().join(name))?;
        }
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            memory.to_owned()
        } else {
            env::temp_dir()
        };
        let rings = tempfile::Builder::new()
            .prefix(leftovers::RINGS)
            .permissions(ours())
            .tempdir_in(folder)?;
        leftovers::sweep(rings.path());
        symlink(tool.path(), rings.path().join(leftovers::TOOL))?;
        let control = CString::new(rings.path().join(leftovers::CONTROL).as_os_str().as_bytes())?;
        // SAFETY: the path is a string that ends with a zero byte.
        if unsafe { libc::mkfifo(control.as_ptr(), 0o600) } != 0 {
            return Err(io::Error::last_os_error().into());
        }
        Ok(Self { tool, rings })
    }

    /// Starts the program. Interrupts from the terminal reach it as if it ran alone.
    pub(super) fn start(&self, options: &Options) -> Result<Child, RecordError> {
        let mut ring_folder = OsString::from("--ring-dir=");
        ring_folder.push(self.rings.path());
        let command = |launcher: &str| {
            let mut command = Command::new(launcher);
            self.arguments(&mut command, &ring_folder, options);
            command.spawn()
        };
        // Debian's `valgrind` is a script that adds to the environment (LD_LIBRARY_PATH among it), which the program would see.
        let child = match command("valgrind.bin") {
            Err(e) if e.kind() == io::ErrorKind::NotFound => command("valgrind"),
            other => other,
        };
        child.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => RecordError::NoValgrind,
            _ => RecordError::Io(e),
        })
    }

    fn arguments(&self, command: &mut Command, ring_folder: &OsStr, options: &Options) {
        command
            .env("VALGRIND_LIB", self.tool.path())
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
            .args(clock_arguments(options.clock))
            .args(["--smc-check=all-non-file", "--"])
            .args(&options.command);
    }
}

fn clock_arguments(clock: Clock) -> Vec<String> {
    let (name, rate) = match clock {
        Clock::Wall => ("wall", Clock::RATE),
        Clock::Program(rate) => ("program", rate),
        Clock::Date(rate) => ("date", rate),
    };
    vec![format!("--clock={name}"), format!("--clock-rate={rate}")]
}

/// The program's file, found as a shell finds it.
pub(super) fn find_program(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return is_program(&path).then_some(path);
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

/// Kernel, processor and superpage settings, in a line.
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
