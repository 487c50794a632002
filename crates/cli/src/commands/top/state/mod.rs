//! What the screen shows, and what keys do to it.

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use broadleaf_governor::ProcessId;
use broadleaf_metrics::{PolicyForecast, ProcessReport};
use broadleaf_report::PageMap;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// By what processes are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Pid,
    User,
    Resident,
    Superpages,
    Candidates,
    Reach,
    Added,
    Command,
}

impl Order {
    /// All orders, one for each column from left to right, with the key and the heading.
    pub(super) const ALL: [(Self, char, &str); 8] = [
        (Self::Pid, 'p', "PID"),
        (Self::User, 'r', "USER"),
        (Self::Resident, 'm', "RESIDENT"),
        (Self::Superpages, 'u', "SUPERPAGES"),
        (Self::Candidates, 'c', "CANDIDATES"),
        (Self::Reach, 'g', "REACH"),
        (Self::Added, 'a', "ADDED"),
        (Self::Command, 'n', "COMMAND"),
    ];

    /// Returns true if small values come first unless the order is reversed: for names and numbers.
    pub(super) const fn is_ascending(self) -> bool {
        matches!(self, Self::Pid | Self::User | Self::Command)
    }

    fn after(self, steps: usize) -> Self {
        let at = Self::ALL.iter().position(|(order, ..)| *order == self);
        Self::ALL[(at.unwrap_or(0) + steps) % Self::ALL.len()].0
    }
}

/// A process in the list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) id: ProcessId,
    /// The name of its user, or the user's number.
    pub(super) user: String,
    /// The command line; the name of the program in brackets where there is none.
    pub(super) line: String,
    pub(super) report: ProcessReport,
}

/// What is on the screen.
#[derive(Debug, Default)]
pub(super) enum Page {
    #[default]
    Processes,
    /// One process, and its picture where it can be looked at.
    Process(ProcessId, Option<PageMap>),
    Help,
}

/// What is to happen after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Draw,
    /// Look at a process for its picture, and draw.
    Picture(ProcessId),
    Quit,
}

/// What the screen shows.
#[derive(Debug)]
pub(super) struct State {
    /// The policy's name.
    pub(super) policy: String,
    pub(super) page: Page,
    pub(super) order: Order,
    pub(super) reversed: bool,
    pub(super) paused: bool,
    /// What commands or numbers have to contain.
    pub(super) filter: String,
    /// Whether keys are written into the filter.
    pub(super) is_typing: bool,
    /// How many processes may not be looked at, and how many are still to be.
    pub(super) unseen: (usize, usize),
    selected: Option<ProcessId>,
    processes: Vec<Listed>,
}

/// What the policy would do to a process.
pub(super) fn told(process: &ProcessReport) -> Option<&PolicyForecast> {
    process.policies.first()
}

impl State {
    pub(super) fn new(policy: String) -> Self {
        Self {
            policy,
            page: Page::default(),
            order: Order::Reach,
            reversed: false,
            paused: false,
            filter: String::new(),
            is_typing: false,
            unseen: (0, 0),
            selected: None,
            processes: Vec::new(),
        }
    }

    /// Takes in what processes look like now.
    pub(super) fn take(&mut self, processes: Vec<Listed>) {
        self.processes = processes;
    }

    /// The processes that are shown, in order.
    pub(super) fn shown(&self) -> Vec<&Listed> {
        let filter = self.filter.to_lowercase();
        let fits = |process: &&Listed| {
            let has = |text: &str| text.to_lowercase().contains(&filter);
            has(&process.report.command)
                || has(&process.line)
                || has(&process.user)
                || process.id.pid.to_string().contains(&filter)
        };
        let mut shown: Vec<_> = self.processes.iter().filter(fits).collect();
        // Large figures come first; names and numbers ascend. Equal processes are sorted by number.
        let by = |of: fn(&Listed) -> u64| move |process: &&Listed| Reverse(of(process));
        let foretold = |process: &Listed, of: fn(&PolicyForecast) -> u64| {
            Reverse(told(&process.report).map_or(0, of))
        };
        match self.order {
            Order::Pid => {}
            Order::User => shown.sort_by(|one, other| one.user.cmp(&other.user)),
            Order::Command => shown.sort_by(|one, other| one.line.cmp(&other.line)),
            Order::Resident => shown.sort_by_key(by(|process| process.report.rss_bytes)),
            Order::Superpages => shown.sort_by_key(by(|process| process.report.huge_bytes)),
            Order::Candidates => {
                shown.sort_by_key(|process| foretold(process, |told| told.would_promote));
            }
            Order::Reach => {
                shown.sort_by_key(|process| foretold(process, |told| told.covered_bytes));
            }
            Order::Added => {
                shown.sort_by_key(|process| foretold(process, |told| told.added_bytes));
            }
        }
        if self.reversed {
            shown.reverse();
        }
        shown
    }

    /// The place of the selected process among those that are shown; the first where it is not there.
    pub(super) fn place(&self) -> usize {
        let shown = self.shown();
        let selected = shown
            .iter()
            .position(|process| Some(process.id) == self.selected);
        selected.unwrap_or(0)
    }

    /// A process that is shown on a page of its own.
    pub(super) fn process(&self, process: ProcessId) -> Option<&ProcessReport> {
        let mut all = self.processes.iter();
        all.find(|listed| listed.id == process)
            .map(|listed| &listed.report)
    }

    /// What a key does.
    pub(super) fn key(&mut self, key: KeyEvent) -> Next {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Next::Quit;
        }
        if self.is_typing {
            return self.typed(key.code);
        }
        match (&self.page, key.code) {
            (Page::Processes, KeyCode::Char('q')) => Next::Quit,
            (Page::Processes, code) => self.chosen(code),
            (
                _,
                KeyCode::Char('q' | 'h' | '?') | KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace,
            ) => {
                self.page = Page::Processes;
                Next::Draw
            }
            (_, KeyCode::Char(' ')) => {
                self.paused = !self.paused;
                Next::Draw
            }
            _ => Next::Draw,
        }
    }

    fn typed(&mut self, code: KeyCode) -> Next {
        match code {
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            KeyCode::Enter => self.is_typing = false,
            _ => {}
        }
        Next::Draw
    }

    fn chosen(&mut self, code: KeyCode) -> Next {
        const PAGE: isize = 10;
        match code {
            KeyCode::Char('h' | '?') => self.page = Page::Help,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('o') => self.reversed = !self.reversed,
            KeyCode::Char('s') | KeyCode::Right => self.order = self.order.after(1),
            KeyCode::Left => self.order = self.order.after(Order::ALL.len() - 1),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home => self.step(isize::MIN / 2),
            KeyCode::End => self.step(isize::MAX / 2),
            KeyCode::Enter => {
                let selected = self.shown().get(self.place()).map(|process| process.id);
                if let Some(process) = selected {
                    self.selected = Some(process);
                    return Next::Picture(process);
                }
            }
            KeyCode::Char(letter) => {
                let mut all = Order::ALL.iter();
                if let Some((order, ..)) = all.find(|(_, key, _)| *key == letter) {
                    self.order = *order;
                }
            }
            _ => {}
        }
        Next::Draw
    }

    /// Selects another process, so many places below.
    fn step(&mut self, by: isize) {
        let place = self.place().cast_signed().saturating_add(by).max(0);
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let place = place.cast_unsigned().min(last);
        self.selected = shown.get(place).map(|process| process.id);
    }
}
