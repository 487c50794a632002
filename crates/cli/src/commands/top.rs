//! `top`: which processes would gain from superpages, on the whole terminal.

use std::io::{self, IsTerminal, stdin, stdout};

use broadleaf_live::survey::deciding_policy;
use broadleaf_live::top::{ScreenStyle, TopScreen};
use broadleaf_report::View;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::{DefaultTerminal, restore, try_init};

use crate::args::Top;
use crate::interrupt::AtEnd;
use crate::terminal::shades;
use broadleaf_study::failure::Failure;

pub(crate) fn run(options: &Top, view: View) -> Result<(), Failure> {
    let policy = deciding_policy(&options.policy)?;
    if !stdin().is_terminal() || !stdout().is_terminal() {
        return Err(Failure::Wrong(
            "top needs a terminal; `broadleaf report --all` prints the same once".to_owned(),
        ));
    }
    let style = ScreenStyle {
        paint: view.paint,
        shades: shades(),
    };
    // The terminal is restored however the command ends: here, after a panic, or by a signal.
    let at_end = AtEnd::new(leave);
    let shown = try_init().and_then(|terminal| {
        let top = TopScreen::new(policy, options.interval, style);
        show(terminal, top)
    });
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

fn show(mut terminal: DefaultTerminal, mut top: TopScreen) -> io::Result<()> {
    loop {
        top.refresh_if_due();
        terminal.draw(|frame| top.draw(frame))?;
        if !event::poll(top.until_due())? {
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.is_press()
            && !top.key(key)
        {
            return Ok(());
        }
    }
}
