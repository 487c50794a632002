//! Signals: Ctrl-C removes unfinished files and kdamonds, and ends the process at once.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broadleaf_governor::{HeatMeter, end_by, was_ignored};
use broadleaf_live::passed_on;
use broadleaf_live::service::ServiceSignal;
use broadleaf_study::unfinished::remove_unfinished;
use signal_hook::consts::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGUSR1, SIGUSR2,
    SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;

/// The listener that gets a signal, in place of its effect on the process.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);
/// A function that restores the terminal.
static AT_END: Mutex<Option<fn()>> = Mutex::new(None);

fn listener() -> MutexGuard<'static, Option<Listener>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles Ctrl-C, hang-ups and requests to end from here on. Signals that the process was started
/// to ignore, as `nohup` and background jobs are, stay ignored.
///
/// A thread of its own waits for signals, so a command that waits for a pipe ends as well.
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
    passed_on::catch_with(signals.handle());
    std::thread::spawn(move || {
        for origin in signals.forever() {
            // Some signals are caught only to be passed on to a child.
            if passed_on::took(&origin) || was_ignored(origin.signal) || passed_on::is_own(&origin)
            {
                continue;
            }
            match origin.signal {
                signal @ (SIGTSTP | SIGTTIN | SIGTTOU | SIGCONT | SIGWINCH | SIGURG) => {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                signal if was_heard(signal) => {}
                signal => end(signal),
            }
        }
    });
}

/// A listener, by the signals that it gets.
enum Listener {
    /// Gets the first signal.
    OfEnd(Sender<()>),
    /// Gets hang-ups, and the first signal of another kind.
    OfService(Sender<ServiceSignal>),
}

/// Sends a signal to the listener. Returns false if there is none. The request to end is sent once:
/// a second signal ends the process.
fn was_heard(signal: i32) -> bool {
    let mut asked = listener();
    if signal == SIGHUP
        && let Some(Listener::OfService(told)) = asked.as_ref()
    {
        return told.send(ServiceSignal::Reload).is_ok();
    }
    match asked.take() {
        Some(Listener::OfEnd(told)) => told.send(()).is_ok(),
        Some(Listener::OfService(told)) => told.send(ServiceSignal::End).is_ok(),
        None => false,
    }
}

/// Removes unfinished files and kdamonds, and ends the process as the signal would have.
fn end(signal: i32) {
    if let Some(at_end) = *AT_END.lock().unwrap_or_else(PoisonError::into_inner) {
        at_end();
    }
    remove_unfinished();
    HeatMeter::end_all();
    end_by(signal);
    std::process::exit(128 + signal);
}

/// Keeps a function that is called before a signal ends the process, for as long as the value
/// lives.
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

/// Receives the first signal to end, in place of its effect, for as long as the value lives.
#[derive(Debug)]
pub(crate) struct EndSignal(Receiver<()>);

impl EndSignal {
    pub(crate) fn new() -> Self {
        let (tell, told) = channel();
        *listener() = Some(Listener::OfEnd(tell));
        Self(told)
    }

    /// Waits for the signal.
    ///
    /// # Errors
    /// If the time is over.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), RecvTimeoutError> {
        self.0.recv_timeout(time)
    }
}

impl Drop for EndSignal {
    fn drop(&mut self) {
        listener().take();
    }
}

/// Receives signals on behalf of a service, for as long as the value lives.
#[derive(Debug)]
pub(crate) struct ServiceSignals(Receiver<ServiceSignal>);

impl ServiceSignals {
    pub(crate) fn new() -> Self {
        let (tell, told) = channel();
        *listener() = Some(Listener::OfService(tell));
        Self(told)
    }

    /// Waits for a signal, for at most `time`.
    pub(crate) fn wait(&self, time: Duration) -> Option<ServiceSignal> {
        match self.0.recv_timeout(time) {
            Ok(signal) => Some(signal),
            Err(RecvTimeoutError::Timeout) => None,
            // No sender is left, so no later signal could end the service.
            Err(RecvTimeoutError::Disconnected) => Some(ServiceSignal::End),
        }
    }
}

impl Drop for ServiceSignals {
    fn drop(&mut self) {
        listener().take();
    }
}
