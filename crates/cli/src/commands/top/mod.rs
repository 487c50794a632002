//! `top`: which processes superpages would do good, on the whole terminal.

mod draw;
mod state;
mod watch;

use std::io::{self, IsTerminal, stdin, stdout};
use std::time::{Duration, Instant};

use broadleaf_report::View;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::{DefaultTerminal, restore, try_init};

use super::report::deciding;
use crate::args::Top;
use crate::interrupt::AtEnd;
use crate::terminal::shades;
use broadleaf_study::failure::Failure;
use draw::{Look, draw};
use state::{Next, Page, State};
use watch::Watch;

/// The part of the time that goes into looking at processes: one of so many.
const LOOKING: u32 = 20;
/// How long the first look may take, after which the first screen is drawn.
const FIRST: Duration = Duration::from_millis(300);

pub(crate) fn run(options: &Top, view: View) -> Result<(), Failure> {
    let policy = deciding(&options.policy)?;
    if !stdin().is_terminal() || !stdout().is_terminal() {
        return Err(Failure::Wrong(
            "top needs a terminal; `broadleaf report --all` prints the same once".to_owned(),
        ));
    }
    let look = Look {
        paint: view.paint,
        shades: shades(),
    };
    // The terminal is set right again however this ends: here, after a panic, or by a signal.
    let at_end = AtEnd::new(leave);
    let shown = try_init().and_then(|terminal| show(terminal, options.interval, policy, look));
    drop(at_end);
    leave();
    shown.map_err(|error| Failure::Failed(format!("the terminal: {error}")))
}

/// Restores the terminal. `restore` leaves the cursor hidden: ratatui shows the cursor only when a
/// terminal is dropped, and a signal drops nothing.
fn leave() {
    restore();
    // A terminal that went away needs no cursor.
    let _ = execute!(stdout(), Show);
}

fn show(
    mut terminal: DefaultTerminal,
    interval: Duration,
    policy: String,
    look: Look,
) -> io::Result<()> {
    let mut watch = Watch::new(policy.clone());
    let mut state = State::new(policy);
    let mut due = Instant::now();
    let mut for_at_most = FIRST;
    loop {
        let now = Instant::now();
        if now >= due {
            if !state.paused {
                refresh(&mut watch, &mut state, for_at_most);
                for_at_most = interval / LOOKING;
            }
            due = Instant::now() + interval;
        }
        terminal.draw(|frame| draw(frame, &state, look))?;
        if !event::poll(due.saturating_duration_since(Instant::now()))? {
            continue;
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        if !key.is_press() {
            continue;
        }
        match state.key(key) {
            Next::Draw => {}
            Next::Picture(process) => state.page = Page::Process(process, watch.picture(process)),
            Next::Quit => return Ok(()),
        }
    }
}

fn refresh(watch: &mut Watch, state: &mut State, for_at_most: Duration) {
    watch.refresh(for_at_most);
    state.take(watch.processes());
    state.unseen = watch.unseen();
    if let Page::Process(process, map) = &mut state.page {
        *map = watch.picture(*process);
    }
}
