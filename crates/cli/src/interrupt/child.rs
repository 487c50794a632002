//! Signals while a child runs: the child decides what they mean.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use broadleaf_governor::{Kernel, Linux};
use rustix::process::{Pid, Signal, getpgid, getpid, getsid, kill_process};
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::siginfo::{Cause, Origin};

use super::ignored;

/// Whether a child decides what signals mean.
static LEFT_TO_CHILD: AtomicBool = AtomicBool::new(false);
/// Whether there is a child, or was one.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// A signal that another process sent may have been sent to the whole process group, and nothing tells. What ends by its own is not sent a second one, and
/// is given so long to end.
const GRACE: Duration = Duration::from_millis(20);

/// When the last child ended.
static ENDED: Mutex<Option<Instant>> = Mutex::new(None);
/// The signal that ended a child may have been sent to the group, and be heard here a little later. It was the child's, and what is to be told of it is told
/// nevertheless.
const AFTERMATH: Duration = Duration::from_millis(100);

/// Leaves signals to a child for as long as this value lives: the child decides what they mean, and a program that ends by
/// one ends its recording.
#[derive(Debug)]
pub(crate) struct LeftToChild(());

impl LeftToChild {
    /// To a child that is about to be started, without a change to how this process handles stops. Until [`LeftToChild::begun`]
    /// a signal that finds no child ends this process.
    pub(crate) fn starting() -> Self {
        BEGUN.store(false, Ordering::SeqCst);
        LEFT_TO_CHILD.store(true, Ordering::SeqCst);
        Self(())
    }

    /// To a child that is about to be started. Until [`LeftToChild::begun`] a signal that finds no child ends this process.
    ///
    /// From here on stops, continuations and changes of the window's size are passed on as well, and the child can be waited for even where this process
    /// was started to ignore the ends of children.
    pub(crate) fn awaiting() -> Self {
        let ignored = ignored();
        let is_ignored = |signal: i32| ignored & (1 << (signal - 1)) != 0;
        if is_ignored(SIGCHLD) {
            // A handler that does nothing: a child begins with the default, whatever stood here. Where it cannot be set, waiting says what is wrong.
            let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
        }
        if let Some(handle) = super::HANDLE.get() {
            for signal in [SIGTSTP, SIGCONT, SIGWINCH] {
                if !is_ignored(signal) {
                    // Where it cannot be, it keeps its default effect.
                    let _ = handle.add_signal(signal);
                }
            }
        }
        BEGUN.store(false, Ordering::SeqCst);
        LEFT_TO_CHILD.store(true, Ordering::SeqCst);
        Self(())
    }

    /// The child has been started.
    pub(crate) fn begun(&self) {
        BEGUN.store(true, Ordering::SeqCst);
    }

    /// The child has ended, and there will be no other.
    pub(crate) fn ended(self) {
        *ENDED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Drop for LeftToChild {
    fn drop(&mut self) {
        LEFT_TO_CHILD.store(false, Ordering::SeqCst);
    }
}

/// Whether a signal was a child's matter: it has had it, or has it now.
pub(super) fn took(origin: &Origin) -> bool {
    if !LEFT_TO_CHILD.load(Ordering::SeqCst) {
        let ended = *ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        return ended.is_some_and(|at| at.elapsed() < AFTERMATH);
    }
    if children().is_empty() && !BEGUN.load(Ordering::SeqCst) {
        return false;
    }
    if origin.signal == SIGTSTP && is_orphaned() {
        // Nobody could continue what stops here, so the default is not to stop.
        return true;
    }
    if !reached_child(origin) {
        pass_on(origin.signal);
    }
    if origin.signal == SIGTSTP {
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    }
    true
}

/// Whether the child has had a signal as well: keys on a terminal send theirs to all processes in the foreground, as a change of its size does; and what the
/// program itself sends it sends to its group, or means us.
fn reached_child(origin: &Origin) -> bool {
    match origin.cause {
        Cause::Kernel | Cause::Unknown => matches!(
            origin.signal,
            SIGINT | SIGQUIT | SIGTSTP | SIGCONT | SIGWINCH
        ),
        _ => origin
            .process
            .and_then(|sender| Pid::from_raw(sender.pid))
            .is_some_and(|sender| sender != getpid() && ancestors(sender).any(|it| it == getpid())),
    }
}

/// Sends a signal that this process received to its children, as far as they seem to lack it: when they end, so does the work with them.
fn pass_on(signal: i32) {
    let Some(named) = Signal::from_named_raw(signal) else {
        return;
    };
    if !matches!(signal, SIGCONT | SIGWINCH) {
        std::thread::sleep(GRACE);
    }
    for child in children() {
        let lacks = match (signal, state(child)) {
            (_, None | Some('Z' | 'X')) | (SIGTSTP, Some('T')) => false,
            (SIGCONT, state) => state == Some('T'),
            _ => true,
        };
        if lacks {
            // A child that has just ended needs no signal.
            let _ = kill_process(child, named);
        }
    }
}

/// The processes that this one started and has not waited for.
fn children() -> Vec<Pid> {
    let mut linux = Linux::new();
    let own = linux.process(std::process::id());
    let children = own.map_or(Vec::new(), |own| linux.children(own));
    let pids = children.iter().map(|child| i32::try_from(child.pid).ok());
    pids.filter_map(|pid| pid.and_then(Pid::from_raw)).collect()
}

/// Whether no process of this group has a parent that could continue it (POSIX: an orphaned process group), as far as those tell that led to this one.
fn is_orphaned() -> bool {
    let (group, session) = (getpgid(None).ok(), getsid(None).ok());
    let outside = ancestors(getpid()).find(|pid| getpgid(Some(*pid)).ok() != group);
    outside.is_none_or(|pid| getsid(Some(pid)).ok() != session)
}

/// The parent of a process, its parent, and so on.
fn ancestors(pid: Pid) -> impl Iterator<Item = Pid> {
    let parent = |pid: &Pid| {
        let parent = status(*pid)?.1;
        Pid::from_raw(parent)
    };
    std::iter::successors(parent(&pid), parent)
}

/// The letter for what a process is doing.
fn state(pid: Pid) -> Option<char> {
    status(pid).map(|(state, _)| state)
}

/// What a process is doing, and its parent (`proc_pid_stat(5)`).
fn status(pid: Pid) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // Its name stands in brackets, and may hold any letter.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
