//! Signals while a child runs. They are passed on to the child, which decides what they mean.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use broadleaf_governor::{send_signal, was_ignored};
use rustix::process::{Pid, Signal, getpid, kill_process};
use signal_hook::consts::{
    FORBIDDEN, SIGABRT, SIGBUS, SIGCHLD, SIGCONT, SIGINT, SIGPIPE, SIGQUIT, SIGSYS, SIGTRAP,
    SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Handle;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::govern::{HandedOver, ProgramSignals};
use crate::relatives::{ancestors, children, is_orphaned, state};

/// The handle that adds signals to those that are caught.
static HANDLE: OnceLock<Handle> = OnceLock::new();
/// True while a child decides what signals mean.
static LEFT_TO_CHILD: AtomicBool = AtomicBool::new(false);
/// True after a child was started.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// The child that was started last, or 0 if there was none.
static CHILD: AtomicU32 = AtomicU32::new(0);
/// True if this process stopped because its child did, and was not continued since.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// The time in which a child ends by its own copy of a signal. A signal from another process may
/// have been sent to the whole process group, and the kernel does not say so. After this time, the
/// signal is passed on to a child that still lives.
const GRACE: Duration = Duration::from_millis(20);

/// The number of the last signal.
const LAST: i32 = 64;
/// The first real-time signal, as the kernel counts.
const FIRST_REAL_TIME: i32 = 32;
/// The C library keeps these signals for its threads.
const OF_C_LIBRARY: [i32; 2] = [32, 33];

/// When the last child ended.
static ENDED: Mutex<Option<Instant>> = Mutex::new(None);
/// The time after the end of a child in which signals are ignored. The signal that ended the child
/// may have been sent to the group and arrive here later. The child's report must still be printed.
const AFTERMATH: Duration = Duration::from_millis(100);

/// Adds signals with this handle to those that are caught, while a child decides what they mean.
pub fn catch_with(handle: Handle) {
    let _ = HANDLE.set(handle);
}

/// Leaves signals to a child for as long as the value lives. The child decides what signals mean,
/// and a program that ends by one ends its recording.
#[derive(Debug)]
pub struct LeftToChild(());

impl LeftToChild {
    /// Leaves signals to a child that is about to be started. Stops keep their effect on this
    /// process. Until [`LeftToChild::begun`] a signal that finds no child ends this process.
    pub fn starting() -> Self {
        BEGUN.store(false, Ordering::SeqCst);
        LEFT_TO_CHILD.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Passes signals on to a child that is about to be started. Until [`LeftToChild::begun`], a
    /// signal that finds no child ends this process.
    ///
    /// From here on every signal that can be caught is passed on. This includes signals that this
    /// process was started to ignore, since the program may catch them. The child can be waited for
    /// even if this process was started to ignore the ends of children.
    fn awaiting() -> Self {
        if was_ignored(SIGCHLD) {
            // An empty handler. The child still ignores the signal. Without the handler, waiting
            // for the child fails.
            let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
        }
        if let Some(handle) = HANDLE.get() {
            for signal in (1..=LAST).filter(|signal| can_be_passed_on(*signal)) {
                // A signal that cannot be caught keeps its effect.
                let _ = handle.add_signal(signal);
            }
        }
        BEGUN.store(false, Ordering::SeqCst);
        LEFT_TO_CHILD.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Notes that the child was started. Its number is needed only if /proc cannot list it.
    pub fn begun(&self, child: Option<u32>) {
        CHILD.store(child.unwrap_or(0), Ordering::SeqCst);
        BEGUN.store(true, Ordering::SeqCst);
    }
}

/// Passes signals on to programs under a policy.
#[derive(Debug)]
pub struct PassedOn;

impl ProgramSignals for PassedOn {
    fn hand_over(&self) -> Box<dyn HandedOver> {
        Box::new(LeftToChild::awaiting())
    }

    /// Stops this process as its child stopped, so that the shell sees a stopped job. A
    /// continuation is passed on to the child.
    fn program_stopped(&self) {
        // In an orphaned process group no shell could continue this process.
        if !is_orphaned() {
            STOPPED.store(true, Ordering::SeqCst);
            // The process may be continued at once, and a failure needs no handling.
            let _ = kill_process(getpid(), Signal::STOP);
        }
    }
}

impl HandedOver for LeftToChild {
    fn started(&self, pid: u32) {
        self.begun(Some(pid));
    }

    fn ended(self: Box<Self>) {
        *ENDED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Drop for LeftToChild {
    fn drop(&mut self) {
        LEFT_TO_CHILD.store(false, Ordering::SeqCst);
    }
}

/// Returns true if a signal can be caught and does not concern this process itself.
fn can_be_passed_on(signal: i32) -> bool {
    !FORBIDDEN.contains(&signal)
        && !OF_C_LIBRARY.contains(&signal)
        && !matches!(signal, SIGBUS | SIGCHLD)
}

/// Returns true if the kernel sent a signal because of an act of this process itself. For a write
/// to a pipe without a reader, the kernel names this process as the sender.
pub fn is_own(origin: &Origin) -> bool {
    let sender = origin.process.and_then(|sender| Pid::from_raw(sender.pid));
    (matches!(origin.cause, Cause::Kernel | Cause::Unknown) || sender == Some(getpid()))
        && matches!(
            origin.signal,
            SIGABRT | SIGPIPE | SIGSYS | SIGTRAP | SIGXCPU | SIGXFSZ
        )
}

/// Returns true if a signal was for a child. The child has it already, or gets it now.
pub fn took(origin: &Origin) -> bool {
    if !LEFT_TO_CHILD.load(Ordering::SeqCst) {
        let ended = *ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        return ended.is_some_and(|at| at.elapsed() < AFTERMATH);
    }
    if children().is_empty() && !BEGUN.load(Ordering::SeqCst) {
        return false;
    }
    if !is_own(origin) && !reached_child(origin) {
        pass_on(origin.signal);
    }
    true
}

/// Returns true if the child got a signal as well. A terminal sends the signals of its keys, and of
/// a change of its size, to all processes in the foreground. The program itself sends a signal to
/// its group, or to this process on purpose.
fn reached_child(origin: &Origin) -> bool {
    match origin.cause {
        Cause::Kernel | Cause::Unknown => matches!(
            origin.signal,
            SIGINT | SIGQUIT | SIGTSTP | SIGTTIN | SIGTTOU | SIGCONT | SIGWINCH
        ),
        _ => origin
            .process
            .and_then(|sender| Pid::from_raw(sender.pid))
            .is_some_and(|sender| sender != getpid() && ancestors(sender).any(|it| it == getpid())),
    }
}

/// Passes a signal on to the children that seem to lack it. When they end, this process ends too.
fn pass_on(signal: i32) {
    // A shell that continues this process continues its whole group. Otherwise the signal was for
    // this process alone.
    let was_stopped = signal == SIGCONT && STOPPED.swap(false, Ordering::SeqCst);
    // Real-time signals come in bursts, and only a few of a burst are kept while this thread waits.
    if !matches!(signal, SIGCONT | SIGWINCH) && signal < FIRST_REAL_TIME {
        std::thread::sleep(GRACE);
    }
    let known = i32::try_from(CHILD.load(Ordering::SeqCst)).ok();
    if let Some(child) = known
        .and_then(Pid::from_raw)
        .filter(|_| state(getpid()).is_none())
    {
        // Without /proc the children cannot be listed.
        let _ = send_signal(child.as_raw_nonzero().get(), signal);
    }
    for child in children() {
        let lacks = match (signal, state(child)) {
            (_, None | Some('Z' | 'X')) | (SIGTSTP | SIGTTIN | SIGTTOU, Some('T')) => false,
            (SIGCONT, state) => !was_stopped || state == Some('T'),
            _ => true,
        };
        if lacks {
            // A child that has just ended needs no signal.
            let _ = send_signal(child.as_raw_nonzero().get(), signal);
        }
    }
}
