//! Pipes, devices and open files as outputs.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use broadleaf_governor::duplicate;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// The longest wait for the reader of a pipe. A script may start the reader after this command.
const WAIT: Duration = Duration::from_secs(5);
/// The maximum number of links that the kernel follows.
const LINKS: usize = 40;
/// The time between two attempts.
const AGAIN: Duration = Duration::from_millis(50);

/// Opens a pipe, a device or a stream for writing. If a pipe has no reader, prints a note and waits
/// for a while.
///
/// # Errors
/// Those of the kernel, and [`io::ErrorKind::TimedOut`] if no reader came.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if let Some(number) = descriptor(path) {
        super::refuse_closed(number)?;
    }
    // To open the file again would write from its start.
    if let Some(number) = descriptor(path)
        && path.metadata().is_ok_and(|there| there.is_file())
    {
        return duplicate(number);
    }
    // Without this flag, the call waits for a reader for ever.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let began = Instant::now();
    let mut has_said = false;
    let file = loop {
        let opened = File::options().write(true).custom_flags(flags).open(path);
        match opened {
            Err(error) if is_without_reader(path, &error) => {
                if began.elapsed() >= WAIT {
                    let waited = format!("no process has read from this pipe within {WAIT:?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, waited));
                }
                if !has_said {
                    say_waits(path);
                    has_said = true;
                }
                std::thread::sleep(AGAIN);
            }
            opened => break opened?,
        }
    };
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The number of the descriptor that a path names, such as `/dev/stdout` or a link to it.
pub(crate) fn descriptor(path: &Path) -> Option<i32> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match path.to_str() {
            Some("/dev/stdout") => return Some(1),
            Some("/dev/stderr") => return Some(2),
            Some(name) => {
                let number = ["/dev/fd/", "/proc/self/fd/"]
                    .iter()
                    .find_map(|folder| name.strip_prefix(folder));
                if let Some(number) = number {
                    return number.parse().ok();
                }
            }
            None => {}
        }
        path = path.parent()?.join(path.read_link().ok()?);
    }
    None
}

fn is_without_reader(path: &Path, error: &io::Error) -> bool {
    let is_pipe = || {
        path.metadata()
            .is_ok_and(|there| there.file_type().is_fifo())
    };
    error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_pipe()
}

fn say_waits(path: &Path) {
    let name = path.display();
    // The wait goes on if standard error is closed.
    let _ = writeln!(
        io::stderr(),
        "broadleaf: {name}: waits for a reader of this pipe, at most {WAIT:?}"
    );
}
