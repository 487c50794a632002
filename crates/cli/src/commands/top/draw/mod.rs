//! The screen.

#[cfg(test)]
mod tests;

use broadleaf_metrics::ProcessReport;
use broadleaf_report::number::{grouped, percent, size};
use broadleaf_report::{PageMap, Paint, Shades, printable};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::state::{Order, Page, State, told};

/// How things are drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) paint: Paint,
    pub(super) shades: Shades,
}

impl Look {
    fn coloured(self, style: Style, colour: Color) -> Style {
        match self.paint {
            Paint::Colour => style.fg(colour),
            Paint::Plain => style,
        }
    }

    fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

const HELP: &str = "\
What a policy would do to processes now. Nothing is changed.

  RESIDENT        memory that the process holds
  IN SUPERPAGES   how much of it lies in superpages already
  CANDIDATES      blocks of 2 MiB that the policy would promote
  REACH           resident memory that would lie in superpages then
  ADDED           memory that the process would hold more

  up, down, page up, page down, home, end    select a process
  enter           a picture of its memory
  s, left, right  another column decides the order
  p n m u c g a   order by number, name, memory, superpages, candidates, reach, added
  o               the other way round
  /               show only what contains a text; esc shows all again
  space           stop and go on
  q               back, and quit";

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, look: Look) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let title = format!(
        "broadleaf top: {}{}",
        state.policy,
        if state.paused { ", stopped" } else { "" }
    );
    frame.render_widget(Paragraph::new(title).style(look.bold()), head);
    frame.render_widget(Paragraph::new(keys(state)).style(dim()), foot);
    match &state.page {
        Page::Processes => processes(frame, state, look, body),
        Page::Process(id, map) => {
            let lines = one(state.process(*id), map.as_ref(), look, body);
            frame.render_widget(Paragraph::new(lines), body);
        }
        Page::Help => frame.render_widget(Paragraph::new(HELP), body),
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// The last line.
fn keys(state: &State) -> String {
    if state.is_typing {
        return format!("show only: {}_  (enter: done, esc: all)", state.filter);
    }
    match state.page {
        Page::Processes => {
            let (refused, later) = state.unseen;
            let mut text = "q quit  h help  enter picture  s order  / find".to_owned();
            if !state.filter.is_empty() {
                text += &format!("  [{}]", state.filter);
            }
            if refused > 0 {
                text += &format!("  {refused} may not be looked at");
            }
            if later > 0 {
                text += &format!("  {later} still to be looked at");
            }
            text
        }
        Page::Process(..) | Page::Help => "q back".to_owned(),
    }
}

fn processes(frame: &mut Frame<'_>, state: &State, look: Look, area: Rect) {
    let heading = |(order, _, name): &(Order, char, &'static str)| {
        let style = if *order == state.order {
            look.bold().add_modifier(Modifier::UNDERLINED)
        } else {
            look.bold()
        };
        let line = Line::styled(*name, style);
        Cell::from(if *order == Order::Command {
            line
        } else {
            line.right_aligned()
        })
    };
    let columns = Columns::within(area.width);
    let shown = state.shown();
    if shown.is_empty() && !state.filter.is_empty() {
        let text = format!(
            "\nNo process that was looked at has \"{}\" in its name or number. Esc shows all again.",
            state.filter
        );
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let rows = shown.iter().map(|(_, process)| row(process, columns));
    let headings = Order::ALL.iter().map(heading).take(columns.count);
    let table = Table::new(rows, columns.widths())
        .header(Row::new(headings))
        .column_spacing(1)
        .row_highlight_style(
            look.coloured(Style::new().add_modifier(Modifier::REVERSED), Color::Cyan),
        );
    let mut selection = TableState::new().with_selected(Some(state.place()));
    frame.render_stateful_widget(table, area, &mut selection);
}

/// What there is room for. A number that is cut is another number, so columns are left out instead.
#[derive(Clone, Copy)]
struct Columns {
    /// How many, from the left.
    count: usize,
    /// Whether shares stand beside the last two.
    shares: bool,
}

impl Columns {
    const WIDTHS: [u16; 7] = [8, 12, 10, 13, 10, 10, 10];
    /// What a share takes beside its figure.
    const SHARE: u16 = 8;

    fn within(width: u16) -> Self {
        let up_to = |count: usize| Self::WIDTHS[..count].iter().sum::<u16>() + count as u16 - 1;
        let all = Self::WIDTHS.len();
        Self {
            count: (2..=all)
                .rev()
                .find(|count| up_to(*count) <= width)
                .unwrap_or(2),
            shares: up_to(all) + 2 * Self::SHARE <= width,
        }
    }

    fn widths(self) -> Vec<Constraint> {
        let each = Self::WIDTHS.iter().enumerate().take(self.count);
        let width = |(at, width): (usize, &u16)| match at {
            1 => Constraint::Min(*width),
            5 | 6 if self.shares => Constraint::Length(width + Self::SHARE),
            _ => Constraint::Length(*width),
        };
        each.map(width).collect()
    }
}

fn row(process: &ProcessReport, columns: Columns) -> Row<'static> {
    let share = |part: u64| percent(part as f64 / process.rss_bytes as f64);
    let (promoted, covered, added) = told(process).map_or((0, 0, 0), |told| {
        (told.would_promote, told.covered_bytes, told.added_bytes)
    });
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let with_share = |bytes: u64| {
        right(if columns.shares {
            format!("{} {:>6}", size(bytes), share(bytes))
        } else {
            size(bytes)
        })
    };
    let cells = [
        right(process.pid.to_string()),
        Cell::from(printable(&process.command)),
        right(size(process.rss_bytes)),
        right(share(process.huge_bytes)),
        right(grouped(promoted)),
        with_share(covered),
        with_share(added),
    ];
    Row::new(cells.into_iter().take(columns.count))
}

/// One process and its picture.
fn one(
    process: Option<&ProcessReport>,
    map: Option<&PageMap>,
    look: Look,
    area: Rect,
) -> Vec<Line<'static>> {
    let (Some(process), Some(map)) = (process, map) else {
        return vec![Line::from(
            "The process has ended, or cannot be looked at any more.",
        )];
    };
    let mut lines = vec![Line::styled(
        format!(
            "{} ({}): {} resident, {} of it in superpages",
            printable(&process.command),
            process.pid,
            size(process.rss_bytes),
            size(process.huge_bytes)
        ),
        look.bold(),
    )];
    if let Some(told) = told(process) {
        lines.push(Line::from(format!(
            "{} would promote {} blocks, add {}, and have {} of what is resident in superpages",
            told.policy,
            grouped(told.would_promote),
            size(told.added_bytes),
            size(told.covered_bytes)
        )));
    }
    lines.push(Line::default());
    // What the characters mean takes two lines of a narrow screen.
    let room = usize::from(area.height).saturating_sub(lines.len() + 2);
    let picture = map.lines(usize::from(area.width), room, look.shades);
    let Some((legend, picture)) = picture.split_last() else {
        lines.push(Line::from("Nothing lies in whole blocks of 2 MiB."));
        return lines;
    };
    lines.extend(picture.iter().map(|line| painted(line, look)));
    let legend = broadleaf_report::wrap(legend, usize::from(area.width));
    lines.extend(legend.into_iter().map(|line| Line::styled(line, dim())));
    lines
}

/// A line of a picture, its superpages in colour.
fn painted(line: &str, look: Look) -> Line<'static> {
    let (label, cells) = line.split_at(line.find('|').unwrap_or(0));
    let mut spans = vec![Span::styled(label.to_owned(), dim())];
    let cells: Vec<char> = cells.chars().collect();
    let is_huge = |cell: &char| *cell == PageMap::SUPERPAGE;
    for alike in cells.chunk_by(|one, other| is_huge(one) == is_huge(other)) {
        let style = if is_huge(&alike[0]) {
            look.coloured(Style::new(), Color::Green)
        } else {
            Style::new()
        };
        spans.push(Span::styled(alike.iter().collect::<String>(), style));
    }
    Line::from(spans)
}
