//! Progress of long work: a bar on a terminal, a line a minute elsewhere.

use std::fmt::Write;
use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use broadleaf_report::number::short;
use broadleaf_report::{MESSAGE_START, TaskLines};
use broadleaf_study::watch::Watch;
pub(crate) use broadleaf_study::watch::{Task, Work};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shorter work shows no bar, because the bar would only flash.
const LONG: Duration = Duration::from_millis(500);

/// A bar on standard error, with the bytes read or written and the accesses done.
#[derive(Debug)]
pub(crate) struct TaskBar {
    bar: ProgressBar,
    work: Work,
    accesses: Arc<AtomicU64>,
    /// True if the bar is drawn.
    drawn: bool,
    lines: TaskLines,
}

impl TaskBar {
    /// A bar for `work`. It is drawn on a terminal, after the time [`LONG`].
    pub(crate) fn new(doing: &str, work: Work) -> Self {
        Self::begin(doing, work, true)
    }

    /// A bar for a recording, whose length is not known. It is hidden unless `shown` is set, since
    /// the program that is recorded may write to the same terminal.
    pub(crate) fn of_recording(doing: &str, shown: bool) -> Self {
        Self::begin(doing, Work::Unknown, shown)
    }

    fn begin(doing: &str, work: Work, shown: bool) -> Self {
        let accesses = Arc::new(AtomicU64::new(0));
        let hidden = ProgressDrawTarget::hidden();
        let (length, template) = match work {
            Work::Accesses(length) | Work::Replay { bytes: length, .. } | Work::Bytes(length) => (
                Some(length),
                "{msg} {wide_bar} {percent:>3} %  {accesses} accesses  {rate}/s  {left}",
            ),
            Work::Runs(length) => (Some(length), "{msg} {wide_bar} {pos} of {len}  {left}"),
            Work::Unknown => (
                None,
                "{msg} {spinner} {binary_bytes}  {accesses} accesses  {rate}/s  {elapsed}",
            ),
        };
        let bar = ProgressBar::with_draw_target(length, hidden);
        let (count, rated) = (Arc::clone(&accesses), Arc::clone(&accesses));
        let style = ProgressStyle::with_template(template)
            .expect("the templates above are well formed")
            .progress_chars("=> ")
            .with_key("accesses", move |_: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&short(count.load(Ordering::Relaxed)));
            })
            .with_key("rate", move |state: &ProgressState, out: &mut dyn Write| {
                let seconds = state.elapsed().as_secs_f64().max(1e-3);
                let rate = rated.load(Ordering::Relaxed) as f64 / seconds;
                let _ = write!(out, "{}", short(rate as u64));
            })
            .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                let _ = match state.pos() {
                    // Nothing is done yet, so no rate is known.
                    0 => out.write_str("estimating"),
                    _ => write!(out, "{:#} left", HumanDuration(state.eta())),
                };
            });
        bar.set_style(style);
        bar.set_message(doing.to_owned());
        let drawn = shown && stderr().is_terminal();
        if drawn {
            show_later(&bar);
        }
        Self {
            bar,
            work,
            accesses,
            drawn,
            lines: TaskLines::new(shown, drawn),
        }
    }

    /// Prints the lines on the task that are due.
    fn report_progress(&self) {
        let (doing, elapsed) = (self.bar.message(), self.bar.elapsed());
        let (done, length) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let share = (done > 0 && length > 0).then(|| (done as f64 / length as f64).min(1.0));
        match self.lines.announcement(&doing, elapsed, share) {
            Some(line) if self.drawn => self.bar.println(format!("{MESSAGE_START}{line}")),
            Some(line) => say!("{line}"),
            None => {}
        }
        let done = || match self.work {
            Work::Runs(length) => format!("{done} of {length} runs"),
            _ => format!("{} accesses", short(self.accesses.load(Ordering::Relaxed))),
        };
        if let Some(line) = self.lines.line(&doing, elapsed, share, done) {
            say!("{line}");
        }
    }

    /// Sets the text before the bar.
    pub(crate) fn doing(&self, doing: String) {
        self.bar.set_message(doing);
    }
}

/// Draws a bar after the time [`LONG`], even if nothing is done until then.
fn show_later(bar: &ProgressBar) {
    let bar = bar.downgrade();
    std::thread::spawn(move || {
        std::thread::sleep(LONG);
        if let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    });
}

impl Task for TaskBar {
    fn set(&self, bytes: u64, accesses: u64) {
        self.accesses.store(accesses, Ordering::Relaxed);
        self.bar.set_position(match self.work {
            Work::Accesses(_) => accesses,
            Work::Replay { .. } | Work::Bytes(_) | Work::Unknown => bytes,
            Work::Runs(_) => self.bar.position() + 1,
        });
        self.report_progress();
    }
}

/// Shows each task of a study as a bar.
#[derive(Debug)]
pub(crate) struct Bars;

impl Watch for Bars {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        Box::new(TaskBar::new(doing, work))
    }
}

impl Drop for TaskBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_goes_by_the_accesses_where_they_are_known() {
        let bar = TaskBar::new("reading", Work::Accesses(1000));
        bar.set(900, 100);
        assert_eq!(bar.bar.position(), 100);
        let (bytes, accesses) = (1000, 1000);
        for work in [Work::Bytes(1000), Work::Replay { bytes, accesses }] {
            let bar = TaskBar::new("reading", work);
            bar.set(900, 100);
            assert_eq!(bar.bar.position(), 900);
        }
    }

    /// Tests have no terminal.
    #[test]
    fn without_a_terminal_there_is_no_bar() {
        let bar = TaskBar::new("reading", Work::Bytes(1000));
        std::thread::sleep(LONG);
        bar.set(250, 100);
        assert!(bar.bar.is_hidden() && !bar.drawn);
    }
}
