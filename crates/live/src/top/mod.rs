//! `top`: which processes would gain from superpages, kept fresh and drawn into a frame.

mod draw;
mod heat;
mod processes;
mod screen;

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;

pub use draw::ScreenStyle;
use heat::{ScreenHeat, WatchedHeat};
use processes::WatchedProcesses;
use screen::{KeyEffect, Screen, ScreenPage};

/// The share of the time that looks at processes take, as a divisor.
const LOOKING: u32 = 20;
/// The time for the first looks, after which the first screen is drawn.
const FIRST: Duration = Duration::from_millis(300);
/// The time between two looks for the end of watching.
const WATCHING: Duration = Duration::from_millis(200);

/// The processes of the machine, and the screen that shows them. The caller owns the terminal.
#[derive(Debug)]
pub struct TopScreen {
    processes: WatchedProcesses,
    screen: Screen,
    style: ScreenStyle,
    interval: Duration,
    /// The time of the next refresh.
    due: Instant,
    /// The time that the next refresh may take.
    for_at_most: Duration,
    /// The process whose use is being watched.
    watched: Option<WatchedHeat>,
}

impl TopScreen {
    /// Watches what `policy` would do, with a refresh every `interval`. The policy is one that can
    /// decide on live processes.
    pub fn new(policy: String, interval: Duration, style: ScreenStyle) -> Self {
        Self {
            processes: WatchedProcesses::new(policy.clone()),
            screen: Screen::new(policy),
            style,
            interval,
            due: Instant::now(),
            for_at_most: FIRST,
            watched: None,
        }
    }

    /// Looks at processes, if a refresh is due and the screen is not stopped.
    pub fn refresh_if_due(&mut self) {
        if let Some((process, heat)) = self.watched.as_ref().and_then(WatchedHeat::ended) {
            self.screen.heat = Some((process, heat));
            self.watched = None;
        }
        if Instant::now() < self.due {
            return;
        }
        if !self.screen.paused {
            self.refresh();
            self.for_at_most = self.interval / LOOKING;
        }
        self.due = Instant::now() + self.interval;
    }

    fn refresh(&mut self) {
        self.processes.refresh(self.for_at_most);
        self.screen.take(self.processes.listed());
        self.screen.unseen = self.processes.unseen();
        if let ScreenPage::Process(process, map) = &mut self.screen.page {
            *map = self.processes.picture(*process);
        }
    }

    /// The time until the next refresh.
    pub fn until_due(&self) -> Duration {
        let until_due = self.due.saturating_duration_since(Instant::now());
        match self.watched {
            Some(_) => until_due.min(WATCHING),
            None => until_due,
        }
    }

    /// Draws the screen.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        draw::draw(frame, &self.screen, self.style);
    }

    /// Does what a key means. Returns false if the key ends the command.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        match self.screen.key(key) {
            KeyEffect::Draw => {}
            KeyEffect::Picture(process) => {
                self.screen.page = ScreenPage::Process(process, self.processes.picture(process));
            }
            KeyEffect::Heat(process) => {
                self.screen.heat = Some((process, ScreenHeat::Watching));
                self.watched = Some(WatchedHeat::new(process));
            }
            KeyEffect::Quit => return false,
        }
        true
    }
}
