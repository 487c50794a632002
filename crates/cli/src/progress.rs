//! How far long work has come: a bar on a terminal, nothing on a pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use broadleaf_report::number::short;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A bar on standard error that knows bytes read, of how many, and accesses done.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    accesses: Arc<AtomicU64>,
}

impl Progress {
    /// A bar for reading `bytes` bytes, where that is known. On a pipe it shows nothing.
    pub(crate) fn new(doing: &str, bytes: Option<u64>) -> Self {
        let accesses = Arc::new(AtomicU64::new(0));
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let (bar, template) = match bytes {
            Some(bytes) => (
                ProgressBar::with_draw_target(Some(bytes), target),
                "{msg} {wide_bar} {percent:>3} %  {accesses} accesses  {rate}/s  {eta} left",
            ),
            None => (
                ProgressBar::with_draw_target(None, target),
                "{msg} {spinner} {binary_bytes}  {accesses} accesses  {rate}/s  {elapsed}",
            ),
        };
        let (count, rated) = (Arc::clone(&accesses), Arc::clone(&accesses));
        let style = ProgressStyle::with_template(template)
            .expect("the templates above are well formed")
            .progress_chars("=> ")
            .with_key(
                "accesses",
                move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                    let _ = out.write_str(&short(count.load(Ordering::Relaxed)));
                },
            )
            .with_key(
                "rate",
                move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                    let seconds = state.elapsed().as_secs_f64().max(1e-3);
                    let rate = rated.load(Ordering::Relaxed) as f64 / seconds;
                    let _ = write!(out, "{}", short(rate as u64));
                },
            );
        bar.set_style(style);
        bar.set_message(doing.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, accesses }
    }

    /// A bar for a recording, which has no end to foresee. It is not shown where `shown` says so: the program that is
    /// recorded may write to the same terminal.
    pub(crate) fn of_recording(doing: &str, shown: bool) -> Self {
        let bar = Self::new(doing, None);
        if !shown {
            bar.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar
    }

    /// So many bytes were read or written and so many accesses done, since the start.
    pub(crate) fn set(&self, bytes: u64, accesses: u64) {
        self.accesses.store(accesses, Ordering::Relaxed);
        self.bar.set_position(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
