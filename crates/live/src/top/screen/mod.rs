//! The content of the screen, and the effect of keys on it.

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use super::heat::ScreenHeat;
use broadleaf_governor::ProcessId;
use broadleaf_metrics::{PolicyForecast, ProcessReport};
use broadleaf_report::PageMap;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The order of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListOrder {
    Pid,
    User,
    Resident,
    Superpages,
    Candidates,
    Reach,
    Added,
    Command,
}

impl ListOrder {
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
pub(super) struct ListedProcess {
    pub(super) id: ProcessId,
    /// The name of its user, or the user's number.
    pub(super) user: String,
    /// The command line, or the name of the program in brackets if there is none.
    pub(super) line: String,
    pub(super) report: ProcessReport,
}

/// The page that the screen shows.
#[derive(Debug, Default)]
pub(super) enum ScreenPage {
    /// The list of processes.
    #[default]
    Processes,
    /// One process, with a picture if it can be looked at.
    Process(ProcessId, Option<PageMap>),
    Help,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEffect {
    Draw,
    /// Look at a process for its picture, and draw.
    Picture(ProcessId),
    /// Watch which memory of a process is used, and draw.
    Heat(ProcessId),
    Quit,
}

/// The content of the screen.
#[derive(Debug)]
pub(super) struct Screen {
    /// The policy's name.
    pub(super) policy: String,
    pub(super) page: ScreenPage,
    pub(super) order: ListOrder,
    pub(super) reversed: bool,
    pub(super) paused: bool,
    /// The text that commands, users or numbers must contain.
    pub(super) filter: String,
    /// True while keys are written into the filter.
    pub(super) is_typing: bool,
    /// The number of processes that may not be looked at, and of those that wait for a look.
    pub(super) unseen: (usize, usize),
    /// The use of the memory of the process that was watched last. `None` after it was put away.
    pub(super) heat: Option<(ProcessId, ScreenHeat)>,
    selected: Option<ProcessId>,
    processes: Vec<ListedProcess>,
}

/// The forecast of the policy for a process.
pub(super) fn forecast_of(process: &ProcessReport) -> Option<&PolicyForecast> {
    process.policies.first()
}

impl Screen {
    pub(super) fn new(policy: String) -> Self {
        Self {
            policy,
            page: ScreenPage::default(),
            order: ListOrder::Reach,
            reversed: false,
            paused: false,
            filter: String::new(),
            is_typing: false,
            unseen: (0, 0),
            heat: None,
            selected: None,
            processes: Vec::new(),
        }
    }

    /// Replaces the processes.
    pub(super) fn take(&mut self, processes: Vec<ListedProcess>) {
        self.processes = processes;
    }

    /// The processes that are shown, in order.
    pub(super) fn shown(&self) -> Vec<&ListedProcess> {
        let filter = self.filter.to_lowercase();
        let fits = |process: &&ListedProcess| {
            let has = |text: &str| text.to_lowercase().contains(&filter);
            has(&process.report.command)
                || has(&process.line)
                || has(&process.user)
                || process.id.pid.to_string().contains(&filter)
        };
        let mut shown: Vec<_> = self.processes.iter().filter(fits).collect();
        // Large figures come first; names and numbers ascend. Equal processes are sorted by number.
        let by =
            |of: fn(&ListedProcess) -> u64| move |process: &&ListedProcess| Reverse(of(process));
        let foretold = |process: &ListedProcess, of: fn(&PolicyForecast) -> u64| {
            Reverse(forecast_of(&process.report).map_or(0, of))
        };
        match self.order {
            ListOrder::Pid => {}
            ListOrder::User => shown.sort_by(|one, other| one.user.cmp(&other.user)),
            ListOrder::Command => shown.sort_by(|one, other| one.line.cmp(&other.line)),
            ListOrder::Resident => shown.sort_by_key(by(|process| process.report.rss_bytes)),
            ListOrder::Superpages => shown.sort_by_key(by(|process| process.report.huge_bytes)),
            ListOrder::Candidates => {
                shown.sort_by_key(|process| foretold(process, |told| told.would_promote));
            }
            ListOrder::Reach => {
                shown.sort_by_key(|process| foretold(process, |told| told.covered_bytes));
            }
            ListOrder::Added => {
                shown.sort_by_key(|process| foretold(process, |told| told.added_bytes));
            }
        }
        if self.reversed {
            shown.reverse();
        }
        shown
    }

    /// The index of the selected process among those that are shown, or 0 if it is not shown.
    pub(super) fn place(&self) -> usize {
        let shown = self.shown();
        let selected = shown
            .iter()
            .position(|process| Some(process.id) == self.selected);
        selected.unwrap_or(0)
    }

    /// A process, by its id.
    pub(super) fn process(&self, process: ProcessId) -> Option<&ProcessReport> {
        let mut all = self.processes.iter();
        all.find(|listed| listed.id == process)
            .map(|listed| &listed.report)
    }

    /// Does what a key means.
    pub(super) fn key(&mut self, key: KeyEvent) -> KeyEffect {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return KeyEffect::Quit;
        }
        if self.is_typing {
            return self.typed(key.code);
        }
        match (&self.page, key.code) {
            (ScreenPage::Processes, KeyCode::Char('q')) => KeyEffect::Quit,
            (ScreenPage::Processes, code) => self.chosen(code),
            (
                _,
                KeyCode::Char('q' | 'h' | '?') | KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace,
            ) => {
                self.page = ScreenPage::Processes;
                KeyEffect::Draw
            }
            (ScreenPage::Process(process, _), KeyCode::Char('u')) => self.use_asked(*process),
            (_, KeyCode::Char(' ')) => {
                self.paused = !self.paused;
                KeyEffect::Draw
            }
            _ => KeyEffect::Draw,
        }
    }

    /// The process that is being watched.
    pub(super) fn watched(&self) -> Option<ProcessId> {
        let heat = self.heat.as_ref();
        let watched = heat.filter(|(_, heat)| *heat == ScreenHeat::Watching);
        watched.map(|(process, _)| *process)
    }

    /// Asks for the use of a process's memory, or for its memory again.
    fn use_asked(&mut self, process: ProcessId) -> KeyEffect {
        match &self.heat {
            // A second measurement would find the kernel's sources in use by the first.
            _ if self.watched().is_some() => {}
            Some((known, _)) if *known == process => self.heat = None,
            _ => return KeyEffect::Heat(process),
        }
        KeyEffect::Draw
    }

    fn typed(&mut self, code: KeyCode) -> KeyEffect {
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
        KeyEffect::Draw
    }

    fn chosen(&mut self, code: KeyCode) -> KeyEffect {
        const PAGE: isize = 10;
        match code {
            KeyCode::Char('h' | '?') => self.page = ScreenPage::Help,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('o') => self.reversed = !self.reversed,
            KeyCode::Char('s') | KeyCode::Right => self.order = self.order.after(1),
            KeyCode::Left => self.order = self.order.after(ListOrder::ALL.len() - 1),
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
                    return KeyEffect::Picture(process);
                }
            }
            KeyCode::Char(letter) => {
                let mut all = ListOrder::ALL.iter();
                if let Some((order, ..)) = all.find(|(_, key, _)| *key == letter) {
                    self.order = *order;
                }
            }
            _ => {}
        }
        KeyEffect::Draw
    }

    /// Selects the process that is `by` places below.
    fn step(&mut self, by: isize) {
        let place = self.place().cast_signed().saturating_add(by).max(0);
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let place = place.cast_unsigned().min(last);
        self.selected = shown.get(place).map(|process| process.id);
    }
}
