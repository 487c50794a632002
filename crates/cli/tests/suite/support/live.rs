//! Programs that run, and whether they can be governed here.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use broadleaf_governor::{Abilities, Kernel, Linux};

/// Whether processes that are started under a governor can be governed here; says why where not.
pub(crate) fn can_govern() -> bool {
    is_clear(false)
}

/// Whether processes that run already can be; says why where not.
#[allow(dead_code, reason = "not every suite attaches")]
pub(crate) fn can_attach() -> bool {
    is_clear(true)
}

fn is_clear(attaching: bool) -> bool {
    let obstacles = Abilities::here().obstacles(attaching);
    for obstacle in &obstacles {
        eprintln!("skipped: {obstacle}");
    }
    obstacles.is_empty() && has_room()
}

/// Whether there are free extents; where files that were read fill all memory, root may have the
/// kernel forget them.
pub(crate) fn has_room() -> bool {
    let enough = || Linux::new().machine().free_blocks >= 200;
    for file in ["drop_caches", "compact_memory"] {
        if !enough() {
            // Only root may, and others find out below.
            let _ = std::fs::write(format!("/proc/sys/vm/{file}"), "1");
        }
    }
    if !enough() {
        eprintln!("skipped: too few free extents for superpages on this machine");
    }
    enough()
}

/// The number of the signal that a terminal sends when it is closed.
pub(crate) const SIGHUP: u32 = 1;
/// The number of the signal that a terminal sends for Ctrl-C.
pub(crate) const SIGINT: u32 = 2;

/// Returns true if this process ignores a signal, as under nohup. Programs that it starts ignore
/// the signal too.
pub(crate) fn ignores(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

/// Whether a program is installed; says why the test is skipped where not.
pub(crate) fn is_installed(name: &str) -> bool {
    installed(name).is_some()
}

/// The file of a program; says why the test is skipped if the program is not installed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&paths).map(|folder| folder.join(name));
    let found = files.find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

/// Compiles a program in C with more arguments for the compiler. Says why the test is skipped if
/// that fails, as for lack of a compiler or a library.
pub(crate) fn compiled(
    folder: &Path,
    name: &str,
    source: &str,
    arguments: &[&str],
) -> Option<PathBuf> {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.arg("-O1").arg("-o").args([&program, &file]);
    match compiler.args(arguments).output() {
        Ok(output) if output.status.success() => Some(program),
        other => {
            eprintln!("skipped: cc {arguments:?} for {name}: {other:?}");
            None
        }
    }
}

/// Waits for something, ten seconds at most.
pub(crate) fn eventually<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(Instant::now() < until, "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program in Python that has touched its memory.
pub(crate) struct Python {
    pub(crate) child: Child,
}

impl Python {
    pub(crate) fn start(script: &str) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.as_mut().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "touched\n");
        Self { child }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
