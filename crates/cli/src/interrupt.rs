//! Ctrl-C: what is half done is taken away, and the process goes at once.

mod child;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use broadleaf_governor::{end_by, was_ignored};
use broadleaf_study::unfinished::remove_unfinished;
use signal_hook::consts::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGUSR1, SIGUSR2,
    SIGWINCH,
};
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};

pub(crate) use child::{LeftToChild, stop_as_child};

/// Who is told of a signal instead of being ended by it.
static ASKED: Mutex<Option<Listener>> = Mutex::new(None);
/// Where more signals can be asked for.
static HANDLE: OnceLock<Handle> = OnceLock::new();
/// What sets right what the process has done to its terminal.
static AT_END: Mutex<Option<fn()>> = Mutex::new(None);

/// Handles Ctrl-C, hang-ups and requests to end from here on, except those that the process was started to ignore (as
/// `nohup` and background jobs are).
///
/// They are waited for on a thread of its own, so a command that waits for a pipe ends as well.
pub(crate) fn handle() {
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]
        .into_iter()
        .filter(|signal| !was_ignored(*signal));
    let mut signals = match SignalsInfo::<WithOrigin>::new(signals) {
        Ok(signals) => signals,
        Err(error) => {
            say!("signals keep their default effect: {error}");
            return;
        }
    };
    let _ = HANDLE.set(signals.handle());
    std::thread::spawn(move || {
        for origin in signals.forever() {
            // Some signals were asked for on behalf of a child only.
            if child::took(&origin) || was_ignored(origin.signal) || child::is_own(&origin) {
                continue;
            }
            match origin.signal {
                signal @ (SIGTSTP | SIGTTIN | SIGTTOU | SIGCONT | SIGWINCH | SIGURG) => {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                signal if was_asked(signal) => {}
                signal => end(signal),
            }
        }
    });
}

/// Who is told, and of what.
enum Listener {
    /// Of the first signal.
    OfEnd(Sender<()>),
    /// Of hang-ups, and of the first signal of another kind.
    OfWishes(Sender<Wish>),
}

/// What a signal to a service means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To read its file again: a hang-up.
    Reload,
    /// To end.
    End,
}

/// Tells whoever wants to be told. Of the wish to end only once: a second signal ends the process.
fn was_asked(signal: i32) -> bool {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if signal == SIGHUP
        && let Some(Listener::OfWishes(told)) = asked.as_ref()
    {
        return told.send(Wish::Reload).is_ok();
    }
    match asked.take() {
        Some(Listener::OfEnd(told)) => told.send(()).is_ok(),
        Some(Listener::OfWishes(told)) => told.send(Wish::End).is_ok(),
        None => false,
    }
}

/// Takes away what is unfinished, and ends the process as the signal would have.
fn end(signal: i32) {
    if let Some(at_end) = *AT_END.lock().unwrap_or_else(PoisonError::into_inner) {
        at_end();
    }
    remove_unfinished();
    end_by(signal);
    std::process::exit(128 + signal);
}

/// Something that is done before a signal ends the process, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct AtEnd(());

impl AtEnd {
    pub(crate) fn new(what: fn()) -> Self {
        *AT_END.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
        Self(())
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        *AT_END.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// For as long as this value lives, the first signal to end is a wish that it knows of.
#[derive(Debug)]
pub(crate) struct Asked(Receiver<()>);

impl Asked {
    pub(crate) fn new() -> Self {
        let (tell, told) = channel();
        *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Listener::OfEnd(tell));
        Self(told)
    }

    /// Waits for the wish.
    ///
    /// # Errors
    /// Where the time is over and nobody wished for it.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), RecvTimeoutError> {
        self.0.recv_timeout(time)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        ASKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// For as long as this value lives, signals are wishes to a service.
#[derive(Debug)]
pub(crate) struct Wishes(Receiver<Wish>);

impl Wishes {
    pub(crate) fn new() -> Self {
        let (tell, told) = channel();
        *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Listener::OfWishes(tell));
        Self(told)
    }

    /// Waits for a wish, for so long.
    pub(crate) fn wait(&self, time: Duration) -> Option<Wish> {
        match self.0.recv_timeout(time) {
            Ok(wish) => Some(wish),
            Err(RecvTimeoutError::Timeout) => None,
            // Nobody is left to tell, and nobody could end it later.
            Err(RecvTimeoutError::Disconnected) => Some(Wish::End),
        }
    }
}

impl Drop for Wishes {
    fn drop(&mut self) {
        ASKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
